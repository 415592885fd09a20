"""The distributions that noise may be claimed to have, and the tests of a sample of noise against one of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpcheck.arrays import Floats

Draw = Callable[[np.random.Generator, tuple[int, ...], float], Floats]


@dataclass(frozen=True)
class Law:
    """A distribution of noise: ``draw(rng, shape, scale)`` and ``cdf(x, scale)``."""

    draw: Draw
    cdf: Callable[[Floats, float], Floats]
    size: Callable[[Floats], Floats]  # samples (B, n, k) -> sizes (B,), about expected(scale) * scale
    expected: Callable[[float], float] = lambda scale: 1.0
    discrete: bool = False
    mean: float = 0.0  # in units of the scale


def _rms(noise: Floats) -> Floats:
    return np.asarray(np.sqrt(np.einsum("bnk,bnk->b", noise, noise) / noise[0].size))


@lru_cache(maxsize=8)
def _integers(exponent: int, scale: float) -> tuple[Floats, Floats, Floats]:
    """Return support, masses and distribution function for a mass ``exp(-|k / scale|^exponent / exponent)``."""
    most = int(np.ceil(scale * 40)) + 1
    support = np.arange(-most, most + 1, dtype=float)
    mass = np.exp(-(np.abs(support / scale) ** exponent) / exponent)
    mass /= mass.sum()
    return support, mass, np.cumsum(mass)


def _on_integers(exponent: int) -> Law:
    def draw(rng: np.random.Generator, shape: tuple[int, ...], scale: float) -> Floats:
        support, _, cumulative = _integers(exponent, scale)
        return support[np.minimum(np.searchsorted(cumulative, rng.random(shape), side="right"), support.size - 1)]

    def cdf(x: Floats, scale: float) -> Floats:
        support, _, cumulative = _integers(exponent, scale)
        place = np.searchsorted(support, x + 1e-6, side="right") - 1
        return np.where(place < 0, 0.0, cumulative[np.maximum(place, 0)])

    def expected(scale: float) -> float:
        support, mass, _ = _integers(exponent, scale)
        return float(np.sqrt((support**2) @ mass)) / scale

    return Law(draw, cdf, _rms, expected, discrete=True)


LAWS = {
    "gaussian": Law(
        lambda rng, shape, s: s * rng.standard_normal(shape), lambda x, s: np.asarray(special.ndtr(x / s)), _rms
    ),
    "laplace": Law(
        lambda rng, shape, s: s * rng.laplace(size=shape),
        lambda x, s: np.where(x < 0, tail := 0.5 * np.exp(-np.abs(x) / s), 1 - tail),
        lambda noise: np.abs(noise).mean((1, 2)),
    ),
    "exponential": Law(
        lambda rng, shape, s: s * rng.standard_exponential(shape),
        lambda x, s: -np.expm1(-np.maximum(x, 0) / s),
        _rms,
        mean=1.0,
    ),
    "discrete_gaussian": _on_integers(2),
    "geometric": _on_integers(1),
}


DOUBLE, SINGLE, HALF, BRAIN = 53, 24, 11, 8


def precision(values: Floats) -> int:
    """Return the bits of the significand of the narrowest float format that holds all the values exactly."""
    return next((bits for bits in (BRAIN, HALF, SINGLE) if np.array_equal(rounded(values, bits), values)), DOUBLE)


# Steps of usual grids: decimal and binary ones, as they are or divided by a number of records.
_BASES = np.append(10.0 ** -np.arange(13), 2.0 ** -np.arange(1, 41))
_DIVISORS = np.append(np.arange(1, 129), [200, 250, 256, 500, 512, 1000, 1024])
_STEPS = np.sort(np.divide.outer(_BASES, _DIVISORS).ravel())[::-1]
# Values looked at first; how near to a multiple all must be, in steps; the finest step, as a share of the values.
_FIRST, _NEAR, _FINEST = 12, 1e-3, 1e-10


def grid(values: Floats) -> float:
    """Return the largest of the usual steps of which all values are multiples up to rounding, 0 where there is none."""
    different = np.unique(values)
    steps = _STEPS[_STEPS >= _FINEST * float(np.abs(different).max(initial=1e-300))]

    def whole(numbers: Floats, steps: Floats) -> NDArray[np.bool_]:
        counts = numbers / steps[:, None]
        return np.asarray((np.abs(counts - np.round(counts)) <= _NEAR + 4e-16 * np.abs(counts)).all(axis=1))

    likely = steps[whole(different[:: max(1, different.size // _FIRST)], steps)]
    return next((float(step) for step in likely if whole(different, np.array([step]))[0]), 0.0)


def rounded(values: Floats, bits: int, step: float = 0.0) -> Floats:
    """Round to so many bits of significand (float16: and its least step, 2^-24), and to multiples of ``step`` > 0."""
    if step:
        return np.asarray(np.round(rounded(values, bits) / step) * step)
    _, exponent = np.frexp(values)
    if bits <= HALF and bits != BRAIN:
        exponent = np.maximum(exponent, bits - SINGLE)
    step = np.ldexp(1.0, exponent - bits)
    return np.asarray(np.round(values / step) * step)


# Samples that a Monte Carlo p-value is made of, at least, and numbers that are simulated at once, so that time goes to
# arithmetic and not to calls.
_SIMULATIONS, _NUMBERS = 999, 50_000
# Simulations that lie beyond what was observed, at least, before the others are left out.
_BEYOND_DOUBT = 30.0
# Each call is compared with so many calls before it.
_LAGS = 4
# Distance from a whole number that rounding explains, in units of the numbers' size.
_ROUNDING = 1e-9


def about_centre(samples: Floats, law: Law) -> Floats:
    """Centre samples (..., n, k) about the mean, or discrete noise about one of its values, which keeps its lattice."""
    if law.discrete:
        middle = (samples.shape[-2] - 1) // 2
        noise = samples - np.partition(samples, middle, axis=-2)[..., middle : middle + 1, :]
        return np.asarray(np.where(np.abs(noise - np.round(noise)) <= room(samples), np.round(noise), noise))
    return np.asarray(samples - samples.mean(-2, keepdims=True))


def room(sample: Floats) -> float:
    """Return the distance from a whole number that rounding explains."""
    return _ROUNDING * (1 + float(np.abs(sample).max()))


def statistics(noise: Floats, law: Law, scale: float, centred: bool) -> dict[str, Floats]:
    """Return the statistics (B,) of B samples (B, n, k)."""
    moved = noise if centred else noise + law.mean * scale
    ordered = np.sort(moved.reshape(len(noise), -1), axis=1)
    ranks, n = law.cdf(ordered, scale), ordered.shape[1]
    grid = np.arange(1, n + 1) / n
    shape = np.abs(grid - ranks)
    if law.discrete:
        shape[:, :-1] *= ordered[:, 1:] != ordered[:, :-1]  # the last of equal values counts them all
    else:
        shape = np.maximum(shape, np.abs(ranks - grid + 1 / n))
    # How many draws of the law would lie beyond the last on either side: about one, and many where noise is clipped.
    tails = n * (1 - ranks[:, -1])
    if not law.mean:  # an exponential begins where its centre says
        tails = np.maximum(tails, n * law.cdf(ordered[:, 0] - law.discrete, scale))
    z = np.array(noise.transpose(0, 2, 1), order="C")  # a copy, each series contiguous
    z -= z.mean(2, keepdims=True)
    spread = law.size(noise if centred else z)
    expected = law.expected(scale) * (np.sqrt(2) if centred and law.mean else 1.0)
    sizes = np.abs(z)
    sizes -= sizes.mean(2, keepdims=True)
    dependence = np.maximum(_dependence(z), _dependence(sizes))
    return {"scale": spread / expected / scale, "shape": shape.max(1), "tails": tails, "dependence": dependence}


def _dependence(z: Floats) -> Floats:
    """Return the largest correlation with earlier calls and between coordinates, (B,) from centred (B, k, n)."""
    width, n = z.shape[1:]
    largest = [
        np.abs(np.einsum("bkn,bkn->bk", z[..., lag:], z[..., :-lag])).max(1) / (n - lag) for lag in range(1, _LAGS + 1)
    ]
    if width > 1:
        product = np.abs(z @ z.transpose(0, 2, 1)) / n
        largest.append(product[:, *np.triu_indices(width, 1)].max(1))
    square = np.einsum("bkn,bkn->b", z, z) / (n * width)
    return np.asarray(np.max(largest, axis=0) / np.maximum(square, np.finfo(float).tiny))


def repeats(
    noise: Floats, law: Law, scale: float, centre: Floats | float, bits: int, step: float, rng: np.random.Generator,
    simulations: int,
) -> tuple[int, float]:  # fmt: skip
    """Count values of continuous noise that repeat, beside what rounding, to ``step`` too, and few random bits explain.

    Clipped noise repeats few values often, noise on a grid many: count and commonest value are tested.
    """
    observed = _multiplicity(noise)
    if observed[0] == 0:
        return 0, 1.0
    simulated = []
    for _ in range(simulations):
        # 23 bits, and a sign of their own for the sizes that are compared
        few = _multiplicity(rng.integers(0, 2 ** (SINGLE - 2), noise.size).astype(float))
        # one bit fewer than seen: a sum or product of rounded numbers is rounded again
        values = rounded(law.draw(rng, noise.shape, scale) + centre, min(bits, SINGLE) - 1, step)
        coarse = _multiplicity(values if np.ndim(centre) == 0 else about_centre(values, law))
        simulated.append(np.maximum(few, coarse))
    least = float((np.array(simulated) >= observed).sum(0).min())
    p_value = min(1.0, 2 * (least + 1) / (1 + simulations))
    if least == 0:  # beyond every simulation: as no density exceeds 1/scale, and a size has two signs, the count is at
        # most binomial with n times the likeliest size's chance
        _, exponent = np.frexp(np.abs(noise + centre).max())
        coarsest = max(step, math.ldexp(1.0, int(exponent) - (min(bits, SINGLE) - 1)))
        likeliest = max(2.0 ** (2 - SINGLE), 2 * coarsest / scale)
        p_value = min(p_value, float(special.bdtrc(observed[0] - 1, noise.size, min(1.0, noise.size * likeliest))))
    return int(observed[0]), p_value


def _multiplicity(noise: Floats) -> Floats:
    """Return how many values repeat an earlier one's size, and how often the commonest size occurs."""
    ordered = np.sort(np.abs(noise), axis=None)
    starts = np.flatnonzero(np.append(True, np.diff(ordered) != 0))
    return np.array([ordered.size - starts.size, np.diff(np.append(starts, ordered.size)).max()], float)


