"""Where a configuration is not its theorem's schedule: a sentence for each override that changes a number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dpcheck.errors import InputError
from dpcheck.problems.problem import Problem
from dpcheck.solvers.solver import Solver


def departures(
    configured: Solver, problem: Problem, epsilon: float, delta: float, variant: str, overrides: dict[str, Any]
) -> Iterator[str]:  # fmt: skip
    """Name each override that is another value than the schedule has by itself.

    A number is compared with the schedule of the theorem, sampling and output that were chosen; a word with the
    schedule that has no overrides at all.
    """
    given = {option: value for option, value in overrides.items() if value is not None}
    chosen = {option: given.pop(option) for option in configured.choices if option in given}
    words = {option: value for option, value in given.items() if isinstance(value, str)}
    numbers = [option for option in given if option not in words]
    for options, others in ((words, chosen), (numbers, chosen | words)):
        if not options:
            continue
        try:
            schedule = type(configured).configure(
                problem, epsilon=epsilon, delta=delta, variant=variant, **others | {"private": False}
            )
        except (InputError, ArithmeticError):
            yield f"the schedule by itself has no numbers for this problem; given: {', '.join(options)}"
            continue
        for option in options:
            value, own = said(_of(configured, option, problem, given)), said(schedule.setting(option, problem))
            if value != own:
                yield f"{option} = {value}, where the schedule by itself has {own}"


def _of(configured: Solver, option: str, problem: Problem, given: dict[str, Any]) -> Any:
    """Return what a run has of an option: as its configuration keeps it, which may be a vector, or else as given."""
    return configured.setting(option, problem) if configured.keeps(option) else given[option]


def said(value: Any) -> str:
    """Print a number in six digits, a schedule that varies by its ends, a word as it is."""
    if isinstance(value, str) or value is None:
        return str(value).lower()
    values = np.atleast_1d(np.asarray(value, dtype=float))
    first, last = f"{values[0]:.6g}", f"{values[-1]:.6g}"
    return first if (values == values[0]).all() else f"{first} to {last}"
