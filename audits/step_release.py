"""What a few steps release together, as one mechanism, on data with and without the record that moves them farthest."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpcheck.audits.membership import audit_privacy
from dpcheck.audits.results.training_step_audit import StepFinding
from dpcheck.audits.step_budget import affordable, cost
from dpcheck.audits.step_cycles import cyclic_minibatches, turns
from dpcheck.audits.step_parts import UNSEEDED, Floats, TrainingStep, gathered, taken
from dpcheck.errors import InputError
from dpcheck.events import Repeated, Sampled

_USUAL = 2_000  # trials, where the user names no number
_FEWEST = 200
_KEPT = 16  # records that are drawn into a Poisson minibatch on average; more are masked
_MOST_KEPT = 2_000


def release_finding(
    build: Callable[[Any], TrainingStep], records: Any, canary: Any, sampled: Sampled, steps: int, cycle: int,
    delta: float, trials: int | None, confidence: float, seed: int,
) -> tuple[StepFinding, float]:  # fmt: skip
    """Audit a few steps together on data with the canary and without; also return the audited epsilon.

    sampled : the event of one step in which the canary can take part, one in ``cycle`` of them
    Under Poisson sampling all records but some are masked: they are drawn, but not put into the minibatch. What is
    released is then what the step releases on data without them, for which the same epsilon is claimed.
    """
    last, claim = len(records) - 1, Repeated(sampled, turns(steps, cycle))
    removed = sampled.neighbours == "add_or_remove_one"
    rest = taken(records, range(last))
    full = {True: gathered(records, [*rest, canary])}
    full[False] = rest if removed else records
    kept = _kept(sampled, last, cycle, seed)
    place = {number: k for k, number in enumerate(kept)}
    data, neighbour = (
        (there, taken(full[there], [k for k in kept if k < len(full[there])])) for there in (True, False)
    )  # fmt: skip
    first = build(full[True])
    follows = callable(first.sampler) and _same_draws(first, len(records), steps)
    direction = first.release(gathered(records, [canary]), np.random.default_rng(0)) - first.noise_alone(full[True])
    if trials is None:
        size = len(kept) * sampled.batch / len(records) / cycle
        trials = affordable(2 * steps * cost(size, len(direction)), least=_FEWEST, most=_USUAL)

    def release(step: TrainingStep, batch: Any, rng: np.random.Generator) -> Floats:
        try:
            return step.release(batch, rng)
        except (Exception, SystemExit):
            if len(batch):
                raise
            return np.full(len(direction), np.nan)  # that the empty minibatch raises is a finding of its own

    def mechanism(side: tuple[bool, Any], rng: np.random.Generator) -> Floats:
        there, some = side
        step, population = build(full[there]), len(full[there])
        drawn = (
            step.minibatches(population, rng, steps) if follows
            else _accounted(sampled, cycle, population, rng, steps)
        )  # fmt: skip
        batches = [taken(some, [place[k] for k in members if k in place]) for members in drawn]
        released = np.array([release(step, batch, rng) for batch in batches])
        return np.asarray(
            released @ (direction / max(float(np.linalg.norm(direction)), 1e-300))
        )  # post-processing; one number a step

    try:
        audit = audit_privacy(
            mechanism, data, neighbour, claim=claim, delta=delta, trials=trials, confidence=confidence, seed=seed
        )
    except InputError as error:
        if "seeded=False" not in str(error):
            raise
        raise InputError(UNSEEDED) from error
    reason = f"{steps} steps together have epsilon >= {audit.epsilon_lower:.3g}, {audit.epsilon:.3g} is claimed"
    if len(kept) <= last:
        reason += f", on {len(kept)} of the {len(records)} records"
    if audit.verdict == "inconclusive":
        reason += f": {audit.trials} trials could not have shown a violation"
        return StepFinding("release", "inconclusive", reason, "Take more trials"), audit.epsilon_lower
    if audit.verdict == "consistent":
        return StepFinding("release", "consistent", reason), audit.epsilon_lower
    reason += f" ({audit.event})"
    change = "Mend the parts above; where none is amiss, look for state that one step leaves to the next"
    return StepFinding("release", "violated", reason, change), audit.epsilon_lower


def _same_draws(step: TrainingStep, population: int, steps: int) -> bool:
    """Whether the sampler draws from the generator alone; one of its own cannot be drawn from anew for each trial."""
    one, other = (step.minibatches(population, np.random.default_rng(0), steps) for _ in range(2))
    return one == other


def _kept(sampled: Sampled, last: int, cycle: int, seed: int) -> list[int]:
    """Return the records that are not masked, the last one, the canary, among them."""
    most = min(_MOST_KEPT, math.ceil(_KEPT * cycle / max(sampled.rate, 1e-300)))
    if sampled.scheme != "poisson" or most > last:
        return list(range(last + 1))
    drawn = np.random.default_rng([seed, 4]).choice(last, most - 1, replace=False)
    return [*sorted(drawn.tolist()), last]


def _accounted(
    sampled: Sampled, cycle: int, population: int, rng: np.random.Generator, steps: int
) -> Sequence[list[Any]]:
    """Draw minibatches as accounted, where the sampler is a loader of its own data, or has a generator of its own."""
    size = int(sampled.batch)
    if sampled.scheme == "poisson":
        return cyclic_minibatches(population, sampled.rate, cycle, rng, steps)
    again = sampled.scheme == "with_replacement"
    return [rng.choice(population, size, replace=again).tolist() for _ in range(steps)]
