"""The epsilons of a finding, and other figures, as people read them."""

from __future__ import annotations

from rich.text import Text

from dpcheck.report.results import Finding
from dpcheck.report.verdicts import colour


def number(value: float | int | None) -> str:
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
        number(f.audited), _order(f.audited, f.certified), number(f.certified), _order(f.certified, f.claimed),
        number(f.claimed), "" if f.slack is None else f"{f.slack:.2f}x",
    )  # fmt: skip


def in_words(f: Finding) -> str:
    """Write a finding's numbers on a line: audited 0.1 <= certified 1 <= claimed 1."""
    line, before = "", None
    for name, value in (("audited", f.audited), ("certified", f.certified), ("claimed", f.claimed)):
        if value is not None:
            line += f" {_order(before, value)} " * (before is not None) + f"{name} {number(value)}"
            before = value
    further = [] if f.slack is None else [f"slack {f.slack:.2f}x"]
    if bound := family(f):
        further.append(f"family {number(bound)}")
    return line + f"  ({', '.join(further)})" * bool(further)


def family(finding: Finding) -> float | None:
    """Return the lower bound that assumes the certified mechanism at some factor on its noise, where there is one."""
    found: float | None = finding.evidence.get("within the claimed family", {}).get("epsilon")
    return found


def _order(left: float | None, right: float | None) -> Text:
    if left is None or right is None:
        return Text()
    return Text("<=") if left <= right else Text(">", colour("violated"))
