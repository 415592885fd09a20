"""How far certificates that are upper bounds lie above the worst pair of neighbours that is known.

``pytest -n 0 -s -m experiment tests/solvers/test_pairs.py``, with ``--keep-tables`` to keep the table.
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.interpolate import CubicSpline
from scipy.special import log_ndtr, logsumexp
from scipy.stats import binom, norm
from test_hits import changes, stick

from dpcheck import certify
from dpcheck.accounting.allocation_below import allocation_epsilon_below
from dpcheck.accounting.hits import hits_alone, multiplicities
from dpcheck.accounting.losses import compose
from dpcheck.accounting.privacy_curves import Array, CurvePair
from dpcheck.events import Gaussian, RandomAllocation, Repeated, Sampled

RECORDS = 1000
STEP, REACH, POINTS = 0.2, 9.0, 400  # of the rule across, how far it goes, and epsilons that are computed
TOLERANCE = 2e-4  # of compositions


@lru_cache(maxsize=64)
def equilateral(chances: tuple[float, ...], shift: float) -> CurvePair:
    """Curves of sum_k p_k N(k v) against sum_k p_k N(k w), p_k the chance of k = 0, 1, ... hits, in the plane.

    A record that changes v is replaced by one that changes w where another would change 0, each two of the three
    ``shift`` apart. With t along w - v and n across, each law is that of k, with the chance p_k at n that N(k c) gives,
    c = shift sqrt(3)/2, and of t about -k shift/2, or about k shift/2. The likelihood ratio falls in t.
    """
    k, p = np.arange(len(chances)), np.array(chances)
    across = shift * math.sqrt(0.75)
    n = np.arange(-REACH, REACH + k[-1] * across, STEP)
    weights = STEP * p * norm.pdf(n[:, None] - k * across)  # (nodes, k)
    with np.errstate(divide="ignore"):
        logs = np.log(weights) - (k * shift) ** 2 / 8
    widest = 14 + k[-1] * shift
    epsilons = np.sinh(np.linspace(0, math.asinh(k[-1] * shift * widest / 0.01), POINTS)) * 0.01
    low, high = np.zeros((POINTS, n.size)), np.full((POINTS, n.size), 2 * widest)
    for _ in range(42):
        middle = (low + high) / 2
        moved = middle[..., None] * (k * shift / 2)
        ratio = logsumexp(logs + moved, axis=-1) - logsumexp(logs - moved, axis=-1)
        low, high = np.where(ratio < epsilons[:, None], middle, low), np.where(ratio < epsilons[:, None], high, middle)
    log_alpha = epsilons[:, None, None]
    parts, against = log_ndtr(k * shift / 2 - high[..., None]), log_ndtr(-k * shift / 2 - high[..., None])
    excess = np.exp(parts) * -np.expm1(np.minimum(log_alpha + against - parts, 700.0))
    delta = np.einsum("enk,nk->e", excess, weights)
    kept = delta > 1e-25
    log_delta = CubicSpline(epsilons[kept], np.log(delta[kept]))
    last = float(epsilons[kept][-1])

    def curve(epsilon: Array) -> Array:
        return np.where(epsilon <= last, log_delta(np.minimum(epsilon, last)), -np.inf)

    return CurvePair(curve, curve)


def composed(curves: CurvePair, steps: int, delta: float, guess: float) -> float:
    """Return epsilon after so many steps, in the worse of the two directions."""
    pairs = (curves,) if curves.symmetric else (curves, curves.reversed())
    found = [compose([(pair, steps)], delta, guess=guess, tolerance=TOLERANCE) for pair in pairs]
    return max(one.epsilon(delta) for one in found if one is not None)


def known(event: Sampled, steps: int, delta: float, above: float) -> float:
    """Epsilon of the worse of two pairs: three records, of which each two differ by the sensitivity, or two of them.

    Either the record that is replaced alone moves the sum, or it and the other one do, to different sides.
    """
    shift = 1 / event.noise_multiplier
    if event.scheme == "without_replacement":
        alone = Sampled(event.mechanisms, "poisson", event.population, event.batch, "add_or_remove_one")
        two, chances = certify(Repeated(alone, steps), delta).epsilon, (1 - event.rate, event.rate)
    else:
        draws = multiplicities(event, 1e-20)
        two = composed(hits_alone(event, draws.log_chances, draws.copies * shift), steps, delta, above)
        chances = (event.rest, *np.exp(draws.log_chances).tolist())
    return max(two, composed(equilateral(chances, shift), steps, delta, above))


@pytest.mark.parametrize(("shift", "draws", "rate"), [(0.5, 1, 0.1), (2.0, 1, 0.3), (1.0, 3, 0.2), (2.0, 4, 0.1)])
@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0])
def test_the_pair_of_three_records_is_integrated_over_the_plane(
    shift: float, draws: int, rate: float, epsilon: float
) -> None:
    chances = tuple(binom.pmf(np.arange(draws + 1), draws, rate).tolist())
    exact = stick(*changes("equilateral", draws, shift, np.random.default_rng(0)), rate, epsilon)
    assert math.exp(equilateral(chances, shift).forward(np.array([epsilon]))[0]) == pytest.approx(
        exact, rel=2e-3, abs=1e-12
    )


def random_allocation(z: float, steps: int, delta: float) -> dict[str, float]:
    certified = certify(RandomAllocation(Gaussian(z), steps), delta).epsilon
    return {"certified": certified, "known": allocation_epsilon_below(z, steps, 1, delta)}


def fixed_size(scheme: Any, z: float, steps: int, delta: float, rate: float) -> dict[str, float]:
    event = Sampled((Gaussian(z),), scheme, RECORDS, round(rate * RECORDS))
    certified = certify(Repeated(event, steps), delta).epsilon
    return {"rate": rate, "certified": certified, "known": known(event, steps, delta, certified)}


GRIDS: dict[str, tuple[Any, ...]] = {  # multipliers, steps, deltas, rates
    "without_replacement": ((0.5, 1.0, 2.0, 5.0), (1, 10, 100, 1000, 10_000), (1e-4, 1e-6, 1e-9), (0.01, 0.1, 0.3)),
    "with_replacement": ((0.5, 1.0, 2.0, 5.0), (1, 10, 100, 1000), (1e-6,), (0.01, 0.1, 0.3)),
    "random_allocation": ((0.5, 1.0, 2.0), (2, 4, 8), (1e-2, 1e-5, 1e-9)),
}


@pytest.mark.experiment
@pytest.mark.parametrize("scheme", GRIDS)
def test_table(scheme: str, keep: Any) -> None:
    """Certificates between .01 and 100, and beside them what some pair of neighbours is known to give away."""
    rows = []
    for z, steps, delta, *rate in itertools.product(*GRIDS[scheme]):
        found = fixed_size(scheme, z, steps, delta, *rate) if rate else random_allocation(z, steps, delta)
        if 0.01 < found["known"] and found["certified"] < 100:
            rows.append({"multiplier": z, "steps": steps, "delta": delta, **found})
    frame = pd.DataFrame(rows)
    keep(f"above_{scheme}", frame)
    assert (frame["certified"] > frame["known"] * 0.999).all()
