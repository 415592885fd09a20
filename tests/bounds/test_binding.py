"""A claim says its statement to the machine: formulas are the judged ones, quotations carry their conditions."""

from __future__ import annotations

import re
from typing import Any

import pytest
import sympy
from sympy import Le, log, oo, sqrt, symbols

from dpcheck.bounds import ledger, registry
from dpcheck.bounds.claim import Claim, Decision, Evidence
from dpcheck.bounds.evidence import Below, Cited, Identity, Quoted
from dpcheck.bounds.formula import plain
from dpcheck.bounds.judge import judge
from dpcheck.bounds.prover import Domain, Inequality
from dpcheck.bounds.statement import Statement, stated
from dpcheck.errors import InputError

x, y, c = symbols("x y c", positive=True)
OVER = Domain({x: (1, oo)})
ROOT = Inequality("a logarithm is below a root", log(x), c * sqrt(x), OVER, constant=(c, 1))
CLAIMS = registry.claims()
IDS = [claim.id for claim in CLAIMS]


def claim(statement: Any, *steps: Any, verdict: Any = "proved") -> Claim:
    return Claim("X", "toy", "constant", statement, "Lemma 1", lambda: Decision(verdict, "m", Evidence(steps), "fine"))


# A statement and its formulas


def test_a_statement_prints_its_formulas() -> None:
    said = stated("The risk is at most {bound} for {range}.", bound=3 * sqrt(x) / y**2, range=Le(x, 1))
    assert str(said) == "The risk is at most 3 sqrt(x)/y^2 for x <= 1."
    for template, formulas in (("no place", {"bound": x}), ("{one} {two}", {"one": x})):
        with pytest.raises(InputError, match="places of a statement must name its formulas"):
            Statement(template, formulas)


def test_a_formula_that_no_step_speaks_of_leaves_the_claim_unresolved() -> None:
    assert claim(stated("At most {b}.", b=sqrt(x)), ROOT).decide().verdict == "proved"
    found = claim(stated("At most {b}.", b=2 * sqrt(x)), ROOT).decide()
    assert found.verdict == "unresolved"
    assert "2 sqrt(x)" in found.note


def test_a_false_step_that_is_the_statement_refutes_it_and_another_does_not() -> None:
    third = Inequality("a third", log(x), x / 3, OVER)
    bound = claim(stated("{f}.", f=Le(log(x), x / 3)), third).decide()
    assert bound.verdict == "refuted"
    assert "Fails at x = " in bound.note
    aside = claim(stated("At most {b}.", b=sqrt(x)), ROOT, third).decide()
    assert aside.verdict == "unresolved"
    assert "a third fails at x = " in aside.note


BOUND = [
    (each.id, name) for each in CLAIMS if isinstance(each.statement, Statement) for name in each.statement.formulas
]


@pytest.mark.thorough
@pytest.mark.parametrize(("id", "name"), BOUND, ids=[f"{id}-{name}" for id, name in BOUND])
def test_a_changed_formula_is_noticed(id: str, name: str) -> None:
    """The statement with another number in one formula occurs in no step of its evidence."""
    found = next(each for each in CLAIMS if each.id == id)
    assert isinstance(found.statement, Statement)
    steps = found.decision().evidence.steps
    assert found.statement.loose(steps) == ()
    said = found.statement.formulas[name]
    changed = said.func(said.lhs, 11 * said.rhs + 13, evaluate=False) if hasattr(said, "rel_op") else 11 * said + 13
    assert Statement(found.statement.template, {**found.statement.formulas, name: changed}).loose(steps)


# What stands in words must not be a formula: each of these has to be bound to a step

FORMULA = re.compile(r"sqrt|\blog\b|\bexp\b|\d{2,}|O\(|\^\{|/\d")


@pytest.mark.parametrize("id", IDS)
def test_formulas_are_not_typed_into_statements(id: str) -> None:
    said = next(each for each in CLAIMS if each.id == id).statement
    words = re.sub(r"\{\w+\}", "", said.template) if isinstance(said, Statement) else said
    assert not FORMULA.search(words), words


# Quotations


