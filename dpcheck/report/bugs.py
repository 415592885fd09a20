"""The catalogue of bugs for a reader: at a terminal and as a page."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from dpcheck import __version__
from dpcheck.audits.bugs.bug import Bug, Examination
from dpcheck.report.columns import listed
from dpcheck.report.template import fill
from dpcheck.report.verdicts import sign, standing

_WIDTH = 100


def listing(bugs: Sequence[Bug], width: int = _WIDTH) -> str:
    """List the bugs by family: id, title, what catches it."""
    lines = []
    longest = max(len(bug.id) for bug in bugs)
    for family, members in groupby(bugs, lambda bug: bug.family):
        entries = [(bug.id, f"{bug.title} [{bug.tester.name}]") for bug in members]
        lines += [f"{family}:", *listed(entries, width, longest=longest)]
    return "\n".join(lines)


def explanation(examination: Examination, width: int = _WIDTH) -> str:
    """The bug, what the audit says of it and of its fixed twin, then both versions of the code with the evidence."""
    bug = examination.bug

    def _wrapped(text: str) -> list[str]:
        return textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="  ")

    lines = textwrap.wrap(f"{bug.id}: {bug.title}", width, subsequent_indent="  ")
    lines += _wrapped(
        f"Result: {sign(examination.broken.verdict)} the bug is {examination.broken.verdict}; "
        f"{sign(examination.fixed.verdict)} its fixed twin is {examination.fixed.verdict}"
    )
    lines += [*_wrapped(f"Source: {bug.source}"), "", *_wrapped(bug.explanation), ""]
    lines += _wrapped(f"Claimed: {bug.tester.promise}")
    if bug.shared:
        lines += ["", textwrap.indent(bug.shared, "    ")]
    for name, code, outcome in zip(("broken", "fixed"), bug.code, (examination.broken, examination.fixed), strict=True):
        lines += ["", textwrap.indent(code.rstrip(), "    "), "", *_wrapped(f"{name}: {outcome.verdict}")]
        lines += _wrapped(f"{bug.tester.name}: {outcome.evidence}")
    return "\n".join(lines)


def page(bugs: Sequence[Bug], examinations: Mapping[str, Examination]) -> str:
    """A self-contained HTML page of ``bugs``, with verdicts where their examinations are given, by id."""
    halves = {bug.id: _halves(bug, examinations.get(bug.id)) for bug in bugs}
    leaks = sum(examination.broken.verdict == "violated" for examination in examinations.values())
    changed = [bug.id for bug in bugs if not all(half["right"] for half in halves[bug.id])]
    result = f"{leaks} of {len(examinations)} planted bugs break their promise, as their audits show."
    return fill(
        "bugs.html", title="Bugs that broke privacy, and their fixed twins", version=__version__, bugs=bugs,
        families=[(family, list(members)) for family, members in groupby(bugs, lambda bug: bug.family)],
        halves=halves, leaks=leaks, changed=changed,
        result=result if examinations else "",
        badge=f"{len(changed)} bugs changed" if changed else "as expected",
    )  # fmt: skip


def _halves(bug: Bug, examination: Examination | None) -> list[dict[str, Any]]:
    """Both versions of a bug's code; a violation is never good, though it is what is expected of the broken one."""
    outcomes = (None, None) if examination is None else (examination.broken, examination.fixed)
    return [
        {
            "name": name, "code": code.rstrip(), "outcome": outcome,
            "tone": standing(outcome.verdict) if outcome else "", "sign": sign(outcome.verdict) if outcome else "",
            "right": outcome is None or (outcome.verdict == "violated") == expected,
        }
        for name, code, outcome, expected in zip(("broken", "fixed"), bug.code, outcomes, (True, False), strict=True)
    ]  # fmt: skip
