"""The sandwich of an algorithm: audited lower bound <= certified epsilon <= claimed epsilon.

Beside it stands what a broken audit points to: the share of its declared sensitivity by which the canary moves each
release of a game's runs; and of algorithms that meet each record once, whether a record is seen in a second part of
the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np

from dpcheck.accounting import certify, privacy_curve
from dpcheck.accounting.certificates import Certificate
from dpcheck.algorithms.layout import Release
from dpcheck.algorithms.problem import Array, with_record
from dpcheck.audits.limits import least_rejected
from dpcheck.audits.membership import PrivacyAudit, audit_privacy
from dpcheck.audits.running import Chunk, Runner
from dpcheck.audits.running.datasets import same
from dpcheck.checks.context import Context
from dpcheck.checks.games import CONFIDENCE, DELTA, EPSILON, Entry
from dpcheck.checks.releases import multiplier
from dpcheck.checks.subject import Attempt, Part, Subject
from dpcheck.events import Disjoint, Event, Repeated, Sampled, scaled, shift_of
from dpcheck.report.findings import Finding
from dpcheck.solvers import algorithm

RUNS = 3
_ROOM = 2**26  # numbers of a user's runs, half a gigabyte
_FAMILY = 0.95  # confidence of the bound within the claimed family
ROUNDING = 1e-6  # relative; a base solver's certificate is met to about 1e-9
_NONE = "no certificate of the last iterate alone"
_COLUMNS = {"w": [0, 2, 4], "v": [1, 3, 4]}  # of a record of ``worst_case``: what the gradient in a block is made of


@dataclass(frozen=True)
class Share:
    """How far the canary moves a release of a run, and which noise it has."""

    release: Release
    share: float  # moved over declared sensitivity
    multiplier: float  # recorded noise over sensitivity
    due: bool  # whether the release reads the canary and the pair differs in what it releases
    still: bool  # whether its clean value is 0 on every data set, as a difference between a point and itself is

    def __str__(self) -> str:
        """Return what moves, and by how much."""
        of = "times" if self.share > 1 + ROUNDING else "of"
        return f"{self.release} by {self.share:.4g} {of} its declared sensitivity"

    @property
    def shift(self) -> float:
        """How far it moves in units of its noise."""
        return 0.0 if self.share == 0 else self.share * shift_of(self.multiplier)


def shares(context: Context, entry: Entry) -> list[Share]:
    """Return the share of each release of a few runs, in order."""
    game, found = entry.game, list[Share]()
    canary, replaced, others = game.roles
    coupled = bool(game.solver.solves and others[4] != 0)  # by all records, to the other block in a solution
    for k in range(RUNS):
        reached, history, still = game.shares(context.stream(21, k))
        for release in game.solver.layout(game.data, history)[: len(reached)]:
            row = release.row
            drawn = any(game.pattern)  # the share of a minibatch's release is that of a minibatch with the canary
            due = (drawn and release.records is None) or release.reads(history, game.place)
            columns = _COLUMNS.get(release.what, slice(None))
            due = due and (coupled or bool((canary[columns] != replaced[columns]).any()))
            found.append(Share(release, float(reached[row]), multiplier(history, row), due, bool(still[row])))
    return found


def share(id: str, entry: Entry, found: list[Share]) -> Finding:
    """Say whether releases move by no more than they declare, and by as much as the game is made for."""
    largest = max(found, key=lambda part: _rounded(part.share))
    due = [part for part in found if part.due and not part.still]
    least = min(due, key=lambda part: _rounded(part.share), default=largest)
    unmoved = sum(part.due and part.still for part in found) / RUNS
    if largest.share == 0:
        verdict, reason = "inconclusive", "no release moves with the canary: this game shows nothing"
    elif largest.share > 1 + ROUNDING:
        verdict, reason = "violated", f"the canary moves {largest}, which is understated by that factor"
    elif least.share < entry.least_share:
        verdict = "inconclusive"
        reason = (
            f"the canary moves {least}, and the game is made for {entry.least_share:.4g} at least: it shows little, or "
            "the sensitivity is overstated"
        )
    elif unmoved > entry.still:
        verdict = "inconclusive"
        reason = f"{unmoved:g} releases of a run are 0 whatever the records are, where the game has {entry.still}"
    else:
        verdict, reason = "consistent", f"the canary moves {largest}, and no other release by more"
    values = [part.share for part in due]
    return Finding(
        id, "sensitivity", f"{entry.words}: share of the declared sensitivity that the canary reaches", verdict, reason,
        evidence={
            "largest": largest.share, "mean": float(np.mean(values)) if values else 0.0, "least": least.share,
            "least expected": entry.least_share, "releases": len(found), "runs": RUNS,
        },
    )  # fmt: skip


def _rounded(value: float) -> float:
    """Round to six digits, so that of equal ones the first is named."""
    return float(f"{value:.6g}")


Mechanism = Callable[..., Any]


def sandwiches(context: Context, subject: Subject) -> Iterator[Finding]:
    """Check the sandwich of every variant."""
    yield from subject.stated(context)
    tried = False
    for attempt in subject.attempts(context):
        tried = True
        yield from sandwich(context, subject.name, attempt, attempt.budget[context.full])
    if not tried:
        yield Finding(
            f"{subject.name}.transcript", "privacy", f"{subject.name}: whole noisy transcript", "inconclusive",
            f"{subject.name} has no game, so that its privacy is not audited: define games in its record, or declare "
            "it as a dpcheck.Algorithm with data of its own",
        )  # fmt: skip


def sandwich(context: Context, name: str, attempt: Any, trials: int) -> Iterator[Finding]:
    """Audit all that is released, and parts of it, on one pair, beside its certificate, its share and its curve."""
    label = f"{name}.{attempt.label}" if attempt.label else name
    certificate = None if attempt.events is None else certify(attempt.events, delta=attempt.delta)
    telling = ""
    if attempt.game is not None:
        reached = shares(context, attempt)
        yield share(f"{label}.share", attempt, reached)
        most = max(reached, key=lambda release: _rounded(release.shift))
        telling = f"the canary moves {most}, whose noise is {most.multiplier:.4g} sensitivities"
    seen = dict[tuple[int, ...], dict[Chunk, Array]]()  # what whole runs gave, by their stream
    for part in attempt.parts(label, trials):
        replayed = part.whole and attempt.game is not None
        certified, limit = certificate, np.inf
        if part.what == "output" and not part.whole:
            if isinstance(attempt.last, Certificate):
                certified, limit = attempt.last, attempt.last.epsilon * (1 + ROUNDING)
                said = f"certified as the {attempt.last.method}"
            else:
                said = f"{_NONE}: {attempt.last}"
            part = part._replace(remark="; ".join(filter(None, (part.remark, said))))
        for stream in part.streams:
            kept = {} if replayed else Runs()
            if stream in seen:
                runner = Runner(part.mechanism, attempt.datasets, False, context.stream(*stream))
                kept.update(ends(seen[stream], runner))
            audited = audit(
                context, part.mechanism, attempt.datasets, part.trials, *stream, entry=attempt,
                runs=kept if part.whole or stream in seen else None,
            )  # fmt: skip
            if part.whole:
                seen[stream] = kept
            if audited.verdict != "violated" and audited.epsilon_lower <= limit:
                break
        place = attempt.place
        if attempt.game is None and audited.verdict == "violated":
            telling, place = attempt.suspect
        evidence = attempt.evidence if part.whole or attempt.game is None else {}
        if replayed:
            law = family(_side(kept, 0), _side(kept, 1), attempt.events, attempt.delta)
            evidence = {"within the claimed family": law} | evidence
        found = finding(f"{label}.{part.what}", part, audited, certified, evidence, attempt, telling)
        if audited.epsilon_lower > limit:
            told = f"it tells more than the declared noise and contraction allow: {found.reason}"
            found = replace(found, verdict="violated", reason=told)
        yield replace(found, place=place)
        if replayed and audited.verdict == "consistent":
            found = curve(context, name, attempt, trials, kept)
            yield replace(found, reason=f"{found.reason}; {telling}") if found.verdict == "violated" else found


class Runs(dict[Chunk, Array]):
    """What runs gave, by chunk, as far as there is room: what is not kept is run again."""

    def __setitem__(self, chunk: Chunk, outputs: Array) -> None:
        if sum(rows.size for rows in self.values()) + outputs.size <= _ROOM:
            super().__setitem__(chunk, outputs)


def ends(runs: dict[Chunk, Array], runner: Runner) -> dict[Chunk, Array]:
    """Return the last numbers of runs, where they are what ``runner`` gives, as on the first ones; else nothing."""
    for side in range(2):
        whole = [rows for chunk, rows in runs.items() if (chunk.side, chunk.number) == (side, 0)]
        last = runner(Chunk(side, 0, 1))
        width = last.shape[1]
        if not whole or whole[0].shape[1] < width or not same(whole[0][:1, -width:], last).all():
            return {}
    return {chunk: rows[:, -width:].copy() for chunk, rows in runs.items()}


def curve(context: Context, name: str, entry: Entry, trials: int, runs: dict[Chunk, Array]) -> Finding:
    """Audit transcripts against all that is certified, epsilon -> delta: noise may lack and the claim still stand."""
    game, label = entry.game, f"{name}.{entry.label}"
    audited = audit_privacy(
        game.scores, game.data, game.neighbour, claim=entry.events, delta=entry.delta, trials=trials,
        confidence=CONFIDENCE, seed=context.stream(crc32(label.encode()), 1), jobs=context.jobs, vectorized=True,
        runs=runs, executor=context.executor,
    )  # fmt: skip
    return Finding(
        f"{label}.curve", "noise", f"{name}, {entry.words}: transcripts against the whole certified curve",
        audited.verdict, str(audited.event), evidence={"audit": audited.to_dict()},
    )  # fmt: skip


def audit(
    context: Context, mechanism: Mechanism, datasets: tuple[Any, Any], trials: int, *key: int,
    entry: Attempt | None = None, runs: dict[Chunk, Array] | None = None,
) -> PrivacyAudit:  # fmt: skip
    """Audit what the entry promises, or (EPSILON, DELTA), on the stream numbered ``key``."""
    epsilon, delta = (EPSILON, DELTA) if entry is None else (entry.epsilon, entry.delta)
    return audit_privacy(
        mechanism, *datasets, epsilon=epsilon, delta=delta, trials=trials,
        confidence=CONFIDENCE if entry is None else entry.confidence, seed=context.stream(*key), jobs=context.jobs,
        vectorized=entry is None or entry.vectorized, progress=context.progress, runs=runs, executor=context.executor,
    )  # fmt: skip


def family(scores: Array, neighbour_scores: Array, events: tuple[Event, ...], delta: float) -> dict[str, Any]:
    """Return epsilon of the least common factor on the noise that the audit's own runs reject (family assumed)."""
    law, n = tuple(law_of(event) for event in events), len(scores)
    hits = int((scores >= 0).sum()), int((neighbour_scores >= 0).sum())  # of the set that attains the total variation
    multiplier = least_rejected(
        *hits, n, lambda z: privacy_curve(scaled(law, z)), epsilon=0.0, guess=1.0, alpha=1 - _FAMILY
    )
    epsilon = 0.0 if multiplier == np.inf else certify(scaled(events, multiplier), delta=delta).epsilon
    assumption = "the outputs follow the claimed mechanism's law at some common factor on its noise"
    bound = {"multiplier": multiplier, "hits": hits, "trials": n, "confidence": _FAMILY}
    return bound | {"epsilon": epsilon, "assumes": assumption}


