"""No number of a schedule is left out: each that it declares is changed in turn, and a formula or a theorem sees it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from slices import first

from dpcheck.algorithms.schedule import Number
from dpcheck.errors import InputError
from dpcheck.solvers import ALGORITHMS, algorithm
from reference.defaults import DEFAULTS, compared
from reference.schedules import Binding, bindings

SCHEDULED = [
    (name, variant)
    for name in ALGORITHMS
    if not hasattr(algorithm(name), "schedule")  # a list of phases, which is replayed as a whole
    for variant in algorithm(name).variants
]
# What no formula gives, besides the switch ``private``.
UNSEEN = {
    "dp_rgda": {"C", "D_bar", "escapes", "eta_H", "failure", "r", "t_thres"},  # the escape, which lemmas only bound
    "dp_sgda": {"pl", "theorem"},  # which theorem, and a constant of the problem that its user knows
    "nispp": {"most"},  # gradients after which a base solver gives up
    "privatediff": {"M", "eta_x", "sensitivity_y"},  # of the repair, which depend on its noise
}


@pytest.mark.parametrize(("name", "variant"), first(6, SCHEDULED))
def test_every_number_of_a_schedule_is_compared(name: str, variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = algorithm(name).schedule_of(variant, {})
    numbers = {each: getattr(schedule, each) for each in dir(schedule)}
    unseen = set()
    for label, number in numbers.items():
        if not isinstance(number, Number):
            continue
        with monkeypatch.context() as patch:
            patch.setattr(number, "own", lambda schedule, own=number.own: other(own(schedule)))
            if not any(differences(name, variant)):
                unseen.add(label)
    assert unseen <= UNSEEN.get(name, set()) | {"private"}


def other(value: Any) -> Any:
    """Return another value of the same kind; a switch and nothing stay."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, str):
        return f"not {value}"
    if isinstance(value, int):
        return value + 1
    return value * 1.1 if np.isfinite(value).all() else 1.0 if math.isinf(value) else value


def differences(name: str, variant: str) -> Iterator[object]:
    """Yield what is seen, by the formulas and then by the theorems."""
    try:
        if name in DEFAULTS:
            yield from compared(name)
        binding = bindings()[name, variant]
        if isinstance(binding, Binding):
            yield from (number for number in binding.numbers() if not number.same)
    except (InputError, ValueError, KeyError) as error:  # such a number is refused
        yield error
