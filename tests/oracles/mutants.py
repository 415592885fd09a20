"""Copies of modules with a planted bug: a fragment of a definition replaced, then executed as a module of its own."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

from mutation.definitions import Edit, Sources
from numba import njit

import dpcheck
from dpcheck.algorithms.kernels import jit
from dpcheck.catalogue.yang2022 import dp_sgda

SOURCES = Sources(Path(dpcheck.__file__).parent)


def mutated(*edits: Edit, of: ModuleType | None = None, kernel: Callable[..., Any] | None = None) -> ModuleType:
    """A copy of the module that the edits change; without edits a copy of ``of``.

    kernel : the decorator that the copy finds in place of ``jit.kernel``; the module and all that it imports are
        imported before, so that they keep theirs, and since dataclasses look up the module of their name
    """
    if of is None:
        ((path, text),) = SOURCES.edited(edits).items()
        name = path.removesuffix(".py").replace("/", ".")
    else:
        name, text = of.__name__, inspect.getsource(of)
    importlib.import_module(name)
    copy = ModuleType(name)
    with mock.patch.object(jit, "kernel", kernel or jit.kernel):
        exec(compile(text, f"<mutant of {name}>", "exec"), copy.__dict__)
    return copy


def interpreted(*edits: Edit, of: ModuleType | None = None) -> ModuleType:
    """The kernels of a module as plain Python."""
    copy = mutated(*edits, of=of, kernel=lambda signature: lambda function: function)
    if hasattr(copy, "estimate"):  # compiled, it takes kernels in an objective from compiled callers alone
        copy.estimate = getattr(copy.estimate, "py_func", copy.estimate)
    return copy


def compiled(*edits: Edit, of: ModuleType | None = None) -> ModuleType:
    """The kernels compiled and kept nowhere."""

    def kernel(signature):
        def compile_(function):
            of_types = jit._signature(signature, function.__globals__)
            return njit(of_types, nogil=True, error_model="numpy", fastmath=jit._FASTMATH)(function)

        return compile_

    return mutated(*edits, of=of, kernel=kernel)


def put(monkeypatch: Any, module: ModuleType, copy: ModuleType) -> None:
    """Put what a copy defines in the place of the module's: kernels know each other by the types they were given."""
    for name, part in vars(copy).items():
        if getattr(part, "__module__", None) == module.__name__ or hasattr(part, "py_func"):
            monkeypatch.setattr(module, name, part, raising=False)


def solver(*edits: Edit) -> type[dp_sgda.DPSGDA]:
    """The class with a bug in its calibration or in the sensitivities of the events it declares."""
    changed, copy = mutated(*edits), mutated(of=dp_sgda)
    if changed.__name__ == dp_sgda.__name__:
        copy = changed
    else:  # a module that it imports from
        copy.__dict__.update(
            (name, part) for name, part in vars(changed).items() if name in vars(copy) and callable(part)
        )
    broken: type[dp_sgda.DPSGDA] = copy.DPSGDA
    return broken
