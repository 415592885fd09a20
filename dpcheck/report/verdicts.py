"""How verdicts and epsilons are written, on every surface: words, signs, colours and figures."""

from __future__ import annotations

from typing import Literal

from rich.text import Text

from dpcheck.report.results import BROKEN, Finding

Standing = Literal["good", "broken", "conditional", "undecided"]

_GOOD = frozenset({"consistent", "proved", "supported"})
_SIGNS: dict[Standing, str] = {"good": "✓", "broken": "✗", "conditional": "•", "undecided": "?"}
COLOURS: dict[Standing, str] = {"good": "green", "broken": "bold red", "conditional": "yellow", "undecided": "magenta"}


def standing(verdict: str) -> Standing:
    """Return what a verdict says of a guarantee, whatever was expected: a leak is never ``good``."""
    if verdict in _GOOD:
        return "good"
    if verdict in BROKEN:
        return "broken"
    return "conditional" if verdict == "conditional" else "undecided"


def sign(verdict: str) -> str:
    """Return the sign that stands before a verdict, so that colour is never all that tells them apart."""
    return _SIGNS[standing(verdict)]


def colour(verdict: str) -> str:
    """Return the terminal's colour of a verdict."""
    return COLOURS[standing(verdict)]


def surprise(finding: Finding) -> str:
    """Return what was expected in place of a finding; nothing where none is: a broken guarantee speaks for itself."""
    alone = finding.verdict in BROKEN and finding.expected is None and finding.certificate_ok
    return "" if finding.ok or alone else finding.surprise


def format_number(value: float | int | None) -> str:
    """Print a figure for people: three or four digits, empty for None."""
    if value is None:
        return ""
    if isinstance(value, int):
        return str(value)
    if value != 0 and (abs(value) < 1e-3 or abs(value) >= 1e5):
        return f"{value:.2e}"
    return f"{value:.4g}" if abs(value) >= 1 else f"{value:.3f}"


def cells(f: Finding) -> tuple[str | Text, ...]:
    """Return a finding's sandwich: audited <= certified <= claimed, and the slack."""
    return (
        format_number(f.audited), _order(f.audited, f.certified), format_number(f.certified),
        _order(f.certified, f.claimed), format_number(f.claimed), "" if f.slack is None else f"{f.slack:.2f}x",
    )  # fmt: skip


def in_words(f: Finding) -> str:
    """Write a finding's numbers on a line: audited 0.1 <= certified 1 <= claimed 1."""
    line, before = "", None
    for name, value in (("audited", f.audited), ("certified", f.certified), ("claimed", f.claimed)):
        if value is not None:
            line += f" {_order(before, value)} " * (before is not None) + f"{name} {format_number(value)}"
            before = value
    further = [] if f.slack is None else [f"slack {f.slack:.2f}x"]
    if bound := family(f):
        further.append(f"family {format_number(bound)}")
    return line + f"  ({', '.join(further)})" * bool(further)


def family(finding: Finding) -> float | None:
    """Return the lower bound that assumes the certified mechanism at some factor on its noise, where there is one."""
    bound: float | None = finding.evidence.get("within the claimed family", {}).get("epsilon")
    return bound


def _order(left: float | None, right: float | None) -> Text:
    if left is None or right is None:
        return Text()
    return Text("<=") if left <= right else Text(">", colour("violated"))
