"""Algorithms with one planted fault, made from the real source text."""

from __future__ import annotations

import sys
import types
from pathlib import Path

from dpcheck.kernels import sgda
from dpcheck.solvers import dp_sgda


def mutated(module, changes, name, **names):
    """A fresh module from ``module``'s source with each old text replaced by its new one.

    Every old text must occur, so that a mutant never silently equals the original. ``names`` replace
    the module's own after its imports; nothing of a mutant is cached on disk, as it has no file.
    """
    source = Path(module.__file__).read_text("utf-8")
    for old, new in changes.items():
        assert old in source, f"nothing to mutate: {old}"
        source = source.replace(old, new)
    fresh = types.ModuleType(name)
    sys.modules[name] = fresh  # dataclasses look their module up
    head, mark, body = source.partition("\n@kernel(") if "kernel" in names else (source, "", "")
    exec(compile(head, name, "exec"), fresh.__dict__)
    fresh.__dict__.update(names)
    exec(compile(mark + body, name, "exec"), fresh.__dict__)
    return fresh


def interpreted(changes):
    """Mutated solver loop as plain Python: quick to make, for single recorded runs."""
    return mutated(sgda, changes, "interpreted_mutant", kernel=lambda signature: lambda function: function)


def compiled(changes):
    """Mutated solver loop, compiled: for many runs."""
    return mutated(sgda, changes, "compiled_mutant")


def solver(changes):
    """Mutated class :class:`DPSGDA`: faults of calibration and accounting."""
    return mutated(dp_sgda, changes, "solver_mutant").DPSGDA
