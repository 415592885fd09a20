"""Copies of a module's source with a planted bug: text replaced, then executed as a module of its own."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from types import ModuleType
from unittest import mock

from numba import njit

from dpcheck.algorithms.kernels import jit
from dpcheck.catalogue.yang2022 import dp_sgda as solvers

Edits = Iterable[tuple[str, str]]


def mutated(original: ModuleType, edits: Edits) -> ModuleType:
    """A copy of ``original`` in which each old text, found exactly once, is replaced by the new one."""
    text = inspect.getsource(original)
    for old, new in edits:
        assert text.count(old) == 1, f"{text.count(old)} times in {original.__name__}: {old}"
        text = text.replace(old, new)
    copy = ModuleType(original.__name__)
    exec(compile(text, f"<mutant of {original.__name__}>", "exec"), copy.__dict__)
    return copy


def interpreted(original: ModuleType, edits: Edits) -> ModuleType:
    """The kernels of a module as plain Python."""
    with mock.patch.object(jit, "kernel", lambda signature: lambda function: function):
        copy = mutated(original, edits)
    if hasattr(copy, "estimate"):  # compiled, it takes kernels in an objective from compiled callers alone
        copy.estimate = getattr(copy.estimate, "py_func", copy.estimate)
    return copy


def compiled(original: ModuleType, edits: Edits) -> ModuleType:
    """The kernels compiled and kept nowhere."""

    def kernel(signature):
        return njit(signature, nogil=True, error_model="numpy", fastmath=jit._FASTMATH)

    with mock.patch.object(jit, "kernel", kernel):
        return mutated(original, edits)


def solver(edits: Edits) -> type[solvers.DPSGDA]:
    """The class with a bug in its calibration or in the sensitivities of the events it declares."""
    copy: type[solvers.DPSGDA] = mutated(solvers, edits).DPSGDA
    return copy
