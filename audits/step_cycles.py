"""Cyclic Poisson sampling: records are dealt into groups, the groups take turns, and each turn is Poisson sampling.

Every record is in the minibatches of one turn of the cycle only, and in each of those independently with the same
probability. The union of the minibatches of one cycle is then a Poisson sample of all records, and the unions are
independent: this is how the rate is tested. Given the groups, a record joins at most every ``cycle``-th step, so that
the steps together are a composition of ceil(steps / cycle) Poisson-sampled ones (Choquette-Choo et al. 2023); that the
groups are random too makes it no worse, as they are the same with the record and without.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpcheck.audits.results.training_step_audit import StepFinding
from dpcheck.audits.sampling import audit_sampling
from dpcheck.audits.step_findings import MINIBATCHES
from dpcheck.audits.step_parts import TrainingStep
from dpcheck.events import Neighbours

_FEWEST = 10  # cycles


def turns(steps: int, cycle: int) -> int:
    """Return in how many of the steps a record can take part at most."""
    return math.ceil(steps / cycle)


def cyclic_sampling_finding(
    step: TrainingStep, population: int, batch: int, cycle: int, neighbours: Neighbours, confidence: float, seed: int
) -> StepFinding:
    """Hold the minibatches that the sampler gives against cyclic Poisson sampling with so many groups."""
    rng = np.random.default_rng([seed, 1])
    drawn = step.minibatches(population, rng, MINIBATCHES * cycle, again=False)
    count = len(drawn) // cycle
    if count < _FEWEST:
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
    if neighbours == "add_or_remove_one" and _equal(turn, population, cycle):
        return StepFinding(
            "sampling", "inconclusive",
            "the groups may be made of equal size, so that a record that is added moves others; dpcheck does not "
            "certify this for records that are added or removed",
            "Draw each record's group independently of the others, or claim epsilon for neighbours='replace_one'",
        )  # fmt: skip
    return StepFinding(
        "sampling", "consistent", f"each record has one turn in {cycle}, and over a cycle {audit.reason}"
    )


def _equal(turn: dict[int, int], population: int, cycle: int) -> bool:
    """Whether the groups are as large as one another, or cannot be told as too many records were never drawn."""
    sizes = np.bincount(list(turn.values()), minlength=cycle)
    return len(turn) < population - population % cycle or int(np.ptp(sizes)) <= 1


def cyclic_minibatches(
    population: int, rate: float, cycle: int, rng: np.random.Generator, steps: int
) -> Sequence[list[Any]]:
    """Draw minibatches as accounted."""
    group = rng.integers(cycle, size=population)
    return [
        np.flatnonzero((group == number % cycle) & (rng.random(population) < rate)).tolist() for number in range(steps)
    ]
