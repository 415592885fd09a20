"""Every source of randomness that can be reached draws from one generator: ``numpy.random``, ``random``, ``secrets``.

Code draws where it likes: from module functions, from a generator that it makes or keeps, from the system. Inside
:func:`drawing_from` all of these draw from one generator, so that a :class:`~.recorder.Recorder` sees, repeats and
silences them as it does its own. Names are replaced wherever a module holds them, by functions that do what the
original does for everybody else: other threads, and code outside the context, notice nothing, but for torch, whose one
generator has a fixed seed meanwhile and is put back. A source that the code seeds keeps its seed, since that is what
the code does; the seed is noted. :mod:`.python_sources` and :mod:`.library_sources` say what stands for which name.

Out of reach are compiled code with randomness of its own (OpenDP, numba), other processes, and threads that the code
starts.
"""

from __future__ import annotations

import copy
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from dpcheck.audits.running.recorder import Recorder, Seeding, is_importing, is_library, place_in_use

KEY = "a key of jax.random"  # the name of its seeding

_AS_THEY_ARE = "dpcheck.audits.running.python_sources"  # where the names are what they are

_inside: ContextVar[Run | None] = ContextVar("dpcheck_run", default=None)


class Run:
    """One run whose draws all come from ``rng``; ``fresh`` has the seedings that differ from run to run."""

    def __init__(self, rng: np.random.Generator, fresh: frozenset[tuple[str, str]]) -> None:
        self.rng, self.fresh = rng, fresh
        self.seeded: dict[str, Any] = {}  # the generators that took the place of a source when the run seeded it
        self.copies: dict[int, Any] = {}  # of generators with a known seed, by the generator
        self.keys: dict[Any, Any] = {}  # what was drawn with a key
        self.after = ExitStack()  # what is put back after the run

    def draw(self, source: str, method: str, *args: Any, **kwargs: Any) -> Any:
        """Draw by a method of the generator, in the name of a source."""
        if not isinstance(self.rng, Recorder):
            return getattr(self.rng, method)(*args, **kwargs)
        self.rng.source = source
        try:
            return getattr(self.rng, method)(*args, **kwargs)
        finally:
            self.rng.source = "rng"

    def other(self, source: str, method: str, make: Callable[[np.random.Generator], Any]) -> Any:
        """Draw by ``make``, in the name of a source, what no method of the generator draws."""
        return self.draw(source, "other", method, make) if isinstance(self.rng, Recorder) else make(self.rng)

    def copied(self, generator: Any) -> Any:
        """Return the copy of a generator that draws in its place in this run."""
        if id(generator) not in self.copies:
            self.copies[id(generator)] = apart(copy.deepcopy, generator)
        return self.copies[id(generator)]

    def note(self, name: str, value: Any) -> bool:
        """Note a seed; True if such seeds differ from run to run, so that what they seed is as good as unseeded.

        What was drawn for the seed alone counts for nothing then, and a seed that is used again is said to be.
        """
        rng = self.rng
        if not isinstance(rng, Recorder):
            return False
        seeding = Seeding(name, place_in_use(), repr(value.item() if isinstance(value, np.generic) else value))
        rng.seedings.append(seeding)
        if (seeding.name, seeding.place) not in self.fresh:
            return False
        if name != KEY:
            if self.keys.setdefault(seeding.value, seeding) is not seeding:
                rng.reused.append(name)
            if rng.draws and _makes(rng.draws[-1].value, value):
                rng.draws.pop()
        return True


def _makes(drawn: Any, seed: Any) -> bool:
    """Whether a seed is what was drawn, as a number or as some bits of the bytes."""
    if isinstance(drawn, bytes):
        return any(int.from_bytes(drawn, end) >> k == seed for end in ("big", "little") for k in range(8))
    return np.ndim(drawn) == np.ndim(seed) == 0 and bool(drawn == seed)


@contextmanager
def drawing_from(rng: np.random.Generator, fresh: frozenset[tuple[str, str]] = frozenset()) -> Iterator[None]:
    """Let every source that can be reached draw from ``rng`` inside, in this thread.

    Parameters
    ----------
    rng : numpy.random.Generator
        Often a :class:`~.recorder.Recorder`, which then knows the source of each draw, and what was seeded.
    fresh : set of (name, place)
        The seedings of earlier runs that differ from run to run.

    Yields
    ------
    None
        Nothing, while the sources draw so.

    Examples
    --------
    >>> import random
    >>> from dpcheck.audits.running.recorder import Recorder
    >>> from dpcheck.audits.running.sources import drawing_from
    >>> rng = Recorder(0)
    >>> with drawing_from(rng):
    ...     value = 3 + random.gauss(0, 2)
    >>> rng.draws[0].source, float(rng.draws[0].scale[0])
    ('random', 2.0)
    """
    run = Run(rng, fresh)
    with replaced(), run.after:
        if "torch" in sys.modules:
            from dpcheck.audits.running.library_sources import torch_mode

            run.after.enter_context(torch_mode(run))
        token = _inside.set(run)
        try:
            yield
        finally:
            _inside.reset(token)


