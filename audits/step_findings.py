"""What the parts of a training step show, each by the audit that is made for it, and what to change."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.audits.clipping import audit_clipping
from dpcheck.audits.constants import audit_constants
from dpcheck.audits.membership import audit_privacy
from dpcheck.audits.sampling import audit_sampling
from dpcheck.audits.step_parts import Floats, TrainingStep, taken
from dpcheck.errors import raised
from dpcheck.events import Event, Scheme

_MINIBATCHES = 200
_LARGE = 1e3  # a record so much larger is clipped
_ROUNDED = 0.02  # of a record's clip: what rounding may change in a gradient of which noise was taken away
FIXED = "Hand over the gradient with dropout and augmentation off, or with their numbers from a generator of fixed seed"
_TOO_LARGE = 1.02  # times the clip: more than rounding makes of a record's gradient
_FAR_OUT = 10  # standard deviations that no noise reaches
_SAME = 6  # outliers in one minibatch


@dataclass(frozen=True)
class StepFinding:
    """What one part of a training step shows.

    Attributes
    ----------
    part : str
        ``"accounting"``, ``"sampling"``, ``"divisor"``, ``"empty batch"``, ``"noise"``, ``"clipping"`` or
        ``"release"``.
    verdict : str
        ``"violated"``, ``"inconclusive"`` or ``"consistent"``.
    reason : str
        What was seen.
    change : str
        What to change; where consistent, empty or what does not put the promise at risk.
    """

    part: str
    verdict: str
    reason: str
    change: str = ""


def sampling_finding(
    step: TrainingStep, population: int, batch: int, scheme: Scheme, confidence: float, seed: int
) -> StepFinding:
    """Hold the minibatches that the sampler gives against the scheme that was accounted."""
    drawn = step.minibatches(population, np.random.default_rng([seed, 1]), _MINIBATCHES)
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

    fewest = max(4, len(records) - 2 - len(records) // batch)  # a whole number n * rate changes within so many
    for number in range(len(records), fewest, -1):
        audit = audit_constants(configure, taken(records, range(number)), [taken(records, range(number - 1))])
        if audit.verdict == "violated":
            names = ", ".join(each.name for each in audit.differences)
            first = audit.differences[0]
            return StepFinding(
                "divisor", "violated",
                f"set up on {number} and on {number - 1} records, the step has another {names} "
                f"({first.on_data} and {first.on_neighbour}): it is taken from the private number of records",
                "Fix the expected size of a minibatch and the noise beforehand, as public numbers",
            )  # fmt: skip
    return StepFinding("divisor", "consistent", "set up on neighbouring data, the step has the same constants")


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


def clipping_finding(
    step: TrainingStep, records: Any, outlier: Callable[[Any, float], Any] | None, seed: int
) -> tuple[StepFinding, Any]:
    """Audit clipping without noise; also return the record that moves the gradient farthest.

    outlier : (record, factor) -> the record so many times as large; by default the product
    """
    beside = step.noise_alone(records)

    def query(members: Any) -> Floats:
        return step.release(members, np.random.default_rng(0)) - beside

    audit = audit_clipping(query, records, bound=step.clip, divisor=step.divisor, scale=outlier, seed=seed)
    grow = outlier if outlier is not None else lambda record, factor: np.asarray(record, float) * factor
    able = outlier is not None or isinstance(records, np.ndarray)
    candidates = [grow(record, factor) for record in records for factor in ((1.0, _LARGE, -_LARGE) if able else (1.0,))]
    moved = [float(np.linalg.norm(np.nan_to_num(query(_batch(records, [c]))))) for c in candidates]
    canary = candidates[int(np.argmax(moved))]
    norm = next(test for test in audit.tests if test.test == "norm")
    largest = max(norm.found if norm.verdict == "violated" else 0.0, *moved)
    too_large = norm.verdict == "violated" or largest > _TOO_LARGE * step.clip / step.divisor
    others = [test.verdict for test in audit.tests if test.test != "empty batch"]  # which is a part of its own
    if set(others) <= {"consistent"} and not too_large:
        return StepFinding("clipping", "consistent", "every batch tried is a sum of clipped vectors"), canary
    together = float(np.linalg.norm(query(_batch(records, [canary] * _SAME)))) / max(max(moved), 1e-300)
    most_noise = _FAR_OUT * step.noise * math.sqrt(len(beside))  # what noise that does not cancel can look like
    if largest < step.clip / step.divisor + most_noise and _draws(step, records):
        return StepFinding(
            "clipping", "inconclusive",
            "the gradient of a minibatch draws random numbers of its own, such as dropout or augmentation, so that it "
            "cannot be told from the noise",
            FIXED,
        ), canary  # fmt: skip
    if too_large:
        allowed = step.clip / step.divisor
        reason = f"one record alone has a gradient of norm {largest:.4g}, at most {allowed:.4g} is allowed"
        change = "Clip each record's gradient to the claimed norm, over all parameters together"
    elif together < 1.01:
        reason = f"{_SAME} equal records move the gradient no farther than one: clipping comes after averaging"
        change = "Clip each record's gradient before the sum"
    elif together < _SAME * 0.99:
        reason = (
            f"{_SAME} equal records move the gradient {together:.3g} times as far as one: microbatches are clipped, "
            "or the divisor is the minibatch's own size"
        )
        change = "Clip each record's gradient by itself (microbatches of one), and divide by a public number"
    else:
        reason, change = audit.reason, "Make the gradient a sum of clipped gradients, each of its own record alone"
    verdict = "violated" if too_large else audit.verdict
    return StepFinding("clipping", verdict, reason, change), canary


def _draws(step: TrainingStep, records: Any) -> bool:
    """Whether what an ordinary minibatch gets beside noise depends on the seed, by more than rounding explains."""
    batch = taken(records, range(min(_SAME, len(records))))
    one, other = (step.release(batch, np.random.default_rng(seed)) - step.noise_alone(records, seed) for seed in (0, 1))
    return float(np.linalg.norm(one - other)) > _ROUNDED * step.clip / step.divisor


def release_finding(
    build: Callable[[Any], TrainingStep], records: Any, canary: Any, claim: Event, delta: float, trials: int,
    confidence: float, seed: int,
) -> tuple[StepFinding, float]:  # fmt: skip
    """Audit a few steps together on data with the canary and without; also return the audited epsilon."""
    from dpcheck.events import Repeated, Sampled

    assert isinstance(claim, Repeated) and isinstance(claim.event, Sampled)
    sampled, steps = claim.event, claim.count
    rest = taken(records, range(len(records) - 1))
    with_canary = _batch(records, [*rest, canary])
    removed = sampled.neighbours == "add_or_remove_one"
    without = rest if removed else _batch(records, [*rest, records[len(records) - 1]])
    first = build(with_canary)
    direction = first.release(_batch(records, [canary]), np.random.default_rng(0)) - first.noise_alone(with_canary)

    def release(step: TrainingStep, batch: Any, rng: np.random.Generator) -> Floats:
        try:
            return step.release(batch, rng)
        except (Exception, SystemExit):
            if len(batch):
                raise
            return np.full(len(direction), np.nan)  # that the empty minibatch raises is a finding of its own

    def mechanism(data: Any, rng: np.random.Generator) -> Floats:
        step = build(data)
        drawn = (
            step.minibatches(len(data), rng, steps) if callable(step.sampler)
            else _accounted(sampled, len(data), rng, steps)
        )  # fmt: skip
        released = np.array([release(step, taken(data, members), rng) for members in drawn])
        return np.asarray(
            released @ (direction / max(float(np.linalg.norm(direction)), 1e-300))
        )  # post-processing; one number a step

    audit = audit_privacy(
        mechanism, with_canary, without, claim=claim, delta=delta, trials=trials, confidence=confidence, seed=seed
    )
    reason = f"{steps} steps together have epsilon >= {audit.epsilon_lower:.3g}, {audit.epsilon:.3g} is claimed"
    if audit.verdict == "inconclusive":
        reason += ": so many trials could not have shown a violation"
        return StepFinding("release", "inconclusive", reason, "Take more trials"), audit.epsilon_lower
    if audit.verdict == "consistent":
        return StepFinding("release", "consistent", reason), audit.epsilon_lower
    reason += f" ({audit.event})"
    change = "Mend the parts above; where none is amiss, look for state that one step leaves to the next"
    return StepFinding("release", "violated", reason, change), audit.epsilon_lower


def _accounted(sampled: Any, population: int, rng: np.random.Generator, steps: int) -> list[list[int]]:
    """Draw minibatches as accounted, where the sampler is a loader of its own data."""
    size = int(sampled.batch)
    if sampled.scheme == "poisson":
        return [np.flatnonzero(rng.random(population) < sampled.rate).tolist() for _ in range(steps)]
    again = sampled.scheme == "with_replacement"
    return [rng.choice(population, size, replace=again).tolist() for _ in range(steps)]


def _batch(records: Any, members: list[Any]) -> Any:
    if not isinstance(records, np.ndarray):
        return members
    return np.array(members, float).reshape(-1, *records.shape[1:])
