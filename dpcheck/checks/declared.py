"""A user's algorithm as the stages see it: its Python is run as it stands, on the data that are declared with it.

A stage that cannot look says "not checked", and what to declare for it to look.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any
from zlib import crc32

import numpy as np

from dpcheck.accounting import Certificate, calibrate, certify
from dpcheck.accounting.last_iterate import why_not
from dpcheck.algorithms.declaration import Algorithm, RateClaim
from dpcheck.algorithms.problem import Array
from dpcheck.algorithms.strong_convexity import StrongConvexity, lipschitz
from dpcheck.audits.neighbours import Pair, with_record, with_records, without_record
from dpcheck.audits.running.recorder import Recorder
from dpcheck.checks.carried import Carried, carried
from dpcheck.checks.context import Context, Stage, Tables
from dpcheck.checks.declared_contraction import contraction
from dpcheck.checks.declared_lines import suspect
from dpcheck.checks.subject import Minibatches, Part, Subject
from dpcheck.errors import InputError, raised
from dpcheck.events import scaled
from dpcheck.report.findings import Finding
from dpcheck.source import place_of, shown_place

# Streams, apart from each other.
_TRANSCRIPT, _OUTPUT, _SEARCH, _CARRIED, _DRAWN, _LAW, _RATE = 0, 1, 2, 11, 20, 21, 30
_COUNTED = 1000  # minibatches of a loop, in which each record is counted
_STREAMS = 4  # on which data sets are compared in search of a pair
_EXACT = 1e-9  # relative: rounding


@dataclass(frozen=True, eq=False)
class Declared(Subject):
    """A user's declaration, which is one instance: one variant, one data set."""

    algorithm: Algorithm
    _looked: list[Carried | None] = field(default_factory=list, init=False, repr=False)
    _tried: list[Try] = field(default_factory=list, init=False, repr=False)

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.algorithm.name

    def finding(self, what: str, kind: str, subject: str, verdict: str, reason: str, **fields: Any) -> Finding:
        """Return a finding about the algorithm's code, unless ``place`` is given."""
        place = fields.pop("place", None) or place_of(self.algorithm.code)
        return Finding(f"{self.name}.{what}", kind, f"{self.name}: {subject}", verdict, reason, place=place, **fields)

    def not_checked(self, what: str, kind: str, subject: str, reason: str) -> Finding:
        """Return the finding of a stage that does not apply, and what to declare for it."""
        place = shown_place(self.algorithm.place)
        return self.finding(what, kind, subject, "not checked", reason, place=place)

    def seed(self, context: Context, *key: int) -> int:
        """Return a seed of the algorithm's own for the experiment numbered ``key``."""
        return context.stream(crc32(self.name.encode()), *key)

    def carried(self, context: Context) -> Carried | None:
        """Return what is carried from step to step beside the releases, which no event describes; looked at once."""
        if not self._looked:
            self._looked.append(carried(self.algorithm, candidates(self.algorithm), self.seed(context, _CARRIED)))
        return self._looked[0]

    def stated(self, context: Context) -> Iterator[Finding]:
        """Compare what the declared events are certified at with what is claimed, and say what a run does not show."""
        from dpcheck.checks.sandwich import ROUNDING

        given, subject = self.algorithm, "the declared events against the claimed epsilon"
        if given.run is not None:
            reason = (
                "The algorithm is declared as a whole: declare step=, start= and steps= if more than its output is "
                "released."
            )
            yield self.not_checked("transcript", "privacy", "everything released", reason)
        if given.events is None:
            example = 'Repeated(Sampled((Gaussian(z),), "poisson", n, batch), steps)'
            reason = f"No events are declared: say what a run releases in events=, such as {example}."
            yield self.not_checked("certificate", "accounting", subject, reason)
            return
        if (unseen := self.carried(context)) is not None:
            reason = f"The events do not describe a run, so that nothing is certified from them: {unseen.reason}."
            yield self.finding("certificate", "accounting", subject, "inconclusive", reason)
            return
        last = self.attempts(context)[0].last if given.last_only else ""
        certificate = last if isinstance(last, Certificate) else certify(given.events, delta=given.delta)
        within = certificate.epsilon <= given.epsilon * (1 + ROUNDING)
        subject_of = "the last state alone is" if certificate is last else "the declared events are"
        reason = f"{subject_of} certified at epsilon {certificate.epsilon:.4g} at delta {given.delta:g}, "
        more = "" if given.last_only else _more(given)
        reason += f"within the claimed {given.epsilon:g}" if within else f"above the claimed {given.epsilon:g}{more}"
        if isinstance(last, str) and last:
            reason += f", as if all states were released: {last}"
        above = "inconclusive" if given.last_only else "violated"  # less may be true of the last state of these steps
        yield self.finding(
            "certificate", "accounting", subject, "consistent" if within else above, reason,
            certified=certificate.epsilon, claimed=float(given.epsilon), evidence=certificate.to_dict(),
            place=shown_place(given.place),
        )  # fmt: skip
        if given.contraction is not None:
            verdict, reason = self.attempts(context)[0].contraction
            yield self.finding("contraction", "accounting", "steps against the declared contraction", verdict, reason)

    def attempts(self, context: Context) -> Sequence[Try]:
        if not self._tried:
            described = self.algorithm.events is not None and self.carried(context) is None
            seed = self.seed(context, _SEARCH)
            self._tried.append(Try(self, worst_pair(self.algorithm, seed), described, seed))
        return self._tried

    def minibatches(self, context: Context) -> Iterator[Minibatches]:
        given = self.algorithm
        subject = "minibatches against the sampling that the events account for"
        sampler = None if given.sampler is None else place_of(given.sampler)

        def finding(verdict: str, reason: str, **fields: Any) -> Finding:
            return self.finding("sampling", "sampling", subject, verdict, reason, **{"place": sampler} | fields)

        yield Minibatches(
            given.events or (), len(given.data), lambda look: drawn(given, self.seed(context, _DRAWN, look)),
            [self.seed(context, _LAW, look) for look in range(2)], finding,
            partial(self.not_checked, "sampling", "sampling", subject), declared_at=shown_place(given.place),
        )  # fmt: skip

    def releases(self, context: Context) -> Iterable[Finding]:
        from dpcheck.checks.declared_releases import releases

        return releases(context, self)

    def rates(self, context: Context, tables: Tables) -> Iterator[Stage]:
        from dpcheck.checks.rates import claimed_rate

        yield "rate", partial(claimed_rate, self, context, tables)

    def measured(self, context: Context, claim: RateClaim, look: int) -> Iterator[tuple[dict[str, float], list[float]]]:
        """Yield each setting of the grid with its measurements, each with a stream of its own."""
        cells = [dict(zip(claim.grid, levels, strict=True)) for levels in itertools.product(*claim.grid.values())]
        seed = self.seed(context, _RATE, look)
        for number, cell in enumerate(cells):
            values = []
            for k in range(claim.seeds):
                context.progress(number * claim.seeds + k, len(cells) * claim.seeds)
                try:
                    values.append(float(claim.measure(np.random.default_rng([seed, number, k]), **cell)))
                except (Exception, SystemExit) as error:
                    raise InputError(f"measure of {self.name} must return a number, got {raised(error)}") from error
            yield cell, values


