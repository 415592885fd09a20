"""Schedules against theorems: all numbers agree, and a fault in either is seen."""

from __future__ import annotations

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
from reference.schedules import Binding, Number, bindings, differences

CATALOGUED = promises.catalogued
VARIANTS = [(name, variant) for name in ALGORITHMS for variant in algorithm(name).variants]


def test_every_variant_is_compared_or_says_why_not() -> None:
    assert sorted(bindings()) == sorted(VARIANTS)
    for key, binding in bindings().items():
        assert isinstance(binding, Binding) or len(binding.why) > 60, key


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_the_numbers_of_a_schedule_are_those_of_its_theorems(name: str, variant: str) -> None:
    assert differences(name, variant) == []
    binding = bindings()[name, variant]
    if isinstance(binding, Binding):
        assert len({tuple(number.at.items()) for number in binding.numbers()}) >= 4  # settings


def half_the_noise(G: float, n: int, T: int, epsilon: float, delta: float) -> float:
    return float(4 * G * np.sqrt(T * np.log(1 / delta)) / (n * epsilon))


MADE = Saddle.schedule.__func__  # type: ignore[attr-defined]
FAULTS: dict[str, tuple[Any, str, Any, str]] = {
    "half the noise": (dp_sgda, "printed_noise", half_the_noise, "dp_sgda"),
    "half the smoothness": (dp_sgda, "smoothness_for_eta", lambda problem: problem.smoothness / 2, "dp_sgda"),
    "minibatches of one": (dp_sgda, "printed_batch", lambda n, steps, epsilon: 1, "dp_sgda"),
    "twice M": (
        dp_rgda.EmpiricalPrinted, "M", lambda schedule, name: 2 * schedule.problem.lipschitz_w, "dp_rgda"),
    "one accuracy for another": (
        Saddle, "schedule",
        classmethod(lambda cls, *given: [row | {"energy": 100 * row["energy"]} for row in MADE(cls, *given)]),
        "minimax_output_perturbation"),
    "three steps": (privatediff, "ascent_steps", lambda problem, inner, repaired: np.ones(3), "privatediff"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_a_schedule_is_seen(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, attribute, wrong, name = FAULTS[fault]
    monkeypatch.setattr(module, attribute, wrong)
    assert differences(name, "as_printed")


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
def test_a_fault_in_a_theorem_is_seen(letter: str, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promises, "catalogued", scaled(letter, 1.05))
    assert [name for name in names if not differences(name, "as_printed")] == []


def test_a_number_says_from_which_theorem_it_differs_where_and_by_what_factor() -> None:
    shown = str(Number("eta", 0.25, "paper.theorem_9", 1.0, {"n": 100}))
    for part in ("eta", "0.25", "paper.theorem_9", "n = 100"):
        assert part in shown
