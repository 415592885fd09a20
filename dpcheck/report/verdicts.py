"""What a verdict's word means to a reader: one class, one sign and one colour for each, on every surface."""

from __future__ import annotations

from typing import Literal

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