def law_of(event: Event) -> Event:
    """Return what a pair's outputs obey at most, if all records but the canary equal the one that replaces it."""
    if isinstance(event, Repeated):
        return replace(event, event=law_of(event.event))
    if isinstance(event, Sampled) and event.scheme == "without_replacement":
        # the mean shifts by one sensitivity with probability m/n, as where Poisson sampling adds the canary
        return replace(event, scheme="poisson", neighbours="add_or_remove_one")
    return event


def finding(
    id: str, part: Part, audited: PrivacyAudit, certificate: Certificate | None, evidence: dict[str, Any],
    entry: Attempt | None = None, telling: str = "",
) -> Finding:  # fmt: skip
    """Return a line of the sandwich; ``telling`` is said of a violation."""
    claimed = EPSILON if entry is None else entry.epsilon
    verdict, reason = audited.verdict, str(audited.event)
    above = None  # the verdict of a certificate above the claim: violated of the whole where a pair attains it
    if certificate is not None and certificate.epsilon > claimed * (1 + ROUNDING):
        above = "violated" if part.whole and certificate.sharp else "inconclusive"
    if verdict == "violated":
        reason = f"epsilon is at least {audited.epsilon_lower:.3g} and {claimed:g} is claimed: {reason}"
    elif certificate is not None and above is not None:
        certified = f"the declared events are certified at epsilon {certificate.epsilon:.3g} only"
        verdict, reason = above, f"{certified}, above the claimed {claimed:g}"
    elif verdict == "inconclusive":
        reason = f"{audited.trials} runs a data set cannot break a claim of {claimed:g}; --profile full runs more"
    parts = (reason, telling if verdict == "violated" else "", part.remark)
    proof = {} if certificate is None else {"certificate": certificate.to_dict()}
    return Finding(
        id, "privacy", part.subject, verdict, "; ".join(filter(None, parts)), audited=audited.epsilon_lower,
        certified=None if certificate is None else certificate.epsilon, claimed=float(claimed),
        evidence=proof | evidence | {"audit": audited.to_dict()},
    )  # fmt: skip


