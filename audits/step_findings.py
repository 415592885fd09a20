"""What the parts of a training step show, each by the audit that is made for it, and what to change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpcheck.audits.constants import Difference, audit_constants
from dpcheck.audits.results.training_step_audit import StepFinding
from dpcheck.audits.sampling import audit_sampling
from dpcheck.audits.step_parts import TrainingStep, taken
from dpcheck.errors import raised
from dpcheck.events import Scheme

MINIBATCHES = 200
FIXED = "Hand over the gradient with dropout and augmentation off: they cost no privacy, but look like noise"


def sampling_finding(
    step: TrainingStep, population: int, batch: int, scheme: Scheme, confidence: float, seed: int
) -> StepFinding:
    """Hold the minibatches that the sampler gives against the scheme that was accounted."""
    drawn = step.minibatches(population, np.random.default_rng([seed, 1]), MINIBATCHES)
    if len(drawn) < 10:
        return StepFinding(
            "sampling", "inconclusive", f"the sampler gave {len(drawn)} minibatches, at least 10 are compared",
            "Hand over a sampler that goes on, such as one that starts the next epoch",
        )  # fmt: skip
    audit = audit_sampling(
        drawn, scheme=scheme, population=population, batch=batch, confidence=confidence, seed=seed
    )  # fmt: skip
    if audit.verdict == "consistent":
        return StepFinding("sampling", "consistent", audit.reason)
    shuffled = _shuffled(drawn, population)
    words = "minibatches are cut from a shuffled epoch" if shuffled else audit.reason
    return StepFinding(
        "sampling", "violated", f"{words}, but were accounted as {scheme.replace('_', ' ')}",
        f"Draw each minibatch by {scheme.replace('_', ' ')} sampling, or account for what the loader does",
    )  # fmt: skip


def _shuffled(drawn: list[list[int]], population: int) -> bool:
    """Whether the first minibatches hold no record twice until nearly all records were seen."""
    seen: set[int] = set()
    for members in drawn:
        if seen & set(members):
            break
        seen |= set(members)
    return len(seen) > population - max(map(len, drawn)) - 1


def divisor_finding(build: Callable[[Any], TrainingStep], records: Any, batch: int) -> StepFinding:
    """Set the step up on data with ever fewer records: neighbours must get the same constants and gradients."""
    some = taken(records, range(4))

    def configure(data: Any) -> dict[str, Any]:
        step = build(data)
        released = step.release(some, np.random.default_rng(0))
        constants = {"divisor": step.divisor, "noise": step.noise, "clip": step.clip}
        return constants | {"the noisy gradient of one minibatch": released}

    def differing(more: int, fewer: int) -> tuple[Difference, ...]:
        return audit_constants(configure, taken(records, range(more)), [taken(records, range(fewer))]).differences

    # A whole number n * rate changes within so many records; by halves, two neighbours are found between which it does.
    more, fewer = len(records), max(4, len(records) - 2 - len(records) // batch)
    for number in (more - 1, more - 2, fewer):
        if differing(more, number):
            fewer = number
            break
    else:
        return StepFinding("divisor", "consistent", "set up on neighbouring data, the step has the same constants")
    while more - fewer > 1:
        middle = (more + fewer) // 2
        more, fewer = (more, middle) if differing(more, middle) else (middle, fewer)
    differences = differing(more, fewer)
    names, first = ", ".join(each.name for each in differences), differences[0]
    return StepFinding(
        "divisor", "violated",
        f"set up on {more} and on {fewer} records, the step has another {names} "
        f"({first.on_data} and {first.on_neighbour}): it is taken from the private number of records",
        "Fix the expected size of a minibatch and the noise beforehand, as public numbers",
    )  # fmt: skip


def empty_finding(step: TrainingStep, records: Any) -> StepFinding:
    """Release the empty minibatch, which Poisson sampling draws now and then."""
    change = "Return zeros for a minibatch without records, and add the noise to them"
    try:
        found = [step.release(taken(records, []), np.random.default_rng(stream)) for stream in (0, 1)]
    except (Exception, SystemExit) as error:
        return StepFinding("empty batch", "inconclusive", f"the empty minibatch raises {raised(error)}", change)
    usual = step.release(taken(records, range(4)), np.random.default_rng(0))
    if found[0].shape != usual.shape or not np.isfinite(found).all():
        reason = f"the empty minibatch gives {found[0].shape} numbers, or not finite ones, others {usual.shape}"
        return StepFinding("empty batch", "violated", reason, change)
    if np.array_equal(found[0], found[1]):
        return StepFinding("empty batch", "violated", "the empty minibatch is released without noise", change)
    return StepFinding("empty batch", "consistent", "the empty minibatch is released with noise")