def test_quoting_a_claim_carries_its_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = {
        "P": {"verdict": "proved"},
        "C": {"verdict": "conditional", "readings": {"joint": "proved"}},
        "R": {"verdict": "refuted", "readings": {"projected": "proved"}},
        "M": {"verdict": "misprint"},
    }
    monkeypatch.setattr(ledger, "recorded", lambda: entries)

    def verdict(step: Quoted) -> str:
        return claim("words", ROOT, step).decide().verdict

    assert verdict(Quoted("used", "P")) == "proved"
    assert verdict(Quoted("used", "C")) == "unresolved"
    assert verdict(Quoted("used", "C", "joint")) == "unresolved"
    assert verdict(Quoted("used", "C", "joint", "f is jointly smooth here")) == "proved"
    assert verdict(Quoted("used", "R")) == "unresolved"
    assert verdict(Quoted("used", "R", "projected", "the point is projected here")) == "proved"
    assert verdict(Quoted("used", "M")) == "unresolved"
    assert verdict(Quoted("used", "unknown")) == "unresolved"
    # A claim that is conditional itself may use what holds with a condition, or with a slip put right.
    assert {id: Quoted("used", id).holds() for id in "PCRM"} == {"P": True, "C": True, "R": False, "M": True}


@pytest.mark.thorough
def test_citations_of_claims_are_quotations() -> None:
    """A citation in words that names a claim of the ledger would not inherit its conditions."""
    named = re.compile("|".join(rf"(?<![\w:]){re.escape(id)}(?![\w-])" for id in IDS if not id.startswith("002:K")))
    for each in CLAIMS:
        for step in each.decision().evidence.steps:
            if isinstance(step, Cited):
                assert not named.search(f"{step.says} {step.source}"), (each.id, step.says, step.source)


# Identities


def test_an_identity_keeps_what_was_written() -> None:
    kept = Identity("two quarters", lambda: x / 4 + x / 4, x / 2)
    assert kept.formula() == "x/4 + x/4 = x/2"
    assert kept.holds()
    assert not Identity("two quarters", lambda: x / 4 + x / 4, x / 3).holds()
    assert Identity("nothing", x / 4 + x / 4, x / 2).empty()


def test_a_step_that_says_nothing_proves_nothing() -> None:
    found = claim("words", Cited("a fact", "a book"), Identity("one is one", 1, 1)).decide()
    assert found.verdict == "unresolved"
    assert "says nothing" in found.note


@pytest.mark.thorough
@pytest.mark.parametrize("id", IDS)
def test_no_recorded_identity_says_nothing(id: str) -> None:
    evidence = next(each for each in CLAIMS if each.id == id).decision().evidence
    identities = [step for step in evidence.steps if isinstance(step, Identity)]
    assert [(step.says, step.formula()) for step in identities if step.empty()] == []


# Judging


def test_judged_claims_say_so_and_others_are_argued_by_hand() -> None:
    judged = Claim("X", "toy", "c", stated("{f}", f=Le(log(x), sqrt(x))), "l", judge(ROOT)).decide()
    assert (judged.verdict, judged.basis) == ("proved", "judged")
    assert claim("words", ROOT).decide().basis == "argued by hand, steps checked"


@pytest.mark.parametrize(
    "step",
    [
        Identity("a square", (x + y) ** 2, x**2 + y**2),
        Below("e is below 2", sympy.E, 2),
        Inequality("a third", log(x), x / 3, OVER),
        Inequality("nothing on the right", x - 2, 0, OVER),
        Inequality("numbers", 3, 2, Domain({})),
    ],
    ids=lambda step: step.says,
)
def test_a_false_relation_is_refuted_with_its_values(step: Any) -> None:
    found = judge(step)()
    assert found.verdict == "refuted"
    assert all(each.holds() for each in found.evidence.steps)


def test_judge_takes_relations_only() -> None:
    with pytest.raises(InputError, match="a judged claim must have a relation"):
        judge()
    with pytest.raises(InputError, match="be made of relations the machine decides, got Cited"):
        judge(Cited("a", "b"))
    with pytest.raises(InputError, match="the decision of a claim must be a function"):
        Claim("X", "toy", "c", "s", "l", ROOT)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="id must be one line"):
        claim_with_id("a\nb")


def claim_with_id(id: str) -> Claim:
    return Claim(id, "toy", "c", "s", "l", judge(ROOT))


def test_plain_text_reads_like_the_paper() -> None:
    assert plain(33 * x**2 * log(1 / y) / (y * x)) == "33 x log(1/y)/y"
    assert plain(4 * sqrt(2) * sqrt(log(1 / y)) / (x * sqrt(c) * sqrt(y))) == "4 sqrt(2 log(1/y))/(x sqrt(c y))"
