"""The twenty mechanisms of the DP-Sniper line, written from the papers, at epsilon 0.5 in place of 0.1.

At 0.1 no auditor says much of a million runs. Pairs are ones that show a mechanism's truth, or come near.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from league.case import Case, epsilon_of

EPSILON = 0.5
DING = "Ding, Wang, Wang, Zhang and Kifer, Detecting violations of differential privacy (CCS 2018)"
LYU = "Lyu, Su and Li, Understanding the sparse vector technique (PVLDB 2017)"
BICHSEL = "Bichsel, Steffen, Bogunovic and Vechev, DP-Sniper (S&P 2021)"
RAPPOR = "Erlingsson, Pihur and Korolova, RAPPOR (CCS 2014)"
FIVE, ONE_UP = [1.0] * 5, [2.0] + [1.0] * 4
LEVEL, MIXED = [1.0] * 5, [0.0] + [2.0] * 4
NONE, ALL = [0.0] * 5, [1.0] * 5
QUERIES, UPS = [0.0] * 6, [1.0] * 3 + [-1.0] * 3


def nodes(scale: float, breaks: Any) -> tuple[Any, Any]:
    """Return points and weights that integrate a function with kinks at the breaks, out to 40 scales."""
    edges = np.unique(np.concatenate([np.arange(-40, 40.5, 0.5) * scale, np.ravel(breaks)]))
    points, weights = np.polynomial.legendre.leggauss(20)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (points + 1)).ravel(), (half * weights).ravel()


def below(x: Any, scale: float) -> Any:
    """Chance that Laplace noise is below x."""
    return np.where(x < 0, np.exp(np.minimum(x, 0) / scale) / 2, 1 - np.exp(-np.maximum(x, 0) / scale) / 2)


def svt(answers: Any, rng: Any, size: int, most: int, threshold: float, noise: float, again: bool = False) -> Any:
    """Compare each noisy answer with the noisy threshold 1: 1 above, 0 below, -1 after ``most`` above.

    again : a fresh threshold after each answer above
    """
    out, found = np.full((size, len(answers)), -1), np.zeros(size, int)
    level = 1 + rng.laplace(scale=threshold, size=size)
    for place, answer in enumerate(answers):
        noisy = answer + (rng.laplace(scale=noise, size=size) if noise else 0.0)
        asked, above = found < most, noisy >= level
        out[asked, place] = above[asked]
        found += asked & above
        if again:
            level = np.where(asked & above, 1 + rng.laplace(scale=threshold, size=size), level)
    return out


def svt_law(answers: Any, most: int, threshold: float, noise: float, again: bool = False) -> Any:
    """Return the chances of all rows of 0 and 1, each ending with its ``most``-th 1 or the last answer."""
    answers = np.asarray(answers, float)
    at, weight = nodes(threshold, np.append(answers - 1, 0))
    weight = weight * np.exp(-np.abs(at) / threshold) / (2 * threshold)
    gap = 1 + at - answers[:, None]
    low = below(gap, noise) if noise else (gap > 0).astype(float)
    chances = []
    for row in itertools.product((0, 1), repeat=len(answers)):
        total = np.cumsum(row)
        if any(row[place] and total[place] > most for place in range(len(row))):
            continue
        end = next((place + 1 for place in range(len(row)) if total[place] == most), len(row))
        if any(row[end:]):
            continue
        chance, run = 1.0, weight
        for place in range(end):
            run = run * (1 - low[place] if row[place] else low[place])
            if again and row[place]:
                chance, run = chance * run.sum(), weight
        chances.append(chance * run.sum())
    return np.array(chances)


def svt_with_numbers(answers: Any, rng: Any, size: int, most: int, threshold: float, noise: float) -> Any:
    """SVT 3: in place of 1, the noisy answer itself; 0 below, -1 no longer asked."""
    out, found = np.full((size, len(answers)), -1.0), np.zeros(size, int)
    level = 1 + rng.laplace(scale=threshold, size=size)
    for place, answer in enumerate(answers):
        noisy = answer + rng.laplace(scale=noise, size=size)
        asked, above = found < most, noisy >= level
        out[:, place] = np.where(asked, np.where(above, noisy, 0.0), -1.0)
        found += asked & above
    return out


def numerical_svt(answers: Any, rng: Any, size: int) -> Any:
    """A third of the budget each for threshold, comparisons and fresh answers."""
    part = EPSILON / 3
    told = svt(answers, rng, size, 2, 1 / part, 4 / part)
    return np.where(told == 1, np.asarray(answers) + rng.laplace(scale=2 / part, size=told.shape), told)


def largest(answers: Any, rng: Any, size: int, one_sided: bool, value: bool) -> Any:
    """Return the place, or the value, of the largest answer with noise of scale 2 / epsilon."""
    shape = (size, len(answers))
    noise = rng.exponential(2 / EPSILON, shape) if one_sided else rng.laplace(scale=2 / EPSILON, size=shape)
    noisy = np.asarray(answers) + noise
    return noisy.max(1) if value else noisy.argmax(1)


def largest_law(answers: Any, one_sided: bool) -> Any:
    """Return the chances of the places."""
    scale, answers = 2 / EPSILON, np.asarray(answers, float)
    at, weight = nodes(scale, answers)
    gap = at - answers[:, None]
    if one_sided:
        inside = gap >= 0
        under = np.where(inside, 1 - np.exp(-np.maximum(gap, 0) / scale), 0.0)
        density = np.where(inside, np.exp(-np.maximum(gap, 0) / scale) / scale, 0.0)
    else:
        under, density = below(gap, scale), np.exp(-np.abs(gap) / scale) / (2 * scale)
    others = [np.delete(under, place, 0).prod(0) for place in range(len(answers))]
    return np.array([(weight * d * o).sum() for d, o in zip(density, others, strict=True)])


def bits_law(one: float, zero: float, hashes: int) -> float:
    """Return epsilon of a Bloom filter in which two values set ``hashes`` bits each, none in common."""
    return hashes * abs(math.log(one * (1 - zero) / (zero * (1 - one))))


def rappor(value: int, rng: Any, size: int, chances: tuple[float, float]) -> Any:
    """Report 20 bits: value 0 has set the first four, value 1 the next four."""
    chance = np.full(20, chances[1])
    chance[4 * value : 4 * value + 4] = chances[0]
    return rng.random((size, 20)) < chance


def geometric(value: int, rng: Any, size: int) -> Any:
    """Two-sided geometric noise, cut to 0 to 5."""
    noise = np.subtract(*rng.geometric(1 - math.exp(-EPSILON), (2, size)))
    return np.clip(value + noise, 0, 5)


def laplace(data: Any, rng: Any, size: int, scale: float) -> Any:
    """Noise on each answer."""
    answers = np.asarray(data, float)
    return answers + rng.laplace(scale=scale, size=(size, *answers.shape))


def cases() -> Iterator[Case]:
    """Return the twenty."""

    def case(
        name: str, draw: Callable[..., Any], pair: Any, truth: float, faulty: bool, source: str, **how: Any
    ) -> Case:
        claimed = how.pop("claimed", EPSILON)
        bound = (lambda data, rng, size: draw(data, rng, size, **how)) if how else draw
        return Case(f"sniper {name}", bound, *pair, claimed, truth, faulty, source)

    half, most = EPSILON / 2, 2
    yield case("histogram", laplace, (FIVE, ONE_UP), EPSILON, False, DING, scale=1 / EPSILON)
    yield case("histogram, scale upside down", laplace, (FIVE, ONE_UP), 1 / EPSILON, True, DING, scale=EPSILON)
    for one_sided in (False, True):
        words = "exponential" if one_sided else "Laplace"
        truth = epsilon_of(largest_law(LEVEL, one_sided), largest_law(MIXED, one_sided))
        how = {"one_sided": one_sided, "value": False}
        yield case(f"noisy maximum, {words}", largest, (LEVEL, MIXED), truth, False, DING, **how)
        # small only where all five are, each with noise of scale 2 / epsilon; exponential noises have an end
        truth = math.inf if one_sided else 5 * half
        how["value"] = True
        yield case(f"value of the noisy maximum, {words}", largest, (NONE, ALL), truth, True, DING, **how)
    for number, threshold, noise, limit, again in (
        (1, 1 / half, 2 * most / half, most, False), (2, most / half, 2 * most / half, most, True),
        (4, 4 / EPSILON, 4 / (3 * EPSILON), most, False), (5, 1 / half, 0.0, 6, False),
        (6, 1 / half, 1 / half, 6, False),
    ):  # fmt: skip
        told = [svt_law(answers, limit, threshold, noise, again) for answers in (QUERIES, UPS)]
        assert all(abs(law.sum() - 1) < 1e-6 for law in told), number
        truth = epsilon_of(*(np.where(law < 1e-15, 0, law) for law in told))
        how = {"most": limit, "threshold": threshold, "noise": noise, "again": again}
        yield case(f"SVT {number}", svt, (QUERIES, UPS), truth, truth > EPSILON, LYU, **how)
    how = {"most": most, "threshold": 1 / half, "noise": most / half}
    yield case("SVT 3", svt_with_numbers, (QUERIES, UPS), math.nan, True, LYU, **how)

    def side_by_side(answers: Any, rng: Any, size: int) -> Any:
        fourth = svt(answers, rng, size, most, 4 / EPSILON, 4 / (3 * EPSILON))
        return np.hstack([svt_with_numbers(answers, rng, size, **how), fourth])

    yield case("SVT 3 and 4 side by side", side_by_side, (QUERIES, UPS), math.nan, True, BICHSEL)
    yield case("SVT with numbers", numerical_svt, (QUERIES, UPS), math.nan, False, LYU)
    f, p, q = 0.75, 0.45, 0.55
    reported = f / 2 * (p + q) + (1 - f) * q, f / 2 * (p + q) + (1 - f) * p
    for name, chances in (("RAPPOR", reported), ("RAPPOR, once", (1 - 0.95 / 2, 0.95 / 2))):
        truth = bits_law(*chances, 4)
        yield case(name, rappor, (0, 1), truth, False, RAPPOR, chances=chances, claimed=truth)
    yield case("Laplace", laplace, (0.0, 1.0), EPSILON, False, DING, scale=1 / EPSILON)
    yield case(
        "Laplace, 20 side by side", laplace, ([0.0] * 20, [1.0] * 20), EPSILON, False, BICHSEL, scale=20 / EPSILON
    )
    yield case("geometric, cut", geometric, (2, 1), EPSILON, False, BICHSEL)

    def prefix_sums(answers: Any, rng: Any, size: int) -> Any:
        return np.cumsum(laplace(answers, rng, size, 1 / EPSILON), axis=1)

    yield case("prefix sums", prefix_sums, (FIVE, ONE_UP), EPSILON, False, BICHSEL)
