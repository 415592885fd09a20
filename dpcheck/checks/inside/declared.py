"""The declared events of an algorithm beside what a recorded run released: release by release, and exactly."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby

from dpcheck.algorithms.run import History, Run
from dpcheck.checks.inside.groups import Group, declared
from dpcheck.checks.inside.layout import Release, layout
from dpcheck.events import Disjoint, Sampled

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
    releases = layout(run.solver, problem, history)
    yield from _counts(run, releases, allowed)
    if along_a_tree(run):
        yield from _drawn_again(history)
        return
    left, free = list(allowed), [group.count for group in allowed]
    made = releases[: len(history.clean)]
    for _, found in groupby(made, key=lambda each: (each.draw, each.row if each.draw is None else None)):
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
    if used != set(range(drawn)) or any(sum(each.draw == draw for each in releases) != pairs for draw in used):
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
        seen = _declared_form(multiplier(history, release.row), wanted)
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


def _declared_form(seen: float, wanted: Group) -> float:
    """Return the multiplier by which AboveThreshold is declared as a Laplace mechanism that is at least as bad (see
    ``sto_spider``).
    """
    if not wanted.laplace:
        return seen
    from dpcheck.catalogue.xu2026.sto_spider import pure

    return pure(seen).noise_multiplier


def _distance(run: Run, group: tuple[Release, ...], wanted: Group) -> float:
    """Return how many faults there are, and then how far the multipliers are apart."""
    apart = sum(
        min(1.0, abs(_declared_form(multiplier(run.history, release.row), wanted) / z - 1)) if 0 < z < math.inf else 1.0
        for release, z in zip(group, wanted.multipliers, strict=True)
    )
    return 10 * len(_faults(run, group, wanted)) + apart


def _words(groups: Sequence[Group]) -> str:
    parts = [f"{group.count} of multiplier {', '.join(f'{z:.4g}' for z in group.multipliers)}" for group in groups]
    return "; ".join(parts[:4]) + ("; ..." if len(parts) > 4 else "")
