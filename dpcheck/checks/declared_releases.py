"""Each release of a declared algorithm: how far one record moves it, in units of its noise, against its event.

Exact where a release is a query plus fixed multiples of what is drawn: one run is made, and each of its steps is
taken again from the same state with its noise silenced (the query), with one unit of each draw (the noise), and with
one record replaced. A minibatch is the same on both sides, so that the multiplier is the one between batches.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from dpcheck.algorithms.declaration import Algorithm, flat
from dpcheck.algorithms.problem import Array
from dpcheck.audits.additive_noise import Response, moved, respond
from dpcheck.audits.neighbours import Pair, with_record
from dpcheck.audits.running.memory import Memory
from dpcheck.audits.running.recorder import Recorder
from dpcheck.checks.context import Context
from dpcheck.checks.declared import Declared, bases, candidates, with_records
from dpcheck.report.findings import Finding

_ROUNDING = 1e-6  # relative, of the share
_STEPS = {"quick": 50, "full": 1000}  # looked at, spread over all
_RECORDS = 32  # of the data that are each replaced
_UNITS = {"gaussian": "standard deviations", "laplace": "scales"}
_SUBJECT = "each release, its noise against how far one record moves it"
_REMEDY = (
    "let step= return the noisy answer itself, drawn with rng.normal or rng.laplace, and update= make the next state "
    "of it"
)


@dataclass(frozen=True)
class Moved:
    """What one record does to the release of one step.

    by, allowed : units of the noise;  pair : in words
    """

    step: int
    law: str
    by: float
    allowed: float
    pair: str

    @property
    def share(self) -> float:
        """The share of what the step's event allows."""
        return 0.0 if self.by == 0 else self.by / self.allowed if self.allowed > 0 else math.inf


def releases(context: Context, subject: Declared) -> Iterator[Finding]:
    """Yield one finding for all releases, which names the worst."""
    declared, skip = subject.algorithm, partial(subject.not_checked, "releases", "noise", _SUBJECT)
    if declared.events is None:
        yield skip("No events are declared: say in events= with which noise multiplier each step is released.")
        return
    if len(declared.releases) != declared.steps:
        yield skip(
            f"The events stand for {len(declared.releases)} releases and a run makes {declared.steps}: declare one "
            "event a step (mechanisms on one minibatch in one Sampled), or step= and steps= for what is now a run=."
        )
        return
    seed = subject.seed(context, 10)
    chosen = np.unique(np.linspace(0, declared.steps - 1, min(declared.steps, _STEPS[context.profile])).astype(int))
    found: list[Moved] = []
    if (unseen := subject.carried(context)) is not None:
        verdict = "violated" if unseen.certain else "inconclusive"
        yield subject.finding("releases", "noise", _SUBJECT, verdict, unseen.reason)
        return
    for step, state, memory in _before(declared, seed, set(chosen.tolist())):
        context.progress(step, declared.steps)
        law, multiplier = declared.releases[step]
        look = _Step(declared, state, memory, seed + step).look(law)
        if isinstance(look, str):
            yield skip(f"In step {step + 1}, {look}; {_REMEDY}.")
            return
        by, drawn, words = look
        if isinstance(by, str) or drawn != law:
            reason = f"in step {step + 1}, {by} ({words})" if isinstance(by, str) else (
                f"the noise of step {step + 1} is {drawn}, its event declares {law}"
            )  # fmt: skip
            yield subject.finding("releases", "noise", _SUBJECT, "violated", reason)
            return
        # replacing a record is removing one and adding another
        twice = 2.0 if declared.relation == "add_or_remove_one" else 1.0
        found.append(Moved(step + 1, law, by, twice / multiplier if multiplier > 0 else math.inf, words))
    verdict, reason = judged(found)
    rows = [asdict(look) | {"share": look.share} for look in found]
    evidence = {"releases": rows, "steps": declared.steps}
    yield subject.finding("releases", "noise", _SUBJECT, verdict, reason, evidence=evidence)


def _before(declared: Algorithm, seed: int, chosen: set[int]) -> Iterator[tuple[int, Any, Memory]]:
    """Run the algorithm; yield the chosen steps, each with the state and what the code remembers before it."""
    declared.forget()
    state, rng = copy.deepcopy(declared.start), np.random.default_rng(seed)
    for step in range(declared.steps):
        if step in chosen:
            memory = Memory(*declared.functions)
            yield step, copy.deepcopy(state), memory
            memory.restore()
        state = declared.following(state, declared.released(state, declared.data, rng))


