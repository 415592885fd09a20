"""The parts of Numba that the kernels use although they are not public, all of them in this file.

They do three things that Numba's public interface cannot:

- compile a kernel for its declared signatures when it is first needed, by Python or by another kernel
  (:func:`compile_on_demand`); public Numba compiles at import, or for whatever arguments come;
- keep its code under a name that says what is compiled in (:func:`keep_on_disk`); Numba looks at the time of one
  source file, and stops with the error of ``pickle`` where a file is damaged;
- promise that arrays do not overlap (:func:`assume_apart`).

:func:`missing` names the parts that the installed Numba does not have. Where it names any, the kernels use none of
them: :func:`dpcheck.compiled.njit` compiles at import and keeps nothing, which is slower and just as right.
"""

from __future__ import annotations

import hashlib
import pickle
import platform
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import config, serialize
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock

from dpcheck.compiled import kept

_DISPATCHER = ("compile", "_compile_for_args", "_compiler", "_cache", "overloads", "disable_compile", "targetoptions")
_RESULT = ("_reduce", "_rebuild")
_MAKERS = (numba.__version__, llvmlite.__version__, np.__version__, platform.python_version(), platform.machine())


def missing(compiled: Any) -> tuple[str, ...]:
    """Return the private parts that this dispatcher does not have."""
    absent = [name for name in _DISPATCHER if not hasattr(compiled, name)]
    absent += [f"CompileResult.{name}" for name in _RESULT if not hasattr(CompileResult, name)]
    if not hasattr(getattr(compiled, "_compiler", None), "_customize_flags"):
        absent.append("_compiler._customize_flags")
    return tuple(absent)


def assume_apart(compiled: Any) -> None:
    """Compile this kernel on the promise that a write to one array changes no other."""

    def without_overlap(flags: Any) -> Any:
        flags.noalias = True
        return flags

    compiled._compiler._customize_flags = without_overlap


def compile_on_demand(compiled: Any, signatures: tuple[Any, ...]) -> None:
    """Compile the kernel for ``signatures``, and nothing else, at its first call by Python or by another kernel.

    A run needs a fraction of the kernels that its imports bring along.
    """
    compile_now = compiled.compile

    def compile_declared(_: Any) -> Any:
        with global_compiler_lock:  # threads may come to a kernel's first call together
            if not compiled.overloads:
                for signature in signatures:
                    compile_now(signature)
                compiled.disable_compile()
            return next(iter(compiled.overloads.values())).entry_point

    def compile_and_retry(*_: Any, **__: Any) -> Any:
        compile_declared(None)
        return compiled  # Numba calls it again; now it checks and converts the arguments

    compiled.compile = compile_declared
    compiled._compile_for_args = compile_and_retry


def keep_on_disk(compiled: Any, signatures: tuple[Any, ...], apart: bool) -> None:
    """Keep the kernel's code in the user's cache, under a name that says all that is compiled in."""
    compiled.declared = {"signatures": signatures, "apart": apart}
    compiled._cache = _Kept(compiled)


class _Kept(NullCache):
    """The code of one kernel on disk, as its dispatcher asks for it and hands it over."""

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled

    @property
    def cache_path(self) -> str:
        """The folder, which Numba's statistics show."""
        return str(kept.place())

    def name(self, signature: Any, codegen: Any) -> str | None:
        """Return the name of the file for a signature; None where something that is compiled in has no digest."""
        try:
            compiled_in = kept.digest(self._compiled)
        except kept.UnknownValueError:
            return None
        function = self._compiled.py_func
        where = function.__module__, function.__qualname__  # which the code's own symbols hold
        settings = [str(getattr(config, name, None)) for name in ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT")]
        identity = repr((where, compiled_in, str(signature), codegen.magic_tuple(), _MAKERS, settings))
        return f"{function.__name__}-{hashlib.sha256(identity.encode()).hexdigest()[:40]}.code"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the kept code for a signature; None where there is none that works."""
        target_context.refresh()
        name = self.name(sig, target_context.codegen())
        data = None if name is None else kept.read(name)
        if name is None or data is None:
            return None
        try:
            return CompileResult._rebuild(target_context, *pickle.loads(data))
        except Exception:  # what another version of a library wrote may fail in any way
            kept.drop(name)
            return None

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Keep the code, unless it holds what is another in the next process."""
        if cres.library.has_dynamic_globals or any(not loop.can_cache for loop in cres.lifted):
            return
        name = self.name(sig, cres.target_context.codegen())
        if name is not None:
            kept.write(name, serialize.dumps(cres._reduce()))
