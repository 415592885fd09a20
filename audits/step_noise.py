"""The noise of a training step: on minibatches of three sizes against the claim, and coordinate by coordinate."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import stats

from dpcheck.audits.noise import TESTS, NoiseAudit, audit_noise_sample
from dpcheck.audits.results.training_step_audit import StepFinding
from dpcheck.audits.step_budget import MOST_IN_A_MINIBATCH, affordable, cost
from dpcheck.audits.step_findings import FIXED
from dpcheck.audits.step_parts import Floats, TrainingStep, taken

_COORDINATES = 64  # whose noise is tested for scale, shape, tails and independence
_LEAST = 4  # of them, however many releases there are
_NUMBERS = 4_000  # that those tests are made on at least
_SIMULATED = 3e7  # numbers: fewer coordinates are tested where a high confidence needs many simulations
_USUAL = 1_000  # releases of each minibatch, where the user names no number of trials
_FEWEST = 100
_APART = 1.15  # factor between two scales that chance does not explain
_BESIDE = 1e-6  # level of the test of every coordinate, beside the audit's own
_NO_NOISE = 1e-6  # of the claimed noise: as little as none
_FAR_BELOW = 0.8  # of the usual coordinate's noise: a fault of single coordinates, not of the scale
_ALIKE = 0.99  # correlation of two coordinates' noise that is the same
_ALL = "Draw noise of the gradient's own shape; parameters that are frozen are no part of what is released"
_AFRESH = "Draw each coordinate of each step afresh, from the claimed distribution"


def noise_finding(
    step: TrainingStep, records: Any, sizes: list[int], trials: int | None, confidence: float, seed: int, empty: bool
) -> tuple[StepFinding, bool]:
    """Audit the noise on minibatches of three sizes; also say whether it is the same on all.

    sizes : of minibatches, as training has them;  trials : twice the releases of each minibatch, at least 200, or None
    for as many as the model affords;  empty : whether the empty minibatch is released like any other, and so is one of
    the three
    """
    sizes = _three(sizes, empty)
    width = len(step.release(taken(records, range(4)), np.random.default_rng(0)))
    units = sum(cost(size, width) for size in sizes)
    releases = trials // 2 if trials is not None else affordable(units, least=_FEWEST, most=_USUAL)
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
        audits[size] = audit_noise_sample(samples[size], scale=step.noise, confidence=confidence, seed=seed)
        if rows.shape[1] > 1 and np.allclose(np.ptp(rows - rows.mean(0), axis=1), 0, atol=_NO_NOISE * step.noise):
            reason = "one draw of noise is shared by all coordinates"
            return StepFinding("noise", "violated", reason, "Draw noise of the gradient's own shape"), True
    scales = {size: audit.scale for size, audit in audits.items()}
    broken = [audit for audit in audits.values() if audit.verdict == "violated"]
    if not broken and uneven:
        return StepFinding("noise", "violated", uneven, _ALL), True
    if not broken:
        reason = (
            f"scale, shape, tails and independence agree with the claim, on minibatches of {_listed(sizes)} records, "
            f"in {len(places)} of {width} coordinates"
        )
        return StepFinding("noise", "consistent", reason), True
    if max(scales.values()) > _APART * min(scales.values()):
        each = ", ".join(f"{scale:.3g} for {size} records" for size, scale in scales.items())
        if sizes[0] == 0 and audits[0].verdict == "consistent" and scales[0] < min(scales[size] for size in sizes[1:]):
            reason = (
                "the empty minibatch has the claimed noise, and others vary more: either the noise grows with the "
                "minibatch, or the gradient draws random numbers of its own, such as dropout: standard deviation "
                f"{each}"
            )
            return StepFinding("noise", "inconclusive", reason, FIXED), False
        reason = f"the noise is scaled by the minibatch's actual size: standard deviation {each}"
        return StepFinding("noise", "violated", reason, "Scale the noise by the expected size, a public number"), False
    least, first = min(  # the least noise is what the promise rests on
        ((size, audit) for size, audit in audits.items() if audit in broken), key=lambda each: each[1].scale
    )
    if first.p_values["scale"] <= first.level:
        ratio = first.scale / step.noise
        reason = f"the noise has standard deviation {first.scale:.3g}, {ratio:.2g} times the claimed {step.noise:.3g}"
        if uneven and apart:
            return StepFinding("noise", "violated", uneven, _ALL), True
        looked = [least] if ratio < 1 else sizes  # where there is less, it is violated in any case
        amiss = any(_of_own_scale(samples[size], audits[size], confidence, seed) != "consistent" for size in looked)
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


def _three(sizes: list[int], empty: bool) -> list[int]:
    """Return sizes of minibatches to look at: empty or half as many as usual, as many as usual, and the most."""
    most, usual = (min(size, MOST_IN_A_MINIBATCH) for size in (max(sizes), sizes[:2][-1]))
    half = max(1, usual // 2)
    return sorted({0 if empty else half, usual, most if most > usual else half})


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


def _of_own_scale(sample: Floats, audit: NoiseAudit, confidence: float, seed: int) -> str:
    """Audit noise at the scale that it was measured to have, which only makes the test of its shape more lenient."""
    return audit_noise_sample(sample, scale=audit.scale, confidence=confidence, seed=seed).verdict


def _listed(sizes: list[int]) -> str:
    return ", ".join(map(str, sizes[:-1])) + (" and " if sizes[1:] else "") + str(sizes[-1])
