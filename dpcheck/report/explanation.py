"""Everything about one finding for a person at a terminal: what was found, where, and the evidence."""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from dpcheck.errors import InputError
from dpcheck.report.columns import wrapped
from dpcheck.report.results import Finding, Results
from dpcheck.report.verdicts import sign, surprise

_LONG = 8  # numbers of a list beyond which only their count and the first are shown


def explanations(report: Results, ids: Sequence[str], *, width: int = 100) -> str:
    """Explain the findings with these ids.

    Raises InputError for an id that no finding has.
    """
    known = {f.id: f for f in report.findings}
    for id in ids:
        if id not in known:
            near = difflib.get_close_matches(id, known) or list(known)[:3]
            raise InputError(f"--explain must name a finding (perhaps {', '.join(near)}), got {id}")
    return "\n\n".join(explanation(known[id], width) for id in ids)


def explanation(finding: Finding, width: int) -> str:
    """Say all that is known of a finding, each of its parts under a word."""
    f = finding
    state = "as expected" if f.ok and f.expected else surprise(f)
    lines = [f.id, f"{sign(f.verdict)} {f.verdict}{f' ({state})' * bool(state)}"]
    epsilons = [
        f"{name} {value:.4g}"
        for name, value in (("audited", f.audited), ("certified", f.certified), ("claimed", f.claimed))
        if value is not None
    ]
    for name, text in (("What", f.subject), ("Found", f.reason), ("Epsilon", ", ".join(epsilons)), ("Code", f.place)):
        if text:
            lines += textwrap.wrap(
                text, width, initial_indent=f"  {name + ':':<9}", subsequent_indent=" " * 11, break_on_hyphens=False,
                break_long_words=False,
            )  # fmt: skip
    if f.evidence:
        lines.append("  Evidence:")
        for line in _readable(f.evidence):
            lines += [piece for part in line.splitlines() or [""] for piece in wrapped(f"    {part}", width)]
    return "\n".join(lines)


def _readable(value: Any, name: str = "") -> Iterator[str]:
    """A nested value as indented lines, ``name: value``."""
    head = f"{name}: " if name else ""
    if isinstance(value, dict):
        inner = "  " if name else ""
        if name:
            yield f"{name}:"
        for key, item in value.items():
            yield from (inner + line for line in _readable(item, str(key)))
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for number, item in enumerate(value, 1):
            yield from _readable(item, f"{name} {number}")
    elif isinstance(value, list):
        shown = ", ".join(map(_short, value[:_LONG]))
        yield f"{head}{shown}{f', ... ({len(value)} in all)' * (len(value) > _LONG)}"
    else:
        yield head + _short(value)


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
