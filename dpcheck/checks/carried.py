"""What a user's algorithm carries from step to step beside its releases: a state without noise, found by replaying.

Events add up only if each release depends on the data through its own step and, from before, through earlier releases
alone. So one run is made on the data, and another on data in which every record is another one, whose noise is chosen
so that it releases the same. Taken from there with the data of the first and the same draws, each step must release the
same. A step that does not has been told of earlier records by something else, which is then found in its state or among
what the code keeps between calls. Nothing here is statistical; what moves a release by less than a millionth of its
largest number, or not at the steps that are looked at, is not seen.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.algorithms.declaration import Algorithm, flat
from dpcheck.algorithms.problem import Array
from dpcheck.audits.additive_noise import respond
from dpcheck.audits.neighbours import with_records
from dpcheck.audits.running.memory import Memory
from dpcheck.audits.running.recorder import Recorder
from dpcheck.errors import InputError

_STEPS = 12  # at which releases are compared, spread over all, the second and the last among them
_CLOSE = 1e-6  # relative: a release that was made the same by its noise is so up to rounding


@dataclass(frozen=True)
class Carried:
    """Why the events do not describe a run."""

    step: int  # the first, from 1, whose release its own data and earlier releases do not explain
    through: tuple[str, ...] = ()  # where the records of earlier steps were kept
    certain: bool = True  # False where the releases of the two runs could not be made the same
    repeats: bool = True  # False where the same state, data and draws do not release the same again

    @property
    def reason(self) -> str:
        """Say in a clause what was seen."""
        if not self.repeats:
            return (
                f"step {self.step} releases something else for the same state, data and draws: all its randomness must "
                "come from rng"
            )
        where = f", which it keeps in {' and in '.join(self.through)}" if self.through else ""
        if not self.certain:
            return (
                f"the release of step {self.step} depends on earlier steps{where}; whether through their releases "
                "alone is not known: let update= make the next state of what step= releases"
            )
        beyond = "depends on records of earlier steps beyond what those steps released"
        return f"the release of step {self.step} {beyond}{where}"


def carried(given: Algorithm, records: Sequence[Any], seed: int) -> Carried | None:
    """Return what is carried beside the releases, or None; each of ``records`` replaces all records in one replay."""
    if given.step is None or given.steps == 1:
        return None
    looked_at = {1, given.steps - 1, *np.linspace(1, given.steps - 1, _STEPS).astype(int).tolist()}
    given.forget()  # what runs before this one have left is no change
    memory, live = Memory(*given.functions), set[str]()  # places that runs change: the rest may be large
    for data in (given.data, *(with_records(given.data, range(len(given.data)), record) for record in records)):
        for _ in given.walk(data, np.random.default_rng(0)):
            pass
        live.update(memory.changed())
    first = list(_run(given, given.data, seed, live, None))
    for step in sorted(looked_at):
        if not _equal(first[step].again(given, seed, step, live), first[step].release):
            return Carried(step + 1, certain=False, repeats=False)
    for record in records:
        others = with_records(given.data, range(len(given.data)), record)
        for step, moment in enumerate(_run(given, others, seed, live, first)):
            if step not in looked_at or _equal(moment.again(given, seed, step, live), first[step].release):
                continue
            parts = _differing(first[step].state, moment.state)
            through = [f"the state, which step changes in place ({', '.join(parts)})"] if parts else []
            there = first[step].memory.digests
            through += [name for name, digest in moment.memory.digests.items() if there.get(name) != digest]
            return Carried(step + 1, tuple(through), moment.certain)
    return None


@dataclass(frozen=True, eq=False)
class _Moment:
    """A step of a run: state and memory of the code before it, and what it released, also as numbers."""

    state: Any
    memory: Memory
    released: Any
    release: Array
    certain: bool = True  # whether all releases before are the other run's, or nothing was kept of those that are not

    def again(self, given: Algorithm, seed: int, step: int, live: set[str]) -> Array:
        """Take the step once more, on the declared data."""
        after = Memory(*given.functions, only=live)
        self.memory.restore()
        release = flat(given.released(copy.deepcopy(self.state), given.data, Recorder(_seed(seed, step))))
        after.restore()
        return release


def _run(given: Algorithm, data: Any, seed: int, live: set[str], wanted: Sequence[_Moment] | None) -> Iterator[_Moment]:
    """Run the algorithm, each step with draws of its own, or with those that release what is ``wanted``."""
    given.forget()
    state, certain = copy.deepcopy(given.start), True
    for step in range(given.steps):
        attempt = _Attempt(given, data, state, Memory(*given.functions, only=live), _seed(seed, step))
        after, released, numbers = attempt(Recorder(attempt.seed))
        if wanted is None:
            yield _Moment(attempt.state, attempt.memory, copy.deepcopy(released), numbers)
        else:
            yield _Moment(attempt.state, attempt.memory, None, numbers, certain)
            same = attempt.same(wanted[step].release, numbers)
            if same is None:
                after, *_ = attempt(Recorder(attempt.seed))
                certain = certain and not (_differing(attempt.state, after) or attempt.memory.changed())
            else:
                after = same
            released = copy.deepcopy(wanted[step].released)
        state = given.following(after, released)


@dataclass(frozen=True, eq=False)
class _Attempt:
    """One step that is taken again and again from the same state and memory."""

    given: Algorithm
    data: Any
    state: Any
    memory: Memory
    seed: int

    def __call__(self, rng: np.random.Generator) -> tuple[Any, Any, Array]:
        """Take it; the state after it, what it released, and that as numbers."""
        self.memory.restore()
        state = copy.deepcopy(self.state)
        released = self.given.released(state, self.data, rng)
        return state, released, flat(released)

    def same(self, wanted: Array, release: Array) -> Any:
        """Return the state after the step where it releases what is wanted, by another noise; None where it cannot."""
        if wanted.shape != release.shape or not np.isfinite(release).all():
            return None
        recorder = Recorder(self.seed)
        self(recorder)
        noise = recorder.standard
        if noise.size == 0 or recorder.bypassed:
            return None
        if noise.size == release.size:  # as a rule, each number has noise of its own
            slope = self(Recorder(self.seed, standard=noise + 1))[2] - release
            if slope.shape == release.shape and slope.all():
                after, _, seen = self(Recorder(self.seed, standard=noise + (wanted - release) / slope))
                if _equal(seen, wanted):
                    return after
        response = respond(lambda recorder: self(recorder)[2], self.seed)
        if isinstance(response, str):
            return None
        chosen = noise + np.linalg.lstsq(response.mixing, wanted - release, rcond=None)[0]
        after, _, seen = self(Recorder(self.seed, standard=chosen))
        return after if _equal(seen, wanted) else None


def _seed(seed: int, step: int) -> int:
    return int(np.random.SeedSequence([seed, step]).generate_state(1)[0])


def _equal(one: Array, other: Array) -> bool:
    size = max(float(np.abs(one[np.isfinite(one)]).max(initial=0)), 1e-300)
    return one.shape == other.shape and np.allclose(one, other, rtol=_CLOSE, atol=_CLOSE * size, equal_nan=True)


def _differing(one: Any, other: Any, path: str = "state") -> list[str]:
    """Name the parts of two states that differ."""
    if isinstance(one, Mapping) and isinstance(other, Mapping) and one.keys() == other.keys():
        return [name for key in one for name in _differing(one[key], other[key], f"{path}[{key!r}]")]
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return [name for k, (left, right) in pairs for name in _differing(left, right, f"{path}[{k}]")]
    try:
        same = _equal(flat(one), flat(other))
    except InputError:  # no numbers, such as a word
        same = bool(one == other)
    return [] if same else [path]
