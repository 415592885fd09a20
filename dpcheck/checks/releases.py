"""Release by release: the noise and the records of recorded runs beside what the algorithm declares.

A few recorded runs of every variant are compared with its declared events, exactly: how many releases there are, the
noise of each, the minibatch that it reads. They are then repeated with one record exchanged at a time, which shows
which releases that record moves. And the noise that runs really added is held against the standard deviation that they
recorded.

Null hypothesis of the last: divided by its recorded standard deviation, the noise of all releases is standard normal,
each number independent of the others. Three batches of runs are judged at a level of 1 % each (Monte Carlo p-values),
and all three have to reject: a false alarm has probability 10^-6 a finding, some forty of which make a whole check.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from dpcheck.algorithms.kernels import tape
from dpcheck.algorithms.layout import Group, Release, declared
from dpcheck.algorithms.problem import Array, Problem, with_record
from dpcheck.algorithms.registry import problem as example
from dpcheck.algorithms.run import History, Run
from dpcheck.algorithms.solver import Solver
from dpcheck.audits.noise import NoiseAudit, audit_noise_sample
from dpcheck.checks.context import Context
from dpcheck.events import Disjoint, Sampled, shift_of
from dpcheck.report.findings import Finding
from dpcheck.solvers import algorithm, configure
from dpcheck.source import place_of

EPSILON, DELTA = 1.0, 1e-5


@dataclass(frozen=True, eq=False)
class Case:
    """label : of the variant and its settings, in ids;  others : an instance whose records may replace the problem's"""

    label: str
    solver: Solver
    problem: Problem
    others: Problem

    @property
    def words(self) -> str:
        """The label in a sentence."""
        return self.label.replace("_", " ").replace(".", ", ")


def cases(name: str) -> Iterator[Case]:
    """Yield small runs of algorithm ``name`` that reach all that it releases."""
    chosen = algorithm(name)
    problem, others = (example(chosen.small_problem or chosen.example, seed=seed) for seed in (0, 1))
    runs = {variant: (variant, chosen.tiny) for variant in chosen.variants} | dict(chosen.small_runs)
    same = chosen.replayable if problem.dim_v else {}
    for label, (variant, settings) in runs.items():
        solver = configure(name, problem, epsilon=EPSILON, delta=DELTA, variant=variant, **settings, **same)
        yield Case(label, solver, problem, others)


def releases(context: Context, name: str) -> Iterator[Finding]:
    """Check every variant: each release against the declared events, and the noise that runs really add."""
    for case in cases(name):
        seed = context.stream(17)
        run = case.solver.run(case.problem, seed=seed, record=True)
        yield as_declared(f"{name}.{case.label}.releases", case, run, seed)
        yield actual_noise(context, f"{name}.{case.label}.noise", case, run)


def as_declared(id: str, case: Case, run: Run, seed: int) -> Finding:
    """Compare one recorded run, and replays of it with one record exchanged, with the declared events; exact."""
    moved = moves(run, np.asarray(case.others.records), seed)
    found = [*differences(run), *strangers(run, moved), *shared(run, moved)]
    made, minibatches = len(run.history.clean), len(run.history.drawn)
    more = f" ({len(found) - 1} more of the kind follow)" if len(found) > 1 else ""
    return Finding(
        id, "noise", f"{case.words}: noise, minibatches and records of each release against the declared events",
        "violated" if found else "consistent",
        f"{found[0]}{more}" if found else
        f"{made} releases on {minibatches} minibatches are as declared, and none moves with a record that it is not "
        f"declared to read ({len(moved)} records exchanged)",
        evidence={"differences": found[:20], "releases": made, "records exchanged": len(moved)},
    )  # fmt: skip


ROUNDING = 1e-9  # relative: a multiplier is a quotient of two numbers that a kernel multiplies


def multiplier(history: History, row: int) -> float:
    """Return the recorded noise over recorded sensitivity; infinity where nothing can move."""
    sigma, sensitivity = history.noise[row].tolist()
    return sigma / sensitivity if sensitivity > 0 else math.inf


def along_a_tree(run: Run) -> bool:
    """Say whether fresh minibatches are declared disjoint: a record's releases then share what is declared for it."""
    return len(run.history.drawn) > 0 and any(isinstance(event, Disjoint) for event in run.events)


def differences(run: Run) -> Iterator[str]:
    """Yield a sentence for each way in which a recorded run departs from its declared events."""
    history, problem, allowed = run.history, run.problem, declared(run.events)
    releases = run.solver.layout(problem, history)
    yield from _counts(run, releases, allowed)
    if along_a_tree(run):
        yield from _drawn_again(history)
        return
    left, free = list(allowed), [group.count for group in allowed]
    made = releases[: len(history.clean)]
    for _, found in groupby(made, key=lambda release: (release.draw, release.row if release.draw is None else None)):
        group = tuple(found)
        fits = [k for k, one in enumerate(left) if free[k] > 0 and not _faults(run, group, one)]
        near = fits or sorted(
            (k for k, one in enumerate(left) if free[k] > 0 and len(one.multipliers) == len(group)),
            key=lambda k: _distance(run, group, left[k]),
        )
        if not near:
            yield f"{group[0]} is beyond what the events declare: {_words(allowed)}"
            continue
        free[near[0]] -= 1
        yield from _faults(run, group, left[near[0]])


