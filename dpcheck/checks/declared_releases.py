"""Each release of a declared algorithm: how far one record moves it, in units of its noise, against its event.

One run is made, and each of its steps is taken again from the same state: with its noise silenced (the query), with one
unit of each draw (the noise), and with one record replaced or removed. A minibatch is the same on both sides, so that
the multiplier is the one between batches. A release that is no query plus noise, such as Adam's, is compared where one
shift of the noise makes both sides release the same, whatever the noise is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from dpcheck.algorithms.declaration import Algorithm
from dpcheck.algorithms.problem import Array
from dpcheck.audits.additive_noise import Response, Shift, moved, respond, transported
from dpcheck.audits.neighbours import Pair, with_record, with_records, without_record
from dpcheck.audits.running.memory import Memory
from dpcheck.audits.running.recorder import Draw, Recorder
from dpcheck.checks.context import Context
from dpcheck.checks.declared import Declared, bases, candidates, is_minibatch
from dpcheck.checks.declared_lines import again, before, explained, keeping, parted
from dpcheck.checks.sampling import on_minibatches
from dpcheck.errors import InputError
from dpcheck.events import Repeated
from dpcheck.report.findings import Finding

_ROUNDING = 1e-5  # relative, of the share: that of a clip in float32, whose loss is negligible
_STEPS = {"quick": 50, "full": 1000}  # looked at, spread over all
_RECORDS = 32  # of the data that are each replaced
_SEEDS = 32  # of a step's draws, of which some may take the record that is removed
_RARE, _NEAR = 1e-9, 1e-9  # a number next to 0; how much less a number is that makes the same choice
_BRANCHES = 4  # numbers of a step that may choose one
_NOISE = 1e-6  # relative: by how much noise may differ that is the same
_RUNS = 8  # whose spread stands for the noise of a release that is no query plus noise
_UNITS = {"gaussian": "standard deviations", "laplace": "scales"}
_SUBJECT = "each release, its noise against how far one record moves it"
_REMEDY = (
    "let step= return the noisy answer itself, drawn with rng.normal or rng.laplace, and update= make the next state "
    "of it"
)


@dataclass(frozen=True)
class Moved:
    """What one record does to the release of a step: ``by``, ``allowed`` in units of the noise, ``pair`` in words."""

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
    allowed = _allowed(declared)
    if allowed is None:
        yield skip(
            f"The events stand for {len(declared.releases)} releases and a run makes {declared.steps}: declare one "
            "event a step, or as many Gaussian ones that read all records, or step= and steps= for what is now a run=."
        )
        return
    seed = subject.seed(context, 10)
    chosen = np.unique(np.linspace(0, declared.steps - 1, min(declared.steps, _STEPS[context.profile])).astype(int))
    found: list[Moved] = []
    worst: Any = (0.0, None, None)  # share, step and pair
    if (unseen := subject.carried(context)) is not None:
        verdict = "violated" if unseen.certain else "inconclusive"
        place = keeping(declared, seed)
        yield subject.finding("releases", "noise", _SUBJECT, verdict, unseen.reason, place=place)
        return
    for step, state, memory in before(declared, declared.data, seed, set(chosen.tolist())):
        context.progress(step, declared.steps)
        law, multiplier = allowed[step]
        made = _Step(declared, state, memory, seed + _SEEDS * step).with_the_last_drawn()
        look = made.look(law)
        if isinstance(look, str):
            yield skip(f"In step {step + 1}, {look}; {_REMEDY}.")
            return
        by, drawn, pair = look
        if isinstance(by, str) or drawn != law:
            reason = f"in step {step + 1}, {by} ({pair.words})" if isinstance(by, str) else (
                f"the noise of step {step + 1} is {drawn}, its event declares {law}"
            )  # fmt: skip
            wrong, place = parted(declared, made._released, pair, made.seed)
            yield subject.finding("releases", "noise", _SUBJECT, "violated", reason + wrong, place=place)
            return
        parts = _records_apart(declared, pair)
        found.append(Moved(step + 1, law, by, parts / multiplier if multiplier > 0 else math.inf, pair.words))
        if found[-1].share > worst[0] * (1 + _ROUNDING):
            worst = found[-1].share, made, pair
        usual = found[-1].share <= 1 + _ROUNDING and step in (chosen[0], chosen[-1])
        if usual and (rare := made.in_a_rare_branch(law, found[-1].allowed)):
            yield subject.finding("releases", "noise", _SUBJECT, "violated", f"in step {step + 1}, {rare}")
            return
        if usual and (uneven := made.with_other_noise()):
            wrong, place = parted(declared, made._released, uneven, made.seed)
            reason = f"in step {step + 1}, the noise itself changes with a record ({uneven.words}){wrong}"
            yield subject.finding("releases", "noise", _SUBJECT, "violated", reason, place=place)
            return
    verdict, reason = judged(found, several=len(declared.releases) > declared.steps)
    place = ""
    if verdict == "violated":
        _, made, pair = worst
        words, place = explained(declared, made._released, pair, made.seed)
        reason += words
    rows = [asdict(look) | {"share": look.share} for look in found]
    evidence = {"releases": rows, "steps": declared.steps}
    yield subject.finding("releases", "noise", _SUBJECT, verdict, reason, evidence=evidence, place=place)


def _allowed(declared: Algorithm) -> list[tuple[str, float]] | None:
    """Return (law, noise multiplier) of each step, of all its events together; None where they are not so many a step.

    Distances of several Gaussian answers count in quadrature, where no minibatch of its own hides one of them.
    """
    listed, steps = declared.releases, declared.steps
    several, rest = divmod(len(listed), steps)
    if rest or not several:
        return None
    if several == 1:
        return listed
    if {law for law, _ in listed} != {"gaussian"} or any(on_minibatches(declared.events)):
        return None
    in_blocks = all(isinstance(event, Repeated) and event.count == steps for event in declared.events)
    multipliers = np.reshape([z for _, z in listed], (several, steps) if in_blocks else (steps, several))
    least = multipliers.min(axis=0 if in_blocks else 1)
    with np.errstate(divide="ignore"):
        together = 1 / np.sqrt(np.square(1 / multipliers).sum(axis=0 if in_blocks else 1))
    return [("gaussian", float(z)) for z in np.where(least > 0, together, 0.0)]


def _records_apart(declared: Algorithm, pair: Pair) -> float:
    """Return how many neighbours lie between the two data sets: replacing a record removes one and adds another."""
    return 2.0 if declared.relation == "add_or_remove_one" and len(pair.data) == len(pair.neighbour) else 1.0


def judged(found: list[Moved], several: bool) -> tuple[str, str]:
    """Return the verdict on all steps that were looked at, and its reason; ``several``: events a step."""
    most = max(look.share for look in found)
    worst = next(look for look in found if look.share >= most * (1 - 1e-9))  # the first, whatever rounding says
    units, at = f"{_UNITS[worst.law]} of its noise", f"step {worst.step}"
    event = "its events together declare" if several else "its event declares"
    event += f" {1 / worst.allowed:.4g}" if worst.allowed < math.inf else " 0"
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
    units: Callable[[int, Array], Array] | None = None  # as a Recorder's

    def in_a_rare_branch(self, law: str, allowed: float) -> str:
        """Say what is wrong where one number that rng.random draws is next to 0 or 1, nothing where nothing is.

        It is as near as delta, which pays for a branch that is chosen more rarely.
        """
        recorder, rare = Recorder(self.seed), max(self.declared.delta, _RARE)
        self._released(self.declared.data, recorder)
        calls = [k for k, draw in enumerate(recorder.draws) if draw.method in ("random", "uniform") and not draw.shape]
        for call, end in itertools.product(calls[:_BRANCHES], (rare, 1 - rare)):
            units = lambda number, units, at=call, end=end: np.array(end) if number == at else units  # noqa: E731
            look = replace(self, units=units).look(law)
            if isinstance(look, str):
                continue
            by, drawn, pair = look
            if isinstance(by, str) or drawn != law or by > allowed * (1 + _ROUNDING):
                if isinstance(by, str):
                    wrong = by
                elif drawn != law:
                    wrong = f"the noise is {drawn}, and {law} is declared"
                elif by == math.inf:
                    wrong = "the release has noise 0 where a record moves it"
                else:
                    wrong = f"a record moves the release by {by:.4g} {_UNITS[law]} of its noise"
                return f"where rng.random draws {end:.9g}, {wrong} ({pair.words})"
        return ""

    def with_other_noise(self) -> Pair | None:
        """Return a pair that changes the noise of an additive release, whether or not it moves the release."""
        data, records = self.declared.data, candidates(self.declared)
        usual = self._noisy(data) - self._silent(data)
        for k, index in enumerate(np.unique(np.linspace(0, len(data) - 1, _RECORDS).astype(int))):
            changed = with_record(data, int(index), records[k % len(records)])
            noise = self._noisy(changed) - self._silent(changed)
            if noise.shape == usual.shape and not np.allclose(noise, usual, rtol=_NOISE, atol=_NOISE * np.ptp(usual)):
                one, other = self._response(data, ""), self._response(changed, "")
                if isinstance(one, Response) and isinstance(other, Response) and isinstance(moved(one, other), str):
                    return Pair(data, changed, f"in the data, record {index} becomes replacement {k % len(records)}")
        return None

    def look(self, law: str) -> tuple[float | str, str, Pair] | str:
        """Measure by how many units of noise the worst record moves the release (or what is wrong), law, pair; or
        why unknown.
        """
        if unread := self._unread():
            return f"its noise is drawn by {' and '.join(unread)}, from which it cannot be read off"
        first = self._response(self.declared.data, law)
        if isinstance(first, Response):
            spread, query = np.linalg.norm(first.mixing, axis=1), self._silent
        else:
            spread, query = self._spread(), self._noisy
        worst = self._worst(spread, query)
        if isinstance(worst, str):
            return worst
        one, other = (self._response(data, law) for data in (worst.data, worst.neighbour))
        if isinstance(one, Response) and isinstance(other, Response):
            return moved(one, other), one.law, worst
        data, neighbour = (partial(self._released, side) for side in (worst.data, worst.neighbour))
        shift = transported(data, neighbour, self.seed)
        if isinstance(shift, Shift):
            return shift.distance, shift.law, worst
        return next(side for side in (one, other) if isinstance(side, str)) + f", and {shift}"

    def with_the_last_drawn(self) -> _Step:
        """Return the step with draws that take the last record, where that can be had, so that removing it shows."""
        if self.declared.relation == "add_or_remove_one":
            for seed in range(self.seed, self.seed + _SEEDS):
                step = replace(self, seed=seed)
                data, last = self.declared.data, len(self.declared.data) - 1
                usual, changed = step._silent(data), (with_record(data, last, new) for new in candidates(self.declared))
                if any(not np.array_equal(step._silent(other), usual) for other in changed):
                    return step
        return self

    def _response(self, data: Any, law: str) -> Response | str:
        """Return how a release responds to its draws; one that draws nothing has noise 0."""
        recorder = Recorder(self.seed)
        value = self._released(data, recorder)
        if not recorder.bypassed and not any(draw.law for draw in recorder.draws):
            return Response(value, np.zeros((value.size, 1)), law)
        if not np.isfinite(value).all():
            return "the release is not finite"
        return respond(partial(self._released, data), self.seed)

    def _unread(self) -> list[str]:
        """Name methods of noise without a scale: what they draw chooses no records, or moves the release smoothly."""
        data, recorder = self.declared.data, Recorder(self.seed)
        value = self._released(data, recorder)
        if recorder.bypassed or any(draw.law for draw in recorder.draws):
            return []
        methods = {draw.method for draw in recorder.draws if not _chooses(draw, len(data))}
        if not methods:
            near = replace(self, units=partial(_a_little_less, self.units))
            if not np.array_equal(near._released(data, Recorder(self.seed)), value, equal_nan=True):
                methods = {"random"}
        return [f"rng.{method}" for method in sorted(methods)]

    def _released(self, data: Any, recorder: Recorder) -> Array:
        recorder.units = self.units
        return again(self.declared, self.state, self.memory, data, recorder)

    def _silent(self, data: Any) -> Array:
        return self._released(data, Recorder(self.seed, standard=()))

    def _noisy(self, data: Any) -> Array:
        return self._released(data, Recorder(self.seed))

    def _spread(self) -> Array:
        """Return the standard deviation of each number of a release that is no query plus noise, other draws fixed."""
        recorder = Recorder(self.seed)
        self._released(self.declared.data, recorder)
        noise = np.random.default_rng(self.seed).standard_normal((_RUNS, recorder.standard.size))
        runs = [self._released(self.declared.data, Recorder(self.seed, standard=drawn)) for drawn in noise]
        return np.std(runs, axis=0) if len({run.size for run in runs}) == 1 else np.ones_like(runs[0])

    def _worst(self, spread: Array, query: Callable[[Any], Array]) -> Pair | str:
        """Return the pair that moves the release most, each coordinate in units of its own noise."""
        best, worst = -1.0, Pair(self.declared.data, self.declared.data, "no record")
        held, one = None, spread
        for pair in itertools.chain(self._pairs(query), self._removals()):
            if pair.data is not held:  # many pairs in a row share their first data set
                held, one = pair.data, query(pair.data)
            other = query(pair.neighbour)
            if one.shape != other.shape:
                return "the shape of the release changes with a record"
            if not (np.isfinite(one).all() and np.isfinite(other).all()):
                return f"the release is not finite ({pair.words})"
            gap = np.abs(one - other)
            units = np.divide(gap, spread, out=np.where(gap > 0, 1e100, 0.0), where=spread > 0)
            size = float(np.linalg.norm(units)) / _records_apart(self.declared, pair)
            if size > best:
                best, worst = size, pair
        return worst

    def _pairs(self, query: Callable[[Any], Array]) -> Iterator[Pair]:
        """Yield neighbours that differ in a record of this step's minibatch, and some others."""
        declared = self.declared
        if declared.neighbour is not None and len(declared.neighbour) == len(declared.data):
            yield Pair(declared.data, declared.neighbour, "the declared pair")
        some = {int(index) for index in np.linspace(0, len(declared.data) - 1, min(_RECORDS, len(declared.data)))}
        records = candidates(declared)
        for words, base in bases(declared):
            for k, record in enumerate(records):
                hit = _member(query, base, record)
                for index in sorted({hit} | (some if base is declared.data else set())) if hit is not None else ():
                    changed = with_record(base, index, record)
                    yield Pair(base, changed, f"in {words}, record {index} becomes replacement {k}")
                    for j, other in enumerate(records[:k] if index == hit else ()):
                        yield Pair(with_record(base, index, other), changed,
                                   f"in {words}, record {index} is replacement {j} or {k}")  # fmt: skip

    def _removals(self) -> Iterator[Pair]:
        """Yield pairs one of which lacks the last record, where the step draws the same on both otherwise."""
        if self.declared.relation != "add_or_remove_one":
            return
        for words, base in bases(self.declared):
            last = len(base) - 1
            rest = without_record(base, last)
            if self._draw_alike(base, rest):
                for k, record in enumerate(candidates(self.declared)):
                    yield Pair(rest, with_record(base, last, record),
                               f"of {words}, record {last} is removed or is replacement {k}")  # fmt: skip

    def _draw_alike(self, whole: Any, rest: Any) -> bool:
        """Say whether a step runs on both and draws the same, save for the record that one of them lacks."""
        drawn = []
        for data in (whole, rest):
            recorder = Recorder(self.seed)
            try:
                self._released(data, recorder)
            except InputError:  # such as a mask of a fixed length
                return False
            drawn.append([(draw.method, np.atleast_1d(draw.value)) for draw in recorder.draws if not draw.law])
        return len(drawn[0]) == len(drawn[1]) and all(
            method == other_method and np.array_equal(values[: len(others)], others)
            for (method, values), (other_method, others) in zip(*drawn, strict=True)
        )


def _a_little_less(before: Callable[[int, Array], Array] | None, number: int, units: Array) -> Array:
    return (units if before is None else before(number, units)) * (1 - _NEAR)


def _chooses(draw: Draw, records: int) -> bool:
    """Say whether a draw may choose records."""
    if draw.method == "integers":
        return is_minibatch(draw.method, draw.arguments, records)
    if draw.method == "binomial":
        return bool(np.all(draw.arguments["n"] == 1))
    return draw.method in ("choice", "permutation", "permuted", "shuffle", "random", "uniform")


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
