"""Schedules against theorems: each number that an algorithm sets is the registered theorem's, at several settings.

One file a paper says which number of an algorithm is which letter of a theorem. A repaired variant is compared as far
as a theorem describes it; what no theorem gives is named.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator

from dpcheck.bounds.registry import PAPERS
from dpcheck.checks.place import place_of_schedule
from dpcheck.checks.schedules.comparison import Binding, compared
from dpcheck.report.findings import Finding
from dpcheck.solvers import algorithm


def schedules(name: str) -> Iterator[Finding]:
    """Yield a finding for each variant: whether its numbers are those of its theorems."""
    chosen = algorithm(name)
    found = bindings()
    for variant in chosen.variants:
        yield compared(name, variant, found.get((name, variant)), place_of_schedule(chosen, variant))


def bindings() -> dict[tuple[str, str], Binding]:
    """Return for each algorithm and variant what of it a theorem gives."""
    modules = (importlib.import_module(f"{__name__}.{paper}") for paper in PAPERS)
    return {key: binding for module in modules for key, binding in module.BINDINGS.items()}
