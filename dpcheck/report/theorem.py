"""A theorem for a person at a terminal, and its numbers at given sizes."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator

from dpcheck.bounds.claim import Claim
from dpcheck.bounds.ledger import recorded
from dpcheck.bounds.registry import carrying
from dpcheck.bounds.theorem import Theorem
from dpcheck.errors import InputError
from dpcheck.report.verdicts import sign


def describe(theorem: Theorem, values: dict[str, float]) -> str:
    """Describe what a theorem promises and on which assumptions; with ``values``, also what that is there.

    Words keep within 80 columns; a formula stays on its line, to be copied.

    Raises InputError for values outside its region.
    """
    lines = [*_wrapped(f"{theorem.id}: {theorem.title}", ""), *_wrapped(f"{theorem.paper}, {theorem.location}"), ""]
    verb = "promises" if theorem.bound_formula is None else "bounds"
    lines += _wrapped(f"It {verb} {theorem.quantity}.", "")
    tested = [assumption for assumption in theorem.assumptions if assumption.relation is not None]
    for heading, assumptions in (
        ("Assumptions", theorem.conditions),
        ("Region, outside which numbers are refused", tested),
    ):
        if assumptions:
            lines += ["", heading] + [line for assumption in assumptions for line in _wrapped(str(assumption))]
    letters = max((len(str(parameter.symbol)) for parameter in theorem.parameters), default=0)
    lines += ["", "Parameters"]
    for parameter in theorem.parameters:
        lines += _wrapped(f"{parameter.symbol!s:<{letters}}  {parameter.meaning}")
    for heading, formulas in (("Schedule", theorem.schedule_formulas), ("Noise", theorem.noise_formulas)):
        if formulas:
            lines += ["", heading] + [f"  {symbol} = {formula}" for symbol, formula in formulas]
    if theorem.rate is not None:
        lines += ["", f"Rate\n  {theorem.rate}"]
    if theorem.bound_formula is not None:
        lines += ["", f"Bound\n  {theorem.bound_formula}"]
    if values:
        lines += ["", *_wrapped("At " + ", ".join(f"{name} = {value:g}" for name, value in values.items()), "")]
        lines += _numbers(theorem, values)
    return "\n".join([*lines, "", *_why(theorem)])


def _why(theorem: Theorem) -> list[str]:
    """What is decided of the statement, and the commands that show every step."""
    decided = [
        (claim, recorded().get(claim.id, {}).get("verdict", "not decided yet")) for claim in carrying(theorem.id)
    ]
    if not decided:
        return _wrapped(
            "Why: no claim of the catalogue carries its formulas, so that it is stated and not decided.", ""
        )
    lines = ["Why (the expected verdicts on its claims; the command decides each again)"]
    for claim, verdict in decided:
        lines += _wrapped(f"{sign(verdict)} {verdict}  {claim.location}")
        if verdict != "proved":
            lines += _reasons(claim)
        lines.append(f"      dpcheck prove {shlex.quote(claim.id)} --explain")
    return lines


def _reasons(claim: Claim) -> Iterator[str]:
    """What fails or is missing, and what can be saved, in the catalogue's words, of which no step is recomputed."""
    decision = claim.decision()
    named = (("On the condition: ", decision.evidence.condition), ("Repaired: ", decision.evidence.repaired))
    for head, text in (("", decision.note), *named):
        if text:
            yield from textwrap.wrap(
                head + text, 80, initial_indent=" " * 6, subsequent_indent=" " * 6, break_on_hyphens=False
            )


def _numbers(theorem: Theorem, values: dict[str, float]) -> list[str]:
    """Return each quantity that these values determine; the error where they determine none."""
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


def _wrapped(text: str, indent: str = "  ") -> list[str]:
    """Wrap a text into lines of at most 80 columns, those after the first one further in."""
    return textwrap.wrap(text, 80, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False)
