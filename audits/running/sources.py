"""Every source of randomness that can be reached draws from one generator: ``numpy.random``, ``random``, ``secrets``.

Code draws where it likes: from module functions, from a generator that it makes or keeps, from the system. Inside
:func:`drawing_from` all of these draw from one generator, so that a :class:`~.recorder.Recorder` sees, repeats and
silences them as it does its own. Names are replaced wherever a module holds them, by functions that do what the
original does for everybody else: other threads, and code outside the context, notice nothing. A source that the code
seeds keeps its seed, since that is what the code does; the seed is noted. :mod:`.library_sources` adds other libraries.

Out of reach are compiled code with randomness of its own (OpenDP, numba), other processes, and threads that the code
starts.
"""

from __future__ import annotations

import os
import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from dpcheck.audits.running.memory import Place, _places
from dpcheck.audits.running.recorder import Recorder, Seeding, is_importing, place_in_use

KEY = "a key of jax.random"  # the name of its seeding

_inside: ContextVar[Run | None] = ContextVar("dpcheck_run", default=None)


class Run:
    """One run whose draws all come from ``rng``; ``fresh`` has the seedings that differ from run to run."""

    def __init__(self, rng: np.random.Generator, fresh: frozenset[tuple[str, str]]) -> None:
        self.rng, self.fresh = rng, fresh
        self.seeded: dict[str, Any] = {}  # the generators that took the place of a source when the run seeded it
        self.keys: dict[Any, Any] = {}  # what was drawn with a key
        self.after = ExitStack()  # what is put back after the run

    def draw(self, source: str, method: str, *args: Any, **kwargs: Any) -> Any:
        """Draw by a method of the generator, in the name of a source."""
        if not isinstance(self.rng, Recorder):
            return getattr(self.rng, method)(*args, **kwargs)
        before, self.rng.source = self.rng.source, source
        try:
            return getattr(self.rng, method)(*args, **kwargs)
        finally:
            self.rng.source = before

    def other(self, source: str, method: str, make: Callable[[np.random.Generator], Any]) -> Any:
        """Draw by ``make``, in the name of a source, what no method of the generator draws."""
        if not isinstance(self.rng, Recorder):
            return make(self.rng)
        self.rng.source, before = source, self.rng.source
        try:
            return self.rng.other(method, {}, make)
        finally:
            self.rng.source = before

    def note(self, name: str, value: Any) -> bool:
        """Note a seed; True if such seeds differ from run to run, so that what they seed is as good as unseeded.

        What was drawn for the seed alone counts for nothing then, and a seed that is used again is said to be.
        """
        rng = self.rng
        if not isinstance(rng, Recorder):
            return False
        seeding = Seeding(name, place_in_use(), repr(value))
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
    return np.ndim(drawn) == 0 and bool(drawn == seed)


@contextmanager
def drawing_from(rng: np.random.Generator, fresh: frozenset[tuple[str, str]] = frozenset()) -> Iterator[None]:
    """Let every source that can be reached draw from ``rng`` inside, in this thread.

    Parameters
    ----------
    rng : numpy.random.Generator
        Often a :class:`~.recorder.Recorder`, which then knows the source of each draw, and what was seeded.
    fresh : set of (name, place)
        The seedings of earlier runs that differ from run to run.

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
        self.known: set[str] = set()  # libraries whose names are in the tables
        self.there: dict[int, Any] = {}
        self.back: dict[int, Any] = {}
        self.attributes: list[tuple[Any, str, Any, Any]] = []  # of classes: whose, its name, what it has and what it gets

    def swap(self, table: dict[int, Any]) -> None:
        """Put others in the place of the objects in the table wherever a module holds one."""
        for module in list(sys.modules.values()):
            if isinstance(module, ModuleType) and module.__name__ != __name__:  # here they are what they are
                for name, value in list(vars(module).items()):
                    if (other := table.get(id(value), self)) is not self:
                        vars(module)[name] = other

    def learn(self) -> None:
        """Take up the names of libraries that were imported since."""
        new = {name for name in _NAMED if name in sys.modules} - self.known
        for library in sorted(new):
            found, attributes = _NAMED[library]()
            for original, other in found:
                self.there[id(original)], self.back[id(other)] = other, original
            for owner, name, other in attributes:
                self.attributes.append((owner, name, vars(owner).get(name), other))
        self.known |= new
        if new:
            self.put()

    def put(self) -> None:
        """Put what stands for the names in their places."""
        self.swap(self.there)
        for owner, name, _, other in self.attributes:
            setattr(owner, name, other)

    def put_back(self) -> None:
        """Put the originals back."""
        for owner, name, original, _ in self.attributes:
            if original is not None:
                setattr(owner, name, original)
            elif name in vars(owner):
                delattr(owner, name)
        self.swap(self.back)


_names = _Names()


def reached() -> frozenset[str]:
    """Return the libraries whose sources are reached where they are imported by now."""
    return frozenset(name for name in _NAMED if name in sys.modules)


def numpy_was_seeded() -> bool:
    """Whether somebody gave numpy.random's global state a seed."""
    return _GLOBAL._bit_generator.seed_seq is None