def _more(given: Algorithm) -> str:
    """Return how much more noise would do, where there is an answer."""
    if given.epsilon == 0 or given.delta == 0 or any(multiplier == 0 for _, multiplier in given.releases):
        return ""
    factor = calibrate(lambda z: scaled(given.events, z), given.epsilon, given.delta)
    return f": all noise would have to be {factor:.3g} times as large"


class Try:
    """The pair of data sets on which a user's promise is tried, in plain Python."""

    label = ""
    budget = (5_000, 100_000)
    confidence = 0.999  # of a look, of which two must agree: a correct algorithm is violated once in a million checks
    vectorized = False
    game = None

    def __init__(self, declared: Declared, pair: Pair, described: bool, seed: int) -> None:
        self.declared, self.pair, self.seed = declared, pair, seed
        given = declared.algorithm
        self.events = given.events if described else None
        self.epsilon, self.delta = given.epsilon, given.delta
        self.place = place_of(given.code)
        self.datasets = (pair.data, pair.neighbour)
        self.evidence = {"pair": pair.words}

    @cached_property
    def contraction(self) -> tuple[str, str]:
        """The verdict on the declared contraction, and why."""
        return contraction(self.declared.algorithm, self.pair, self.seed)

    @cached_property
    def last(self) -> Certificate | str:
        """What is certified of the final output alone, or a clause why nothing is."""
        given = self.declared.algorithm
        if self.events is None:
            return "no events describe a run"
        if unknown := why_not(self.events):
            return unknown
        if given.contraction is None:
            return "declare contraction=, or dpcheck.StrongConvexity(...) in its place, if its steps contract"
        if self.contraction[0] != "consistent":
            return "the declared contraction is not what its steps show"
        rate = lipschitz(given.contraction)
        found = certify(self.events, given.delta, released="last", contraction=rate, diameter=given.diameter)
        if isinstance(given.contraction, StrongConvexity):
            return replace(found, method=f"{found.method}; {given.contraction.words}")
        return found

    @cached_property
    def suspect(self) -> tuple[str, str]:
        """What the code does on the pair, and the place of the line."""
        return suspect(self.declared.algorithm, self.pair, self.seed)

    def parts(self, label: str, trials: int) -> Iterator[Part]:
        """Yield everything that is released, and the output alone, or the output where no more is released."""
        given, key, remark = self.declared.algorithm, crc32(label.encode()), f"where {self.pair.words}"
        several = given.run is None and not given.last_only and (given.steps > 1 or given.update is not None)
        all_released, output = (tuple((key, kind, look) for look in range(2)) for kind in (_TRANSCRIPT, _OUTPUT))
        if several:
            yield Part(
                "transcript", f"{label}: everything released", given.transcript, trials, all_released, True, remark
            )
            if given.update is None:  # the last state is the last release, so that the same runs serve
                output = all_released
        whole = not several and not given.last_only  # of the last state alone less may be true than of the events
        yield Part("output", f"{label}: final output only", given.output, trials, output, whole, remark)


