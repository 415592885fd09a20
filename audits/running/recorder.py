"""A random generator that records what is drawn from it, and can repeat the draws or silence them.

The ``rng`` that a mechanism is given opens it to inspection. Call number k to a :class:`Recorder` has a random stream
of its own, fixed by the seed and k. On a neighbour the same calls therefore get the same standardised noise, whatever
their scales and whatever was drawn before, so that the data alone cause any difference between the outputs. Noise of a
location-scale law, a value ``loc + scale * z``, may also be silenced (z = 0) or set.

A Recorder sees the methods of the generator. It does not see draws made through ``bit_generator`` or in compiled code;
:attr:`Recorder.bypassed` says whether there were some.
"""

from __future__ import annotations

import copy
import inspect
import itertools
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sized
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dpcheck.arrays import Floats

# The methods whose value is loc + scale * z, and the law of z.
ADDITIVE = {
    "normal": "gaussian", "standard_normal": "gaussian", "multivariate_normal": "gaussian",
    "laplace": "laplace", "logistic": "logistic", "gumbel": "gumbel",
    "exponential": "exponential", "standard_exponential": "exponential",
}  # fmt: skip
_STANDARD: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Floats]] = {
    "gaussian": lambda rng, shape: rng.standard_normal(shape),
    "laplace": lambda rng, shape: rng.laplace(size=shape),
    "logistic": lambda rng, shape: rng.logistic(size=shape),
    "gumbel": lambda rng, shape: rng.gumbel(size=shape),
    "exponential": lambda rng, shape: rng.standard_exponential(shape),
}
_NONE = np.zeros(0)
# These methods may be given the data itself, of which only the length is kept.
_COLLECTIONS = {"choice": "a", "permutation": "x", "permuted": "x", "shuffle": "x"}


