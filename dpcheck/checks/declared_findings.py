"""Findings about an algorithm of somebody else's."""

from __future__ import annotations

from typing import Any

from dpcheck.algorithms.declaration import Algorithm
from dpcheck.checks.place import place_of, shown_place
from dpcheck.report.findings import Finding


def finding(own: Algorithm, what: str, kind: str, subject: str, verdict: str, reason: str, **fields: Any) -> Finding:
    """Return a finding about the algorithm's own code, unless ``place`` is given."""
    place = fields.pop("place", None) or place_of(own.code)
    return Finding(f"{own.name}.{what}", kind, f"{own.name}: {subject}", verdict, reason, place=place, **fields)


def not_checked(own: Algorithm, what: str, kind: str, subject: str, reason: str) -> Finding:
    """Return the finding of a stage that does not apply, and what to declare for it."""
    return finding(own, what, kind, subject, "not checked", reason, place=shown_place(own.place))