def judged(found: list[Moved]) -> tuple[str, str]:
    """Return the verdict on all steps that were looked at, and its reason."""
    most = max(look.share for look in found)
    worst = next(look for look in found if look.share >= most * (1 - 1e-9))  # the first, whatever rounding says
    units, at = f"{_UNITS[worst.law]} of its noise", f"step {worst.step}"
    event = f"its event declares {1 / worst.allowed:.4g}" if worst.allowed < math.inf else "its event declares 0"
    if worst.by == 0:
        verdict, reason = "inconclusive", "no record that was tried moves any release: declare replacements= that do"
    elif worst.by == math.inf:
        verdict = "violated"
        reason = f"the release of {at} has noise 0 where a record moves it ({worst.pair}); {event}"
    elif worst.share > 1 + _ROUNDING:
        verdict = "violated"
        reason = (
            f"the release of {at} has noise multiplier {1 / worst.by:.4g} and {event}: a record moves it by "
            f"{worst.by:.4g} {units}, {worst.share:.3g} times what is declared ({worst.pair})"
        )
    else:
        verdict = "consistent"
        reason = (
            f"a record moves no release by more than {worst.by:.4g} {units} ({at}); {worst.allowed:.4g} are declared"
        )
    return verdict, reason


@dataclass(frozen=True, eq=False)
class _Step:
    """One step from one state, its draws fixed by ``seed``."""

    declared: Algorithm
    state: Any
    memory: Memory
    seed: int

    def look(self, law: str) -> tuple[float | str, str, str] | str:
        """Measure by how many units of noise the worst record moves the release (or what is wrong), law, pair; or
        why unknown.
        """
        first = self._response(self.declared.data, law)
        if isinstance(first, str):
            return first
        worst = self._worst(first)
        if isinstance(worst, str):
            return worst
        sides = [self._response(each, law) for each in (worst.data, worst.neighbour)]
        for side in sides:
            if isinstance(side, str):
                return side
        one, other = (side for side in sides if isinstance(side, Response))
        return moved(one, other), one.law, worst.words

    def _response(self, data: Any, law: str) -> Response | str:
        """Return how a release responds to its draws; one that draws nothing has noise 0."""
        recorder = Recorder(self.seed)
        value = self._released(data, recorder)
        if not recorder.bypassed and not any(draw.law for draw in recorder.draws):
            return Response(value, np.zeros((value.size, 1)), law)
        if not np.isfinite(value).all():
            return "the release is not finite"
        return respond(lambda recorder: self._released(data, recorder), self.seed)

    def _released(self, data: Any, recorder: Recorder) -> Array:
        self.memory.restore()
        return flat(self.declared.released(copy.deepcopy(self.state), data, recorder))

    def _query(self, data: Any) -> Array:
        return self._released(data, Recorder(self.seed, standard=()))

    def _worst(self, first: Response) -> Pair | str:
        """Return the pair that moves most, each coordinate in units of its own noise."""
        spread = np.linalg.norm(first.mixing, axis=1)
        best, found = -1.0, Pair(self.declared.data, self.declared.data, "no record")
        for pair in self._pairs():
            one, other = self._query(pair.data), self._query(pair.neighbour)
            if one.shape != other.shape:
                return "the shape of the release changes with a record"
            if not (np.isfinite(one).all() and np.isfinite(other).all()):
                return f"the release is not finite ({pair.words})"
            gap = np.abs(one - other)
            size = float(np.linalg.norm(np.divide(gap, spread, out=np.where(gap > 0, 1e100, 0.0), where=spread > 0)))
            if size > best:
                best, found = size, pair
        return found

    def _pairs(self) -> Iterator[Pair]:
        """Yield neighbours that differ in a record of this step's minibatch, and some others."""
        declared = self.declared
        if declared.neighbour is not None and len(declared.neighbour) == len(declared.data):
            yield Pair(declared.data, declared.neighbour, "the declared pair")
        some = {int(index) for index in np.linspace(0, len(declared.data) - 1, min(_RECORDS, len(declared.data)))}
        for words, base in bases(declared):
            for k, record in enumerate(candidates(declared)):
                hit = _member(self._query, base, record)
                for index in sorted({hit} | (some if base is declared.data else set())) if hit is not None else ():
                    yield Pair(base, with_record(base, index, record),
                               f"in {words}, record {index} becomes replacement {k}")  # fmt: skip


def _member(query: Callable[[Any], Array], base: Any, record: Any) -> int | None:
    """Return a record on which the query depends, by bisection over how many of the first records are replaced."""
    start = query(base)

    def same(count: int) -> bool:
        return np.array_equal(query(with_records(base, range(count), record)), start, equal_nan=True)

    low, high = 0, len(base)
    if same(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if same(middle) else (low, middle)
    return low