@dataclass(frozen=True)
class Seen:
    """What the tests of a noise show: the scale in units of the claim, the p-values, and values that do not occur."""

    scale: float
    tails: float  # draws that should lie beyond the last on either side
    p_values: dict[str, float]
    impossible: int  # values that repeat, or for discrete noise lie off its lattice

    def reasons(self, level: float, scale: float) -> list[str]:
        """Say of each test that rejects what it saw."""
        measured = self.scale * scale
        small = self.p_values["scale"] <= level and measured < scale  # which shortens tails, too
        clipped = "" if small else ": the noise is clipped"
        words = {
            "scale": f"scale {measured:.4g} is {'below' if measured < scale else 'above'} the claimed {scale:.4g}",
            "shape": "the distribution's shape is another",
            "tails": f"a tail ends where about {self.tails:.0f} draws should lie beyond{clipped}",
            "dependence": "the noise depends on other coordinates or on the calls before",
            "repeats": f"{self.impossible} values repeat exactly, more than rounding explains",
            "lattice": f"{self.impossible} values are no whole numbers apart",
        }
        return [words[name] for name, p in self.p_values.items() if p <= level]


def tested(
    sample: Floats, law: Law, scale: float, *, centred: bool, on_a_grid: bool, level: float, seed: int
) -> Seen:  # fmt: skip
    """Test a sample (n, k), or the noise itself where it is ``centred``, each test at ``level``."""
    noise = sample if centred else about_centre(sample, law)
    bits, step = precision(sample), grid(sample) if on_a_grid and not law.discrete else 0.0
    centre = 0.0 if centred else sample.mean(0)  # what noise is added to sets the resolution of the sum
    rng, rng_of_repeats = map(np.random.default_rng, np.random.SeedSequence(seed).spawn(2))
    simulations = max(_SIMULATIONS, math.ceil(2 / level))  # fewer could not reject
    observed = {name: float(v[0]) for name, v in statistics(noise[None], law, scale, centred).items()}
    counts = {name: np.zeros(2, np.int64) for name in observed}  # simulations that are as large, and as small
    drawn_so_far = 0

    def beyond(name: str) -> int:
        return int(counts[name].min() if name == "scale" else counts[name][0])

    at_once = min(simulations, 1 + _NUMBERS // noise.size)
    for start in range(0, simulations, at_once):
        drawn = law.draw(rng, (min(at_once, simulations - start), *noise.shape), scale)
        if (bits < DOUBLE or step) and not law.discrete:  # which a shape may show, of small noise on a large number
            drawn = rounded(drawn + centre, bits, step)
        simulated = statistics(drawn if centred else about_centre(drawn, law), law, scale, centred)
        drawn_so_far += len(drawn)
        for name, values in simulated.items():
            counts[name] += (values >= observed[name]).sum(), (values <= observed[name]).sum()
        if all(beyond(name) > max(level * (simulations + 1), _BEYOND_DOUBT) for name in counts):
            break  # whatever the further simulations are, none of these tests can reject
    sides = {name: 2 if name == "scale" else 1 for name in counts}
    p_values = {name: min(1.0, sides[name] * (1 + beyond(name)) / (1 + drawn_so_far)) for name in counts}
    if law.discrete:
        impossible = int((np.abs(noise - np.round(noise)) > room(sample)).sum())
        p_values["lattice"] = 0.0 if impossible else 1.0
    else:
        impossible, p_values["repeats"] = repeats(noise, law, scale, centre, bits, step, rng_of_repeats, simulations)
    return Seen(observed["scale"], observed["tails"], p_values, impossible)
