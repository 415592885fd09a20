"""Audits of one run: false alarms, power, and what they return."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from guessed_coins import attaining, gaussian, gdp, largest, randomised_response
from numpy.typing import NDArray
from scipy import optimize, stats

from dpcheck.accounting import gaussian_epsilon
from dpcheck.audits.claim import PrivacyClaim
from dpcheck.audits.limits import guesses as coin_guesses
from dpcheck.audits.one_run import OneRunAudit, audit_one_run, audit_one_run_scores
from dpcheck.events import Gaussian, Repeated

Floats = NDArray[np.float64]


def worst_mechanism(law: Floats) -> Any:
    """The attaining mechanism: every guess is told outright, W drawn from its law."""

    def run(included: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.bool_]:
        told = included.copy()
        wrong = included.size - rng.choice(law.size, p=law)
        told[rng.permutation(included.size)[:wrong]] ^= True
        return told

    return run


def violations(algorithm: Any, canaries: int, repeats: int, **claim: Any) -> int:
    return sum(audit_one_run(algorithm, canaries, seed=seed, **claim).verdict == "violated" for seed in range(repeats))


SHIFT = float(optimize.brentq(lambda mu: gaussian_epsilon(mu, 1e-5) - 1, 0.01, 2))
CORRECT = {
    "gaussian": (gaussian(SHIFT), 1e-5),
    "randomised response": (randomised_response(1.0), 0.0),
    "laplace": (lambda included, rng: included + rng.laplace(size=included.size), 0.0),
}
CURVES = {"gaussian": (gaussian(0.5), Gaussian(1 / 0.5)), "ten steps": (gaussian(1.0), Repeated(Gaussian(10**0.5), 10))}


LONG = [pytest.param(canaries, 2_000, marks=pytest.mark.experiment) for canaries in (100, 1_000)]


@pytest.mark.thorough
class TestFalseAlarms:
    """Null hypothesis: a mechanism at exactly its epsilon is called violated with probability at most 5%.

    Each test rejects above the 0.999 quantile of the binomial: error rate 0.1%.
    """

    @pytest.mark.parametrize("delta", [0.0, 1e-4, 1e-3])
    def test_the_worst_mechanism_comes_near_the_level(self, delta: float) -> None:
        """Its alarms have probability p, the bound at the critical count; also rejected below the 0.001 quantile."""
        p = coin_guesses.p_value
        critical = next(v for v in range(60, 101) if float(p(v, 100, 100, 1.0, delta)) <= 0.05)
        law, exact = attaining(100, 100, critical, 1.0, delta), float(p(critical, 100, 100, 1.0, delta))
        assert exact > 0.025
        seen = violations(worst_mechanism(law), 100, 600, epsilon=1.0, delta=delta, guesses=100)
        assert stats.binom.ppf(1e-3, 600, exact) <= seen <= stats.binom.isf(1e-3, 600, exact)

    @pytest.mark.parametrize(("canaries", "repeats"), [(200, 250), *LONG])
    @pytest.mark.parametrize("name", CORRECT)
    def test_correct_mechanisms(self, name: str, canaries: int, repeats: int) -> None:
        algorithm, delta = CORRECT[name]
        seen = violations(algorithm, canaries, repeats, epsilon=1.0, delta=delta)
        assert seen <= stats.binom.isf(1e-3, repeats, 0.05)

    @pytest.mark.parametrize(("canaries", "repeats"), [(200, 120), *LONG])
    @pytest.mark.parametrize("name", CURVES)
    def test_mechanisms_at_their_own_curve(self, name: str, canaries: int, repeats: int) -> None:
        algorithm, claim = CURVES[name]
        seen = violations(algorithm, canaries, repeats, claim=PrivacyClaim.read(claim))
        assert seen <= stats.binom.isf(1e-3, repeats, 0.05)

    @pytest.mark.thorough
    @pytest.mark.parametrize("canaries", [40, 100])
    def test_the_worst_mechanism_of_a_curve_comes_near_the_level(self, canaries: int) -> None:
        """Its law is the program's optimum at the critical number: so often it is right, and no bound could be less."""
        e = np.linspace(0, 2.4, 9)
        d = gdp(0.6)(e)
        p = {v: coin_guesses._bound(v, canaries, canaries, tuple(e), tuple(d)) for v in range(canaries // 2, canaries)}
        critical = next(v for v, value in p.items() if value <= 0.05)
        truth = largest(canaries, canaries, critical, list(zip(e, d, strict=True)))
        assert 0.02 < truth <= p[critical] + 1e-9 <= 0.05 + 1e-9

    def test_limits_cover_and_do_so_for_runs_together(self) -> None:
        """The limit exceeds the truth as rarely, for two runs of 100 as for one."""
        above = sum(
            audit_one_run(randomised_response(1.0), 100, runs=2, epsilon=9.0, seed=seed).epsilon_lower > 1
            for seed in range(300)
        )
        assert 0 < above <= stats.binom.isf(1e-3, 300, 0.05)

    def test_bounds_that_assume_independence_cover(self) -> None:
        """Gaussian canaries keep the assumptions: limits on the shift, and alarms on the true claim, are as rare."""
        curve = PrivacyClaim.read(Gaussian(1 / 0.5))
        audits = [audit_one_run(gaussian(0.5), 300, claim=curve, seed=seed).if_independent for seed in range(200)]
        above = sum(a.gaussian_shift > 0.5 for a in audits)
        alarms = sum(a.verdict == "violated" for a in audits)
        assert 0 < above <= stats.binom.isf(1e-3, 200, 0.05)
        assert 0 < alarms <= stats.binom.isf(1e-3, 200, 0.05)


def private_descent(clipped: bool, multiplier: float, steps: int = 10) -> Any:
    """Noisy gradient descent on a mean with canaries of gradient norm 3 along axes of their own, clipped at 1.

    The auditor sees all noisy gradients, and scores a canary by its part of their sum.
    """

    def run(included: NDArray[np.bool_], rng: np.random.Generator) -> Floats:
        model, seen = np.zeros(included.size), np.zeros(included.size)
        for _ in range(steps):
            gradients = np.where(included, model - 3.0, 0.0)  # of record i: along axis i alone
            norms = np.abs(gradients)
            if clipped:
                gradients = gradients / np.maximum(norms, 1.0)
            noisy = gradients + multiplier * rng.standard_normal(included.size)
            model -= 0.01 * noisy
            seen -= noisy
        return seen

    return run


class TestPower:
    """Seeds are fixed, and the settings far enough off that nearly all seeds would do."""

    def test_randomised_response_above_its_claim(self) -> None:
        audit = audit_one_run(randomised_response(2.0), 1_000, epsilon=1.5)
        assert audit.verdict == "violated"
        assert 1.5 < audit.epsilon_lower < 2

    def test_a_leak_of_few(self) -> None:
        """Two in a hundred canaries appear verbatim; all others leave no trace."""

        def leaks(included: NDArray[np.bool_], rng: np.random.Generator) -> Floats:
            return np.where(included & (rng.random(included.size) < 0.04), 1e6, rng.standard_normal(included.size))

        audit = audit_one_run(leaks, 10_000, epsilon=2.0, delta=1e-5)
        assert audit.verdict == "violated"
        assert max(audit.tests, key=lambda test: test.epsilon_lower).number == 188

    def test_descent_without_clipping(self) -> None:
        claim = Repeated(Gaussian(4.0), 10)
        right, wrong = (audit_one_run(private_descent(c, 4.0), 1_000, claim=claim, delta=1e-5) for c in (True, False))
        assert right.verdict == "consistent"
        assert right.if_independent.verdict == "consistent"
        assert wrong.verdict == "violated"
        assert wrong.epsilon_lower > right.epsilon

    def test_descent_with_half_the_noise(self) -> None:
        """1,000 canaries are plenty where independence is assumed; without, it takes a few thousand."""
        claim = Repeated(Gaussian(4.0), 10)
        few, many = (audit_one_run(private_descent(True, 2.0), m, claim=claim, delta=1e-5) for m in (1_000, 4_000))
        assert few.if_independent.verdict == "violated"
        assert few.if_independent.p_value < 1e-20
        assert many.verdict == "violated"

    def test_a_curve_says_more_than_its_point(self) -> None:
        """Randomised response of 1.4 keeps (2, 1e-5), and breaks the curve of the Gaussian that has it."""
        claim = Gaussian(1 / float(optimize.brentq(lambda mu: gaussian_epsilon(mu, 1e-5) - 2, 0.01, 2)))
        options: dict[str, Any] = {"delta": 1e-5, "guesses": 10_000}
        by_curve = audit_one_run(randomised_response(1.4), 10_000, claim=claim, **options)
        by_point = audit_one_run(randomised_response(1.4), 10_000, epsilon=2.0, **options)
        assert (by_curve.verdict, by_point.verdict) == ("violated", "consistent")
        assert by_curve.epsilon == pytest.approx(2, abs=1e-6)
        assert by_curve.epsilon_lower == by_point.epsilon_lower


def scores_at_hand(seed: int = 0, m: int = 400) -> tuple[Floats, NDArray[np.bool_]]:
    rng = np.random.default_rng(seed)
    included = rng.random(m) < 0.5
    return 2.0 * included + rng.standard_normal(m), included


class TestResults:
    def test_scores_at_hand_in_any_units(self) -> None:
        """Shifts, units and common changes of whole runs do not matter; infinite scores are the surest."""
        scores, included = scores_at_hand()
        first = audit_one_run_scores(scores, included, epsilon=1.0, delta=1e-5)
        assert first == audit_one_run_scores(1e3 * scores - 7e5, included, epsilon=1.0, delta=1e-5)
        assert first.verdict == "violated"
        rows = np.stack([scores, scores + 100.0])
        runs = audit_one_run_scores(rows, np.stack([included, included]), epsilon=1.0, delta=1e-5, guesses=200)
        assert (runs.runs, runs.canaries) == (2, 800)
        half = audit_one_run_scores(scores, included, epsilon=1.0, guesses=100)
        assert runs.tests[0].right == 2 * half.tests[0].right
        endless = np.where(included, np.inf, -np.inf)
        assert audit_one_run_scores(endless, included, epsilon=1.0).tests[0].right == 320
        assert audit_one_run_scores(np.zeros(400), included, epsilon=0.1).verdict == "consistent"

    def test_same_seed_same_bits(self) -> None:
        def audit(seed: int) -> OneRunAudit:
            return audit_one_run(gaussian(1.0), 500, epsilon=1.0, delta=1e-5, runs=2, seed=seed)

        assert audit(3).to_dict() == audit(3).to_dict()
        assert audit(3).tests != audit(4).tests

    def test_the_coins_are_the_auditors(self) -> None:
        """What an algorithm does to the array it is given does not turn its guesses right."""

        def overwrites(included: NDArray[np.bool_], rng: np.random.Generator) -> Floats:
            included[:] = True
            return np.ones(included.size)

        audit = audit_one_run(overwrites, 1_000, epsilon=0.5, guesses=1_000)
        assert audit.verdict == "consistent"

    def test_to_dict_and_to_frame(self) -> None:
        audit = audit_one_run(gaussian(1.0), 500, claim=PrivacyClaim.point(1.0, 1e-5), delta=0.0)
        plain = audit.to_dict()
        assert json.loads(json.dumps(plain, allow_nan=False)) == plain
        assert plain["epsilon"] == "inf"  # nothing is claimed at delta = 0
        frame = audit.to_frame()
        assert list(frame["number"]) == [400, 124, 31]
        assert frame["epsilon_lower"].max() == audit.epsilon_lower
        for canaries in (50, 100, 500, 10_000):
            tests = audit_one_run(gaussian(1.0), canaries, epsilon=1.0).tests
            assert sum(test.alpha for test in tests) == pytest.approx(0.05)

    def test_inconclusive_where_nothing_could_be_shown(self) -> None:
        assert audit_one_run(randomised_response(20.0), 10, epsilon=2.0).verdict == "inconclusive"
        assert audit_one_run(randomised_response(20.0), 40, epsilon=2.0).verdict == "violated"
