"""The best of a random number of runs: certificates against its exact law, where one run is a number with noise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import laplace, norm

import dpcheck
from dpcheck.accounting.best_of_runs import Best, NegativeBinomial, PoissonRuns
from dpcheck.events import Gaussian, Laplace, Repeated, Sampled

Runs = NegativeBinomial | PoissonRuns


def generating(runs: Runs, x: Any) -> Any:
    """Chance generating function of the number of runs."""
    if isinstance(runs, PoissonRuns):
        return np.exp(runs.mean * (x - 1))
    reach = 1 - (1 - runs.stop) * x
    if runs.shape == 0:
        return np.log(reach) / math.log(runs.stop)
    return (reach**-runs.shape - 1) / (runs.stop**-runs.shape - 1)


def exact_delta(law: Any, shift: float, runs: Runs, epsilon: float) -> float:
    """Delta of the largest of K numbers between laws ``shift`` apart, the worse of the two orders, on a fine grid.

    The grid merges outputs, which can only lower delta.
    """
    edges = np.linspace(-30, 30 + shift, 6_001)
    chances = [np.diff(generating(runs, law.cdf(edges - at))) for at in (0.0, shift)]
    return max(float(np.maximum(p - math.exp(epsilon) * q, 0).sum()) for p, q in (chances, chances[::-1]))


def drawn(number: int) -> list[tuple[Any, Any, float, Runs]]:
    rng = np.random.default_rng(11)
    found: list[tuple[Any, Any, float, Runs]] = []
    for _ in range(number):
        z = float(10 ** rng.uniform(-0.3, 1))
        mean = float(10 ** rng.uniform(0.1, 1.7))
        runs: Runs = PoissonRuns(mean)
        if rng.random() < 0.7:
            runs = NegativeBinomial(float(rng.choice([1.0, 0.0, -0.5, 0.5, 3.0])), 1 / mean)
        plain = rng.random() < 0.7
        found.append((Gaussian(z), norm, 1 / z, runs) if plain else (Laplace(z), laplace, 1 / z, runs))
    return found


def test_no_certificate_is_below_the_exact_law() -> None:
    nearest = 0.0
    for event, law, shift, runs in drawn(200):
        for epsilon in (0.3, 1.5):
            delta = exact_delta(law, shift, runs, epsilon)
            if not 1e-8 < delta < 0.5:
                continue
            certified = dpcheck.certify(Best(event, runs), delta).epsilon
            assert certified >= epsilon * (1 - 1e-4), (event, runs, epsilon, delta)
            nearest = max(nearest, epsilon / certified)
    assert nearest > 0.5


def test_the_two_parts_are_those_of_the_claim() -> None:
    """delta of one run over the mean number of runs, and the least epsilon whose delta the tail allows."""

    def delta(epsilon: float) -> float:  # of N(1/4, 1) and N(0, 1)
        return float(norm.cdf(1 / 8 - 4 * epsilon) - math.exp(epsilon) * norm.cdf(-1 / 8 - 4 * epsilon))

    for shape, stop in [(1.0, 0.1), (0.0, 0.01), (2.5, 0.3)]:
        runs = NegativeBinomial(shape, stop)
        tail = brentq(lambda e, stop=stop: (1 - stop) * delta(e) - stop * math.expm1(e), 1e-9, 5, xtol=1e-14)
        one = brentq(lambda e, mean=runs.mean: mean * delta(e) - 1e-5, 1e-9, 5, xtol=1e-14)
        certified = dpcheck.certify(Best(Gaussian(4.0), runs), 1e-5).epsilon
        assert one + (1 + shape) * tail <= certified * (1 + 1e-9) <= (one + (1 + shape) * tail) * (1 + 1e-3)


def test_the_mean_is_the_slope_of_the_generating_function() -> None:
    for shape in (-0.5, 0.0, 1.0, 2.5):
        runs = NegativeBinomial(shape, 0.07)
        slope = (generating(runs, 1.0) - generating(runs, 1 - 1e-7)) / 1e-7
        assert runs.mean == pytest.approx(slope, rel=1e-4)
    assert NegativeBinomial(1.0, 0.05).mean == pytest.approx(20)


def test_whole_curves_beat_pure_epsilons_and_runs_cost_more_than_one() -> None:
    """A pure epsilon of e becomes (2 + shape) e; several runs cost more than one and less than all released."""
    for shape in (0.0, 1.0):
        runs = NegativeBinomial(shape, 0.02)
        pure = dpcheck.certify(Best(Laplace(2.0), runs), 0.0).epsilon
        assert pure <= (2 + shape) * 0.5 * (1 + 1e-8)
    step = Sampled((Gaussian(1.0),), "poisson", 100, 10)
    one, best = dpcheck.certify(step, 1e-5), dpcheck.certify(Best(step, NegativeBinomial(0.0, 0.05)), 1e-5)
    assert one.epsilon < best.epsilon < dpcheck.certify(Repeated(step, 6), 1e-5).epsilon
    assert best.neighbours == one.neighbours and best.delta == 1e-5
    assert math.isinf(dpcheck.certify(Best(Gaussian(0.0), PoissonRuns(2.0)), 1e-5).epsilon)
    assert dpcheck.certify(Best(Gaussian(math.inf), NegativeBinomial(1.0, 0.5)), 1e-5).epsilon < 1e-9


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: NegativeBinomial(-1.0, 0.5), lambda: NegativeBinomial(1.0, 1.0), lambda: PoissonRuns(0.0),
        lambda: Best(Gaussian(1.0), 3), lambda: dpcheck.certify(Best("x", PoissonRuns(1.0)), 1e-5),
        lambda: dpcheck.certify(Best(Gaussian(1.0), PoissonRuns(1.0)), 1e-5, released="last", contraction=1),
    ],
)  # fmt: skip
def test_other_runs_are_refused(wrong: Any) -> None:
    with pytest.raises(dpcheck.InputError):
        wrong()
