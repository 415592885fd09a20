"""A theorem for a person at a terminal, and its numbers at given sizes."""

from __future__ import annotations

from dpcheck.bounds.theorem import Theorem
from dpcheck.errors import InputError


def describe(theorem: Theorem, values: dict[str, float]) -> str:
    """What it promises and on which assumptions; with ``values``, also what that is there.

    Raises InputError for values outside its region.
    """
    lines = [f"{theorem.id}: {theorem.title}", f"  {theorem.paper}, {theorem.location}", ""]
    verb = "promises" if theorem.bound_formula is None else "bounds"
    lines += [f"It {verb} {theorem.quantity}."]
    lines += ["", "Assumptions"] + [f"  {sentence}" for sentence in theorem.region]
    lines += ["", "Parameters"] + [f"  {parameter.symbol!s:<8} {parameter.meaning}" for parameter in theorem.parameters]
    for heading, formulas in (("Schedule", theorem.schedule_formulas), ("Noise", theorem.noise_formulas)):
        if formulas:
            lines += ["", heading] + [f"  {symbol} = {formula}" for symbol, formula in formulas]
    if theorem.rate is not None:
        lines += ["", f"Rate\n  {theorem.rate}"]
    if theorem.bound_formula is not None:
        lines += ["", f"Bound\n  {theorem.bound_formula}"]
    if values:
        lines += ["", "At " + ", ".join(f"{name} = {value:g}" for name, value in values.items())]
        lines += _numbers(theorem, values)
    return "\n".join(lines)


def _numbers(theorem: Theorem, values: dict[str, float]) -> list[str]:
    """Each quantity that these values determine; the error where they determine none."""
    lines: list[str] = []
    errors: list[InputError] = []
    for method in (theorem.schedule, theorem.noise, theorem.bound):
        try:
            found = method(**values)
        except InputError as error:
            errors.append(error)
            continue
        shown = found if isinstance(found, dict) else {"bound": found}
        lines += [f"  {key} = {value:g}" for key, value in shown.items()]
    if not lines:
        raise errors[0]
    return lines
