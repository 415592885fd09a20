"""The parts of Numba that the kernels use although they are not public, all of them in this file.

They do four things that Numba's public interface cannot:

- compile a kernel for its declared signatures when it is first needed, by Python or by another kernel
  (:func:`compile_on_demand`); public Numba compiles at import, or for whatever arguments come;
- let cached code go stale with the kernels that it contains (:func:`stamp`); Numba looks at one source file;
- compile again where a cache file is damaged (:class:`CheckedFile`); Numba stops with the error of ``pickle``;
- promise that arrays do not overlap (:func:`assume_apart`).

:func:`missing` names the parts that the installed Numba does not have. Where it names any, the kernels use none of
them: ``dpcheck.kernels.jit.kernel`` compiles at import and caches nothing, which is slower and just as right.
"""

from __future__ import annotations

import hashlib
import pickle
from functools import cache
from pathlib import Path
from typing import Any

from numba.core.caching import IndexDataCacheFile
from numba.core.compiler_lock import global_compiler_lock

_DISPATCHER = ("compile", "_compile_for_args", "_compiler", "overloads", "disable_compile")
_FILE = ("load", "flush", "_dump", "_load_data", "_data_path")


def missing(compiled: Any) -> tuple[str, ...]:
    """Return the private parts that this dispatcher, or its cache, does not have."""
    found = [name for name in _DISPATCHER if not hasattr(compiled, name)]
    found += [f"IndexDataCacheFile.{name}" for name in _FILE if not hasattr(IndexDataCacheFile, name)]
    if not hasattr(getattr(compiled, "_compiler", None), "_customize_flags"):
        found.append("_compiler._customize_flags")
    if hasattr(compiled, "_cache") and hasattr(compiled._cache, "_cache_file"):
        found += [
            f"_cache_file.{name}"
            for name in ("_source_stamp", "_cache_path")
            if not hasattr(compiled._cache._cache_file, name)
        ]
        if not hasattr(getattr(compiled._cache, "_impl", None), "filename_base"):
            found.append("_cache._impl.filename_base")
    elif type(getattr(compiled, "_cache", None)).__name__ != "NullCache":
        found.append("_cache")
    return tuple(found)


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


class CheckedFile(IndexDataCacheFile):
    """The cached code of one kernel; code that does not match its checksum counts as absent."""

    def load(self, key: Any) -> Any:
        """Return the cached code, or None where there is none to trust: it is compiled and saved again then."""
        try:
            return super().load(key)
        except Exception:  # pickle raises nearly anything on a damaged file
            self.flush()
            return None

    def _dump(self, obj: Any) -> bytes:
        """Return the pickled object with its checksum behind it, which ``pickle`` does not read."""
        data: bytes = super()._dump(obj)
        return data + hashlib.sha256(data).digest()

    def _load_data(self, name: str) -> Any:
        """Return the object of a data file, once the checksum agrees: damaged machine code might run."""
        stored = Path(self._data_path(name)).read_bytes()
        data, digest = stored[:-32], stored[-32:]
        if hashlib.sha256(data).digest() != digest:
            raise ValueError(f"{name} is damaged")
        return pickle.loads(data)


def index_of(compiled: Any) -> Any:
    """Return the index of a kernel's cached code, or None where it has no cache."""
    index = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    return index if hasattr(index, "_source_stamp") else None


def stamp(compiled: Any, folder: Path) -> None:
    """Let the cached code go stale with any file of ``folder``, and with the kernels that it calls from elsewhere.

    A kernel contains the code of those it calls.
    """
    index = index_of(compiled)
    if index is not None:
        function = compiled.py_func
        called = (index_of(function.__globals__.get(name)) for name in function.__code__.co_names)
        stamps = tuple(other._source_stamp for other in called if other is not None)
        compiled._cache._cache_file = CheckedFile(
            index._cache_path, compiled._cache._impl.filename_base, (index._source_stamp, folder_stamp(folder), stamps)
        )


@cache
def folder_stamp(folder: Path) -> tuple[tuple[str, float, int], ...]:
    """Return the name, time and size of each source file."""
    files = sorted(folder.glob("*.py"))
    return tuple((file.name, file.stat().st_mtime, file.stat().st_size) for file in files)
