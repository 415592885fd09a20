"""The file and line of the code that a finding is about."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dpcheck
from dpcheck.bounds import claim as claims
from dpcheck.bounds.registry import theorem
from dpcheck.solvers import algorithm

if TYPE_CHECKING:
    from dpcheck.algorithms.declaration import Bound
    from dpcheck.algorithms.solver import Solver
    from dpcheck.bounds.claim import Claim
    from dpcheck.report.findings import Finding

# What holds the package: a checkout, where links lead to `bounds` and `audits`, or site-packages.
_ROOT = Path(dpcheck.__file__).resolve().parent.parent
# Findings about the schedule that a solver was given, not about the loop that follows it.
_SCHEDULE = frozenset({"schedule", "accounting"})


def place_of(function: Callable[..., Any]) -> str:
    """Return ``"dpcheck/catalogue/yang2022/nseg.py:49"`` for a function, compiled or not; others as `shown_place`."""
    while isinstance(function, partial):
        function = function.func
    function = getattr(function, "py_func", function)
    if not hasattr(function, "__code__") and not inspect.isbuiltin(function):
        function = getattr(function, "__func__", type(function).__call__)  # a method, or an object that can be called
    code = getattr(inspect.unwrap(function), "__code__", None)
    return "" if code is None else shown_place(f"{code.co_filename}:{code.co_firstlineno}")


def shown_place(place: str) -> str:
    """Return ``"FILE:LINE"`` with the file relative to the checkout or the working folder, where it is in one of
    them.
    """
    file, _, line = place.rpartition(":")
    path = Path(file).resolve()
    for folder in (_ROOT, Path.cwd()):
        if path.is_relative_to(folder):
            return f"{path.relative_to(folder).as_posix()}:{line}"
    return f"{path.as_posix()}:{line}"


def place_for(finding: Finding, name: str) -> str | None:
    """Return where to look for what a finding about algorithm ``name`` says.

    Rates and bounds: the theorem's file;  schedules and certificates: the variant's numbers;  else its kernel.
    """
    solver = algorithm(name)
    if finding.kind in ("rate", "bound") and isinstance(finding.evidence.get("theorem"), str):
        return place_of_theorem(theorem(finding.evidence["theorem"]))
    above = finding.certified is not None and finding.claimed is not None and finding.certified > finding.claimed
    if finding.kind in _SCHEDULE or above or not finding.certificate_ok:
        return place_of_schedule(solver, solver.variants[0 if ".as_printed" in finding.id else -1])
    return place_of(solver.kernel)


def place_of_schedule(solver: type[Solver], variant: str) -> str:
    """Return where the numbers of a variant are: the list of its phases, or the class of its theorem or repair."""
    if hasattr(solver, "schedule"):
        return place_of(solver.schedule)
    schedule = solver.schedule_of(variant, {})
    return shown_place(f"{inspect.getsourcefile(schedule)}:{inspect.getsourcelines(schedule)[1]}")


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


def place_of_claim(claim: Claim) -> str:
    """Return the place of the function that decides the claim, or of the claim where its relations are judged."""
    return shown_place(claims.place(claim))
