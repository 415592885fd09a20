"""The best of a random number of runs: certificates against its exact law, where one run is a number with noise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import laplace, norm

import dpcheck
from dpcheck.accounting import privacy_curve
from dpcheck.accounting.best_of_runs import Best, NegativeBinomial, PoissonRuns
from dpcheck.bounds.registry import theorem
from dpcheck.cli import main
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


@pytest.mark.parametrize("runs", [NegativeBinomial(1.0, 0.1), NegativeBinomial(0.0, 0.02), PoissonRuns(10.0)])
def test_an_audit_of_tuning_stays_below_and_refutes_the_epsilon_of_one_run(runs: Runs) -> None:
    """The largest of K noisy numbers, K drawn, each of them drawn: the null hypothesis is the certified epsilon."""
    z, delta = 1.0, 1e-2

    def tuned(value: float, rng: np.random.Generator, size: int) -> Any:
        if isinstance(runs, PoissonRuns):
            counts = rng.poisson(runs.mean, size)
        else:
            counts = rng.geometric(runs.stop, size) if runs.shape else rng.logseries(1 - runs.stop, size)
        best = np.full(size, -50.0)  # where there is no run
        np.maximum.at(best, np.repeat(np.arange(size), counts), value + z * rng.normal(size=counts.sum()))
        return best

    certified = dpcheck.certify(Best(Gaussian(z), runs), delta).epsilon
    one = dpcheck.certify(Gaussian(z), delta).epsilon
    audits = [
        dpcheck.audit_privacy(tuned, 1.0, 0.0, epsilon=claim, delta=delta, trials=60_000, seed=3, vectorized=True)
        for claim in (certified, one)
    ]
    assert [audit.verdict for audit in audits] == ["consistent", "violated"]
    assert one < audits[1].epsilon_lower <= certified
    assert 0.45 * certified < audits[0].epsilon_lower <= certified


@pytest.mark.parametrize(
    ("law", "runs"),
    [("geometric:.1", NegativeBinomial(1.0, 0.1)), ("logarithmic:.1", NegativeBinomial(0.0, 0.1)),
     ("-.5:.1", NegativeBinomial(-0.5, 0.1)), ("poisson:3", PoissonRuns(3.0))],
)  # fmt: skip
def test_the_command_has_the_laws_by_name(capsys: pytest.CaptureFixture[str], law: str, runs: Runs) -> None:
    assert main(["certify", "--multiplier", "4", "--sampling", "none", "--steps", "3", f"--best-of={law}"]) == 0
    certified = dpcheck.certify(Best(Repeated(Gaussian(4.0), 3), runs), 1e-5).epsilon
    assert f"certified  {certified:.6g}\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options",
    ["--best-of geometric:2", "--best-of 3", "--best-of poisson:-1", "--best-of x:.1", "--best-of geometric:.1 --risk",
     "--best-of geometric:.1 --group 2", "--best-of geometric:.1 --released last --contraction .9"],
)  # fmt: skip
def test_the_command_refuses_other_laws_and_what_no_best_run_has(
    capsys: pytest.CaptureFixture[str], options: str
) -> None:
    assert main(f"certify --multiplier 4 --sampling none --steps 3 {options}".split()) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_theorem_has_what_is_certified() -> None:
    """At a point of the curve, and its dual: the least of these bounds is the certificate's."""
    runs, curve = NegativeBinomial(1.0, 0.05), privacy_curve(Gaussian(8.0))
    certificate = dpcheck.certify(Best(Gaussian(8.0), runs), 1e-5)
    e_1 = dpcheck.certify(Gaussian(8.0), 1e-5 / runs.mean).epsilon
    e_2 = brentq(lambda e: (1 - runs.stop) * float(curve(e)) - runs.stop * math.expm1(e), 1e-9, 5) * (1 + 1e-9)
    thm = theorem("koskela2024.negative_binomial")
    point = {"e_1": e_1, "delta_1": float(curve(e_1)), "e_2": e_2, "delta_2": float(curve(e_2)), "shape": 1.0,
             "gamma": 0.05}  # fmt: skip
    assert thm.schedule(**point)["mean"] == pytest.approx(runs.mean)
    assert thm.bound(**point) == pytest.approx(1e-5, rel=1e-4)
    assert thm.schedule(**point)["epsilon"] == pytest.approx(certificate.epsilon, rel=1e-3)
    with pytest.raises(dpcheck.InputError, match="gamma"):
        thm.bound(**point | {"e_2": e_2 / 2})


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