@dataclass(frozen=True, eq=False)
class Draw:
    """One call to a method of the generator.

    arguments : by name, as arrays, defaults included
    value : a copy of what was drawn; for a shuffle, the shuffled array
    law : the law of the standardised noise, "" if the value is not ``loc + scale * z``
    scale, standard : (prod(shape),) each; empty if there is no law
    source, place : whose name was called, such as "numpy.random"; file and line of the code that drew
    """

    method: str
    arguments: dict[str, Any]
    value: Any
    law: str
    scale: Floats
    standard: Floats
    source: str = "rng"
    place: str = ""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the value."""
        return np.shape(self.value)


class Seeding(NamedTuple):
    """A seed or a key that the code gave to a source, where, and its text."""

    name: str
    place: str
    value: str


class Recorder(np.random.Generator):
    """A random generator that records what is drawn from it, and can replay or silence its noise.

    Parameters
    ----------
    seed : int
        Seed of the streams, one for each call.
    standard : array_like, optional
        Standardised noise (m,) to use in order in place of drawing it, and 0 after its end, so that ``standard=()``
        silences the noise. Draws of other laws (choice, integers, random ...) stay.

    Attributes
    ----------
    draws : list of Draw
        The calls so far.
    units : callable, optional
        ``(number of the call, numbers in [0, 1)) -> numbers in their place``, for what ``random`` and ``uniform`` draw.
    source : str
        In whose name the next calls are made.
    seedings : list of Seeding
        What the code seeded meanwhile (:mod:`.sources`).
    kept : dict of str to str
        Generators that the code keeps and drew from and that were seeded, with their seeds, "" where it may be secret
        or cannot be seen.
    reused : list of str
        What was drawn with a key, or seeded with a seed, that was used before.

    Examples
    --------
    >>> from dpcheck.audits.running.recorder import Recorder
    >>> rng = Recorder(0)
    >>> value = 3.0 + rng.normal(scale=2.0)
    >>> rng.draws[0].method, float(rng.draws[0].scale[0])
    ('normal', 2.0)
    """

    def __init__(self, seed: int = 0, *, standard: ArrayLike | None = None) -> None:
        super().__init__(np.random.PCG64(np.random.SeedSequence(seed)))
        self.draws: list[Draw] = []
        self._seed, self._used = seed, 0
        self._given = None if standard is None else np.asarray(standard, float)
        self.units: Callable[[int, Floats], Floats] | None = None
        self.source = "rng"
        self.seedings: list[Seeding] = []
        self.kept: dict[str, str] = {}
        self.reused: list[str] = []
        self._untouched = self.bit_generator.state

    @property
    def bypassed(self) -> bool:
        """Whether numbers were drawn in ways that are not recorded."""
        return bool(self.bit_generator.state != self._untouched)

    @property
    def standard(self) -> Floats:
        """The standardised noise of all additive draws, (m,)."""
        return np.concatenate([np.zeros(0), *(draw.standard for draw in self.draws)])

    def spawn(self, n_children: int) -> list[np.random.Generator]:
        """Return this generator as each child: every call has its own stream already."""
        return [self] * n_children

    def _draw(self, method: str, bound: inspect.BoundArguments) -> Any:
        arguments = {name: value for name, value in bound.arguments.items() if name not in ("self", "out")}
        if method in ADDITIVE:
            return self._additive(method, arguments, bound.arguments.get("out"))
        value = getattr(np.random.Generator, method)(self._stream(), *bound.args[1:], **bound.kwargs)
        low, high = arguments.get("low", 0.0), arguments.get("high", 1.0)
        if self.units is not None and method in ("random", "uniform") and np.not_equal(low, high).all():
            changed = low + (high - low) * self.units(len(self.draws), (np.asarray(value) - low) / (high - low))
            value = changed if np.ndim(value) else float(changed)
        shown = {name: _shown(method, name, argument) for name, argument in arguments.items()}
        kept = copy.copy(bound.args[1] if method == "shuffle" else value)
        self._keep(method, shown, kept)
        return value

    def other(self, method: str, make: Callable[[np.random.Generator], Any]) -> Any:
        """Return and record what is drawn from a stream by a method that no generator of NumPy has.

        Parameters
        ----------
        method : str
            Its name.
        make : callable
            From a generator to what is drawn.

        Returns
        -------
        object
            What ``make`` returned.
        """
        value = make(self._stream())
        self._keep(method, {}, value)
        return value

    def _keep(
        self, method: str, arguments: dict[str, Any], value: Any, law: str = "", scale: Floats = _NONE,
        standard: Floats = _NONE,
    ) -> None:  # fmt: skip
        self.draws.append(Draw(method, arguments, value, law, scale, standard, self.source, place_in_use()))

    def _stream(self) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=(len(self.draws),)))

    def _additive(self, method: str, arguments: dict[str, Any], out: Any) -> Any:
        law, size = ADDITIVE[method], arguments["size"]
        if method == "multivariate_normal":
            mean = np.asarray(arguments["mean"], float)
            spread, axes = np.linalg.eigh(np.asarray(arguments["cov"], float))
            factor = axes * np.sqrt(np.maximum(spread, 0))
            shape = (*_as_shape(size), mean.size)
            z = self._noise(law, shape)
            value, scale = mean + z @ factor.T, np.linalg.norm(factor, axis=1)
        else:
            loc, scale = arguments.get("loc", 0.0), np.asarray(arguments.get("scale", 1.0), float)
            scalar = np.broadcast(loc, scale).shape
            shape = scalar if size is None else _as_shape(size)
            shape = shape if out is None else out.shape
            z = self._noise(law, shape)
            value = np.asarray(loc + scale * z, arguments.get("dtype", float))
        shown = {name: _shown(method, name, argument) for name, argument in arguments.items()}
        scales = np.broadcast_to(scale, shape).ravel()
        self._keep(method, shown, np.array(value), law, scales, z.ravel())
        if out is not None:
            out[...] = value
            return out
        return value if shape else value[()]

    def _noise(self, law: str, shape: tuple[int, ...]) -> Floats:
        if self._given is None:
            return np.asarray(_STANDARD[law](self._stream(), shape))
        z = np.zeros(shape)
        rest = self._given[self._used : self._used + z.size]
        z.flat[: rest.size] = rest
        self._used += z.size
        return z


def _recorded(method: str) -> Callable[..., Any]:
    original = getattr(np.random.Generator, method)
    signature = inspect.signature(original)

    def call(self: Recorder, *args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        return self._draw(method, bound)

    call.__name__, call.__doc__ = method, f"Recorded :meth:`numpy.random.Generator.{method}`."
    return call


for _name, _member in vars(np.random.Generator).items():
    if not _name.startswith("_") and callable(_member) and _name != "spawn":
        setattr(Recorder, _name, _recorded(_name))


@dataclass(frozen=True)
class Silenced:
    """A mechanism without its additive noise: a query of the dataset, with other draws fixed.

    :func:`dpcheck.audit_sensitivity` searches it for the pair that moves it most.

    Parameters
    ----------
    mechanism : callable
        ``(dataset, rng) -> number or array``.
    seed : int
        Seed of the draws that stay.
    """

    mechanism: Callable[[Any, np.random.Generator], Any]
    seed: int = 0

    def __call__(self, dataset: Any) -> Any:
        """Return the output on ``dataset``."""
        return self.mechanism(dataset, Recorder(self.seed, standard=()))


_HERE = f"{Path(__file__).parent}/"
_LIBRARIES = (
    "<frozen ", "<__array_function__", f"{Path(__file__).parents[2]}/",
    f"{sysconfig.get_path('stdlib')}/", f"{sysconfig.get_path('platstdlib')}/",
)  # fmt: skip


@lru_cache(maxsize=8192)
def is_library(file: str) -> bool:
    """Whether a file is Python's, dpcheck's or an installed package's."""
    return file.startswith(_LIBRARIES) or "/site-packages/" in file or "/dist-packages/" in file


def place_in_use() -> str:
    """Return file and line of the innermost code that is being run and is no library's; else of the innermost."""
    first = ""
    for file, line in _frames():
        if not is_library(file):
            return f"{file}:{line}"
        first = first or f"{file}:{line}"
    return first


def is_importing() -> bool:
    """Whether a library is being imported by the code that is run."""
    inner = itertools.takewhile(is_library, (file for file, _ in _frames()))
    return "<frozen importlib._bootstrap>" in inner


def _frames() -> Iterator[tuple[str, int]]:
    """Yield file and line of the code that is being run, innermost first, without this folder's."""
    frame = sys._getframe(1)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(_HERE):
            yield frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]


def _as_shape(size: Any) -> tuple[int, ...]:
    if size is None:
        return ()
    return tuple(size) if isinstance(size, (tuple, list)) else (int(size),)


def _shown(method: str, name: str, argument: Any) -> Any:
    if _COLLECTIONS.get(method) == name and isinstance(argument, Sized):
        return len(argument)
    if argument is None or isinstance(argument, (str, type, np.dtype, bool)):
        return argument
    return np.array(argument)