@contextmanager
def replaced() -> Iterator[None]:
    """Keep the names replaced, so that many runs inside cost no more than one."""
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
                _names.put_back()


def _current() -> Run | None:
    """Return the run inside; none for a module that draws while it is imported, which happens once."""
    run = _inside.get()
    return None if run is None or is_importing() else run


def or_else(original: Callable[..., Any], other: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is ``original``, but inside ``other(run, *args)``."""

    def function(*args: Any, **kwargs: Any) -> Any:
        run = _current()
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


# NumPy

_OLD_NAMES = {"random_sample": "random", "ranf": "random", "sample": "random"}
_OLD = "numpy.random"


def _old(name: str, run: Run, *args: Any, source: str = _OLD, **kwargs: Any) -> Any:
    """Draw by a method of RandomState, whose names and arguments are not all those of a Generator."""
    seeded = run.seeded.get(source)
    match name:
        case "seed":
            fresh = not args and not kwargs or run.note(f"{source}.seed", *args, *kwargs.values())
            run.seeded[source] = None if fresh else apart(type(_GLOBAL), *args, **kwargs)
        case "set_state":
            state = args[0] if args else kwargs["state"]
            again = _same_state(state, _GLOBAL.get_state(legacy=isinstance(state, tuple)))
            if again or run.note(f"{source}.set_state", hash(str(state))):
                run.seeded[source] = None
            else:
                run.seeded[source] = apart(type(_GLOBAL), 0)
                run.seeded[source].set_state(state)
        case _ if seeded is not None:
            return getattr(seeded, name)(*args, **kwargs)
        case "get_state":
            return _GLOBAL.get_state(*args, **kwargs)
        case "rand" | "randn":
            return run.draw(source, "random" if name == "rand" else "standard_normal", args or None)
        case "randint":
            return run.draw(source, "integers", *args, **kwargs)
        case "random_integers":
            low, high = (*args, None, None)[:2]
            return run.draw(source, "integers", *((1, low) if high is None else (low, high)), *args[2:],
                            endpoint=True, **kwargs)  # fmt: skip
        case "tomaxint":
            return run.draw(source, "integers", 2**63 - 1, size=kwargs.get("size", args[0] if args else None))
        case _:
            return run.draw(source, _OLD_NAMES.get(name, name), *args, **kwargs)


def _same_state(one: Any, other: Any) -> bool:
    return str(one) == str(other) and np.array_equal(
        *(state[1] if isinstance(state, tuple) else state["state"]["key"] for state in (one, other))
    )


class _Generator(np.random.Generator):
    """Stands for a generator that the code made or keeps; ``real`` is the one that it keeps, ``known`` its seed, "" where somebody
    gave it one that cannot be seen.
    """

    source, real, known = "numpy.random.default_rng", None, None


class _RandomState(np.random.RandomState):
    """Stands for a RandomState, likewise."""

    source, real, known = _OLD, None, None


class _Random(random.Random):
    """Stands for a generator of the module random, likewise."""

    source, real, known = "random", None, None


def _with_seed(name: str, run: Run, *args: Any, source: str, **kwargs: Any) -> Any:
    """Draw by a primitive of random.Random."""
    seeded = run.seeded.get(source)
    match name, args:
        case "seed", _:
            given = (*args, *kwargs.values())
            fresh = given in ((), (None,)) or run.note(f"{source}.seed", given[0])
            run.seeded[source] = None if fresh else _ORIGINAL_RANDOM(*given[:1])
        case _ if seeded is not None:
            return getattr(seeded, name)(*args, **kwargs)
        case "random", _:
            return float(run.draw(source, "random"))
        case "getrandbits", (bits,):
            return int.from_bytes(run.draw(source, "bytes", (bits + 7) // 8), "big") >> -bits % 8
        case "randbytes", (size,):
            return run.draw(source, "bytes", size)
        case ("gauss" | "normalvariate"), _:
            return float(run.draw(source, "normal", *args, **{_GAUSS[key]: kwargs[key] for key in kwargs}))
        case "expovariate", _:
            rate = (*args, *kwargs.values(), 1.0)[0]
            return float(run.draw(source, "exponential", 1 / rate))


_GAUSS = {"mu": "loc", "sigma": "scale"}
_PRIMITIVES = ("random", "getrandbits", "randbytes", "gauss", "normalvariate", "expovariate", "seed")
_ORIGINAL_RANDOM = random.Random


def _forwarding(kind: type, forward: Callable[..., Any], names: list[str]) -> None:
    """Let methods, inside a run, be ``forward(name, run, *args, source=...)``."""

    def method(name: str) -> Callable[..., Any]:
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            run = _current()
            if run is not None and self.known is not None and isinstance(run.rng, Recorder):
                run.rng.kept[self.source] = self.known
            if run is None or self.known:
                return getattr(super(kind, self) if self.real is None else self.real, name)(*args, **kwargs)
            return forward(name, run, *args, source=self.source, **kwargs)

        return call

    for name in names:
        setattr(kind, name, method(name))


def _public(kind: type) -> list[str]:
    return [name for name in vars(kind) if not name.startswith("_") and name != "spawn" and callable(vars(kind)[name])]


def _new(name: str, run: Run, *args: Any, source: str, **kwargs: Any) -> Any:
    return run.draw(source, name, *args, **kwargs)


_GLOBAL = np.random.mtrand._rand  # type: ignore[attr-defined]
_forwarding(_Generator, _new, _public(np.random.Generator))
_forwarding(_RandomState, _old, _public(np.random.RandomState))
_forwarding(_Random, _with_seed, list(_PRIMITIVES))


class _ClassInUse(type):
    """The class of what stands for a class: it makes an object of the run, and its instances are the original's."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make a generator."""
        made = _made(cls.__mro__[1], cls.made)  # type: ignore[attr-defined]
        return made(*args, **kwargs)

    def __instancecheck__(cls, instance: object) -> bool:
        """Whether it is one of the original class."""
        return isinstance(instance, cls.__mro__[1])

    def __subclasscheck__(cls, subclass: type) -> bool:
        """Whether it is one of the original class."""
        return issubclass(subclass, cls.__mro__[1])


def _made(original: Any, unseeded: Any) -> Callable[..., Any]:
    """Return what makes ``original(seed)``; inside a run, and without a seed or with a fresh one, ``unseeded``."""

    def make(run: Run, *args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values(), None)[0]
        plain = given is None or isinstance(given, (int, float, str, bytes, np.integer, list, tuple, np.ndarray))
        if plain and (given is None or run.note(unseeded.source, given)):
            return unseeded
        return apart(original, *args, **kwargs) if plain else original(*args, **kwargs)

    return or_else(original, make)


def _numpy_names() -> list[tuple[Any, Any]]:
    """Return what numpy.random has, with what stands for it."""
    found: list[tuple[Any, Any]] = []
    for name in dir(np.random):
        value = getattr(np.random, name)
        if getattr(value, "__self__", None) is _GLOBAL or name in ("seed", "ranf", "sample"):
            found.append((value, or_else(value, partial(_old, name))))
    everyone, made = _RandomState(), _RandomState()
    everyone.real, made.source = _GLOBAL, f"{_OLD}.RandomState"
    kind = _ClassInUse("RandomState", (np.random.RandomState,), {"made": made})
    fresh = _Generator(np.random.PCG64())
    return [*found, (_GLOBAL, everyone), (np.random.RandomState, kind),
            (np.random.default_rng, _made(np.random.default_rng, fresh))]  # fmt: skip


def _random_names() -> list[tuple[Any, Any]]:
    """Return what the module random has, with what stands for it, and the system's own source."""
    plain, made = _Random(), _Random()
    plain.real, made.source = random._inst, "random.Random"  # type: ignore[attr-defined]
    found: list[tuple[Any, Any]] = []
    for name in dir(random):
        value = getattr(random, name)
        if getattr(value, "__self__", None) is plain.real and name not in ("getstate", "setstate"):
            method = getattr(plain, name)
            found.append((value, or_else(value, lambda run, *args, method=method, **named: method(*args, **named))))
    kind = _ClassInUse("Random", (random.Random,), {"made": made})
    system = or_else(os.urandom, lambda run, size: run.draw("os.urandom", "bytes", size))
    return [*found, (random.Random, kind), (os.urandom, system)]


def _secure_attributes() -> list[tuple[Any, str, Any]]:
    """Return the primitives of SystemRandom, whose objects libraries keep, with what stands for them."""

    def drawn(name: str, run: Run, _: Any, *args: Any, **named: Any) -> Any:
        return _with_seed(name, run, *args, source="secrets", **named)

    kind = random.SystemRandom
    return [(kind, name, or_else(getattr(kind, name), partial(drawn, name))) for name in _PRIMITIVES[:-1]]


def _of_jax() -> Found:
    from dpcheck.audits.running.library_sources import jax_names

    return jax_names(), []


def _of_torch() -> Found:
    from dpcheck.audits.running.library_sources import torch_attributes

    return [], torch_attributes()


def _of_diffprivlib() -> Found:
    from dpcheck.audits.running.library_sources import diffprivlib_attributes

    return [], diffprivlib_attributes()


# By module: names, as pairs of what they name and what stands for it; attributes of classes, with what stands for them.
Found = tuple[list[tuple[Any, Any]], list[tuple[Any, str, Any]]]
_NAMED: dict[str, Callable[[], Found]] = {
    "numpy": lambda: (_numpy_names(), []),
    "random": lambda: (_random_names(), _secure_attributes()),
    "jax": _of_jax,
    "torch.distributions": _of_torch,
    "diffprivlib.mechanisms": _of_diffprivlib,
}


# What a mechanism keeps


@contextmanager
def kept_generators(mechanism: Any) -> Iterator[None]:
    """Let the generators that a mechanism keeps draw from the run inside; those with a known seed stay, and say so."""
    with ExitStack() as after:
        for place, generator in _generators(mechanism):
            stand, name = _stand_for(generator), place.name.partition(",")[0].removeprefix("the attribute ")
            stand.source, stand.real = name, generator
            after.callback(place.write, generator)
            place.write(stand)
            if stand.known:
                after.callback(setattr, generator.bit_generator, "state", generator.bit_generator.state)
        yield


def _stand_for(generator: Any) -> Any:
    if isinstance(generator, np.random.Generator):
        stand = _Generator(np.random.PCG64())
        entropy = getattr(generator.bit_generator.seed_seq, "entropy", None)
        stand.known = str(entropy) if isinstance(entropy, int) and entropy < 2**64 else None
        return stand
    if isinstance(generator, np.random.RandomState):
        stand = _RandomState()
        stand.known = "" if generator._bit_generator.seed_seq is None else None
        return stand
    return _Random()


def _generators(mechanism: Any) -> Iterator[tuple[Place, Any]]:
    """Yield the generators that a function holds, or that an object holds which it holds."""
    for place in list(_places(mechanism, set())):
        value = place.read()
        if _is_generator(value):
            yield place, value
        elif hasattr(value, "__dict__") and not isinstance(value, (type, ModuleType)):
            for name, part in list(vars(value).items()):
                if _is_generator(part):
                    yield Place(f"{place.name.partition(',')[0]}.{name}", partial(getattr, value, name),
                                partial(setattr, value, name)), part  # fmt: skip


def _is_generator(value: Any) -> bool:
    kinds = np.random.Generator, np.random.RandomState, random.Random
    return isinstance(value, kinds) and not isinstance(value, (Recorder, random.SystemRandom)) and value is not _GLOBAL
