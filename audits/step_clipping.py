"""A test of how a training step clips: noise is taken away from its gradient, of single records and of minibatches.

All records are looked at alone where they are few. Of many, the largest and the smallest are, others drawn by chance,
and those of the minibatch whose gradient is the longest for its size; the finding says how many.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dpcheck.audits.clipping import FEW, audit_clipping
from dpcheck.audits.numbers.rounding import Rounding, unit_of
from dpcheck.audits.results.training_step_audit import StepFinding
from dpcheck.audits.step_budget import MOST_RECORDS, affordable, chosen, cost
from dpcheck.audits.step_findings import FIXED
from dpcheck.audits.step_parts import Floats, TrainingStep, gathered, taken, whole
from dpcheck.errors import InputError, raised

_LARGE = 1e3  # a record so much larger is clipped
_ROUNDED = 0.02  # of a record's clip: what rounding may change in a gradient of which noise was taken away
_TOO_LARGE = 1.02  # times the clip: more than rounding makes of a record's gradient
_FAR_OUT = 10  # standard deviations that no noise reaches
_SAME = 6  # outliers in one minibatch
_TOGETHER = 64  # records in a minibatch that are looked at together
_FEWEST = 64  # records that are looked at alone, however large the model
_REACHED = 0.9  # of the clip: a longer gradient was clipped, or is as long as one that was
_REFUSED = (
    "gradient must take a minibatch whose records were made larger ({} of them here), got {}: where a record holds a "
    "label or another number that may not grow, say by outlier= how it is made larger"
)
_TELLING = 64  # numbers that show by which type they were rounded
Query = Callable[[Any], Floats]


def clipping_finding(
    step: TrainingStep, records: Any, sizes: list[int], outlier: Callable[[Any, float], Any] | None, seed: int
) -> tuple[StepFinding, Any]:
    """Audit clipping without noise; also return the record that moves the gradient farthest.

    sizes : of minibatches, as training has them;  outlier : (record, factor) -> the record so many times as large; by
    default the product
    """
    beside = step.noise_alone(records)

    def query(members: Any) -> Floats:
        try:
            return step.release(members, np.random.default_rng(0)) - beside
        except (Exception, SystemExit) as error:
            raise InputError(_REFUSED.format(len(members), raised(error))) from error

    numbers, together = _looked_at(query, records, len(beside), seed)
    some = taken(records, numbers)
    looked = f"{len(numbers)} of {len(records)} records alone"
    looked += f", {together} in minibatches of {_TOGETHER}" if together else ""
    if outlier is None and whole(records):
        outlier = _as_it_is
        looked += "; whole numbers were not made larger, which outlier= would do"
    rounding = _rounding(step, records, beside)
    large = _affordable_sizes(sizes, len(beside))
    looked += f"; minibatches of up to {max([min(len(some), FEW), *large])}"
    audit = audit_clipping(
        query, some, bound=step.clip, divisor=step.divisor, scale=outlier, sizes=large, seed=seed, rounding=rounding
    )
    candidates = _candidates(some, outlier)
    moved = [_length(query(gathered(records, [each]))) for each in candidates]
    canary = candidates[int(np.argmax([length if length < math.inf else -1.0 for length in moved]))]
    norm = next(test for test in audit.tests if test.test == "norm")
    largest = max(norm.found if norm.verdict == "violated" else 0.0, *moved)
    clip = step.clip / step.divisor
    too_large = norm.verdict == "violated" or largest > max(_TOO_LARGE * clip, clip + rounding.alone(clip))
    others = [test.verdict for test in audit.tests if test.test != "empty batch"]  # which is a part of its own
    if set(others) <= {"consistent"} and not too_large:
        longest = max(norm.found, *moved) * step.divisor
        if longest < _REACHED * step.clip:
            reason = f"no record was seen to be clipped: norms are at most {longest:.3g}, the clip is {step.clip:.3g}"
            change = "Audit at params where gradients are longer than the clip, such as trained ones, or lower the clip"
            return StepFinding("clipping", "inconclusive", f"{reason} ({looked})", change), canary
        reason = f"every batch tried is a sum of clipped vectors ({looked})"
        return StepFinding("clipping", "consistent", reason), canary
    times = _length(query(gathered(records, [canary] * _SAME))) / max(max(moved), 1e-300)
    most_noise = _FAR_OUT * step.noise * math.sqrt(len(beside))  # what noise that does not cancel can look like
    if largest < clip + most_noise and _draws(step, records, 2 * rounding.unit * rounding.beside):
        return StepFinding(
            "clipping", "inconclusive",
            "the gradient of a minibatch draws random numbers of its own, such as dropout or augmentation, so that it "
            "cannot be told from the noise",
            FIXED,
        ), canary  # fmt: skip
    if too_large:
        reason = f"one record alone has a gradient of norm {largest:.4g}, at most {clip:.4g} is allowed ({looked})"
        change = "Clip each record's gradient to the claimed norm, over all parameters together"
    elif times < 1.01:
        reason = f"{_SAME} equal records move the gradient no farther than one: clipping comes after averaging"
        change = "Clip each record's gradient before the sum"
    elif times < _SAME * 0.99:
        reason = (
            f"{_SAME} equal records move the gradient {times:.3g} times as far as one: microbatches are clipped, "
            "or the divisor is the minibatch's own size"
        )
        change = "Clip each record's gradient by itself (microbatches of one), and divide by a public number"
    else:
        reason, change = audit.reason, "Make the gradient a sum of clipped gradients, each of its own record alone"
    verdict = "violated" if too_large else audit.verdict
    return StepFinding("clipping", verdict, reason, change), canary


def alone_finding(step: TrainingStep, records: Any) -> StepFinding | None:
    """Return what a gradient shows that cannot take one record alone, such as one with batch norm; else nothing."""
    try:
        step.release(taken(records, [0]), np.random.default_rng(0))
    except (Exception, SystemExit) as error:
        return StepFinding(
            "clipping", "inconclusive",
            f"a minibatch of one record raises {raised(error)}; the sum of each record's own gradient would not",
            "Let each record's gradient depend on it alone: no batch norm in training, no statistic of a minibatch",
        )  # fmt: skip
    return None


def _looked_at(query: Query, records: Any, width: int, seed: int) -> tuple[list[int], int]:
    """Return the records to look at alone, and how many others were looked at together.

    One record's gradient that is far too large, or not finite, makes that of its minibatch the longest of all.
    """
    most = affordable(3 * cost(1, width), least=_FEWEST, most=MOST_RECORDS)
    numbers = chosen(records, most, seed)
    others = np.random.default_rng([seed, 5]).permutation(np.setdiff1d(np.arange(len(records)), numbers))
    whole = len(others) // _TOGETHER
    groups = others[: whole * _TOGETHER].reshape(whole, _TOGETHER)
    groups = groups[: affordable(cost(_TOGETHER, width), least=0, most=whole)]
    if not len(groups):
        return numbers, 0
    longest = int(np.argmax([_length(query(taken(records, group))) for group in groups]))
    return sorted([*numbers, *groups[longest].tolist()]), groups.size - _TOGETHER


def _affordable_sizes(sizes: list[int], width: int) -> list[int]:
    """Return the sizes whose minibatches are affordable together, from the first on."""
    spent = np.cumsum([2 * cost(size, width) for size in sizes])
    return [size for size, units in zip(sizes, spent, strict=True) if size > 1 and affordable(units, least=0, most=1)]


def _candidates(records: Any, outlier: Callable[[Any, float], Any] | None) -> list[Any]:
    """Return each record, and where it can be made larger, two outliers in its direction and against it."""
    able = outlier is not None or isinstance(records, np.ndarray)
    able = able and outlier is not _as_it_is
    grow = outlier if outlier is not None else _product
    return [
        record if factor == 1 else grow(record, factor)
        for record in records
        for factor in ((1.0, _LARGE, -_LARGE) if able else (1.0,))
    ]


def _as_it_is(record: Any, _: float) -> Any:
    return record


def _product(record: Any, factor: float) -> Any:
    """Return the record times the factor, as far as its type can hold it."""
    with np.errstate(over="ignore"):
        larger = record * record.dtype.type(factor)
    largest = np.finfo(larger.dtype).max
    return np.clip(larger, -largest, largest) if np.isfinite(record).all() else larger


def _rounding(step: TrainingStep, records: Any, beside: Floats) -> Rounding:
    """Return what rounding may do to the gradient, by the type of what is released, or of the sum before the noise."""
    batch = taken(records, range(min(_SAME, len(records))))
    released = np.concatenate([step.release(batch, np.random.default_rng(seed)) for seed in range(_SAME)])
    starts = range(min(len(records), math.ceil(_TELLING / len(beside))))  # of more minibatches for a small model
    sums = np.array([
        step.release(taken(records, range(start, min(start + _SAME, len(records)))), np.random.default_rng(0)) - beside
        for start in starts
    ])  # fmt: skip
    error = 2.0**-22  # of what was computed in float32 after the coarser type
    seen = [
        unit_of(released, 0 * released), unit_of(released * step.divisor, error * np.abs(released) * step.divisor),
        unit_of((sums * step.divisor).ravel(), (error * (np.abs(beside) + np.abs(sums)) * step.divisor).ravel()),
    ]  # fmt: skip
    return Rounding(max(seen), float(np.linalg.norm(beside)), len(beside))


def _length(vector: Floats) -> float:
    """Return the norm; what is not finite is longer than all else."""
    return float(np.linalg.norm(vector)) if np.isfinite(vector).all() else math.inf


def _draws(step: TrainingStep, records: Any, rounded: float) -> bool:
    """Whether what an ordinary minibatch gets beside noise depends on the seed, by more than rounding explains."""
    batch = taken(records, range(min(_SAME, len(records))))
    one, other = (step.release(batch, np.random.default_rng(seed)) - step.noise_alone(records, seed) for seed in (0, 1))
    return float(np.linalg.norm(one - other)) > max(_ROUNDED * step.clip / step.divisor, rounded)
