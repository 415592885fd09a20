"""Schedules against theorems: all numbers agree, and what a fault changes is named."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpcheck.algorithms import promises
from dpcheck.catalogue.xu2026 import dp_rgda_schedule as dp_rgda
from dpcheck.catalogue.yang2022 import dp_sgda
from dpcheck.catalogue.zhang2022.algorithms import Saddle
from dpcheck.catalogue.zhang2025 import privatediff_schedule as privatediff
from dpcheck.solvers import ALGORITHMS, algorithm
from reference import schedules as stage
from reference.schedules import Binding, Number, Unbound, bindings, schedules

CATALOGUED = promises.catalogued
VARIANTS = [(name, variant) for name in ALGORITHMS for variant in algorithm(name).variants]


def found(name: str, variant: str = "as_printed") -> Any:
    return next(each for each in schedules(name) if each.id == f"{name}.{variant}.schedule")


def test_every_variant_is_compared_or_says_why_not() -> None:
    assert sorted(bindings()) == sorted(VARIANTS)
    for key, binding in bindings().items():
        assert isinstance(binding, Binding) or len(binding.why) > 60, key


@pytest.mark.parametrize("name", ALGORITHMS)
def test_schedules_are_the_theorems(name: str) -> None:
    for finding in schedules(name):
        variant = finding.id.split(".")[1]
        bound = isinstance(bindings()[name, variant], Binding)
        assert finding.verdict == ("consistent" if bound else "inconclusive"), finding.reason
        assert re.match(r"dpcheck/\S+\.py:\d+$", finding.place)
        assert json.loads(json.dumps(finding.evidence)) == finding.evidence
        if bound:
            assert finding.evidence["settings"] >= 4
            assert finding.evidence["differ"] == []


def test_a_number_says_what_differs_where_and_by_what_factor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        dp_sgda, "printed_noise", lambda G, n, T, epsilon, delta: 4 * G * np.sqrt(T * np.log(1 / delta)) / (n * epsilon)
    )
    finding = found("dp_sgda")
    assert finding.verdict == "violated"
    assert re.search(
        r"sigma_w is [\d.]+ where yang2022\.theorem_\w+ has [\d.]+ at n = \d+, [^;]*epsilon = [^;]*\(a factor 0\.5\); ",
        finding.reason,
    )
    assert found("dp_sgda", "repaired").verdict == "consistent"


@pytest.mark.parametrize(
    ("module", "attribute", "wrong", "names"),
    [
        (dp_sgda, "smoothness_for_eta", lambda problem: problem.smoothness / 2, ("dp_sgda",)),
        (dp_sgda, "printed_batch", lambda n, steps, epsilon: 1, ("dp_sgda",)),
        (dp_rgda.EmpiricalPrinted, "M", lambda schedule, name: 2 * schedule.problem.lipschitz_w, ("dp_rgda",)),
    ],
)  # fmt: skip
def test_a_fault_in_a_part_turns_its_algorithms_red(
    module: Any, attribute: str, wrong: Any, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, attribute, wrong)
    for name in names:
        assert found(name).verdict == "violated"


def scaled(letter: str, factor: float) -> Any:
    """``catalogued`` with one formula of every theorem multiplied."""

    def catalogued(id: str) -> Any:
        thm = CATALOGUED(id)

        def times(pairs: Any) -> Any:
            return tuple((symbol, term * factor if str(symbol) == letter else term) for symbol, term in pairs)

        return replace(thm, schedule_formulas=times(thm.schedule_formulas), noise_formulas=times(thm.noise_formulas))

    return catalogued


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("letter", "names"),
    [
        ("eta", ("dp_sgda", "dp_rgda")),
        ("eta_w", ("dp_sgda",)),
        ("sigma_w", ("dp_sgda",)),
        ("sigma_x", ("dp_sgda_clipped", "minimax_output_perturbation")),
        ("sigma_y", ("privatediff", "minimax_output_perturbation")),
        ("eta_x", ("privatediff", "dp_sgda_clipped")),
        ("sigma", ("output_perturbation", "phased_output_perturbation", "phased_primal", "phased_dual",
                   "phased_minimax_output_perturbation", "phased_convex_strongly_concave",
                   "phased_strongly_convex_concave")),
        ("mu", ("phased_output_perturbation", "phased_dual", "phased_strongly_convex_concave")),
        ("energy", ("output_perturbation", "minimax_output_perturbation", "phased_primal")),
    ],
)  # fmt: skip
def test_a_fault_in_a_theorem_turns_its_algorithms_red(
    letter: str, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(promises, "catalogued", scaled(letter, 1.05))
    for name in names:
        finding = found(name)
        assert finding.verdict == "violated", name
        assert "(a factor 0.9524)" in finding.reason


def test_one_phase_off_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Saddle.schedule.__func__  # type: ignore[attr-defined]
    monkeypatch.setattr(
        Saddle, "schedule",
        classmethod(lambda cls, *given: [row | {"energy": 100 * row["energy"]} for row in made(cls, *given)]),
    )  # fmt: skip
    finding = found("minimax_output_perturbation")
    assert finding.verdict == "violated"
    assert finding.reason.startswith("the solver's accuracy is ")
    assert finding.reason.endswith("(a factor 100)")


def test_a_schedule_without_numbers_is_red(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(privatediff, "ascent_steps", lambda problem, inner, repaired: np.ones(3))
    finding = found("privatediff")
    assert finding.verdict == "violated"
    assert "T_2 is 3 where zhang2025.theorem_6 has " in finding.reason


def test_an_algorithm_without_a_binding_gets_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "bindings", dict)
    finding = found("dp_sgda")
    assert finding.verdict == "inconclusive"
    assert finding.reason == "No theorem of the catalogue is bound to this algorithm's numbers."


def test_the_setting_that_differs_most_is_named() -> None:
    pairs = [Number("eta", found, "a.b", 1.0, {"n": n}) for n, found in ((10, 1.0), (100, 0.25), (1000, 2.0))]
    finding = stage.compared("x", "as_printed", Binding(lambda: iter(pairs)), "file.py:1")
    assert finding.reason == "eta is 0.25 where a.b has 1 at n = 100 (a factor 0.25)"
    assert finding.evidence["settings"] == 3
    assert len(finding.evidence["differ"]) == 2
    assert stage.compared("x", "y", Unbound("why"), "file.py:1").reason == "why"
