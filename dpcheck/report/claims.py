"""Verdicts on claims for a person at a terminal: a table, or everything about each."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence
from textwrap import shorten

from rich.console import Console
from rich.table import Table

from dpcheck.bounds.claim import ClaimResult
from dpcheck.bounds.registry import PAPERS
from dpcheck.bounds.source import place

_COLORS = {"proved": "green", "refuted": "red", "conditional": "yellow", "unresolved": "magenta"}


def table(results: Sequence[ClaimResult], *, color: bool, width: int) -> str:
    """Tabulate claims, one a row: verdict, method, seconds, critical constant or counterexample, who vouches, place."""
    rows = Table(box=None, pad_edge=False)
    for heading in (
        "claim",
        "verdict",
        "method",
        "s",
        "critical constant or counterexample",
        "checked by",
        "place in the paper",
    ):
        rows.add_column(heading, justify="right" if heading == "s" else "left", overflow="fold")
    for result in results:
        verdict = f"[{_COLORS[result.verdict]}]{result.verdict}[/]"
        shown = (result.claim.id, verdict, result.method, f"{result.seconds:.1f}", _crux(result),
                 result.trust, result.claim.location)  # fmt: skip
        rows.add_row(*(part if part is verdict else part.replace("[", r"\[") for part in shown))
    buffer = io.StringIO()
    Console(file=buffer, force_terminal=color, width=width, highlight=False).print(rows)
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines())


def explanation(result: ClaimResult) -> str:
    """The statement, the verdict and every step, in plain text and LaTeX."""
    claim, evidence = result.claim, result.evidence
    lines = [f"{claim.id}  {result.verdict}  ({result.method}, {result.seconds:.1f} s)"]
    lines += [f"  Basis: {result.basis}; steps: {result.trust}"]
    lines += [f"  {claim.paper}, {claim.location}", f"  Claim: {claim.statement}", f"  Verdict: {result.note}"]
    if claim.paper in PAPERS:
        lines.append(f"  Code: {place(claim)}")
    lines += [f"  Reading: {reading}: {verdict}" for reading, verdict in evidence["readings"].items()]
    for name in ("condition", "repaired"):
        if evidence[name]:
            lines.append(f"  {name.capitalize()}: {evidence[name]}")
    for number, step in enumerate(evidence["steps"], 1):
        lines += [f"  {number}. [{step['kind']}, {step['trust']}] {step['says']}", f"       {step['formula']}"]
        if step["kind"] != "cited":
            lines.append(f"       ${step['latex']}$")
        if "tightness" in step:
            lines.append(f"       {_room(step['tightness'])}")
        for query in step.get("queries", ()):
            lines += ["       z3 finds no model of this; `z3 -in` can be asked again:"]
            lines += [f"         {line}" for line in query.splitlines()]
    return "\n".join(lines)


def summary(results: Sequence[ClaimResult], changed: Sequence[ClaimResult] | None, seconds: float) -> str:
    """Say the counts, the time, and whether each verdict is the expected one (``None``: none is expected)."""
    counts = Counter[str](result.verdict for result in results)
    shown = ", ".join(f"{counts[verdict]} {verdict}" for verdict in _COLORS if counts[verdict])
    line = f"{len(results)} claim{'s' * (len(results) != 1)}: {shown}; {seconds:.1f} s"
    if changed is None:
        return line
    if not changed:
        return f"{line}; every verdict is the expected one"
    return f"{line}; not as recorded: {', '.join(f'{each.claim.id} ({each.verdict})' for each in changed)}"


def _crux(result: ClaimResult) -> str:
    if result.verdict == "unresolved":
        return result.note
    if result.verdict == "proved" and result.rooms:
        return "; ".join(_room(room) for room in result.rooms if room["constant"])
    return shorten(result.counterexamples[0], 160, placeholder=" ...") if result.counterexamples else ""


def _room(room: dict[str, object]) -> str:
    """Say how tight a constant is."""
    return str(room["says"]) if room["critical"] is not None else f"{room['printed']:g}: {room['says']}"
