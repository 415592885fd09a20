"""Observations on the recorded draws of a few runs: where they come from, and which of them depend on the data."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits.numbers.number_text import brief
from dpcheck.audits.running.recorder import Draw, Recorder
from dpcheck.audits.running.unchanged import fingerprint, require_unchanged

Array = NDArray[np.float64]
Run = Callable[[Any, np.random.Generator], Array]

# Calls with one seed: enough to catch a fair coin that does not come from the generator. And seeds that are tried.
_REPEATS = 24
_SEEDS = 8


@dataclass(frozen=True)
class Observation:
    """One thing seen in recorded draws.

    Attributes
    ----------
    topic : str
        ``"source"``, ``"reuse"``, ``"draws"``, ``"scale"`` or ``"privacy"``.
    verdict : str
        ``"violated"``, ``"inconclusive"`` or ``"consistent"``.
    reason : str
        What was seen, in words.
    """

    topic: str
    verdict: str
    reason: str


def source(run: Run, dataset: Any, seed: int) -> Observation | None:
    """Observe randomness from outside the generator, or noise kept between calls; None if neither shows."""
    before = fingerprint(dataset)
    plain, legacy = random.getstate(), np.random.get_state(legacy=False)  # noqa: NPY002  # watched, not used
    recorders = [Recorder(seed) for _ in range(_REPEATS)]
    try:
        outputs = [run(dataset, recorder) for recorder in recorders]
        moved = {"the random module": random.getstate() != plain, "numpy.random's global state": _moved(legacy)}
    finally:
        random.setstate(plain)
        np.random.set_state(legacy)  # noqa: NPY002
    require_unchanged(dataset, before)
    used = " and ".join(name for name, was in moved.items() if was)
    if used:
        return Observation("source", "violated", f"it draws from {used} instead of rng")
    drawn = [_kinds(recorder.draws) for recorder in recorders]
    if any(kinds != drawn[0] for kinds in drawn):
        return Observation("reuse", "inconclusive", "calls with one seed draw differently: it keeps noise or a release")
    if any(output.shape != outputs[0].shape or (output != outputs[0]).any() for output in outputs):
        reason = "outputs differ for one seed: it has randomness of its own, or keeps something between calls"
        return Observation("source", "violated", reason)
    if recorders[0].bypassed:
        reason = "it draws through bit_generator or in compiled code, where draws are not recorded"
        return Observation("source", "inconclusive", reason)
    others = [run(dataset, Recorder(seed + 1 + k)) for k in range(_SEEDS)]
    if not drawn[0] and any(not np.array_equal(outputs[0], output) for output in others):
        return Observation("source", "inconclusive", "it uses the seed of rng in ways that are not recorded")
    return None


def differences(first: Sequence[Draw], second: Sequence[Draw]) -> list[Observation]:
    """Observe draws, and parameters of draws, that depend on the data."""
    kinds = [_kinds(first), _kinds(second)]
    if kinds[0] != kinds[1]:
        at = next((k for k, (a, b) in enumerate(zip(*kinds, strict=False)) if a != b), min(map(len, kinds)))
        shown = [f"{each[at][0]} of shape {each[at][1]}" if at < len(each) else "nothing" for each in kinds]
        reason = f"what is drawn depends on the data: draw {at} is {shown[0]} on data, {shown[1]} on neighbour"
        return [Observation("draws", "inconclusive", reason)]
    seen = []
    for k, (a, b) in enumerate(zip(first, second, strict=True)):
        for name, value in a.arguments.items():
            # The centre of the noise is the query itself; all else should be public.
            if (a.law and name in ("loc", "mean")) or _equal(value, b.arguments[name]):
                continue
            shown = [brief(value), brief(b.arguments[name])]
            reason = f"{name} of draw {k}, {a.method}, depends on the data: {shown[0]} on data, {shown[1]} on neighbour"
            seen.append(Observation("scale" if a.law else "draws", "inconclusive", reason))
    return seen


def reuse(run: Run, data: Any, neighbour: Any, scale: Array, seed: int) -> list[Observation]:
    """Observe outputs (k,) whose continuous noise, of size ``scale``, two calls on one generator share.

    The difference of the two calls is then the same for all seeds, which never happens with fresh noise.
    """
    gaps = []
    for k in range(_SEEDS):
        rng = Recorder(seed + k)
        gaps.append(run(data, rng) - run(neighbour, rng))
    still = (np.ptp(gaps, axis=0) <= 1e-6 * scale) & (scale > 0)
    if not still.any():
        return []
    reason = f"two calls on one generator share the noise of {int(still.sum())} of {still.size} numbers"
    return [Observation("reuse", "violated", reason)]


def _kinds(draws: Sequence[Draw]) -> list[tuple[str, tuple[int, ...]]]:
    """Return the method and shape of each draw."""
    return [(draw.method, draw.shape) for draw in draws]


def _moved(before: Any) -> bool:
    """Say whether numpy.random's global state differs from what it was before."""
    now = np.random.get_state(legacy=False)  # noqa: NPY002
    same = all(np.array_equal(now["state"][k], before["state"][k]) for k in before["state"])
    return not same or bool(now["has_gauss"] != before["has_gauss"])


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return bool(a is b or a == b)
