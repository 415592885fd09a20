"""What recorded runs of a mechanism show about its draws: their sources and seeds, what depends on the data, reuse."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dpcheck.arrays import Floats, returned_numbers
from dpcheck.audits.running import sources
from dpcheck.audits.running.datasets import brief, fingerprint, require_unchanged
from dpcheck.audits.running.python_sources import numpy_was_seeded
from dpcheck.audits.running.recorder import Draw, Recorder
from dpcheck.errors import require
from dpcheck.source import shown_place

# Calls with one seed: enough to catch a fair coin that does not come from the generator. And seeds that are tried.
_REPEATS = 24
_SEEDS = 8
_LOOKS = 3  # as long as they find seeds that are fresh, or libraries that the first call imported


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


@dataclass
class Runs:
    """Runs of a mechanism with all its sources drawing from one generator; ``fresh`` has the seeds that are fresh."""

    mechanism: Callable[..., Any]
    takes_rng: bool
    fresh: frozenset[tuple[str, str]] = frozenset()
    notes: list[Observation] = field(default_factory=list)

    def __call__(self, dataset: Any, rng: np.random.Generator) -> Floats:
        """Return the numbers of one output, (k,)."""
        with sources.drawing_from(rng, self.fresh):
            given = (dataset, rng) if self.takes_rng else (dataset,)
            value = returned_numbers(self.mechanism, "mechanism", *given).ravel()
        require(bool(np.isfinite(value).all()), "mechanism", "return finite numbers", value)
        return value


def source(run: Runs, dataset: Any, seed: int) -> Observation | None:
    """Observe randomness that cannot be replayed, or noise kept between calls; None if neither shows."""
    before = fingerprint(dataset)
    for _ in range(_LOOKS):
        known = run.fresh, sources.reached()
        seen = _look(run, dataset, seed)
        if known == (run.fresh, sources.reached()):
            break
    require_unchanged(dataset, before)
    return seen


def _look(run: Runs, dataset: Any, seed: int) -> Observation | None:
    """Run on one seed and on others, learn which seeds of the mechanism's own are fresh, and observe what differs."""
    plain, legacy = random.getstate(), np.random.get_state(legacy=False)  # noqa: NPY002  # watched, not used
    recorders, elsewhere = [[Recorder(seed + k) for k in which] for which in ([0] * _REPEATS, range(1, _SEEDS + 1))]
    try:
        outputs = [run(dataset, recorder) for recorder in recorders]
        others = [run(dataset, recorder) for recorder in elsewhere]
        moved = {"the random module": random.getstate() != plain, "numpy.random's global state": _moved(legacy)}
    finally:
        random.setstate(plain)
        np.random.set_state(legacy)  # noqa: NPY002
    seeds, again, other = map(_seeds, (recorders[0], recorders[-1], elsewhere[0]))
    run.fresh |= {
        key for key, values in seeds.items()
        if key in other and all(a != b for a, b in zip(values, other[key], strict=False))
    }  # fmt: skip
    seen = [_seeds(recorder) for recorder in (recorders[0], *elsewhere)]
    few = [  # small seeds: that all of some are has probability 1e-10 where they have 32 random bits
        key for key in seeds
        if key in run.fresh and all(v.isdigit() and int(v) < 2**28 for run in seen for v in run.get(key, ()))
    ]  # fmt: skip
    run.notes = list(_notes(recorders[0], few, [key for key, values in seeds.items() if values != again.get(key)]))
    drawn = [_kinds(recorder.draws) for recorder in recorders]
    if any(kinds != drawn[0] for kinds in drawn):
        return Observation("reuse", "inconclusive", "calls with one seed draw differently: it keeps noise or a release")
    if used := " and ".join(name for name, was in moved.items() if was):
        return Observation("source", "inconclusive", f"it, or another thread, draws unrecorded from {used}")
    if any(output.shape != outputs[0].shape or (output != outputs[0]).any() for output in outputs):
        reason = (
            "outputs differ for one seed: it draws from a source that cannot be reached, such as compiled code or a "
            "thread of its own, or keeps something between calls; audit_privacy(..., seeded=False) tests its outputs"
        )
        return Observation("source", "inconclusive", reason)
    if recorders[0].bypassed:
        reason = "it draws through bit_generator or in compiled code, where draws are not recorded"
        return Observation("source", "inconclusive", reason)
    if not drawn[0] and any(not np.array_equal(outputs[0], output) for output in others):
        return Observation("source", "inconclusive", "it uses the seed of rng in ways that are not recorded")
    return None


