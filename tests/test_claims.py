"""The claims: verdicts on record, evidence recomputed, files of one's own, and time-outs."""

from __future__ import annotations

import ast
import json
import math
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from polynomials import replay

from dpcheck.bounds import ledger, registry
from dpcheck.bounds.claim import Claim, ClaimResult, Decision, Evidence
from dpcheck.bounds.evidence import AtMost, Below, Cited, Counterexample, Enumerated, Identity, Searched
from dpcheck.bounds.prover import Inequality
from dpcheck.bounds.yang2022 import sampling
from dpcheck.errors import InputError

ROOT = Path(__file__).resolve().parent.parent
IDS = (ROOT / "tests" / "claim_ids.txt").read_text("utf-8").splitlines()
quick = settings(deadline=None, max_examples=50)
x, y = sympy.symbols("x y", positive=True)


@pytest.fixture(scope="module")
def results() -> dict[str, ClaimResult]:
    """All claims of the four papers, decided once."""
    return {result.claim.id: result for result in registry.prove()}


# The catalogue


def test_every_statement_has_its_entry(results: dict[str, ClaimResult]) -> None:
    assert sorted(results) == sorted(IDS)
    assert set(ledger.recorded()) == set(results)


def test_verdicts_are_the_recorded_ones(results: dict[str, ClaimResult]) -> None:
    assert ledger.changed(results.values()) == ()
    assert json.loads(ledger.text(results.values())) == ledger.recorded()


def test_certificates_on_record_replay(results: dict[str, ClaimResult]) -> None:
    """By coefficients alone: none negative, and the quotient is the shifted difference at rational points."""
    assert json.loads(json.dumps(ledger.certified(results.values()))) == ledger.certificates()
    for steps in ledger.certificates().values():
        for proof in (each for step in steps for each in step["certificates"]):
            replay(proof)


def test_most_are_decided_and_the_others_say_why(results: dict[str, ClaimResult]) -> None:
    open_ones = [result for result in results.values() if result.verdict == "unresolved"]
    assert len(open_ones) <= 0.15 * len(results)
    assert all(len(result.note) > 40 for result in open_ones)


def test_results_are_complete_plain_text(results: dict[str, ClaimResult]) -> None:
    for id, result in results.items():
        record = json.loads(json.dumps(result.to_dict()))
        assert record["id"] == id
        assert record["paper"] in registry.PAPERS
        assert all(record[k] for k in ("kind", "statement", "location", "method", "note")), id
        assert all(step["says"] and step["formula"] and step["latex"] for step in record["evidence"]["steps"]), id
        assert bool(record["evidence"]["condition"]) == (record["verdict"] == "conditional"), id
        assert record["evidence"]["repaired"] or record["verdict"] != "refuted", id


def test_inequalities_fail_half_a_per_cent_beyond_their_critical_constant(results: dict[str, ClaimResult]) -> None:
    """At a point of the domain, by sympy's own multiple precision rather than the prover's balls."""
    seen = 0
    for result in results.values():
        steps = [step for step in result.claim.decision().evidence.steps if isinstance(step, Inequality)]
        shown = [step for step in result.evidence["steps"] if step["kind"] == "inequality"]
        for step, record in zip(steps, shown, strict=True):
            room = record.get("tightness")
            if room is None or room["critical"] is None:
                continue
            point = {x: sympy.Rational(room["point"][str(x)]) for x in step.over.intervals}
            assert step.over.contains(point)
            assert step.fails_beyond(room["critical"], point), (result.claim.id, step.says)
            seen += 1
    assert seen >= 10


def test_prove_takes_a_claim_a_paper_a_file_or_nothing(tmp_path: Path) -> None:
    (one,) = registry.prove("Y17")
    assert one.claim.id == "Y17"
    assert [each.id for each in registry.find("yang2022")] == [each for each in IDS if each.startswith("Y")]
    assert len(registry.find()) == len(registry.claims())
    with pytest.raises(InputError, match=r"paper or claim must be a known one .*Y17.*got Y177"):
        registry.prove("Y177")
    with pytest.raises(InputError, match=r"known one \(perhaps zhang2022, .*got \?"):
        registry.prove("?")