def _side(runs: dict[Chunk, Array], side: int) -> Array:
    """Return the scores of all runs on one data set, in the order of their chunks."""
    return np.concatenate([scores.ravel() for chunk, scores in runs.items() if chunk.side == side])


# Phases: exact and without chance of a false alarm. One recorded run is replayed with each record replaced in turn and
# fed the same releases; a release that moves has read that record. Parts that are declared disjoint allow a record one
# phase, and no larger shift, in units of the noise, than the worst part has.

_SAME = 1e-9  # of a declared sensitivity: what is below has not moved


def phases(context: Context, name: str) -> Iterator[Finding]:
    """Check phases on the last game with parts that are declared disjoint, whose canary is in every block."""
    games = [entry for entry in algorithm(name).games() if any(isinstance(event, Disjoint) for event in entry.events)]
    for entry in games[-1:]:
        verdict, reason = judged(entry, *shifts(entry, context.seed))
        yield Finding(
            f"{name}.phases", "sensitivity", f"{entry.words}: each record is seen in one phase",
            verdict, reason,
        )  # fmt: skip


def shifts(entry: Entry, seed: int) -> tuple[Array, list[int]]:
    """Return how far each record moves each release (records, releases), in units of noise, and its minibatches."""
    game, data = entry.game, entry.game.data
    plain = with_record(data, game.place, game.roles[2])
    history = game.solver.run(plain, seed=seed, record=True).history
    clean = history.clean
    sigma, declared = history.noise.T
    found = np.empty((len(data.records), len(clean)))
    for k in range(len(found)):
        theirs = game.solver.replay(with_record(plain, k, game.roles[0]), history, seed=seed).clean
        moved = np.linalg.norm(theirs - clean, axis=1)
        bare = np.where(sigma > 0, moved / np.maximum(sigma, 1e-300), np.inf)
        found[k] = np.where(moved > _SAME * declared, bare, 0.0)
    drawn = history.drawn[history.drawn >= 0]
    return found, np.bincount(drawn, minlength=len(found)).tolist()