def _drawn_again(history: History) -> Iterator[str]:
    seen = dict[int, int]()
    for k, batch in enumerate(history.drawn):
        again = next((record for record in batch[batch >= 0].tolist() if record in seen), None)
        if again is not None:
            yield f"record {again} is in minibatches {seen[again] + 1} and {k + 1}, which are declared disjoint"
        seen |= dict.fromkeys(batch[batch >= 0].tolist(), k)


def _counts(run: Run, releases: tuple[Release, ...], allowed: Sequence[Group]) -> Iterator[str]:
    """Yield a sentence for too few or too many releases; a run that may end early has to release something on each
    of its minibatches.
    """
    made, drawn = len(run.history.clean), len(run.history.drawn)
    due = sum(group.count * len(group.multipliers) for group in allowed)
    if run.outcome == "finished" and not along_a_tree(run):
        if made != due:
            yield f"the run makes {made} releases, where its declared events are {due}"
        return
    used = {release.draw for release in releases if release.draw is not None}
    pairs = max((sum(release.draw == draw for release in releases) for draw in used), default=0)
    if used != set(range(drawn)) or any(sum(release.draw == draw for release in releases) != pairs for draw in used):
        yield f"the run draws {drawn} minibatches and makes {made} releases, of {pairs} a minibatch"


def _faults(run: Run, group: tuple[Release, ...], wanted: Group) -> list[str]:
    """Return what tells this group of releases from the declared one."""
    history, found = run.history, list[str]()
    if (group[0].draw is None) != (wanted.sampled is None):
        what = "all records" if group[0].draw is None else "a minibatch"
        found.append(f"{group[0]} reads {what}, where {_words([wanted])} is declared")
    elif group[0].draw is not None and wanted.sampled is not None:
        found += _batch_faults(run, group[0], wanted.sampled)
    for release, z in zip(group, wanted.multipliers, strict=False):
        seen = _declared_form(run, release, wanted)
        if not math.isclose(seen, z, rel_tol=ROUNDING):
            sigma = history.noise[release.row, 0]
            found.append(
                f"{release} has noise {sigma:.4g}, a multiplier of {seen:.4g}; its declared multiplier is {z:.4g}"
            )
    if len(group) != len(wanted.multipliers):
        found.append(
            f"{group[0]} comes with {len(group) - 1} others on its minibatch, not {len(wanted.multipliers) - 1}"
        )
    return found


def _batch_faults(run: Run, release: Release, wanted: Sampled) -> Iterator[str]:
    drawn, n = run.history.drawn, len(run.problem.records)
    assert release.draw is not None
    if release.draw >= len(drawn):
        yield f"{release} reads no minibatch of its own"
        return
    batch = drawn[release.draw][drawn[release.draw] >= 0]
    if wanted.population != n:
        yield f"{release} is declared for {wanted.population} records, and there are {n}"
    if wanted.scheme != "poisson" and len(batch) != wanted.batch:
        yield f"{release} reads {len(batch)} records; its declared minibatch has {wanted.batch:g}"
    if wanted.scheme != "with_replacement" and len(set(batch.tolist())) != len(batch):
        yield f"{release} reads a record twice; its minibatch is declared {wanted.scheme.replace('_', ' ')}"


def _declared_form(run: Run, release: Release, wanted: Group) -> float:
    """Return the recorded multiplier, of a private choice the one by which it is declared as a Laplace mechanism."""
    seen = multiplier(run.history, release.row)
    return run.solver.as_laplace(seen) if wanted.laplace else seen


def _distance(run: Run, group: tuple[Release, ...], wanted: Group) -> float:
    """Return how many faults there are, and then how far the multipliers are apart."""
    apart = sum(
        min(1.0, abs(_declared_form(run, release, wanted) / z - 1)) if 0 < z < math.inf else 1.0
        for release, z in zip(group, wanted.multipliers, strict=True)
    )
    return 10 * len(_faults(run, group, wanted)) + apart


def _words(groups: Sequence[Group]) -> str:
    parts = [f"{group.count} of multiplier {', '.join(f'{z:.4g}' for z in group.multipliers)}" for group in groups]
    return "; ".join(parts[:4]) + ("; ..." if len(parts) > 4 else "")


Moves = NDArray[np.bool_]
_MOST = 200  # records that are exchanged, one at a time, evenly spread


