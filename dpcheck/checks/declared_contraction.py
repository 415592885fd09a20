"""A declared contraction, against the steps of a user's algorithm: what the certificate of its last iterate rests on.

A step is taken twice with the same draws, from a state and from one next to it, in every direction: how far apart they
end is the local Lipschitz constant there. Steps from one state with many draws show the noise, which must be alike in
all directions. Both are looked at where runs come, on both data sets of the pair; elsewhere nothing is known.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from dpcheck.algorithms.declaration import Algorithm, flat
from dpcheck.algorithms.problem import Array
from dpcheck.audits.neighbours import Pair

_STATES, _DIRECTIONS, _DRAWS = 4, 64, 400  # looked at: of a run, in a state, of the noise
_NEAR = 1e-4  # relative to the state: how far its neighbour lies
_ALLOWED = 1e-3  # relative, for differences in place of derivatives
_ALIKE = 2.0  # deviations of one noise in two directions, estimated from these draws, differ by less


def contraction(given: Algorithm, pair: Pair, seed: int) -> tuple[str, str]:
    """Return the verdict on the declared contraction and diameter, and a sentence why."""
    assert given.contraction is not None
    seen, largest = list[Array](), 0.0
    for number, data in enumerate((pair.data, pair.neighbour)):
        for step, state in enumerate(_visited(given, data, seed)):
            largest = max(largest, _expansion(given, state, data, [seed, number, step]))
            seen.append(flat(state))
    rate = f"a step moves two states apart by up to {largest:.4g} of their distance; {given.contraction:g} is declared"
    if largest > given.contraction * (1 + _ALLOWED):
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
    every = at.size <= _DIRECTIONS
    directions = np.eye(at.size) if every else np.random.default_rng(key).normal(size=(_DIRECTIONS, at.size))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    moved = [(_next(given, _filled(state, iter(at + size * way)), data, key) - here) / size for way in directions]
    return float(np.linalg.norm(moved, 2) if every else max(np.linalg.norm(moved, axis=1)))


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
