"""The sampling and the set-up of a training step: its minibatches, what it takes from the data, the empty minibatch.

Under cyclic Poisson sampling records are dealt into groups, the groups take turns, and a turn is Poisson sampling:
every record is in the minibatches of one turn of the cycle only, and in each of those independently with the same
probability. The union of the minibatches of one cycle is then a Poisson sample of all records, and the unions are
independent: this is how the rate is tested. Given the groups, a record joins at most every ``cycle``-th step, so that
the steps together are a composition of ceil(steps / cycle) Poisson-sampled ones (Choquette-Choo et al. 2023); that the
groups are random too makes it no worse, as they are the same with the record and without.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import stats

from dpcheck.audits.constants import Difference, audit_constants
from dpcheck.audits.sampling import UNEVEN, audit_sampling, unevenness
from dpcheck.audits.step_parts import StepFinding, TrainingStep, taken
from dpcheck.errors import raised
from dpcheck.events import Neighbours, Scheme

_DRAWN = 20_000_000  # record numbers, one for each record and minibatch, that are thrown to count draws


_MINIBATCHES, _COUNTED = 200, 1000  # whose law is tested, and in which each record is counted at least
_BY_CHANCE = 1e-3  # of minibatches without a record in common, which are then called a shuffled epoch
_GRADIENT = "noisy gradient"
_COLUMNS = 8  # whose least and greatest records are replaced


def sampling_finding(
    step: TrainingStep, population: int, batch: int, scheme: Scheme, confidence: float, seed: int
) -> StepFinding:
    """Hold the minibatches that the sampler gives against the scheme that was accounted."""
    alpha = 1 - confidence
    count = minibatches_to_count(population, batch, 0.2 * alpha, least=_COUNTED)
    drawn = step.minibatches(population, np.random.default_rng([seed, 1]), count)
    if len(drawn) < 10:
        return StepFinding(
            "sampling", "inconclusive", f"the sampler gave {len(drawn)} minibatches, at least 10 are compared",
            "Hand over a sampler that goes on, such as one that starts the next epoch",
        )  # fmt: skip
    audit = audit_sampling(
        drawn[:_MINIBATCHES], scheme=scheme, population=population, batch=batch, confidence=1 - 0.8 * alpha, seed=seed
    )
    uneven = ""
    if audit.verdict == "consistent" or audit.reason == UNEVEN:
        uneven = unevenness(drawn, scheme, population, batch, level=0.2 * alpha, seed=seed)
    counted = f"and each record was counted in {len(drawn)}"
    if audit.verdict == "consistent" and not uneven:
        return StepFinding("sampling", "consistent", f"{audit.reason} ({audit.steps} of them, {counted})")
    shuffled = not uneven and _shuffled(drawn, population)
    reason = uneven or ("minibatches are cut from a shuffled epoch" if shuffled else audit.reason)
    return StepFinding(
        "sampling", "violated", f"{reason}, but were accounted as {scheme.replace('_', ' ')}",
        f"Draw each minibatch by {scheme.replace('_', ' ')} sampling, or account for what the loader does",
    )  # fmt: skip


def _shuffled(drawn: Sequence[Sequence[int]], population: int) -> bool:
    """Say whether the first minibatches share no record until nearly all were drawn, which chance seldom does."""
    seen, chance = set[int](), 1.0
    for members in drawn:
        if seen & set(members):
            break
        chance *= float(stats.hypergeom(population, len(seen), len(members)).pmf(0))
        seen |= set(members)
    return len(seen) > population - max(map(len, drawn)) - 1 and chance < _BY_CHANCE


def divisor_finding(
    build: Callable[[Any], TrainingStep], records: Any, batch: int, neighbours: Neighbours
) -> StepFinding:
    """Set the step up on neighbouring data: its constants and gradients must be the same.

    First records are replaced, those that hold the least and the greatest numbers among them. Unless the number of
    records is public, then there are ever fewer.
    """
    some = taken(records, range(4))

    def configure(data: Any) -> dict[str, Any]:
        step = build(data)
        released = step.release(some, np.random.default_rng(0))
        return {"divisor": step.divisor, "noise": step.noise, "clip": step.clip, _GRADIENT: released}

    count, replaced = len(records), _replacements(records)
    neighbouring = (taken(records, [other if k == number else k for k in range(count)]) for number, other in replaced)
    if differences := audit_constants(configure, records, neighbouring).differences:
        number = replaced[differences[0].neighbour][0]
        return StepFinding(
            "divisor", "violated",
            f"set up on data in which another record stands for record {number}, the step {_changes(differences)}: "
            "it is computed from the private records",
            "Take the divisor, the noise, the clip and any scaling of records from public numbers",
        )  # fmt: skip
    alike = StepFinding("divisor", "consistent", "set up on neighbouring data, the step has the same constants")
    if neighbours == "replace_one":
        return alike

    # A whole number n * rate changes within so many records; by halves, two neighbours are found between which it does.
    def fewer_matter(more: int, fewer: int) -> tuple[Difference, ...]:
        return audit_constants(configure, taken(records, range(more)), [taken(records, range(fewer))]).differences

    more, fewer = count, max(4, count - 2 - count // batch)
    for number in (more - 1, more - 2, fewer):
        if fewer_matter(more, number):
            fewer = number
            break
    else:
        return alike
    while more - fewer > 1:
        middle = (more + fewer) // 2
        more, fewer = (more, middle) if fewer_matter(more, middle) else (middle, fewer)
    return StepFinding(
        "divisor", "violated",
        f"set up on {more} and on {fewer} records, the step {_changes(fewer_matter(more, fewer))}: "
        "it is taken from the private number of records",
        "Fix the expected size of a minibatch and the noise beforehand, as public numbers",
    )  # fmt: skip


def _changes(differences: tuple[Difference, ...]) -> str:
    """Say which constants differ, and how the first number among them does."""
    names = " and another ".join(difference.name for difference in differences)
    number = next((difference for difference in differences if difference.name != _GRADIENT), None)
    return f"has another {names}" + (f" ({number.on_data} and {number.on_neighbour})" if number else "")


def _replacements(records: Any) -> list[tuple[int, int]]:
    """Return pairs of records, of which the second replaces the first: the first, the last, and the extreme ones."""
    extreme = {0, len(records) - 1}
    if isinstance(records, np.ndarray) and records.dtype.kind in "fiub":
        flat = records.reshape(len(records), -1)
        columns = flat[:, np.unique(np.linspace(0, flat.shape[1] - 1, _COLUMNS).astype(int))]
        extreme |= {*columns.argmin(0).tolist(), *columns.argmax(0).tolist()}
    usual = len(records) // 2
    while usual in extreme and usual > 1:
        usual -= 1
    return [(number, usual) for number in sorted(extreme)]


def empty_finding(step: TrainingStep, records: Any) -> StepFinding:
    """Release the empty minibatch, which Poisson sampling draws now and then."""
    change = "Return zeros for a minibatch without records, and add the noise to them"
    try:
        one, other = (step.release(taken(records, []), np.random.default_rng(stream)) for stream in (0, 1))
    except (Exception, SystemExit) as error:
        return StepFinding("empty batch", "inconclusive", f"the empty minibatch raises {raised(error)}", change)
    usual = step.release(taken(records, range(4)), np.random.default_rng(0))
    if one.shape != usual.shape or not np.isfinite([one, other]).all():
        reason = f"the empty minibatch gives {one.shape} numbers, or not finite ones, others {usual.shape}"
        return StepFinding("empty batch", "violated", reason, change)
    if np.array_equal(one, other):
        return StepFinding("empty batch", "violated", "the empty minibatch is released without noise", change)
    return StepFinding("empty batch", "consistent", "the empty minibatch is released with noise")


_FEWEST_CYCLES = 10  # cycles


def cyclic_sampling_finding(
    step: TrainingStep, population: int, batch: int, cycle: int, neighbours: Neighbours, confidence: float, seed: int
) -> StepFinding:
    """Hold the minibatches that the sampler gives against cyclic Poisson sampling with so many groups."""
    rng = np.random.default_rng([seed, 1])
    drawn = step.minibatches(population, rng, _MINIBATCHES * cycle, again=False)
    count = len(drawn) // cycle
    if count < _FEWEST_CYCLES:
        return StepFinding(
            "sampling", "inconclusive", f"the sampler gave {count} cycles of {cycle} minibatches, 10 are compared",
            "Hand over a sampler that goes on",
        )  # fmt: skip
    turn: dict[int, int] = {}
    for number, members in enumerate(drawn):
        for record in members:
            before = turn.setdefault(record, number % cycle)
            if before != number % cycle:
                return StepFinding(
                    "sampling", "violated",
                    f"record {record} is drawn at turn {before} and at turn {number % cycle} of a cycle of {cycle}",
                    "Deal each record into one group, and let the groups take turns; or account for plain sampling",
                )  # fmt: skip
    unions = [[record for members in drawn[k * cycle : (k + 1) * cycle] for record in members] for k in range(count)]
    never = sorted(set(range(population)) - turn.keys())
    if len(never) == population % cycle:  # groups of equal size leave the rest out, which costs no privacy
        rate = batch * cycle / population
        unions = [[*union, *(k for k in never if rng.random() < rate)] for union in unions]
    audit = audit_sampling(
        unions, scheme="poisson", population=population, batch=batch * cycle, confidence=confidence, seed=seed
    )
    if audit.verdict == "violated":
        return StepFinding(
            "sampling", "violated", f"records are not drawn at their turns as accounted: over a cycle {audit.reason}",
            "Draw each record of a group independently, with the accounted probability",
        )  # fmt: skip
    sizes = np.bincount(list(turn.values()), minlength=cycle) if turn else np.zeros(cycle)
    # The groups are as large as one another, or that cannot be told as too many records were never drawn.
    equal = len(turn) < population - population % cycle or int(np.ptp(sizes)) <= 1
    if neighbours == "add_or_remove_one" and equal:
        return StepFinding(
            "sampling", "inconclusive",
            "the groups may be made of equal size, so that a record that is added moves others; dpcheck does not "
            "certify this for records that are added or removed",
            "Draw each record's group independently of the others, or claim epsilon for neighbours='replace_one'",
        )  # fmt: skip
    return StepFinding(
        "sampling", "consistent", f"each record has one turn in {cycle}, and over a cycle {audit.reason}"
    )


def minibatches_to_count(population: int, batch: int, level: float, *, least: int) -> int:
    """Return in how many minibatches :func:`unevenness` sees half of the records drawn 10 % too often, half too rarely.

    It takes so many draws in all: where it is not known which records are favoured, the variance is the locally most
    powerful statistic. ``least`` at the least, and as many as are drawn within a second at most.
    """
    draws = float(stats.norm.isf(level / 2) + stats.norm.isf(0.01)) * math.sqrt(2 * population) / 0.1**2
    return max(least, min(math.ceil(draws / batch), _DRAWN // population))
