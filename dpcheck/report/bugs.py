"""The catalogue of bugs for a reader: at a terminal and as a page."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby

from dpcheck.audits.bugs.bug import Bug, Examination
from dpcheck.report.html import STYLE

_WIDTH = 100
_CODE = ".pair { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem } .pair pre { font-size: .8rem }"


def listing(bugs: Sequence[Bug]) -> str:
    """List the bugs by family, one a line: id, title, what catches it."""
    lines = []
    width = max(len(bug.id) for bug in bugs)
    for family, members in groupby(bugs, lambda bug: bug.family):
        lines.append(f"{family}:")
        lines += [f"  {bug.id:<{width}}  {bug.title}  [{bug.tester.name}]" for bug in members]
    return "\n".join(lines)


def explanation(found: Examination) -> str:
    """The bug, both versions of the code, and what the audit saw of each."""
    bug = found.bug
    lines = [f"{bug.id}: {bug.title}", *_wrapped(f"Source: {bug.source}"), "", *_wrapped(bug.explanation), ""]
    lines += _wrapped(f"Claimed: {bug.tester.promise}")
    if bug.shared:
        lines += ["", textwrap.indent(bug.shared, "    ")]
    for name, code, outcome in zip(("broken", "fixed"), bug.code, (found.broken, found.fixed), strict=True):
        lines += ["", textwrap.indent(code.rstrip(), "    "), "", *_wrapped(f"{name}: {outcome.verdict}")]
        lines += _wrapped(f"{bug.tester.name}: {outcome.evidence}")
    return "\n".join(lines)


def page(bugs: Sequence[Bug], found: Mapping[str, Examination]) -> str:
    """A self-contained HTML page of ``bugs``, with verdicts where they are ``found`` by id."""
    rows = "".join(
        f'<tr><td><a href="#{bug.id}">{bug.id}</a></td><td>{escape(bug.title)}</td><td>{bug.family}</td>'
        f"<td>{bug.tester.name}</td></tr>"
        for bug in bugs
    )
    title = "dpcheck: bugs that broke privacy, and their fixed twins"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}{_CODE}</style></head>'
        f"<body><h1>{title}</h1><table><tr><th>id</th><th>bug</th><th>family</th><th>caught by</th></tr>{rows}</table>"
        f"{''.join(_section(bug, found.get(bug.id)) for bug in bugs)}</body></html>\n"
    )


def _section(bug: Bug, found: Examination | None) -> str:
    outcomes = (None, None) if found is None else (found.broken, found.fixed)
    halves = []
    for name, code, outcome, expected in zip(("broken", "fixed"), bug.code, outcomes, (True, False), strict=True):
        said = ""
        if outcome is not None:
            right = (outcome.verdict == "violated") == expected
            said = f'<p class="{"ok" if right else "bad"}">{outcome.verdict}</p>'
            said += f"<p><small>{escape(outcome.evidence)}</small></p>"
        halves.append(f"<div><h3>{name}</h3><pre>{escape(code.rstrip())}</pre>{said}</div>")
    return (
        f'<h2 id="{bug.id}">{escape(bug.title)}</h2><p>{escape(bug.explanation)}</p>'
        f"<p>Claimed: {escape(bug.tester.promise)}. Caught by <code>dpcheck.{bug.tester.name}</code>. "
        f"<small>Source: {escape(bug.source)}.</small></p>"
        f'{f"<pre>{escape(bug.shared)}</pre>" if bug.shared else ""}<div class="pair">{"".join(halves)}</div>'
    )


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="  ")
