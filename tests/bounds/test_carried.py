"""Every formula of every registered theorem belongs to a claim, which falls when the theorem says something else."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import Rational, sqrt

from dpcheck.bounds import ledger, registry
from dpcheck.bounds.claim import Claim
from dpcheck.bounds.statement import Carried, formulas
from dpcheck.bounds.symbols import K, T, delta, n, sigma_w
from dpcheck.bounds.theorem import Theorem
from dpcheck.checks.experiment import Experiment
from dpcheck.checks.rates import experiments
from dpcheck.commands import verdicts
from dpcheck.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
THEOREMS = {thm.id: thm for thm in registry.theorems()}
FIELDS = [(id, field) for id, thm in THEOREMS.items() for field in formulas(thm)]
CLAIMS = {claim.id: claim for claim in registry.claims()}

# A fault in a formula, and whether it is one there.
FAULTS: dict[str, Callable[[Any], Any]] = {
    "a twentieth more": lambda formula: formula * Rational(21, 20),
    "half": lambda formula: formula / 2,
    "a square": lambda formula: formula**2,
    "a root": sqrt,
    "n for n^2": lambda formula: formula.subs(n, n**2),
    "n^(1/2) for n": lambda formula: formula.subs(n, sqrt(n)),
    "all records for a block": lambda formula: formula.replace(sympy.floor, lambda inside: inside).subs(K, 1),
    "delta^2 for delta": lambda formula: formula.subs(delta, delta**2),
}


def with_field(thm: Theorem, field: str, formula: Any) -> Theorem:
    """The theorem with another formula in a field."""
    if field == "bound":
        return replace(thm, bound_formula=formula)
    name = field.removeprefix("rate ")
    if name != field:
        return replace(thm, regimes=tuple((each, formula if each == name else old) for each, old in thm.regimes))

    def changed(pairs: Any) -> Any:
        return tuple((letter, formula if str(letter) == field else old) for letter, old in pairs)

    return replace(thm, schedule_formulas=changed(thm.schedule_formulas), noise_formulas=changed(thm.noise_formulas))


def carriers(id: str, field: str) -> Iterator[tuple[Claim, Carried]]:
    for claim in CLAIMS.values():
        yield from ((claim, step) for step in claim.carries if (step.theorem, step.field) == (id, field))


def registered(monkeypatch: pytest.MonkeyPatch, thm: Theorem) -> None:
    monkeypatch.setattr(registry, "theorem", (THEOREMS | {thm.id: thm}).__getitem__)


@pytest.mark.thorough
@pytest.mark.parametrize(("id", "field"), FIELDS, ids=[f"{id}-{field}" for id, field in FIELDS])
def test_a_fault_in_a_formula_breaks_the_claim_that_carries_it(
    id: str, field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    formula = formulas(THEOREMS[id])[field]
    found = list(carriers(id, field))
    assert found, "no claim carries it"
    for claim, step in found:
        assert step.holds(), step.fault()
        assert ledger.recorded()[claim.id]["verdict"] != "unresolved"
    for fault, changed in FAULTS.items():
        wrong = changed(formula)
        if wrong == formula:
            continue
        registered(monkeypatch, with_field(THEOREMS[id], field, wrong))
        assert any(not step.holds() for _, step in found), fault


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("id", "field", "wrong", "broken"),
    [
        ("zhang2022.theorem_4_5", "bound", lambda formula: formula * Rational(105, 100), "Z38"),
        ("yang2022.theorem_1", "sigma_w", lambda formula: formula / 2, "Y10"),
        ("zhang2022.theorem_4_5", "sigma", FAULTS["all records for a block"], "Z39"),
        ("xu2026.theorem_2", "rate statistical", lambda formula: 1 / n, "002:Thm2"),
        ("yang2022.theorem_2a", "T", lambda formula: n**2, "Y21"),
        ("zhang2025.theorem_3", "rate privacy", lambda formula: formula * n, "003:Thm3"),
    ],
)
def test_the_claim_is_then_unresolved_and_says_by_what_factor(
    id: str, field: str, wrong: Callable[[Any], Any], broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ledger.recorded()[broken]["verdict"] != "unresolved"
    registered(monkeypatch, with_field(THEOREMS[id], field, wrong(formulas(THEOREMS[id])[field])))
    after = CLAIMS[broken].decide()
    assert after.verdict == "unresolved"
    assert verdicts.changed([after]) == (after,)
    assert f"{field} of {id} is " in after.note
    assert "times what this claim states, at " in after.note


def test_every_claim_carries_formulas_that_exist() -> None:
    for claim in CLAIMS.values():
        assert all((step.theorem, step.field) in FIELDS for step in claim.carries)
    with pytest.raises(InputError, match=r"field must be one of yang2022\.theorem_1 "):
        Carried("yang2022.theorem_1", "eta", T).holds()


def test_formulas_written_in_another_way_agree() -> None:
    written = Carried("yang2022.theorem_1_existential", "sigma_w", sigma_w, ((sigma_w, T),))
    assert not written.holds()
    thm = THEOREMS["zhang2022.theorem_3_3"]
    (step,) = (step for _, step in carriers(thm.id, "bound"))
    assert replace(step, stated=sympy.expand(thm.bound_formula), where=()).holds()
    assert not replace(step, stated=sympy.expand(thm.bound_formula) * (1 + Rational(1, 10**9)), where=()).holds()


@pytest.mark.thorough
def test_a_carried_formula_proves_nothing_by_itself() -> None:
    """It stands beside the evidence: the statement's formulas still have to occur in a step that is judged."""
    for claim in CLAIMS.values():
        steps = claim.decision().evidence.steps
        assert not any(isinstance(step, Carried) for step in steps), claim.id


# Exponents in the checks of rates


def test_no_check_types_an_exponent() -> None:
    """Each fit is relative to an order, a number that its theorem gives at every grid point, or claims nothing.

    The tests of the testers themselves claim exponents of laws that they make up.
    """
    seen = 0
    for file in (ROOT / "dpcheck" / "checks").rglob("*.py"):
        if file.name == "testers.py":
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "fit_rate":
                given = {word.arg: ast.unparse(word.value) for word in node.keywords}
                seen += 1
                assert given.get("claimed", "{}") in (
                    "{}", "claimed", "dict.fromkeys(experiment.factors, 0.0)",
                    "{name: -claim if name in TO_ZERO else claim for name in free}",
                ), (file.name, node.lineno)  # fmt: skip
                assert "offset" in given or "claimed" not in given, (file.name, node.lineno)
    assert seen >= 3


@pytest.mark.parametrize("experiment", experiments(), ids=lambda each: f"{each.algorithm}-{each.name}")
def test_the_order_of_an_experiment_is_its_theorems(experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    """With another rate in the theorem the order at a grid point is another."""
    cell = experiment.grid.cells[0]
    problem = experiment.sample(cell, np.random.default_rng(0))
    before = experiment.terms(problem, cell)[0]
    thm = THEOREMS[experiment.theorem]
    wrong = replace(
        thm, bound_formula=None if thm.bound_formula is None else thm.bound_formula**2,
        regimes=tuple((name, term**2) for name, term in thm.regimes),
    )  # fmt: skip
    monkeypatch.setattr("dpcheck.checks.experiment.theorem", (THEOREMS | {thm.id: wrong}).__getitem__)
    assert experiment.terms(problem, cell)[0] != pytest.approx(before, rel=1e-6)