def candidates(given: Algorithm) -> list[Any]:
    """Choose at most four records that may take the place of one, spread over those that are declared."""
    records = given.data if given.replacements is None else given.replacements
    return [records[k] for k in np.unique(np.linspace(0, len(records) - 1, 4).astype(int))]


def bases(given: Algorithm) -> Iterator[tuple[str, Any]]:
    """Yield the data, and data sets in which all records are equal, where one that differs stands out most."""
    yield "the data", given.data
    for k, record in enumerate(candidates(given)):
        yield f"data whose records all equal replacement {k}", with_records(given.data, range(len(given.data)), record)


def worst_pair(given: Algorithm, seed: int) -> Pair:
    """Return the declared pair, or the one whose runs lie furthest apart in units of their noise."""
    if given.neighbour is not None:
        return Pair(given.data, given.neighbour, "the two data sets are the declared pair")
    groups = [
        (name, [(record, data, _runs(given, data, seed)) for record, data in group])
        for name, group in _neighbours(given)
    ]
    noise = _noise([runs for _, group in groups for *_, runs in group])
    best, furthest = Pair(given.data, given.data, "no record"), -1.0
    for name, group in groups:
        first = group[:1] if given.relation == "add_or_remove_one" else group
        for (record, data, runs), (other_record, other, others) in itertools.product(first, group):
            if data is not other and (apart := _apart(runs, others, noise)) > furthest:
                words = f"{name} is {record} in one data set, {other_record} in the other"
                best, furthest = Pair(data, other, words), apart
    return best