# A file of one's own

OWN = """
from sympy import log, oo, sqrt, symbols

from dpcheck.bounds.claim import Claim
from dpcheck.bounds.judge import judge
from dpcheck.bounds.prover import Domain, Inequality

print("not a result")
x, c = symbols("x c", positive=True)
OVER = Domain({x: (1, oo)})
CLAIMS = (
    Claim("root", "mine", "const", "log x <= sqrt x", "Lemma 1", judge(Inequality("r", log(x), sqrt(x), OVER))),
    Claim("third", "mine", "const", "log x <= x/3", "Lemma 2",
          judge(Inequality("third", log(x), c * x, OVER, constant=(c, 1 / 3)))),
)
"""


def write(folder: Path, text: str) -> str:
    (folder / "own.py").write_text(text)
    return str(folder / "own.py")


def test_a_file_of_one_s_own(tmp_path: Path) -> None:
    root, third = registry.prove(write(tmp_path, OWN))
    assert (root.verdict, third.verdict) == ("proved", "refuted")
    assert root.rooms[0]["critical"] == pytest.approx(2 / math.e, rel=1e-3)
    assert "it holds with 0.367879 for c" in third.evidence["repaired"]
    assert third.counterexamples


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 +", "must be importable, got .*SyntaxError"),
        ("raise SystemExit(3)", "must be importable, got .*SystemExit"),
        ("x = 1", "must define CLAIMS"),
        ("CLAIMS = (1,)", "CLAIMS must hold only Claim, got int"),
        (OWN + "CLAIMS += CLAIMS", "ids must be unique, got root, third"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        registry.prove(write(tmp_path, text))
    with pytest.raises(InputError, match="file of claims must exist"):
        registry.prove(str(tmp_path / "none.py"))


def test_text_is_never_executed(tmp_path: Path) -> None:
    planted = OWN.replace("log(x), sqrt(x)", "\"__import__('os').abort()\", sqrt(x)")
    with pytest.raises(InputError, match="a formula must be a number or a sympy expression"):
        registry.prove(write(tmp_path, planted))
    for file in (ROOT / "bounds").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                assert name not in ("eval", "exec", "parse_expr", "S"), file
                strict = any(keyword.arg == "strict" for keyword in node.keywords)
                assert name != "sympify" or strict, file


SLOW = """
import os, sys, time

from dpcheck.bounds.claim import Claim


def never():
    time.sleep(1000)


def crash():
    os._exit(7)


def fail():
    raise ValueError("no such thing")


def talk():
    print("words on stdout" * 1000)
    raise KeyError("spoken")


CLAIMS = tuple(Claim(f.__name__, "mine", "k", "s", "l", f) for f in (never, crash, fail, talk))
"""


def test_what_takes_too_long_or_crashes_is_unresolved(tmp_path: Path) -> None:
    started = time.monotonic()
    found = {each.claim.id: each for each in registry.prove(write(tmp_path, SLOW), jobs=2, seconds=1.0)}
    assert time.monotonic() - started < 60
    assert {each.verdict for each in found.values()} == {"unresolved"}
    assert found["never"].note == "not decided within 1 s"
    assert found["crash"].note == "the process that decided it ended with code 7"
    assert found["fail"].note == "deciding it failed: ValueError: no such thing"
    assert "spoken" in found["talk"].note


def test_jobs_and_seconds_are_checked() -> None:
    with pytest.raises(InputError, match="jobs must"):
        registry.prove("Y17", jobs=0)
    with pytest.raises(InputError, match="seconds must"):
        registry.prove("Y17", seconds=0)


# Evidence: each kind fails on a falsehood, and a failing step settles nothing

COUNT = sympy.Symbol("count", integer=True, positive=True)


def uniform(rng: Any) -> float:
    return float(rng.random())


FALSE_STEPS = [
    Identity("", (x + y) ** 2, x**2 + y**2),
    Identity("", sympy.sqrt(x**2 + y**2), x + y),
    AtMost("", 2 * x, x),
    AtMost("", x**2, x),
    AtMost("", x + y, sympy.sqrt(x**2 + y**2)),
    AtMost("", sympy.sqrt(2) * x, sympy.Rational(7, 5) * x),
    AtMost("", 0, sympy.Symbol("unsigned")),
    Below("", sympy.E, sympy.Rational(271828, 100000)),
    Below("", sympy.Integer(1), sympy.Integer(1)),
    Counterexample("", sympy.Le(x, 2 * y), ((x, 2), (y, 1))),
    Counterexample("", sympy.Le(x, y), ((x, 2),)),
    Enumerated("", sampling.chance_absent, (2, 2), Fraction(0)),
    Counterexample("", sympy.Le(COUNT, 1), ((COUNT, sympy.Rational(3, 2)),)),  # an integer must be one
    Searched("", uniform, 0.5, 100),
]
TRUE_STEPS = [
    Identity("", (x + y) ** 2 - (x - y) ** 2, 4 * x * y),
    AtMost("", x, x),
    AtMost("", sympy.sqrt(2) * x, sympy.Rational(3, 2) * x),
    AtMost("", x / (x + y), sympy.Integer(1)),
    AtMost("", x + y**2, (sympy.sqrt(x) + y) ** 2),
    Below("", sympy.Rational(271828, 100000), sympy.E),
    Counterexample("", sympy.Le(x, 2 * y), ((x, 3), (y, 1))),
    Enumerated("", sampling.chance_absent, (2, 2), Fraction(1, 4)),
    Counterexample("", sympy.Le(COUNT, 1), ((COUNT, 2),)),
    Counterexample("", sympy.Lt(sympy.pi, sympy.E + x), ((x, sympy.Rational(1, 10)),)),
    Searched("", uniform, 1.0, 100),
]


@pytest.mark.parametrize("step", FALSE_STEPS, ids=str)
def test_false_evidence_does_not_hold(step: Any) -> None:
    assert not step.holds()
    decision = Decision("unresolved", "", Evidence((step,)), "")
    claim = Claim("X", "toy", "", "", "", lambda: decision)
    assert claim.decide().verdict == "unresolved"


@pytest.mark.parametrize("step", TRUE_STEPS, ids=str)
def test_true_evidence_holds(step: Any) -> None:
    assert step.holds()
    assert step.formula()


def test_a_false_step_leaves_a_claim_unresolved() -> None:
    steps = (TRUE_STEPS[0], Identity("one is two", sympy.Integer(1), sympy.Integer(2)))
    decision = Decision("proved", "algebra", Evidence(steps), "fine")
    result = Claim("X", "toy", "", "", "", lambda: decision).decide()
    assert result.verdict == "unresolved"
    assert "one is two" in result.note


@quick
@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 3), st.integers(0, 3)), max_size=5),
    st.floats(0.01, 20),
    st.floats(0.01, 20),
)
def test_at_most_is_sound(terms: list[tuple[int, int, int]], a: float, b: float) -> None:
    polynomial = sum((k * x**i * sympy.sqrt(y) ** j for k, i, j in terms), sympy.Integer(0))
    if AtMost("", 0, polynomial).holds():
        assert polynomial.subs({x: a, y: b}) >= 0


@pytest.mark.parametrize(
    ("verdict", "steps", "more"),
    [
        ("refuted", (TRUE_STEPS[0],), {"repaired": "r"}),
        ("refuted", (TRUE_STEPS[6],), {}),
        ("conditional", (TRUE_STEPS[0],), {}),
        ("proved", (TRUE_STEPS[0],), {"condition": "c"}),
        ("proved", (TRUE_STEPS[6],), {}),
        ("proved", (Cited("a", "b"),), {}),
        ("proved", (Searched("", uniform, 1.0, 10),), {}),
        ("proved", (), {}),
    ],
)
def test_a_verdict_needs_its_kind_of_evidence(verdict: Any, steps: Any, more: Any) -> None:
    with pytest.raises(InputError):
        Decision(verdict, "", Evidence(steps, **more), "")