# The names that are replaced, while anybody needs it


class _Names:
    """Who needs the names replaced, and what stands for what: by identity, in both directions."""

    def __init__(self) -> None:
        self.lock, self.users = threading.RLock(), 0
        self.known: frozenset[str] = frozenset()  # libraries whose names are in the tables
        self.there: dict[int, Any] = {}
        self.back: dict[int, Any] = {}
        self.either: dict[int, Any] = {}
        self.held: dict[int, tuple[ModuleType, list[str]]] = {}  # by library's module, its names that are replaced
        self.attributes: list[tuple[Any, str, Any, Any]] = []  # of a class: its name, its value, and what stands for it

    def swap(self, table: dict[int, Any]) -> None:
        """Put others in the place of the objects in the table wherever a module holds one."""
        for module in list(sys.modules.values()):
            if not isinstance(module, ModuleType) or module.__name__ == _AS_THEY_ARE:
                continue
            scope, held = vars(module), self.held.get(id(module))
            if held is None or held[0] is not module:
                names = [name for name, value in list(scope.items()) if id(value) in self.either]
                held = module, names
                if is_library(getattr(module, "__file__", None) or "<frozen "):  # which keeps its names
                    self.held[id(module)] = held
            for name in held[1]:
                if (other := table.get(id(scope.get(name)), self)) is not self:
                    scope[name] = other

    def learn(self) -> None:
        """Take up the names of libraries that were imported since."""
        new = reached() - self.known
        for library in sorted(new):
            found, attributes = import_module(f"dpcheck.audits.running.{_STANDS[library]}").stands(library)
            for original, other in found:
                self.there[id(original)], self.back[id(other)] = other, original
            for owner, name, other in attributes:
                self.attributes.append((owner, name, vars(owner).get(name), other))
        self.known |= new
        if new:
            self.either = self.there | self.back
            self.held.clear()
            self.put()

    def put(self) -> None:
        """Put what stands for the names in their places."""
        self.swap(self.there)
        for owner, name, original, other in self.attributes:
            if vars(owner).get(name) is original:
                setattr(owner, name, other)

    def put_back(self) -> None:
        """Put the originals back."""
        for owner, name, original, other in self.attributes:
            if vars(owner).get(name) is other:
                delattr(owner, name) if original is None else setattr(owner, name, original)
        self.swap(self.back)


_names = _Names()
# Modules, and who says what stands for their names, as pairs, and for attributes of their classes.
_STANDS = {
    "numpy": "python_sources", "random": "python_sources", "scipy.stats": "python_sources",
    "jax": "library_sources", "torch.distributions": "library_sources", "diffprivlib.mechanisms": "library_sources",
}  # fmt: skip


def reached() -> frozenset[str]:
    """Return the libraries whose sources are reached where they are imported by now."""
    return frozenset(_STANDS.keys() & sys.modules.keys())


@contextmanager
def replaced() -> Iterator[None]:
    """Keep the names replaced, so that many runs inside cost no more than one.

    Yields
    ------
    None
        Nothing, while they are.
    """
    with _names.lock:
        _names.users += 1
    try:
        with _names.lock:
            if _names.users == 1:
                _names.put()
            _names.learn()
        yield
    finally:
        with _names.lock:
            _names.users -= 1
            if not _names.users:
                try:
                    _names.put_back()
                except KeyboardInterrupt:
                    _names.put_back()
                    raise


def current() -> Run | None:
    """Return the run inside; none for a module that draws while it is imported, which happens once."""
    run = _inside.get()
    return None if run is None or is_importing() else run


def or_else(original: Callable[..., Any], other: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is ``original``, but inside ``other(run, *args)``."""

    def function(*args: Any, **kwargs: Any) -> Any:
        run = current()
        return original(*args, **kwargs) if run is None else other(run, *args, **kwargs)

    function.__name__, function.__doc__ = getattr(original, "__name__", ""), original.__doc__
    return function


def apart(make: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call what may draw, such as entropy that it does not use, without the run."""
    token = _inside.set(None)
    try:
        return make(*args, **kwargs)
    finally:
        _inside.reset(token)
