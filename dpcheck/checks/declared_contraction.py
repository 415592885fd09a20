"""A declared contraction, against the steps of a user's algorithm: what the certificate of its last iterate rests on.

A step is taken twice with the same draws, from a state and from one next to it, in every direction: how far apart they
end is the local Lipschitz constant there. Steps from one state with many draws show the noise, which must be alike in
all directions. Where the contraction follows from strong convexity and smoothness, the declared gradient is compared
between states, which any two of them may refute. All is looked at where runs come, on both data sets of the pair;
elsewhere nothing is known.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from dpcheck.algorithms.declaration import Algorithm, flat
from dpcheck.algorithms.problem import Array
from dpcheck.algorithms.strong_convexity import StrongConvexity, lipschitz
from dpcheck.audits.neighbours import Pair
from dpcheck.errors import InputError, raised, require

_STATES, _DIRECTIONS, _DRAWS = 4, 64, 400  # looked at: of a run, in a state, of the noise
_NEAR = 1e-4  # relative to the state: how far its neighbour lies
_ALLOWED = 1e-3  # relative, for differences in place of derivatives
_ASIDE = 1e-2  # relative to the state: how far from it a gradient is compared
_SYMMETRIC = 1e-2  # of L: what differences of a gradient may lack of a symmetric matrix
_ALIKE = 2.0  # deviations of one noise in two directions, estimated from these draws, differ by less


def contraction(given: Algorithm, pair: Pair, seed: int) -> tuple[str, str]:
    """Return the verdict on the declared contraction and diameter, and a sentence why."""
    declared = lipschitz(given.contraction)
    assert declared is not None
    states, largest = list[Any](), 0.0
    for number, data in enumerate((pair.data, pair.neighbour)):
        for step, state in enumerate(_visited(given, data, seed)):
            largest = max(largest, _expansion(given, state, data, [seed, number, step]))
            states.append(state)
    seen = [flat(state) for state in states]
    rate = f"a step moves two states apart by up to {largest:.4g} of their distance, where {declared:.6g} is declared"
    if isinstance(given.contraction, StrongConvexity):
        verdict, reason = _convexity(given.contraction, states, pair, seed)
        rate = f"{reason}; {given.contraction.words}; {rate}"
        if verdict != "consistent":
            return verdict, rate
    if largest > declared * (1 + _ALLOWED):
        return "violated", rate
    draws = np.array([_next(given, given.start, pair.data, [seed, 9, k]) for k in range(_DRAWS)])
    deviations = np.sqrt(np.maximum(np.linalg.eigvalsh(np.atleast_2d(np.cov(draws.T))), 0))
    least, most = float(deviations[0]), float(deviations[-1])
    if not least * _ALIKE >= most > 0:
        spread = f"the noise in the next state has deviations from {least:.3g} to {most:.3g}"
        return "inconclusive", f"{spread}, and has to be alike in all directions"
    if given.diameter is not None:
        multiplier = min((multiplier for _, multiplier in given.releases), default=0.0)
        apart = max(float(np.linalg.norm(a - b)) for a in seen for b in seen) * multiplier / most
        if apart > given.diameter * _ALIKE:  # the deviation is an estimate
            return "violated", f"states of runs lie {apart:.3g} sensitivities apart; {given.diameter:g} is declared"
    return "consistent", rate


def _visited(given: Algorithm, data: Any, seed: int) -> Iterator[Any]:
    """Yield states of a run, copies, the first and some later ones."""
    wanted = set(np.linspace(0, given.steps - 1, _STATES).astype(int).tolist())
    for step, (state, released) in enumerate(given.walk(data, np.random.default_rng([seed, 1]))):
        if released is not None and step + 1 in wanted:
            yield copy.deepcopy(given.following(state, released))
        elif step == 0:
            yield copy.deepcopy(given.start)


def _next(given: Algorithm, state: Any, data: Any, key: list[int]) -> Array:
    state = copy.deepcopy(state)
    released = given.released(state, data, np.random.default_rng(key))
    return flat(given.following(state, released))


def _expansion(given: Algorithm, state: Any, data: Any, key: list[int]) -> float:
    """Return the largest Lipschitz constant found next to a state: of all directions at once, or of some of many."""
    here, at = _next(given, state, data, key), flat(state)
    size = _NEAR * (1 + float(np.abs(at).max()))
    ways = _ways(at.size, key)
    moved = [(_next(given, _filled(state, iter(at + size * way)), data, key) - here) / size for way in ways]
    return float(np.linalg.norm(moved, 2) if at.size <= _DIRECTIONS else max(np.linalg.norm(moved, axis=1)))


def _convexity(given: StrongConvexity, states: list[Any], pair: Pair, seed: int) -> tuple[str, str]:
    """Return the verdict on mu and L, which bound the gradient's differences between any two states, and why."""
    least, most, within = math.inf, 0.0, True
    for number, data in enumerate((pair.data, pair.neighbour)):

        def along(numbers: Array, data: Any = data) -> Array:
            return _gradient(given, _filled(states[0], iter(numbers)), data)

        for key, at in enumerate(map(flat, states)):
            size = _ASIDE * (1 + float(np.abs(at).max()))
            ways = _ways(at.size, [seed, number, key])
            slopes = np.array([along(at + size * way) - along(at - size * way) for way in ways]) / (2 * size)
            matrix = slopes @ ways.T
            if not given.saddle and np.abs(matrix - matrix.T).max() > _SYMMETRIC * given.L:
                return "violated", "the gradient is none: its derivative is not symmetric (saddles need saddle=True)"
            # and where it is least convex and least smooth of all combinations of these
            among = np.linalg.eigh(matrix + matrix.T)[1][:, 0], np.linalg.svd(slopes.T, full_matrices=False)[2][0]
            here = along(at)
            near = [at + size * way for way in (*ways, *(part @ ways for part in among))]
            for other in (*near, *map(flat, states)):
                apart, there = other - at, along(other)
                if distance := float(np.linalg.norm(apart)):
                    convex = float((there - here) @ apart) / distance**2
                    smooth = float(np.linalg.norm(there - here)) / distance
                    size_here = float(np.linalg.norm(here) + given.L * (1 + np.linalg.norm(at)))
                    lost = _precision(here) * size_here / distance
                    within &= convex >= given.mu - lost and smooth <= given.L + lost
                    least, most = min(least, convex), max(most, smooth)
    shown = f"between states the gradient shows mu at most {least:.4g} and L at least {most:.4g}"
    return ("consistent" if within else "violated"), shown


