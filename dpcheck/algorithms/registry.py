"""The records of the catalogue, found by scanning its folders: the name of an algorithm -> its file and class.

A record is a class with a ``name`` and a ``source`` in a file of a paper's folder. The files are read, not imported:
importing a record loads its compiled code.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any

from dpcheck.errors import require_known

if TYPE_CHECKING:
    from dpcheck.algorithms.solver import Solver

CATALOGUE, PROBLEMS = "dpcheck.catalogue", "dpcheck.problems"


@dataclass(frozen=True)
class Place:
    """Where a record is.

    module : its full name;  attribute : of its class;  title : the first line of its file where that is called as
    the algorithm, else of its class
    """

    module: str
    attribute: str
    title: str


@cache
def records() -> Mapping[str, Place]:
    """Return the place of every algorithm by its name, in alphabetical order.

    Raises
    ------
    LookupError
        Where two records have the same name.
    """
    places: dict[str, Place] = {}
    for folder in folders():
        for file in sorted(folder.glob("*.py")):
            for name, place in _records_in(file):
                if name in places:
                    raise LookupError(f"{place.module} and {places[name].module} both have a record named {name}")
                places[name] = place
    return MappingProxyType(dict(sorted(places.items())))


@cache
def folders() -> tuple[Path, ...]:
    """Return the folders of the catalogue's papers."""
    spec = importlib.util.find_spec(CATALOGUE)
    found = spec.submodule_search_locations if spec is not None else None
    return tuple(file.parent for root in found or () for file in sorted(Path(root).glob("*/__init__.py")))


def record(name: str) -> type[Solver]:
    """Return the class of an algorithm.

    Parameters
    ----------
    name : str
        Its name; InputError for an unknown one.

    Returns
    -------
    type
        A :class:`~dpcheck.algorithms.solver.Solver`.
    """
    require_known(name, records(), "algorithm")
    place = records()[name]
    chosen: type[Solver] = getattr(importlib.import_module(place.module), place.attribute)
    return chosen


def modules(beginning: str) -> Iterator[ModuleType]:
    """Import the modules of the papers' folders whose name begins so, in alphabetical order."""
    for folder in folders():
        for file in sorted(folder.glob(f"{beginning}*.py")):
            yield importlib.import_module(f"{CATALOGUE}.{folder.name}.{file.stem}")


def problem(name: str, *, seed: int = 0) -> Any:
    """Return the small instance of a problem of the catalogue; InputError for an unknown name."""
    return importlib.import_module(PROBLEMS).example(name, seed=seed)


def titles() -> tuple[dict[str, str], tuple[str, ...]]:
    """Return what comes with dpcheck: papers with their titles, the first lines of their folders, and algorithms."""
    from dpcheck.bounds.registry import PAPERS

    heads = {paper: importlib.import_module(f"dpcheck.bounds.{paper}").__doc__ or "" for paper in PAPERS}
    return {paper: title.strip().partition("\n")[0] for paper, title in heads.items()}, tuple(records())


def _records_in(file: Path) -> Iterator[tuple[str, Place]]:
    text = file.read_text("utf-8")
    if '\n    name = "' not in text:  # parsing takes longer than reading
        return
    module = f"{CATALOGUE}.{file.parent.name}.{file.stem}"
    tree = ast.parse(text)
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            words = _words(node)
            if "name" in words and "source" in words:
                head = ast.get_docstring(tree if words["name"] == file.stem else node) or ""
                yield words["name"], Place(module, node.name, head.split("\n", 1)[0].rstrip(".:"))


def _words(node: ast.ClassDef) -> dict[str, str]:
    """Return the class attributes that are set to a text."""
    return {
        target.id: statement.value.value
        for statement in node.body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
        for target in statement.targets
        if isinstance(target, ast.Name) and isinstance(statement.value.value, str)
    }
