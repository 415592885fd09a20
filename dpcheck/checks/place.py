"""The file and line of the code that a finding is about."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dpcheck.bounds.registry import theorem
from dpcheck.solvers import algorithm
from dpcheck.source import place_of, shown_place

if TYPE_CHECKING:
    from dpcheck.algorithms.declaration import Bound
    from dpcheck.report.findings import Finding

# Findings about the schedule that a solver was given, not about the loop that follows it.
_SCHEDULE = frozenset({"schedule", "accounting"})


def place_for(finding: Finding, name: str) -> str | None:
    """Return where to look: a rate's theorem, the numbers of a schedule or certificate, or else the kernel."""
    solver, predicted = algorithm(name), ".prediction." in finding.id
    if finding.kind in ("rate", "bound") and not predicted and isinstance(finding.evidence.get("theorem"), str):
        return place_of_theorem(theorem(finding.evidence["theorem"]))
    above = finding.certified is not None and finding.claimed is not None and finding.certified > finding.claimed
    if finding.kind in _SCHEDULE or predicted or above or not finding.certificate_ok:
        if hasattr(solver, "schedule"):  # the list of its phases, else the class of its theorem or repair
            return place_of(solver.schedule)
        schedule = solver.schedule_of(solver.variants[0 if ".as_printed" in finding.id else -1], {})
        return shown_place(f"{inspect.getsourcefile(schedule)}:{inspect.getsourcelines(schedule)[1]}")
    return place_of(solver.kernel)


def place_of_theorem(statement: Bound) -> str | None:
    """Return the file that states the theorem, and the line of its id or of the first theorem there."""
    for module in list(sys.modules.values()):
        named = vars(module).get("THEOREMS", ())
        if any(each is statement for each in (named if isinstance(named, tuple) else ())):
            file = Path(str(module.__file__))
            lines = file.read_text("utf-8").splitlines()
            ids = [number for number, text in enumerate(lines, 1) if f'id="{statement.id}"' in text]
            made = [number for number, text in enumerate(lines, 1) if "Theorem(" in text]
            return shown_place(f"{file}:{(ids or made or [1])[0]}")
    return None