def _gradient(given: StrongConvexity, state: Any, data: Any) -> Array:
    try:
        found = flat(given.gradient(copy.deepcopy(state), copy.deepcopy(data)))
    except (Exception, SystemExit) as error:
        raise InputError(f"gradient must take a state and data, got {raised(error)}") from error
    size = flat(state).size
    require(found.size == size, "gradient", f"return as many numbers as the state has, {size}", found.size)
    return found


def _ways(size: int, key: list[int]) -> Array:
    """Return directions of length 1, (k, size): all of them, or some of many."""
    every = size <= _DIRECTIONS
    ways = np.eye(size) if every else np.random.default_rng(key).normal(size=(_DIRECTIONS, size))
    return np.asarray(ways / np.linalg.norm(ways, axis=1, keepdims=True))


def _precision(values: Array) -> float:
    """Return how far, relatively, numbers of this precision may be rounded in a few operations."""
    narrow = (values == values.astype(np.float32)).all()
    return 64 * float(np.finfo(np.float32 if narrow else np.float64).eps)


def _filled(state: Any, numbers: Iterator[float]) -> Any:
    """Return a state of the same shape with other numbers, in the order in which ``flat`` reads them."""
    if isinstance(state, Mapping):
        return {name: _filled(part, numbers) for name, part in state.items()}
    if isinstance(state, (list, tuple)):
        parts: Callable[[Any], Any] = type(state)
        return parts(_filled(part, numbers) for part in state)
    shape = np.shape(state)
    filled = np.array([next(numbers) for _ in range(int(np.prod(shape)))]).reshape(shape)
    return filled if shape else float(filled)