def moves(run: Run, others: Array, seed: int) -> dict[int, Moves]:
    """Return for each of the records looked at, which releases it moves : (releases,).

    others : (n, k) what replaces each record;  seed : of the recorded run
    A replay is fed the releases of the run, so that only what a release itself reads can move it.
    """
    n, found = len(run.problem.records), {}
    scale = 1e-12 * np.maximum(run.history.noise[:, 1], np.finfo(float).tiny)
    for record in np.unique(np.linspace(0, n - 1, min(n, _MOST)).astype(int)).tolist():
        neighbour: Problem = with_record(run.problem, record, others[record])
        theirs = run.solver.replay(neighbour, run.history, seed=seed).clean
        found[record] = np.abs(theirs[: len(scale)] - run.history.clean).max(1) > scale
    return found


def strangers(run: Run, moved: dict[int, Moves]) -> Iterator[str]:
    """Yield a sentence for each release that a record moves which it is not declared to read."""
    releases, history = run.solver.layout(run.problem, run.history), run.history

    def may(release: Release, record: int) -> bool:
        """Say whether a release may read a record: along a tree it is a sum over its own minibatch and those before."""
        earlier = history.drawn[: release.draw] if along_a_tree(run) else history.drawn[:0]
        return release.reads(history, record) or record in earlier

    for release in releases[: len(run.history.clean)]:
        if release.draw is None or release.draw >= len(run.history.drawn):
            continue
        wrong = [record for record, rows in moved.items() if rows[release.row] and not may(release, record)]
        if wrong:
            yield f"{release} moves with {len(wrong)} of {len(moved)} records that are not in its minibatch"


def shared(run: Run, moved: dict[int, Moves]) -> Iterator[str]:
    """Yield a sentence for each set of releases declared disjoint in which one record moves more than is declared.

    Several releases of one record amount to one, whose squared shift in units of the noise is the sum of theirs.
    """
    releases, start = run.solver.layout(run.problem, run.history), 0
    for event in run.events:
        end = start + sum(group.count * len(group.multipliers) for group in declared((event,)))
        if not isinstance(event, Disjoint):
            start = end
            continue
        covered = releases if along_a_tree(run) else releases[start:end]
        allowed = shift_of(event.worst.noise_multiplier)
        seen = [(release.row, shift_of(multiplier(run.history, release.row)) ** 2) for release in covered]
        shifts = {record: float(np.sqrt(sum(s for row, s in seen if rows[row]))) for record, rows in moved.items()}
        record = max(shifts, key=lambda one: shifts[one])
        if shifts[record] > allowed * (1 + ROUNDING):
            told = [release for release in covered if moved[record][release.row]]
            yield (
                f"record {record} moves {_listed(told)}, by {shifts[record]:.4g} units of noise in all; they are "
                f"declared disjoint, which allows {allowed:.4g}"
            )
        start = end


def _listed(releases: Sequence[Release]) -> str:
    return " and ".join(str(release) for release in releases) if len(releases) < 4 else f"{len(releases)} releases"


BATCHES, LEVEL = 3, 0.01
_NUMBERS = 2_000  # of noise in a batch: 10 % too little is nine standard errors away, four of them at the least
_RUNS = 1_000  # at most


def actual_noise(context: Context, id: str, case: Case, first: Run) -> Finding:
    """Return a finding from batches of fresh runs; ``first`` tells how many releases one has."""
    audit = None
    for batch in range(BATCHES):
        noise = _noise(context, case, first, batch)
        if len(noise) < 50:
            return Finding(
                id, "noise", f"{case.words}: the noise added", "inconclusive",
                f"only {len(noise)} releases have any recorded noise", place=place_of(tape.release),
            )  # fmt: skip
        audit = audit_noise_sample(
            noise, scale=1.0, centred=True, confidence=1 - LEVEL, seed=context.stream(18, batch)
        )  # fmt: skip
        if audit.verdict == "consistent":
            break
    assert isinstance(audit, NoiseAudit)
    return Finding(
        id, "noise", f"{case.words}: the noise added, in units of the recorded standard deviation", audit.verdict,
        f"the noise that releases add has standard deviation {audit.scale:.4g} of the recorded one: {audit.reason}",
        evidence=audit.to_dict() | {"batches": batch + 1, "level": LEVEL}, place=place_of(tape.release),
    )  # fmt: skip


def _noise(context: Context, case: Case, first: Run, batch: int) -> Array:
    """Return the standardised noise of so many runs' releases, a row a release : (releases, k), k what all of them
    have.
    """
    width = min(
        (
            release.width(case.problem)
            for release in case.solver.layout(case.problem, first.history)
            if release.what != "the choice"
        ),
        default=1,
    )
    count = min(_RUNS, math.ceil(_NUMBERS / max(1, width * len(first.history.clean))))
    rows = []
    for k in range(count):
        history = case.solver.run(case.problem, seed=context.stream(19, batch, k), record=True).history
        kept = [
            release.row for release in case.solver.layout(case.problem, history)[: len(history.clean)]
            if release.what != "the choice" and history.noise[release.row, 0] > 0
        ]  # fmt: skip
        added = (history.released - history.clean)[kept, :width]
        rows.append(added / history.noise[kept, :1])
    return np.concatenate(rows)
