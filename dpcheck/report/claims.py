"""Verdicts on claims for a person at a terminal: a row each, or everything about each."""

from __future__ import annotations

import io
import shlex
from collections import Counter
from collections.abc import Sequence
from textwrap import shorten

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpcheck.bounds.claim import ClaimResult, place
from dpcheck.bounds.registry import PAPERS
from dpcheck.report.columns import paragraph, say, wrapped
from dpcheck.report.verdicts import colour, sign

_NARROW = 100  # columns below which rows are stacked
_ORDER = ("refuted", "unresolved", "conditional", "proved")
_HEADINGS = {
    "claim": "claim", "verdict": "verdict", "method": "method", "seconds": "s",
    "crux": "critical constant or counterexample", "trust": "checked by", "location": "place in the paper",
}  # fmt: skip


def table(results: Sequence[ClaimResult], *, color: bool, width: int, file: str | None = None) -> str:
    """Tabulate claims, one a row: verdict, method, seconds, critical constant or counterexample, who vouches, place.

    Below 100 columns they are stacked, each with the command that explains it; claims of one's own are in ``file``.
    """
    explain = "dpcheck prove {} --explain"
    buffer = io.StringIO()
    console = Console(file=buffer, force_terminal=color, width=width, highlight=False)
    if width < _NARROW:
        for result in results:
            _stacked(result, explain.format(shlex.quote(file or result.claim.id)), console)
    else:
        console.print(_table(results))
        say(console, "")
        say(
            console,
            Text.assemble("Every step of one: ", (explain.format(shlex.quote(file or results[0].claim.id)), "cyan")),
        )
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines())


def _table(results: Sequence[ClaimResult]) -> Table:
    found = Table(box=None, pad_edge=False)
    for heading in _HEADINGS.values():
        found.add_column(heading, justify="right" if heading == "s" else "left", overflow="fold")
    for each in results:
        found.add_row(
            Text(each.claim.id), _word(each), Text(each.method), f"{each.seconds:.1f}", Text(_crux(each)),
            Text(each.trust), Text(each.claim.location),
        )  # fmt: skip
    return found


def _stacked(result: ClaimResult, command: str, console: Console) -> None:
    say(console, _word(result).append(f"  {result.claim.id}", "bold"))
    paragraph(console, f"{result.claim.location}: {result.claim.statement}", first="    ")
    if crux := _crux(result):
        paragraph(console, crux, first="    ")
    say(console, Text(f"    {command}", "cyan"))


def _word(result: ClaimResult) -> Text:
    return Text(f"{sign(result.verdict)} {result.verdict}", colour(result.verdict))


def explanation(result: ClaimResult, width: int = 100) -> str:
    """The verdict, the statement, what breaks or saves it, and every step, in plain text and LaTeX.

    Words keep within ``width`` columns; a formula stays on its line, to be copied.
    """
    claim, evidence = result.claim, result.evidence
    lines = wrapped(
        f"{claim.id}  {sign(result.verdict)} {result.verdict}  ({result.method}, {result.seconds:.1f} s)", width
    )
    said = [("", f"{claim.paper}, {claim.location}"), ("Claim: ", str(claim.statement)), ("Verdict: ", result.note)]
    said += [(f"{name.capitalize()}: ", evidence[name]) for name in ("condition", "repaired") if evidence[name]]
    said += [("Reading: ", f"{reading}: {verdict}") for reading, verdict in evidence["readings"].items()]
    said += [("Basis: ", f"{result.basis}; steps: {result.trust}")]
    said += [("Code: ", place(claim))] if claim.paper in PAPERS else []
    lines += [line for head, text in said for line in wrapped(f"  {head}{text}", width)]
    for number, step in enumerate(evidence["steps"], 1):
        lines += wrapped(f"  {number}. [{step['kind']}, {step['trust']}] {step['says']}", width)
        lines.append(f"       {step['formula']}")
        if step["kind"] != "cited":
            lines.append(f"       ${step['latex']}$")
        if "tightness" in step:
            lines.append(f"       {_room(step['tightness'])}")
        for query in step.get("queries", ()):
            lines += ["       z3 finds no model of this; `z3 -in` can be asked again:"]
            lines += [f"         {line}" for line in query.splitlines()]
    return "\n".join(lines)


def summary(results: Sequence[ClaimResult], changed: Sequence[ClaimResult] | None, seconds: float) -> str:
    """Say what was found and, on a line of its own, whether each verdict is the expected one (``None``: none is)."""
    counts = Counter[str](result.verdict for result in results)
    shown = ", ".join(f"{counts[verdict]} {verdict}" for verdict in _ORDER if counts[verdict])
    line = f"Result:     {len(results)} claim{'s' * (len(results) != 1)}: {shown}; {seconds:.1f} s"
    if changed is None:
        return line
    moved = ", ".join(f"{each.claim.id} ({each.verdict})" for each in changed)
    count = f"{len(changed)} verdict{'s' * (len(changed) != 1)} changed: "
    return f"{line}\nRegression: {count + moved if changed else 'as expected'}"


def _crux(result: ClaimResult) -> str:
    if result.verdict == "unresolved":
        return result.note
    if result.verdict == "proved" and result.rooms:
        return "; ".join(_room(room) for room in result.rooms if room["constant"])
    return shorten(result.counterexamples[0], 160, placeholder=" ...") if result.counterexamples else ""


def _room(room: dict[str, object]) -> str:
    """Say how tight a constant is."""
    return str(room["says"]) if room["critical"] is not None else f"{room['printed']:g}: {room['says']}"
