"""The gradient of a training step: its noise against the claim, and how it clips each record.

The noise is drawn on minibatches of three sizes, and tested coordinate by coordinate. Then it is taken away, from the
gradients of single records, of which the finding says how many, and of minibatches. A realistic model is audited within
two CPU minutes: the work is counted, not timed, so that the same seed gives the same audit on every machine. One unit
is what the gradient of one record of a small model costs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import stats

from dpcheck.arrays import Floats
from dpcheck.audits.clipping import FEW, Rounding, audit_clipping
from dpcheck.audits.noise import TESTS, NoiseAudit, audit_noise_sample
from dpcheck.audits.noise_laws import grid
from dpcheck.audits.step_parts import StepFinding, TrainingStep, gathered, noise_alone, taken
from dpcheck.errors import InputError, raised

_FIXED = "Hand over the gradient with dropout and augmentation off: they cost no privacy, but look like noise"
_COORDINATES = 64  # whose noise is tested for scale, shape, tails and independence
_LEAST = 4  # of them, however many releases there are
_NUMBERS = 4_000  # that those tests are made on at least
_SIMULATED = 3e7  # numbers: fewer coordinates are tested where a high confidence needs many simulations
_USUAL = 1_000  # releases of each minibatch, where the user names no number of trials
_FEWEST_RELEASES = 100
_APART = 1.15  # factor between two scales that chance does not explain
_BESIDE = 1e-6  # level of the test of every coordinate, beside the audit's own
_NO_NOISE = 1e-6  # of the claimed noise: as little as none
_FAR_BELOW = 0.8  # of the usual coordinate's noise: a fault of single coordinates, not of the scale
_ALIKE = 0.99  # correlation of two coordinates' noise that is the same
_ALL = "Draw noise of the gradient's own shape; parameters that are frozen are no part of what is released"
_AFRESH = "Draw each coordinate of each step afresh, from the claimed distribution"
_CALL = 12  # a call on a minibatch costs as much as the gradients of so many records, measured with Opacus
_WIDE = 2_000  # coordinates of a gradient that cost as much again as a small model
_WORK = 800_000  # units for one part: some 20 CPU seconds of a convolutional network with 26,000 parameters
_MOST_RECORDS = 512  # that are looked at one by one
_MOST_IN_A_MINIBATCH = 512  # whose noise is drawn again and again
_EXTREMES = 64  # of the largest records, and of the smallest


def cost(size: float, width: int) -> float:
    """Return the units of work of one gradient call on so many records, of so many coordinates."""
    return (_CALL + size) * (1 + width / _WIDE)


def affordable(units: float, *, least: int, most: int) -> int:
    """Return how often something that costs so many units is done in one part of the audit."""
    return max(least, min(most, int(_WORK / units)))


def noise_finding(
    step: TrainingStep, records: Any, sizes: list[int], trials: int | None, confidence: float, seed: int, empty: bool
) -> tuple[StepFinding, bool]:
    """Audit the noise on minibatches of three sizes; also say whether it is the same on all.

    sizes : of minibatches, as training has them;  trials : twice the releases of each minibatch, at least 200, or None
    for as many as the model affords;  empty : whether the empty minibatch is released like any other, and so is one of
    the three
    """
    # Empty or half as many as usual, as many as usual, and the most.
    most, usual = (min(size, _MOST_IN_A_MINIBATCH) for size in (max(sizes), sizes[:2][-1]))
    half = max(1, usual // 2)
    sizes = sorted({0 if empty else half, usual, most if most > usual else half})
    width = len(step.release(taken(records, range(4)), np.random.default_rng(0)))
    units = sum(cost(size, width) for size in sizes)
    releases = trials // 2 if trials is not None else affordable(units, least=_FEWEST_RELEASES, most=_USUAL)
    numbers = max(_NUMBERS, min(_COORDINATES * releases, _SIMULATED * (1 - confidence) / (2 * TESTS)))
    places = np.unique(np.linspace(0, width - 1, max(_LEAST, round(numbers / releases))).astype(int))
    audits: dict[int, NoiseAudit] = {}
    samples: dict[int, Floats] = {}
    uneven, apart = "", False
    for size in sizes:
        members, rng = taken(records, range(size)), np.random.default_rng([seed, 2, size])
        rows = np.array([step.release(members, rng) for _ in range(releases)])
        if np.ptp(rows, axis=0).max() <= _NO_NOISE * step.noise:
            reason = f"a minibatch of {size} records is released without noise"
            return StepFinding("noise", "violated", reason, "Add the claimed noise to every release"), False
        uneven = uneven or _coordinates_amiss(rows, step.noise, min(_BESIDE, 1 - confidence))
        apart = apart or bool(np.min(rows.std(0)) < _FAR_BELOW * np.median(rows.std(0)))
        samples[size] = rows[:, places]
        audits[size] = audit_noise_sample(
            samples[size], scale=step.noise, rounded=True, confidence=confidence, seed=seed
        )
        if rows.shape[1] > 1 and np.allclose(np.ptp(rows - rows.mean(0), axis=1), 0, atol=_NO_NOISE * step.noise):
            reason = "one draw of noise is shared by all coordinates"
            return StepFinding("noise", "violated", reason, "Draw noise of the gradient's own shape"), True
    scales = {size: audit.scale for size, audit in audits.items()}
    broken = [audit for audit in audits.values() if audit.verdict == "violated"]
    if not broken and uneven:
        return StepFinding("noise", "violated", uneven, _ALL), True
    if not broken:
        reason = (
            "scale, shape, tails and independence agree with the claim, on minibatches of "
            f"{', '.join(map(str, sizes[:-1]))}{' and ' if sizes[1:] else ''}{sizes[-1]} records, "
            f"in {len(places)} of {width} coordinates"
        )
        return StepFinding("noise", "consistent", reason), True
    if max(scales.values()) > _APART * min(scales.values()):
        measured = ", ".join(f"{scale:.3g} for {size} records" for size, scale in scales.items())
        if sizes[0] == 0 and audits[0].verdict == "consistent" and scales[0] < min(scales[size] for size in sizes[1:]):
            reason = (
                "the empty minibatch has the claimed noise, and others vary more: either the noise grows with the "
                "minibatch, or the gradient draws random numbers of its own, such as dropout: standard deviation "
                f"{measured}"
            )
            return StepFinding("noise", "inconclusive", reason, _FIXED), False
        reason = f"the noise is scaled by the minibatch's actual size: standard deviation {measured}"
        return StepFinding("noise", "violated", reason, "Scale the noise by the expected size, a public number"), False
    least, first = min(  # the least noise is what the promise rests on
        ((size, audit) for size, audit in audits.items() if audit in broken), key=lambda pair: pair[1].scale
    )
    if first.p_values["scale"] <= first.level:
        ratio = first.scale / step.noise
        reason = f"the noise has standard deviation {first.scale:.3g}, {ratio:.2g} times the claimed {step.noise:.3g}"
        if uneven and apart:
            return StepFinding("noise", "violated", uneven, _ALL), True
        looked = [least] if ratio < 1 else sizes  # where there is less, it is violated in any case
        amiss = any(  # at the scale that was measured, which only makes the test of the shape more lenient
            audit_noise_sample(
                samples[size], scale=audits[size].scale, rounded=True, confidence=confidence, seed=seed
            ).verdict != "consistent"
            for size in looked
        )  # fmt: skip
        if ratio < 1 and not amiss:
            change = "Multiply the noise multiplier by the clip and divide by the divisor once, as the sum is"
            return StepFinding("noise", "violated", reason, change), True
        if not amiss:  # the claim is about privacy, and more of the same noise gives more
            reason += ": what is promised is kept, but this is not the noise that is stated"
            change = "State the noise that is added, for a smaller epsilon, or add what is stated, for more accuracy"
            return StepFinding("noise", "consistent", reason, change), True
        reason += ", and even at that scale it is no independent Gaussian noise"
        return StepFinding("noise", "violated", reason, _AFRESH), True
    return StepFinding("noise", "violated", first.reason, _AFRESH), True


def _coordinates_amiss(rows: Floats, scale: float, level: float) -> str:
    """Name a coordinate with too little noise, or two with the same; nothing where there is none.

    Null: independent Gaussian noise of at least this scale in each of k coordinates. The least variance of n rows is
    held against chi-squared at the level, 1e-6 or less, over k, on each of three minibatches: 3e-6 beside the audit's
    own. That costs little power: in one of four coordinates of 100 rows it sees less than .66 of the claimed noise,
    where a level of 1e-4 sees less than .72. Two coordinates are the same where they correlate above .99, which chance
    does in no 100 rows (below 1e-80).
    """
    n, k = rows.shape
    spread = rows.std(0, ddof=1)
    none = spread <= _NO_NOISE * scale
    if none.any() and not none.all():
        return f"{np.sum(none)} of {k} coordinates have no noise, number {int(np.argmax(none))} among them"
    least = int(np.argmin(spread))
    too_little = stats.chi2.logcdf((n - 1) * (spread / scale) ** 2, n - 1) < math.log(level / k)
    if too_little[least]:
        return (
            f"{np.sum(too_little)} of {k} coordinates have less noise than claimed, number {least} the least: "
            f"standard deviation {spread[least]:.3g}, {spread[least] / scale:.2g} times the claimed {scale:.3g}"
        )
    steps = np.diff(rows, axis=0)
    order = np.argsort(np.abs(steps[0]))
    for one, other in pairwise(order):  # the same noise makes steps that are next to each other
        near = abs(abs(steps[0, one]) - abs(steps[0, other])) <= 1e-3 * scale
        if near and abs(np.corrcoef(rows[:, one], rows[:, other])[0, 1]) > _ALIKE:
            return f"coordinates {min(one, other)} and {max(one, other)} have the same noise"
    return ""


_LARGE = 1e3  # a record so much larger is clipped
_ROUNDED = 0.02  # of a record's clip: what rounding may change in a gradient of which noise was taken away
_TOO_LARGE = 1.02  # times the clip: more than rounding makes of a record's gradient
_FAR_OUT = 10  # standard deviations that no noise reaches
_SAME = 6  # outliers in one minibatch
_SAME_MEAN = 1e-3  # relative: rounding
_TOGETHER = 64  # records in a minibatch that are looked at together
_FEWEST_ALONE = 64  # records that are looked at alone, however large the model
_REACHED = 0.9  # of the clip: a longer gradient was clipped, or is as long as one that was
_REFUSED = (
    "gradient must take a minibatch whose records were made larger ({} of them here), got {}: where a record holds a "
    "label or another number that may not grow, say by outlier= how it is made larger"
)
_TELLING = 64  # numbers that show by which type they were rounded
# Significant binary digits of bfloat16 and float16, kept when numbers are cast to a wider type; float32's unit.
_TYPES, _SINGLE = (8, 11), 2.0**-23
_ON_A_GRID = 16  # numbers that all lie on a coarse grid by no chance
_ODD = 1 / 8  # share of rounded numbers whose last digit is 1, where a half is due: small whole numbers have none
Query = Callable[[Any], Floats]


def clipping_finding(
    step: TrainingStep, records: Any, sizes: list[int], outlier: Callable[[Any, float], Any] | None, seed: int
) -> tuple[StepFinding, Any]:
    """Audit clipping without noise; also return the record that moves the gradient farthest, if one can be taken alone.

    sizes : of minibatches, as training has them;  outlier : (record, factor) -> the record so many times as large; by
    default the product
    """
    try:
        step.release(taken(records, [0]), np.random.default_rng(0))
    except (Exception, SystemExit) as error:
        return StepFinding(
            "clipping", "inconclusive",
            f"a minibatch of one record raises {raised(error)}; the sum of each record's own gradient would not",
            "Let each record's gradient depend on it alone: no batch norm in training, no statistic of a minibatch",
        ), None  # fmt: skip
    beside = noise_alone(step, records)

    def query(members: Any) -> Floats:
        try:
            return step.release(members, np.random.default_rng(0)) - beside
        except (Exception, SystemExit) as error:
            raise InputError(_REFUSED.format(len(members), raised(error))) from error

    numbers, together = _looked_at(query, records, len(beside), seed)
    some = taken(records, numbers)
    looked = f"{len(numbers)} of {len(records)} records alone"
    looked += f", {together} in minibatches of {_TOGETHER}" if together else ""
    if outlier is None and _whole(records):
        outlier = _as_it_is
        looked += "; whole numbers were not made larger, which outlier= would do"
    rounding = _rounding(step, records, beside)
    spent = np.cumsum([2 * cost(size, len(beside)) for size in sizes])  # sizes are affordable together, the first first
    large = [s for s, units in zip(sizes, spent, strict=True) if s > 1 and affordable(units, least=0, most=1)]
    looked += f"; minibatches of up to {max([min(len(some), FEW), *large])}"
    audit = audit_clipping(
        query, some, bound=step.clip, divisor=step.divisor, scale=outlier, sizes=large, seed=seed, rounding=rounding
    )
    candidates = _candidates(some, outlier)
    moved = [_length(query(gathered(records, [record]))) for record in candidates]
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
            _FIXED,
        ), canary  # fmt: skip
    if too_large and times < 1.01 and _averages(query, records, canary, candidates[int(np.argmin(moved))]):
        reason = (
            f"one record alone moves the gradient by {largest:.4g}, as do {_SAME} equal ones, and {clip:.4g} is "
            f"allowed: the sum is divided by the minibatch's own size ({looked})"
        )
        change = "Divide the sum of clipped gradients by a public number, such as the expected size of a minibatch"
    elif too_large:
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
    return StepFinding("clipping", "violated" if too_large else audit.verdict, reason, change), canary


def _averages(query: Query, records: Any, one: Any, other: Any) -> bool:
    """Say whether two records give the mean of what each gives alone, and not, say, a mean that is clipped."""
    first, second, both = (query(gathered(records, batch)) for batch in ([one], [other], [one, other]))
    return _length(2 * both - first - second) <= _SAME_MEAN * _length(first)


def _looked_at(query: Query, records: Any, width: int, seed: int) -> tuple[list[int], int]:
    """Return the records to look at alone, and how many others were looked at together.

    One record's gradient that is far too large, or not finite, makes that of its minibatch the longest of all.
    """
    most = affordable(3 * cost(1, width), least=_FEWEST_ALONE, most=_MOST_RECORDS)
    numbers = _chosen(records, most, seed)
    others = np.random.default_rng([seed, 5]).permutation(np.setdiff1d(np.arange(len(records)), numbers))
    full = len(others) // _TOGETHER
    groups = others[: full * _TOGETHER].reshape(full, _TOGETHER)
    groups = groups[: affordable(cost(_TOGETHER, width), least=0, most=full)]
    if not len(groups):
        return numbers, 0
    longest = int(np.argmax([_length(query(taken(records, group))) for group in groups]))
    return sorted([*numbers, *groups[longest].tolist()]), groups.size - _TOGETHER


def _candidates(records: Any, outlier: Callable[[Any, float], Any] | None) -> list[Any]:
    """Return each record, and where it can be made larger, two outliers in its direction and against it."""
    able = outlier is not _as_it_is and (outlier is not None or isinstance(records, np.ndarray))
    grow = outlier or _product
    return [
        record if factor == 1 else grow(record, factor)
        for record in records
        for factor in ((1.0, _LARGE, -_LARGE) if able else (1.0,))
    ]


def _whole(records: Any) -> bool:
    """Whether records are whole numbers, such as tokens, which a factor would spoil."""
    try:
        return np.asarray(records[0]).dtype.kind in "iub"
    except (ValueError, TypeError):
        return False


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
        _unit_of(released, 0 * released), _unit_of(released * step.divisor, error * np.abs(released) * step.divisor),
        _unit_of((sums * step.divisor).ravel(), (error * (np.abs(beside) + np.abs(sums)) * step.divisor).ravel()),
    ]  # fmt: skip
    return Rounding(max(seen), float(np.linalg.norm(beside)), len(beside), grid(released))


def _length(vector: Floats) -> float:
    """Return the norm; what is not finite is longer than all else."""
    return float(np.linalg.norm(vector)) if np.isfinite(vector).all() else math.inf


def _draws(step: TrainingStep, records: Any, rounded: float) -> bool:
    """Whether what an ordinary minibatch gets beside noise depends on the seed, by more than rounding explains."""
    batch = taken(records, range(min(_SAME, len(records))))
    drawn = [step.release(batch, np.random.default_rng(seed)) - noise_alone(step, records, seed) for seed in (0, 1)]
    return float(np.linalg.norm(drawn[0] - drawn[1])) > max(_ROUNDED * step.clip / step.divisor, rounded)


def _chosen(records: Any, count: int, seed: int) -> list[int]:
    """Return the numbers of so many records in order: the largest and the smallest by norm, and others by chance."""
    population = len(records)
    if population <= count:
        return list(range(population))
    extremes: list[int] = []
    if isinstance(records, np.ndarray) and records.dtype.kind in "fiub":
        parts = (records[start : start + 1_000] for start in range(0, population, 1_000))  # which need little memory
        norms = [np.linalg.norm(part.reshape(len(part), -1).astype(float), axis=1) for part in parts]
        order = np.argsort(np.nan_to_num(np.concatenate(norms), nan=np.inf), kind="stable")
        some = min(_EXTREMES, count // 4)
        extremes = [*order[:some].tolist(), *order[population - some :].tolist()]
    drawn = np.random.default_rng([seed, 3]).permutation(np.setdiff1d(np.arange(population), extremes))
    return sorted([*extremes, *drawn[: count - len(extremes)].tolist()])


def _unit_of(values: Floats, errors: Floats) -> float:
    """Return the unit of the coarsest type that all numbers (k,) are of, each up to an error (k,); float32 at best."""
    for digits in _TYPES:
        mantissas, exponents = np.frexp(values)
        spacing = np.ldexp(1.0, exponents - digits)
        telling = (values != 0) & (errors < spacing / 16)
        nearest = np.ldexp(np.rint(np.ldexp(mantissas, digits)), exponents - digits)
        odd = np.rint(np.ldexp(mantissas, digits)) % 2 == 1
        of_type = (np.abs(values - nearest) <= errors)[telling].all() and odd[telling].sum() >= _ODD * telling.sum()
        if telling.sum() >= _ON_A_GRID and of_type:
            return 2.0 ** (1 - digits)
    return _SINGLE
