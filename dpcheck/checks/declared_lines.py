"""Which line of a declared step a finding about its releases is for, and what there is to say about it."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dpcheck.algorithms.declaration import Algorithm, flat
from dpcheck.algorithms.problem import Array
from dpcheck.audits.additive_noise import Response, respond
from dpcheck.audits.named_part import without_noise
from dpcheck.audits.neighbours import Pair, with_record
from dpcheck.audits.running.memory import Memory
from dpcheck.audits.running.recorder import Recorder
from dpcheck.errors import InputError
from dpcheck.lines import Lines, compared, reading, watched
from dpcheck.source import place_of

_LARGE, _GROWN = (100.0, 1000.0), 2.0  # times as large a record, and how much farther the larger one moves what is
# not clipped
_UNEVEN, _DIRECTIONS = 1.01, 8  # what counts as another norm, and how many directions of two kinds are tried
_OTHERS = 16  # other records, each of which is changed on both sides
_CLOSE = 1e-6  # relative: what two records add together
_STILL = 30  # runs of a step with which a number without noise is told
_STEPS, _RUNS = 50, 8  # in which a violated run is watched, and how many runs
Released = Callable[[Any, Recorder], Array]  # of the data, with one state and memory


def lines_of(declared: Algorithm, released: Released, pair: Pair, seed: int) -> Lines:
    """Watch a step on both data sets of a pair, with the same draws."""
    one, other = (
        watched(declared.code, partial(released, data), Recorder(seed)) for data in (pair.data, pair.neighbour)
    )
    arguments = [*inspect.signature(declared.code).parameters]
    sizes = len(pair.data) != len(pair.neighbour)
    read = reading(declared.code, arguments[0 if declared.step is None else 1], sizes=sizes)
    return compared(one, other, len(pair.data), read)


def explained(declared: Algorithm, released: Released, pair: Pair, seed: int) -> tuple[str, str]:
    """Return what the lines say of a record that moves a release too far, and the place of the line to look at."""
    words, line = replace(lines_of(declared, released, pair, seed), parted=0).told
    if not words:
        words, line = _added(declared, released, pair, seed)
    return f"; {words}" if words else "", place_of(declared.code, line)


def _added(declared: Algorithm, released: Released, pair: Pair, seed: int) -> tuple[str, int]:
    """Say what bounds that which one record adds to a release, as far as far records show, and give the line."""
    large, larger = (_enlarged(pair, factor) for factor in _LARGE)
    lines = lines_of(declared, released, large or pair, seed)  # where they are large, a clip is seen to change them
    words, line = lines.made
    moved = [by for side in (large, larger) if side and (by := _moved(released, side, seed)) is not None]
    if len(moved) == 2 and np.linalg.norm(moved[1]) > _GROWN * np.linalg.norm(moved[0]) > 0:
        line = lines.query or lines.noise
        until = f", up to line {line}" if line else ""
        return f"nothing bounds what one record adds, the larger the more{until}", line
    response = respond(partial(released, pair.data), seed)
    gap = _moved(released, pair, seed)
    if gap is None or not isinstance(response, Response):  # after the noise anything may be done
        return words, line
    others = [by for other in _with_another(declared, pair) if (by := _moved(released, other, seed)) is not None]
    if not all(np.allclose(gap, by, rtol=_CLOSE, atol=_CLOSE * np.abs(gap).max(initial=0)) for by in others):
        words += "; what one record adds depends on other records, as where a clip acts on a mean, or a sum is divided "
        words += "by how many records it has"
        return words, line
    order = 1 if response.law == "laplace" else 2
    far = [by for side in _opposite(pair) if (by := _moved(released, side, seed)) is not None]
    norms = [float(np.linalg.norm(by, order)) for by in far]
    if norms and max(norms) > _UNEVEN * min(norms) > 0:
        words += f"; far records move it up to {max(norms) / min(norms):.3g} times as far in some directions as in "
        words += f"others (l{order} norm): a clip of that norm would move all of them equally far"
    return words, line


def parted(declared: Algorithm, released: Released, pair: Pair, seed: int) -> tuple[str, str]:
    """Return what the lines say where the two data sets draw in different ways, and the place of the line."""
    lines = lines_of(declared, released, pair, seed)
    words, line = replace(lines, mixed=0).told
    words, line = (words, line) if words else lines.made
    return f"; {words}" if words else "", place_of(declared.code, line)


def before(declared: Algorithm, data: Any, seed: int, chosen: set[int]) -> Iterator[tuple[int, Any, Memory]]:
    """Run the algorithm; yield the chosen steps, each with the state and what the code remembers before it."""
    declared.forget()
    state, rng = copy.deepcopy(declared.start), np.random.default_rng(seed)
    for step in range(declared.steps):
        if step in chosen:
            memory = Memory(*declared.functions)
            yield step, copy.deepcopy(state), memory
            memory.restore()
        state = declared.following(state, declared.released(state, data, rng))


def again(declared: Algorithm, state: Any, memory: Memory, data: Any, recorder: Recorder) -> Array:
    """Return what a step releases from a state, which stays as it is."""
    memory.restore()
    return flat(declared.released(copy.deepcopy(state), data, recorder))


def suspect(declared: Algorithm, pair: Pair, seed: int) -> tuple[str, str]:
    """Say what the lines do on the pair of a violated audit, and give the place of the line to look at.

    Steps are taken from the states of runs; the first counts that lets a record change others or parts the two runs.
    """
    first: tuple[str, str] | None = None
    for run in range(_RUNS):
        for step, state, memory in before(declared, pair.data, seed + run, set(range(min(declared.steps, _STEPS)))):
            released = partial(again, declared, state, memory)
            lines = lines_of(declared, released, pair, seed + step)
            words, line = lines.told
            if words:
                return f"in step {step + 1}, {words}", place_of(declared.code, line)
            if first is None:
                bare = without_noise(released, (pair.data, pair.neighbour), _STILL)
                words, line = lines.made if bare else _added(declared, released, pair, seed + step)
                first = f"{bare}; {words}" if bare else words, place_of(declared.code, line)
    assert first is not None
    return first


def keeping(declared: Algorithm, seed: int) -> str:
    """Return the place of the line of the first step that changes what the code keeps, or else its state in place."""
    declared.forget()
    memory, state = Memory(*declared.functions), copy.deepcopy(declared.start)
    seen = watched(
        declared.code, lambda rng: declared.released(state, declared.data, rng), Recorder(seed),
        lambda: (memory.changed(), Memory(*declared.functions).digests),
    )  # fmt: skip
    own = next(iter(inspect.signature(declared.code).parameters))
    changed = [seen.lines[order] for order, name, _ in seen.changes if name == own and order >= 0]
    return place_of(declared.code, (seen.kept or changed or [0])[0])


def _enlarged(pair: Pair, factor: float) -> Pair | None:
    """Return the pair with the record in which it differs made larger, where records are numbers."""
    try:
        one, other = (np.asarray(side, float) for side in (pair.data, pair.neighbour))
        changed = np.reshape(one != other, (len(one), -1)).any(1).reshape(-1, *[1] * (one.ndim - 1))
        sides = [np.where(changed, factor * side, side) for side in (one, other)]
    except (ValueError, TypeError):  # words, or a record that is removed
        return None
    data, neighbour = sides if isinstance(pair.data, np.ndarray) else (list(side) for side in sides)
    return Pair(data, neighbour, pair.words)


def _with_another(declared: Algorithm, pair: Pair) -> Iterator[Pair]:
    """Yield the pair with another record changed on both sides: one before that in which they differ."""
    records = declared.data if declared.replacements is None else declared.replacements
    apart = next((k for k, (one, other) in enumerate(zip(pair.data, pair.neighbour, strict=False))
                  if not np.array_equal(one, other)), min(map(len, (pair.data, pair.neighbour))))  # fmt: skip
    before = len(pair.data) if len(pair.data) == len(pair.neighbour) else apart
    for index in np.unique(np.linspace(0, before - 1, _OTHERS).astype(int)) if before else ():
        if index != apart:
            record = records[index % len(records)]
            yield Pair(with_record(pair.data, index, record), with_record(pair.neighbour, index, record), pair.words)


def _opposite(pair: Pair) -> Iterator[Pair]:
    """Yield the data with a record far out in one direction and in the opposite one, where records are numbers."""
    try:
        data, neighbour = (np.asarray(side, float) for side in (pair.data, pair.neighbour))
    except (ValueError, TypeError):  # words, or records of several lengths
        return
    if data.ndim != 2 or data.shape != neighbour.shape:
        return
    index, far = int(np.argmax((data != neighbour).any(axis=1))), _LARGE[0] * np.abs(data).max()
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (_DIRECTIONS, data.shape[1]))
    for direction in [*np.eye(data.shape[1])[:_DIRECTIONS], *signs]:
        one, other = (with_record(pair.data, index, sign * far * direction) for sign in (1, -1))
        yield Pair(one, other, "")


def _moved(released: Released, pair: Pair, seed: int) -> Array | None:
    """Return how far apart a step's releases are without noise; None where that is not known."""
    try:
        one, other = (released(side, Recorder(seed, standard=())) for side in (pair.data, pair.neighbour))
        moved = one - other
    except (InputError, ValueError):  # records that may not be so large
        return None
    return moved if np.isfinite(moved).all() else None
