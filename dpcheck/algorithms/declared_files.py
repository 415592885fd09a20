"""Algorithms of one's own, found: in a file, or among the entry points of installed packages."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Collection
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from dpcheck.algorithms.declaration import Algorithm
from dpcheck.errors import InputError, did_you_mean, raised, require

GROUP = "dpcheck.algorithms"


def find(wanted: str | os.PathLike[str], taken: Collection[str]) -> list[Algorithm]:
    """The algorithms of a file, or the one that a package registered under a name.

    taken : dpcheck's own names, which nobody else may use

    Raises :class:`~dpcheck.errors.InputError` for a file that is missing, cannot be imported or declares nothing, and
    for an unknown name.
    """
    require(isinstance(wanted, str | os.PathLike), "algorithm", "be a name, an Algorithm or a path", wanted)
    text = os.fspath(wanted)
    if is_file(wanted):
        found = from_file(text)
    else:
        registered = installed().get(text)
        known = (*taken, *(each.name for each in others(taken)))
        if registered is None:
            must = f"be one of {', '.join(known)}, or a Python file that declares one"
            raise InputError(f"algorithm must {must}, got {text}{did_you_mean(text, known)}")
        found = [_loaded(registered)]
    for each in found:
        require(each.name not in taken, f"an algorithm declared in {text}", "have a name of its own", each.name)
    return found


def is_file(wanted: str | os.PathLike[str]) -> bool:
    """Whether this names a file rather than an algorithm."""
    return not isinstance(wanted, str) or wanted.endswith(".py") or os.sep in wanted


def from_file(path: str) -> list[Algorithm]:
    """Return every algorithm that the file's own names hold, in order."""
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
    found = list({id(value): value for value in vars(module).values() if isinstance(value, Algorithm)}.values())
    require(bool(found), path, "declare a dpcheck.Algorithm", "none")
    names = [each.name for each in found]
    require(len(set(names)) == len(names), path, "name each algorithm once", ", ".join(names))
    return found


def installed() -> dict[str, EntryPoint]:
    """Return what installed packages register, by name; two packages may not register one name."""
    found: dict[str, EntryPoint] = {}
    for each in entry_points(group=GROUP):
        other = found.setdefault(each.name, each)
        require(
            other.value == each.value, f"algorithm {each.name}", "be registered once", f"{other.value}, {each.value}"
        )
    return found


def others(taken: Collection[str]) -> list[EntryPoint]:
    """Return what packages register under names that dpcheck has not taken."""
    return [each for name, each in sorted(installed().items()) if name not in taken]


def require_unshadowed(name: str) -> None:
    """A name of dpcheck's own means one algorithm: :class:`~dpcheck.errors.InputError` where a package has it too."""
    theirs = installed().get(name)
    require(theirs is None, f"algorithm {name}", "be registered by dpcheck alone", theirs and theirs.value)


def _loaded(registered: EntryPoint) -> Algorithm:
    try:
        found = registered.load()
    except (Exception, SystemExit) as error:
        raise InputError(f"{registered.value} must be importable, got {raised(error)}") from error
    require(isinstance(found, Algorithm), registered.value, "be a dpcheck.Algorithm", type(found).__name__)
    assert isinstance(found, Algorithm)
    require(
        found.name == registered.name, f"name of {registered.value}", f"be {registered.name}, as registered", found.name
    )
    return found
