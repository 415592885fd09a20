"""Everything that can be asked for by name."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

from dpcheck import _HOME

_TESTERS = {name: home for name, home in _HOME.items() if name.startswith("audit_") or name == "fit_rate"}


def listing() -> dict[str, list[dict[str, str]]]:
    """List theorems, algorithms, base solvers, problems, testers and data sets, each with an id and a title."""
    from dpcheck.algorithm_files import others
    from dpcheck.bases import BASES
    from dpcheck.bounds.registry import theorems
    from dpcheck.datasets import names
    from dpcheck.problems import PROBLEMS
    from dpcheck.solvers import ALGORITHMS

    return {
        "theorems": [{"id": each.id, "title": each.title} for each in theorems()],
        "algorithms": [{"id": name, "title": _title(*_home(name, place))} for name, place in ALGORITHMS.items()]
        + [{"id": each.name, "title": f"declared in {each.value}"} for each in others(ALGORITHMS)],
        "bases": [{"id": base.name, "title": _title(f"dpcheck.bases.{base.module}")} for base in BASES.values()],
        "problems": [{"id": name, "title": _title(f"dpcheck.problems.{name}")} for name in PROBLEMS],
        "testers": [{"id": name, "title": _title(module)} for name, module in _TESTERS.items()],
        "datasets": [
            {"id": name, "title": "bundled" if name == "a9a" else "downloaded on first use"} for name in names()
        ],
    }


def _home(name: str, place: str) -> tuple[str, str]:
    """The file of an algorithm and, where it shares that file with others, its class."""
    module, _, attribute = place.rpartition(".")
    return f"dpcheck.solvers.{module or name}", attribute if module else ""


def _title(module: str, attribute: str = "") -> str:
    """Return the first line of a module's docstring, or of that of a class in it.

    Read, not imported: importing the solvers loads their compiled code, and compiles it the first time.
    """
    spec = importlib.util.find_spec(module)
    assert spec is not None and spec.origin is not None
    tree = ast.parse(Path(spec.origin).read_text("utf-8"))
    found = next(
        (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == attribute),
        tree,
    )
    return (ast.get_docstring(found) or "").split("\n", 1)[0].rstrip(".:")