def judged(entry: Entry, found: Array, times: list[int]) -> tuple[str, str]:
    """Return the verdict on these shifts, and its reason."""
    if max(times, default=0) > 1:
        record = int(np.argmax(times))
        return "violated", f"Record {record} is in {times[record]} minibatches; it is declared to be in one."
    first = 0
    for event in entry.events:
        assert isinstance(event, Disjoint)
        phased = entry.game.solver.solves
        last = first + len(event.events) if phased else found.shape[1]
        part = found[:, first:last]
        seen = (part > 0).sum(axis=1)
        if phased and seen.max() > 1:
            record = int(np.argmax(seen))
            rows = " and ".join(str(first + row) for row in np.flatnonzero(part[record]))
            return "violated", f"Record {record} moves releases {rows}; it is declared to be in one phase."
        total, allowed = np.linalg.norm(part, axis=1), shift_of(event.worst.noise_multiplier)
        if total.max() > allowed * (1 + 1e-6):
            record = int(np.argmax(total))
            reason = f"Record {record} moves the releases that it is in by {total[record]:.4g} times their noise; "
            return "violated", reason + f"the declared events allow {allowed:.4g}."
        if not part.any(axis=0).all():
            row = first + int(np.argmin(part.any(axis=0)))
            return "inconclusive", f"No record moves release {row}, so that nothing is shown of it."
        first = last
    return "consistent", f"Each of {len(found)} records was replaced; none moves the releases of two phases."