def _seeds(recorder: Recorder) -> dict[tuple[str, str], list[str]]:
    """Return the seeds of a run, by name and place."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, place, value in recorder.seedings:
        found.setdefault((name, place), []).append(value)
    return found


def _notes(
    recorder: Recorder, few: Sequence[tuple[str, str]], changing: Sequence[tuple[str, str]]
) -> Iterator[Observation]:
    """Observe which sources a run draws from, seeds of few values, others' seeds, and keys that are used again."""
    drawn: dict[str, str] = {}
    for draw in recorder.draws:
        drawn.setdefault(draw.source, draw.place)
    drawn.pop("rng", None)
    for name, place in drawn.items():
        words = f"it draws from {name} ({_shown(place)}), not from rng: no fault where nobody seeds it"
        yield Observation("source", "consistent", words)
    if "numpy.random" in drawn and numpy_was_seeded():
        words = "numpy.random was seeded before the audit: if the code itself does so, its noise repeats"
        yield Observation("source", "inconclusive", words)
    for name, place in few:
        words = f"{name} is given small numbers as seeds: its noise has few values ({_shown(place)})"
        yield Observation("source", "inconclusive", words)
    for name, place in changing:
        words = f"{name} is given what changes from call to call and is not drawn, such as the time or a key it keeps"
        yield Observation("source", "inconclusive", f"{words} ({_shown(place)})")
    for name in (name for name, value in recorder.kept.items() if not value):
        words = f"it draws from {name}, which was given a seed: whoever knows the seed knows its draws"
        yield Observation("source", "inconclusive", words)
    if recorder.reused:
        words = f"a key or a seed is used again, for {' and '.join(dict.fromkeys(recorder.reused))}: that is not fresh"
        yield Observation("reuse", "inconclusive", words)


def differences(first: Sequence[Draw], second: Sequence[Draw]) -> list[Observation]:
    """Observe draws, and parameters of draws, that depend on the data."""
    kinds = [_kinds(first), _kinds(second)]
    if kinds[0] != kinds[1]:
        at = next((k for k, (a, b) in enumerate(zip(*kinds, strict=False)) if a != b), min(map(len, kinds)))
        shown = [f"{drawn[at][0]} of shape {drawn[at][1]}" if at < len(drawn) else "nothing" for drawn in kinds]
        place = next((_at(drawn[at]) for drawn in (first, second) if at < len(drawn)), "")
        reason = f"what is drawn depends on the data: draw {at} is {shown[0]} on data, {shown[1]} on neighbour{place}"
        return [Observation("draws", "inconclusive", reason)]
    seen = []
    for k, (a, b) in enumerate(zip(first, second, strict=True)):
        for name, value in a.arguments.items():
            # The centre of the noise is the query itself; all else should be public.
            if (a.law and name in ("loc", "mean")) or _equal(value, b.arguments[name]):
                continue
            what, *shown = _furthest(name, value, b.arguments[name])
            reason = f"{what} of draw {k}, {a.method}, depends on the data: {shown[0]} on data, {shown[1]} on neighbour"
            seen.append(Observation("scale" if a.law else "draws", "inconclusive", f"{reason}{_at(a)}"))
    return seen


def reuse(run: Runs, data: Any, neighbour: Any, scale: Floats, seed: int) -> list[Observation]:
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


def name_of(draw: Draw) -> str:
    """Return the function that drew, with its source where that is not rng, and the place."""
    return f"{draw.source}.{draw.method}{_at(draw)}"


def _shown(place: str) -> str:
    """Return file and line; the line alone of what has no file, as at a prompt and in a notebook."""
    file, _, line = place.rpartition(":")
    return shown_place(place) if Path(file).is_file() else f"line {line}"


def _at(draw: Draw) -> str:
    return f" at {_shown(draw.place)}" if draw.place else ""


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


def _furthest(name: str, first: Any, second: Any) -> tuple[str, str, str]:
    """Return a parameter with its two values; of an array, the entry that moves most."""
    arrays = isinstance(first, np.ndarray) and isinstance(second, np.ndarray) and first.shape == second.shape
    if arrays and first.ndim and first.size and first.dtype.kind in "iuf" and second.dtype.kind in "iuf":
        at = np.unravel_index(np.argmax(np.abs(first.astype(float) - second.astype(float))), first.shape)
        name, first, second = f"{name}[{', '.join(map(str, at))}]", np.asarray(first[at]), np.asarray(second[at])
    return name, brief(first), brief(second)


def fixed_seeds(run: Runs, one: Recorder, other: Recorder) -> Iterator[str]:
    """Say which seeds are the same in every run, or depend on the data alone."""
    for name, seed in (one.kept | other.kept).items():
        if seed:
            yield f"it keeps {name}, which was seeded with {seed}, so that whoever knows the seed knows its draws"
    values = [_seeds(recorder) for recorder in (one, other)]
    fixed = [key for key in dict.fromkeys([*values[0], *values[1]]) if key not in run.fresh]
    keys = [key for key in fixed if key[0] != sources.KEY] or fixed  # a key is made of a seed
    for key in keys[:3]:
        name, place = key
        on = [", ".join(dict.fromkeys(places_of_run.get(key, ["none"])))[:60] for places_of_run in values]
        given = f"{on[0]} in every run" if on[0] == on[1] else f"{on[0]} on data and {on[1]} on neighbour"
        yield f"{name} is given {given} ({_shown(place)})"
