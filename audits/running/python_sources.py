"""The sources of NumPy and of Python, drawing from the run inside (:mod:`.sources`), and generators that code keeps.

A generator that the code makes without a seed, or keeps, is replaced by one that draws from the run. One that it keeps
and that was given a small seed goes on from where it stood, in each run: whoever knows the seed knows its draws.
"""

from __future__ import annotations

import os
import pickle
import random
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from dpcheck.audits.running.memory import Place, _places
from dpcheck.audits.running.recorder import Recorder, is_library
from dpcheck.audits.running.sources import Run, apart, current, or_else

_OLD_NAMES = {"random_sample": "random", "ranf": "random", "sample": "random", "randint": "integers"}
_OLD = "numpy.random"


def _old(name: str, run: Run, *args: Any, source: str = _OLD, **kwargs: Any) -> Any:
    """Draw by a method of RandomState, whose names and arguments are not all those of a Generator."""
    seeded = run.seeded.get(source)
    match name:
        case "seed":
            seed = (*args, *kwargs.values(), None)[0]
            fresh = seed is None or run.note(f"{source}.seed", seed)
            run.seeded[source] = None if fresh else apart(type(_GLOBAL), *args, **kwargs)
        case "set_state":
            state = pickle.dumps(args[0])
            now = _GLOBAL.get_state() if isinstance(args[0], tuple) else _GLOBAL.get_state(legacy=False)
            fresh = state == pickle.dumps(now) or run.note(f"{source}.set_state", zlib.crc32(state))
            run.seeded[source] = None if fresh else apart(type(_GLOBAL), 0)
            if not fresh:
                run.seeded[source].set_state(args[0])
        case _ if seeded is not None:
            return getattr(seeded, name)(*args, **kwargs)
        case "rand" | "randn":
            return run.draw(source, "random" if name == "rand" else "standard_normal", args or None)
        case _ if hasattr(np.random.Generator, _OLD_NAMES.get(name, name)):
            return run.draw(source, _OLD_NAMES.get(name, name), *args, **kwargs)
        case _:  # that of a rare method is not recorded
            return getattr(_GLOBAL, name)(*args, **kwargs)


_nothing: Any = None
_no_seed: str | None = None


class _Generator(np.random.Generator):
    """Stands for a generator that the code made or keeps.

    real : the one that it keeps;  known : its seed, "" where it was given one that may be secret or cannot be seen
    """

    source, real, known = "numpy.random.default_rng", _nothing, _no_seed


class _RandomState(np.random.RandomState):
    """Stands for a RandomState, likewise."""

    source, real, known = _OLD, _nothing, _no_seed


class _Random(random.Random):
    """Stands for a generator of the module random, likewise."""

    source, real, known = "random", _nothing, _no_seed


