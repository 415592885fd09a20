"""Algorithms by name: the records of the catalogue, and those that a file or an installed package declares.

A record is a class with a ``name`` and a ``source`` in a file of a paper's folder. The files are read, not imported:
importing a record loads its compiled code.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any

from dpcheck.errors import InputError, did_you_mean, one_line, raised, require, require_known
from dpcheck.source import docstring

if TYPE_CHECKING:  # a run of a record needs neither
    from dpcheck.algorithms.declaration import Algorithm
    from dpcheck.algorithms.solver import Solver

CATALOGUE, PROBLEMS = "dpcheck.catalogue", "dpcheck.problems"
GROUP = "dpcheck.algorithms"  # the entry points of declared algorithms


@dataclass(frozen=True)
class Place:
    """Where a record is: module, attribute of its class, and title, the first line of its file or of its class."""

    module: str
    attribute: str
    title: str


@cache
def records() -> Mapping[str, Place]:
    """Return the place of every algorithm by its name, in alphabetical order; LookupError where two have the same."""
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


def algorithm(name: str) -> type[Solver]:
    """Find an algorithm by its name.

    Parameters
    ----------
    name : str
        One of ``dpcheck.solvers.ALGORITHMS``.

    Returns
    -------
    type
        Its class, a :class:`~dpcheck.algorithms.solver.Solver`.

    Raises
    ------
    InputError
        For an unknown name; the message lists the known ones.

    Examples
    --------
    >>> from dpcheck.solvers import algorithm
    >>> algorithm("dp_sgda").paper
    'yang2022'
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

    heads = {paper: docstring(importlib.import_module(f"dpcheck.bounds.{paper}")) for paper in PAPERS}
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


def find(wanted: str | os.PathLike[str], taken: Collection[str]) -> list[Algorithm]:
    """Return the algorithms of a file, or the one registered under a name that is not ``taken``, as dpcheck's are."""
    require(isinstance(wanted, str | os.PathLike), "algorithm", "be a name, an Algorithm or a path", wanted)
    text = os.fspath(wanted)
    if not isinstance(wanted, str) or wanted.endswith(".py") or os.sep in wanted:
        declared = from_file(text)
    else:
        registered = installed().get(text)
        known = (*taken, *(entry.name for entry in others(taken)))
        if registered is None:
            must = f"be one of {', '.join(known)}, or a Python file that declares one"
            raise InputError(f"algorithm must {must}, got {one_line(text)[:80]}{did_you_mean(text, known)}")
        declared = [_loaded(registered)]
    for algorithm in declared:
        require(
            algorithm.name not in taken, f"an algorithm declared in {text}", "have a name of its own", algorithm.name
        )
    return declared


def from_file(path: str) -> list[Algorithm]:
    """Return every algorithm that the file's own names hold, in order."""
    from dpcheck.algorithms.declaration import Algorithm

    file = Path(path).resolve()
    require(file.is_file(), "algorithm", "be a name or an existing Python file", path)
    spec = importlib.util.spec_from_file_location(f"_dpcheck_{file.stem}", file)
    require(spec is not None and spec.loader is not None, "algorithm", "be a name or a Python file", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses and pickle look here for what the file defines
    if str(file.parent) not in sys.path:
        sys.path.insert(0, str(file.parent))  # where its own imports are
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit, too
        raise InputError(f"{path} must be importable, got {raised(error)}") from error
    declared = list({id(value): value for value in vars(module).values() if isinstance(value, Algorithm)}.values())
    require(bool(declared), path, "declare a dpcheck.Algorithm", "none")
    names = [algorithm.name for algorithm in declared]
    require(len(set(names)) == len(names), path, "name each algorithm once", ", ".join(names))
    return declared


def installed() -> dict[str, EntryPoint]:
    """Return what installed packages register, by name; two packages may not register one name."""
    registered: dict[str, EntryPoint] = {}
    for entry in entry_points(group=GROUP):
        value = registered.setdefault(entry.name, entry).value
        require(value == entry.value, f"algorithm {entry.name}", "be registered once", f"{value}, {entry.value}")
    return registered


def others(taken: Collection[str]) -> list[EntryPoint]:
    """Return what packages register under names that dpcheck has not taken."""
    return [entry for name, entry in sorted(installed().items()) if name not in taken]


def require_unshadowed(name: str) -> None:
    """Raise :class:`~dpcheck.errors.InputError` where a package has a name of dpcheck's own, too."""
    theirs = installed().get(name)
    require(theirs is None, f"algorithm {name}", "be registered by dpcheck alone", theirs and theirs.value)


def _loaded(entry: EntryPoint) -> Algorithm:
    from dpcheck.algorithms.declaration import Algorithm

    try:
        algorithm = entry.load()
    except (Exception, SystemExit) as error:
        raise InputError(f"{entry.value} must be importable, got {raised(error)}") from error
    require(isinstance(algorithm, Algorithm), entry.value, "be a dpcheck.Algorithm", type(algorithm).__name__)
    assert isinstance(algorithm, Algorithm)
    must = f"be {entry.name}, as registered"
    require(algorithm.name == entry.name, f"name of {entry.value}", must, algorithm.name)
    return algorithm
