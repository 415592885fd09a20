"""Which line of a declared step a finding about its releases is for, and what there is to say about it."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dpcheck.algorithms.declaration import Algorithm, flat
from dpcheck.algorithms.problem import Array
from dpcheck.audits.neighbours import Pair
from dpcheck.audits.running.memory import Memory
from dpcheck.audits.running.recorder import Recorder
from dpcheck.lines import Lines, compared, reading, watched
from dpcheck.source import place_of

_LARGER, _GROWN = 10.0, 2.0  # times as large a record, and times as far as it then moves the release: nothing clips it
_STEPS, _RUNS = 50, 8  # in which a violated run is watched, and how many runs
Released = Callable[[Any, Recorder], Array]  # of the data, with one state and memory


def lines_of(declared: Algorithm, released: Released, pair: Pair, seed: int) -> Lines:
    """Watch a step on both data sets of a pair, with the same draws."""
    one, other = (
        watched(declared.code, partial(released, data), Recorder(seed)) for data in (pair.data, pair.neighbour)
    )
    arguments = [*inspect.signature(declared.code).parameters]
    read = reading(declared.code, arguments[0 if declared.step is None else 1])
    return compared(one, other, len(pair.data), read)


def explained(declared: Algorithm, released: Released, pair: Pair, seed: int) -> tuple[str, str]:
    """Return what the lines say of a record that moves a release too far, and the place of the line to look at."""
    lines = lines_of(declared, released, pair, seed)
    words, line = replace(lines, parted=0).told
    if not words and (grown := _grown(released, pair, seed)) > _GROWN:
        line = lines.query or lines.noise
        words = f"a record {_LARGER:g} times as large moves it {grown:.3g} times as far: nothing clips it"
        words += f" up to line {line}" if line else ""
    elif not words:
        words, line = lines.made
    return f"; {words}", place_of(declared.code, line)


def parted(declared: Algorithm, released: Released, pair: Pair, seed: int) -> tuple[str, str]:
    """Return what the lines say where the two data sets draw in different ways, and the place of the line."""
    lines = lines_of(declared, released, pair, seed)
    words, line = replace(lines, mixed=0).told
    words, line = (words, line) if words else lines.made
    return f"; {words}", place_of(declared.code, line)


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
            lines = lines_of(declared, partial(again, declared, state, memory), pair, seed + step)
            words, line = lines.told
            if words:
                return f"in step {step + 1}, {words}", place_of(declared.code, line)
            if first is None:
                words, line = lines.made
                first = words, place_of(declared.code, line)
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


def _grown(released: Released, pair: Pair, seed: int) -> float:
    """Return how many times as far a record moves the release, without noise, once it is so much larger."""
    try:
        one, other = (np.asarray(side, float) for side in (pair.data, pair.neighbour))
        if one.shape != other.shape:
            return 1.0
        changed = np.reshape(one != other, (len(one), -1)).any(1)
        larger = [np.where(changed.reshape(-1, *[1] * (one.ndim - 1)), _LARGER * side, side) for side in (one, other)]
        pairs = [
            (pair.data, pair.neighbour),
            larger if isinstance(pair.data, np.ndarray) else [list(s) for s in larger],
        ]
        gaps = [
            float(np.linalg.norm(np.subtract(*(released(side, Recorder(seed, standard=())) for side in sides))))
            for sides in pairs
        ]
    except Exception:  # records that are no numbers, or may not be larger
        return 1.0
    return gaps[1] / gaps[0] if gaps[0] > 0 and math.isfinite(gaps[1]) else 1.0