def _with_seed(name: str, run: Run, *args: Any, source: str, **kwargs: Any) -> Any:
    """Draw by a primitive of random.Random."""
    seeded = run.seeded.get(source)
    match name, args:
        case "seed", _:
            seed = (*args, *kwargs.values(), None)[0]
            run.seeded[source] = None if seed is None or run.note(f"{source}.seed", seed) else _ORIGINAL_RANDOM(seed)
        case _ if seeded is not None:
            return getattr(seeded, name)(*args, **kwargs)
        case "random", _:
            return float(run.draw(source, "random"))
        case "getrandbits", (bits,):
            return int.from_bytes(run.draw(source, "bytes", (bits + 7) // 8), "big") >> -bits % 8
        case "randbytes", (size,):
            return run.draw(source, "bytes", size)
        case (("gauss" | "normalvariate"), _):
            return float(run.draw(source, "normal", *args, **{_GAUSS[key]: kwargs[key] for key in kwargs}))
        case "expovariate", _:
            rate = (*args, *kwargs.values(), 1.0)[0]
            return float(run.draw(source, "exponential", 1 / rate))


_GAUSS = {"mu": "loc", "sigma": "scale"}
_PRIMITIVES = ("random", "getrandbits", "randbytes", "gauss", "normalvariate", "expovariate", "seed")
_ORIGINAL_RANDOM = random.Random
_KINDS = np.random.Generator, np.random.RandomState, random.Random


def _forwarding(kind: type, forward: Callable[..., Any], names: list[str]) -> None:
    """Let methods, inside a run, be ``forward(name, run, *args, source=...)``."""

    def method(name: str) -> Callable[..., Any]:
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            run = current()
            if run is None:
                return getattr(super(kind, self) if self.real is None else self.real, name)(*args, **kwargs)
            if self.known is not None and isinstance(run.rng, Recorder):
                run.rng.kept[self.source] = self.known
            if self.known:
                return getattr(run.copied(self.real), name)(*args, **kwargs)
            return forward(name, run, *args, source=self.source, **kwargs)

        return call

    for name in names:
        setattr(kind, name, method(name))


def _public(kind: type) -> list[str]:
    return [name for name in vars(kind) if not name.startswith("_") and name != "spawn" and callable(vars(kind)[name])]


_GLOBAL = np.random.mtrand._rand
_forwarding(
    _Generator, lambda name, run, *args, source, **kwargs: run.draw(source, name, *args, **kwargs),
    _public(np.random.Generator),
)  # fmt: skip
_forwarding(_RandomState, _old, _public(np.random.RandomState))
_forwarding(_Random, _with_seed, list(_PRIMITIVES))
_everyone = _RandomState()
_everyone.real = _GLOBAL


class _ClassInUse(type):
    """The class of what stands for a class: ``made`` is its object inside, and its instances are the original's."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make a generator."""
        made = vars(cls).get("made")  # none where somebody's class is made of this one
        return super().__call__(*args, **kwargs) if made is None else _made(cls.__base__, made)(*args, **kwargs)

    def __instancecheck__(cls, instance: object) -> bool:
        """Whether it is one of the original class."""
        return isinstance(instance, cls.__mro__[1]) if "made" in vars(cls) else super().__instancecheck__(instance)


def _made(original: Any, unseeded: Any) -> Callable[..., Any]:
    """Return what makes ``original(seed)``; inside a run, and without a seed or with a fresh one, ``unseeded``."""

    def make(run: Run, *args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values(), None)[0]
        plain = given is None or isinstance(given, (int, float, str, bytes, np.integer, list, tuple, np.ndarray))
        if plain and (given is None or run.note(unseeded.source, given)):
            return unseeded
        return apart(original, *args, **kwargs) if plain else original(*args, **kwargs)

    return or_else(original, make)


def stands(module: str) -> tuple[list[tuple[Any, Any]], list[tuple[Any, str, Any]]]:
    """Return what a module has, with what stands for it, and attributes of classes and objects likewise."""
    match module:
        case "numpy":
            return _numpy_names(), []
        case "random":
            return _random_names(), _secure_attributes()
        case _:  # the distributions of scipy.stats hold NumPy's global state
            return [], [
                (value, "_random_state", _everyone)
                for value in vars(sys.modules[module]).values()
                if getattr(value, "_random_state", None) is _GLOBAL
            ]


def numpy_was_seeded() -> bool:
    """Whether somebody gave numpy.random's global state a seed."""
    return _GLOBAL._bit_generator.seed_seq is None


def _numpy_names() -> list[tuple[Any, Any]]:
    """Return what numpy.random has, with what stands for it."""
    found: list[tuple[Any, Any]] = []
    for name in dir(np.random):
        value = getattr(np.random, name)
        if getattr(value, "__self__", None) is _GLOBAL or name in ("seed", "ranf", "sample"):
            found.append((value, or_else(value, partial(_old, name))))
    made = _RandomState()
    made.source = f"{_OLD}.RandomState"
    kind = _ClassInUse("RandomState", (np.random.RandomState,), {"made": made})
    fresh = _Generator(np.random.PCG64())
    return [*found, (_GLOBAL, _everyone), (np.random.RandomState, kind),
            (np.random.default_rng, _made(np.random.default_rng, fresh))]  # fmt: skip


def _random_names() -> list[tuple[Any, Any]]:
    """Return what the module random has, with what stands for it, and the system's own source."""
    plain, made = _Random(), _Random()
    plain.real, made.source = vars(random)["_inst"], "random.Random"
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


# What a mechanism keeps

_FEW = 2**32  # seeds that can all be tried: a larger one may have been drawn, and be secret


@contextmanager
def kept_generators(mechanism: Any) -> Iterator[None]:
    """Let the generators that a mechanism keeps draw from the run inside; those with a seed say so.

    What a frozen object keeps stays: its draws show as a source that cannot be reached.
    """
    with ExitStack() as after:
        for place, generator in _generators(mechanism):
            stand, name = _stand_for(generator), place.name.partition(",")[0].removeprefix("the attribute ")
            stand.source, stand.real = name, generator
            try:
                place.write(stand)
            except AttributeError:
                continue
            after.callback(place.write, generator)
        yield


def _stand_for(generator: Any) -> Any:
    stand: Any = _Random()
    if isinstance(generator, np.random.Generator):
        stand = _Generator(np.random.PCG64())
        entropy = getattr(generator.bit_generator.seed_seq, "entropy", None)
        if not isinstance(entropy, int) or entropy < 2**64:  # without a seed it has 128 bits
            stand.known = str(entropy) if isinstance(entropy, int) and entropy < _FEW else ""
    elif isinstance(generator, np.random.RandomState):
        stand = _RandomState()
        stand.known = "" if generator._bit_generator.seed_seq is None else None
    return stand


def _generators(mechanism: Any) -> Iterator[tuple[Place, Any]]:
    """Yield the generators that a function holds, or an object that it holds, and those of modules of no library."""
    for place in list(_places(mechanism, set())):
        value = place.read()
        if _is_generator(value):
            yield place, value
        elif hasattr(value, "__dict__") and not isinstance(value, (type, ModuleType)):
            for name, part in list(vars(value).items()):
                if _is_generator(part):
                    yield _attribute(place.name.partition(",")[0], value, name), part
    for module in list(sys.modules.values()):
        if isinstance(module, ModuleType) and not is_library(getattr(module, "__file__", None) or "<frozen "):
            for name, part in list(vars(module).items()):
                if _is_generator(part):
                    yield _attribute(module.__name__, module, name), part


def _attribute(owner: str, value: Any, name: str) -> Place:
    return Place(f"{owner}.{name}", partial(getattr, value, name), partial(setattr, value, name))


def _is_generator(value: Any) -> bool:
    others = Recorder, random.SystemRandom, _Generator, _RandomState, _Random
    kind = type(value)  # not isinstance, which asks objects that stand for others what they are
    return issubclass(kind, _KINDS) and not issubclass(kind, others) and value is not _GLOBAL
