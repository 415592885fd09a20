"""The stage: a finding for each problem that an algorithm's checks run on."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from dpcheck.checks.closed_forms.forms import Compared, comparisons
from dpcheck.checks.constants import PROBLEMS_OF
from dpcheck.checks.place import place_of
from dpcheck.errors import InputError, raised
from dpcheck.problems import example
from dpcheck.report.findings import Finding


def closed_forms(name: str) -> Iterator[Finding]:
    """Check the closed forms of every problem that algorithm ``name`` runs on."""
    for chosen in PROBLEMS_OF.get(name, ()):
        yield of_problem(name, chosen, example(chosen))


def of_problem(name: str, chosen: str, problem: Any) -> Finding:
    """Say whether each form that the problem declares is what the numerical route finds; the first that is not."""
    largest: dict[str, float] = {}
    wrong: Compared | None = None
    try:
        for each in comparisons(problem):
            if each.differs and wrong is None:
                wrong = each
            largest[each.form] = max(largest.get(each.form, 0.0), each.off)
    except (InputError, ArithmeticError, ValueError) as error:  # a form that refuses the problem's own example
        form = _raising(problem, error)
        wrong = wrong or Compared(form, form.replace("_", " "), math.inf, f"stops with {raised(error)}")
    words = ", ".join(form.replace("_", " ") for form in largest)
    return Finding(
        f"{name}.closed_forms.{chosen}", "utility", f"closed forms of the problem {chosen}",
        "violated" if wrong else "consistent",
        f"The {wrong.words} of {chosen} {wrong.told}." if wrong else f"By a numerical route: {words}.",
        evidence={"largest difference, relative": largest},
        place=place_of(_code(problem, wrong.form if wrong else "value")),
    )  # fmt: skip


def _raising(problem: Any, error: BaseException) -> str:
    """Return the problem's own function that an error came from."""
    names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    return next((name for name in reversed(names) if hasattr(type(problem), name)), "value")


def _code(problem: Any, form: str) -> Callable[..., Any]:
    """Return the function that computes a form of this problem."""
    found = getattr(type(problem), form, None)
    found = getattr(found, "fget", found)
    return found if callable(found) else type(problem).gradient  # type: ignore[no-any-return]