def _neighbours(given: Algorithm) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    """Yield a record and data sets that differ in it: any two are neighbours, or the first, which lacks it, and one."""
    for words, base in bases(given):
        last = len(base) - 1
        for index in sorted({0, last // 2, last} if base is given.data else {0, last}):
            group = [("itself", base)]
            group += [(f"replacement {k}", with_record(base, index, new)) for k, new in enumerate(candidates(given))]
            if given.relation == "add_or_remove_one":
                group.insert(0, ("removed", without_record(base, index)))
            yield f"record {index} of {words}", group


def _runs(given: Algorithm, data: Any, seed: int) -> list[Array]:
    """Return what some runs release; all data sets get the same streams."""
    look = given.output if given.last_only else given.transcript
    if given.relation == "replace_one":
        return [look(data, np.random.default_rng([seed, k])) for k in range(_STREAMS)]
    return [look(data, Recorder(seed + k)) for k in range(_STREAMS)]  # the same at each call, too


def _noise(runs: list[list[Array]]) -> dict[int, Array]:
    """Return the standard deviation of each number between the runs on a data set, by how many numbers there are."""
    sizes = {run.size for tried in runs for run in tried}
    same = {size: [tried for tried in runs if all(run.size == size for run in tried)] for size in sizes}
    with np.errstate(invalid="ignore", over="ignore"):  # what overflows counts as still: any difference is far
        return {
            size: np.sqrt(np.nan_to_num(np.var(tried, axis=1), posinf=0.0).mean(axis=0))
            for size, tried in same.items() if tried
        }  # fmt: skip


def _apart(runs: list[Array], others: list[Array], noise: dict[int, Array]) -> float:
    """Return how far two data sets' runs lie apart in units of noise: infinity where what has none differs."""
    size = runs[0].size
    if any(run.size != size for run in (*runs, *others)) or size not in noise:
        return math.inf
    both = np.array([runs, others])
    if (np.isfinite(both[0]) != np.isfinite(both[1])).any():  # what overflows on one side alone
        return math.inf
    both = np.where(np.isfinite(both), both, 0.0)
    moved, rounding = np.abs(both[0] - both[1]).mean(axis=0), _EXACT * np.abs(both).max(axis=(0, 1))
    still = np.ptp(both, axis=1).max(axis=0) <= rounding
    if (moved[still] > rounding[still]).any():
        return math.inf
    return float(np.square(np.divide(moved, noise[size], out=np.zeros(size), where=noise[size] > 0)).sum())


def drawn(given: Algorithm, seed: int) -> list[Any] | str:
    """Return the record numbers of consecutive minibatches, or a sentence why they are not seen."""
    rows: list[Any] = []
    if given.sampler is not None:
        rng = np.random.default_rng(seed)
        return [_numbers(given.sampler(given.data, rng)) for _ in range(_COUNTED)]
    run = 0
    while len(rows) < _COUNTED:
        recorder, run = Recorder(int(np.random.SeedSequence([seed, run]).generate_state(1)[0])), run + 1
        before = 0
        for _, released in given.walk(given.data, recorder):
            if released is None:
                break
            draws, before = recorder.draws[before:], len(recorder.draws)
            batches = [draw.value for draw in draws if is_minibatch(draw.method, draw.arguments, len(given.data))]
            if len(batches) != 1:
                return (
                    f"A step draws {len(batches)} minibatches by rng.choice or rng.integers, and what it draws by "
                    "other means is not seen: declare the function that draws a minibatch as sampler=."
                )
            rows.append(_numbers(batches[0]))
    return rows


def is_minibatch(method: str, arguments: dict[str, Any], n: int) -> bool:
    """Say whether a draw takes record numbers below n; ``choice`` from the records themselves is not seen as such."""
    if method == "choice":
        return isinstance(arguments["a"], np.ndarray) and int(arguments["a"]) == n
    low, high = arguments.get("low"), arguments.get("high")
    return method == "integers" and (low if high is None else high) == n and (high is None or low == 0)


def _numbers(batch: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Record numbers of a minibatch, given as such or as a mask."""
    batch = np.atleast_1d(np.asarray(batch))
    return np.flatnonzero(batch) if batch.dtype == bool else batch.astype(np.int64).ravel()
