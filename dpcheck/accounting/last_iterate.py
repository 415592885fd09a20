"""The last iterate of a noisy contraction, released alone: how far its two laws lie apart, in units of the noise.

A run is z_{t+1} = P(phi_t(z_t) + N(0, sigma^2 I)) from a start that is the same on two neighbouring data sets, where P
does not expand distances and phi_t is c-Lipschitz on both and at most s apart on them where the record takes part, and
equal elsewhere. Between the two runs x and x' goes a third: from any t on it equals x' and then takes a share of what
still separates it from x in every step, with the same noise. With d_t its distance from x and a_t what it takes,

    d_t = c d_(t-1) + s_t - a_t >= 0,   0 at the end,   d <= diameter of the domain,   mu^2 = sum of a_t^2 / sigma^2.

Any such a_t prove mu-GDP; the least sum is found in closed form (claims B01 to B05, ``dpcheck prove bok2024``). All
lengths here are over s, the sensitivity of a step, and all shifts over s / sigma.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from dpcheck.accounting.certificates import Certificate, gaussian_epsilon
from dpcheck.accounting.privacy_curves import Array
from dpcheck.errors import InputError, is_number, require
from dpcheck.events import Disjoint, Gaussian, Repeated, Sampled, shift_of

_GRID = 4096  # numbers of last steps that are tried, all of them where a run has no more; any of them is a bound
_MOST = 1e100  # of a contraction or a diameter
_UP = 1 + 1e-12  # past the rounding of the few operations of a shift
_SHARES = np.linspace(0.01, 0.99, 99)  # of the noise's variance that are tried against the distance


def power_sum(contraction: float, counts: Array, gap: int = 1) -> Array:
    """Return 1 + c^gap + ... + c^(gap (k - 1)) for counts k (n,), without a difference of like numbers."""
    if contraction in (0, 1):
        return np.asarray(counts * 1.0 if contraction else np.minimum(counts, 1.0))
    rate = math.log(contraction) * gap
    return np.asarray(np.expm1(counts * rate) / math.expm1(rate))


def shift_of_last(epochs: int, contraction: float, diameter: float = math.inf, batches: int = 1) -> float:
    """Return mu sigma / s, rounded up, of the last of ``epochs * batches`` iterates; a record is in one batch an epoch.

    The record of the last batch counts: any other has fewer steps and then some that are the same on both data sets.
    """
    least = math.sqrt(epochs)  # all iterates are released
    if contraction <= 1:
        least = min(least, _from_the_start(epochs, contraction, batches))
    if math.isfinite(diameter):
        counts = np.unique(np.geomspace(1, epochs, _GRID).astype(np.int64)).astype(np.float64)
        least = min(least, float(np.min(_from_apart(counts, contraction, diameter, batches))))
    return least * _UP


def _from_the_start(epochs: int, c: float, batches: int) -> float:
    """Return the shift where the distance is 0 before the first step that the record takes part in."""
    rate = -math.log(c) if c > 0 else math.inf
    if batches == 1:
        return math.sqrt(_tanh_ratio(epochs, rate))
    # the last step takes all that it adds, the others spread theirs over the steps before it
    between = float(batches * (epochs - 1))
    if c in (0, 1):
        return math.sqrt(1 + c * (epochs - 1) / batches)
    spread = c ** (2 * batches - 2) * -math.expm1(-2 * rate) / math.expm1(-batches * rate) ** 2
    return math.sqrt(1 + spread * math.tanh(between * rate / 2))


def _tanh_ratio(count: float, rate: float) -> float:
    """Return (1 - c^T)(1 + c) / ((1 + c^T)(1 - c)), c = e^-rate."""
    if rate == 0:
        return float(count)
    return 1.0 if math.isinf(rate) else math.tanh(count * rate / 2) / math.tanh(rate / 2)


def _from_apart(counts: Array, c: float, diameter: float, batches: int) -> Array:
    """Return the shift of the last ``counts`` (n,) epochs where all that is known before them is the diameter.

    With one batch the sum of c^(T-t) a_t is that of c^(T-t) s and what the diameter leaves, and is least in a_t of the
    order of c^(T-t). With more the last step may take all that it adds, if that is more than its share. Counts are left
    out where the distance would fall below 0: for c > 1 before the end, if the last share is below s; with several
    batches before the first meeting, if the diameter is small.
    """
    if batches > 1 and (c > 1 or c == 0):
        return np.full(counts.shape, math.inf)
    steps = counts * batches
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what is no number is left out
        left = np.power(c, steps) * diameter
        norm = power_sum(c, steps, 2)
        whole = (left + power_sum(c, counts, batches)) / np.sqrt(norm)
        full = whole / np.sqrt(norm) >= 1  # the last step's share, the largest for c <= 1, is s at least
        if batches == 1:
            found = np.where(full | (c <= 1), whole, math.inf)
        else:
            before = left + c**batches * power_sum(c, counts - 1, batches)
            chord = before / (c**2 * power_sum(c, steps - 1, 2))  # what is taken in step t, over c^(T - t)
            waits = batches - 1.0
            first = diameter * np.power(c, 2 * waits - steps) / power_sum(c, np.array(waits), 2)
            found = np.where(full, whole, np.hypot(chord * c * np.sqrt(power_sum(c, steps - 1, 2)), 1.0))
            found = np.where(first >= chord, found, math.inf)
    return np.nan_to_num(found, nan=math.inf, posinf=math.inf)


def in_domain(contraction: Any, diameter: Any) -> tuple[float, float]:
    """Return a contraction and a diameter, infinite where there is none, as numbers of their domains."""
    require(contraction is not None, "contraction", "be given for the last iterate alone", "nothing")
    good = is_number(contraction) and 0 <= contraction <= _MOST
    require(good, "contraction", f"be a number from 0 to {_MOST:g}", contraction)
    diameter = math.inf if diameter is None else diameter
    good = is_number(diameter) and 0 < diameter and (diameter <= _MOST or diameter == math.inf)
    require(good, "diameter", f"be a number above 0, to {_MOST:g} or inf", diameter)
    return _above(contraction), _above(diameter)


def _above(value: Any) -> float:
    """Return the least float that is at least a number of any type."""
    rounded = float(value)
    return rounded if rounded >= value else math.nextafter(rounded, math.inf)


def last_iterate(events: Iterable[Any], delta: float, contraction: Any, diameter: Any) -> Certificate:
    """Certify epsilon of the last iterate alone; the events are those of all steps."""
    c, width = in_domain(contraction, diameter)
    step, count = _one_step(tuple(events))
    if isinstance(step, Sampled):
        return _sampled(step, count, delta, c, width)
    batches = len(step.events) if isinstance(step, Disjoint) else 1
    noise = step.worst.noise_multiplier if isinstance(step, Disjoint) else step.noise_multiplier
    shift = shift_of(noise) * shift_of_last(count, c, width, batches) if count else 0.0
    if shift == 0:
        return Certificate(0.0, delta, "nothing about the data is released: no event, or none that depends on it")
    if math.isinf(shift):
        return Certificate(math.inf, delta, "no guarantee: a release without noise")
    if delta == 0:
        return Certificate(math.inf, delta, "no guarantee: Gaussian noise needs delta > 0")
    method = f"last of {count * batches} iterates, contraction {c:g}"
    method += f", in epochs of {batches} steps" if batches > 1 else ""
    method += f", diameter {width:g} sensitivities" if math.isfinite(width) else ""
    known = "attained by linear maps" if batches == 1 and c <= 1 and math.isinf(width) else "an upper bound"
    return Certificate(gaussian_epsilon(shift, delta), delta, f"{method}: Gaussian of shift {shift:.6g}, {known}")


def _one_step(events: tuple[Any, ...]) -> tuple[Gaussian | Disjoint | Sampled, int]:
    """Return the step, or the epoch of disjoint ones, that all events repeat, and how often."""
    kinds = dict[Any, int]()
    for event in events:
        count = 1
        while isinstance(event, Repeated):
            count, event = count * int(event.count), event.event
        kinds[event] = kinds.get(event, 0) + count
    require(
        len(kinds) == 1, "events", "be steps of one kind for a bound on the last iterate alone", f"{len(kinds)} kinds"
    )
    ((step, count),) = kinds.items()
    if isinstance(step, Disjoint):
        alike = len({part.noise_multiplier for part in step.events}) == 1
        require(alike, "events", "be steps of one noise for a bound on the last iterate alone", step)
    if (
        isinstance(step, Sampled)
        and step.scheme != "with_replacement"
        and step.rest == 0
        and not step.laplace
        and step.records == 1
    ):
        step = Gaussian(step.noise_multiplier)
    proved = isinstance(step, Gaussian | Disjoint) or (
        isinstance(step, Sampled) and step.scheme == "poisson" and not step.laplace and step.records == 1
    )
    kind = "be Gaussian noise on all records, on disjoint parts in turn or on Poisson samples, for which a bound on "
    require(proved, "events", f"{kind}the last iterate is proved", step)
    return step, count


def why_not(events: Iterable[Any]) -> str:
    """Return in a clause why no bound on the last iterate of such steps is known; nothing where one is."""
    try:
        _one_step(tuple(events))
    except InputError as error:
        return str(error).partition(", got ")[0]
    return ""


def _sampled(step: Sampled, count: int, delta: float, c: float, diameter: float) -> Certificate:
    """Certify the last of ``count`` steps on Poisson samples, c a contraction whatever the sample is.

    All iterates released is one bound. For another the last m steps pay for the record where it is drawn, by a share of
    the noise's variance, and by the rest for the distance before them: the diameter, or what all earlier steps may add.
    """
    from dpcheck.accounting import certify  # which asks for this

    if c == 0:  # nothing before the last step shows
        count = min(count, 1)
    plain = certify(Repeated(step, count), delta)
    if count < 2 or not 0 < plain.epsilon < math.inf:
        return plain
    last = np.unique(np.geomspace(1, count - 1, 256).astype(np.int64)).astype(np.float64)
    noise = step.noise_multiplier
    with np.errstate(over="ignore", invalid="ignore"):
        apart = np.minimum(diameter, power_sum(c, count - last)) * np.power(c, last)
        distance = np.nan_to_num(apart / np.sqrt(power_sum(c, last, 2)), nan=math.inf, posinf=math.inf)
        drawn = step.rate**2 * np.expm1(1 / (noise**2 * (1 - _SHARES)))  # of a Gaussian limit, only to choose by
        guess = (distance / noise)[:, None] ** 2 / _SHARES + last[:, None] * drawn
    m, share = np.unravel_index(int(np.argmin(guess)), guess.shape)
    if not guess[m, share] < count * step.rate**2 * math.expm1(min(noise**-2, 700)):
        return plain
    part, before = float(_SHARES[share]), float(distance[m]) * _UP
    rest = dataclasses.replace(step, mechanisms=(Gaussian(noise * math.sqrt(1 - part) / _UP),))
    events = (Repeated(rest, int(last[m])), Gaussian(noise * math.sqrt(part) / max(before, 1e-9)))
    found = certify(events, delta)
    if found.epsilon >= plain.epsilon:
        return plain
    width = f", diameter {diameter:g} sensitivities" if math.isfinite(diameter) else ""
    method = f"last of {count} iterates, contraction {c:g} for every minibatch{width}: {found.method}, an upper bound"
    return dataclasses.replace(found, method=method)
