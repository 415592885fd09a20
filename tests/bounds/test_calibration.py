"""Noise formulas of one Gaussian release against scipy, the accountant, and each other."""

from __future__ import annotations

import math

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sympy import Rational, log, sqrt, symbols

from dpcheck.accounting import certify
from dpcheck.bounds.calibration import NotPrivate, Private, curve
from dpcheck.bounds.prover import Domain
from dpcheck.events import Gaussian

epsilon, delta = symbols("epsilon delta", positive=True)
REGION = Domain({epsilon: (0, 1), delta: (0, 1)})


def delta_of(s: float, e: float) -> float:
    return float(stats.norm.cdf(1 / (2 * s) - e * s) - math.exp(e) * stats.norm.cdf(-1 / (2 * s) - e * s))


@settings(deadline=None, max_examples=40)
@given(st.floats(0.2, 20), st.floats(0.01, 5))
def test_the_curve_is_scipy_s(s: float, e: float) -> None:
    exact = curve(Rational(repr(s)), Rational(repr(e)))
    assert float(sympy.N(exact, 20)) == pytest.approx(delta_of(s, e), abs=1e-12)


@pytest.mark.parametrize("numerator", [Rational(5, 4), Rational(5, 2)])
def test_the_textbook_noise_is_private_up_to_epsilon_one(numerator: sympy.Rational) -> None:
    assert Private("", sqrt(2 * log(numerator / delta)) / epsilon, REGION, epsilon, delta).holds()


def test_shares_of_the_budget() -> None:
    s = sqrt(2 * log(Rational(5, 2) / delta)) / epsilon
    assert Private("", s, REGION, epsilon, delta / 2).holds()
    assert not Private("", s, REGION, epsilon / 2, delta / 2).holds()


def test_without_the_factor_two_it_is_not() -> None:
    s = sqrt(log(Rational(5, 4) / delta)) / epsilon
    assert not Private("", s, REGION, epsilon, delta).holds()
    step = NotPrivate("", s.subs({epsilon: 1, delta: Rational(1, 10**5)}), 1, Rational(1, 10**5))
    assert step.holds()
    assert step.formula() and step.latex()
    # the accountant agrees
    noise = math.sqrt(math.log(1.25e5))
    assert certify([Gaussian(noise)], delta=1e-5).epsilon > 1


def test_what_is_private_is_not_refuted() -> None:
    at = {epsilon: 1, delta: Rational(1, 10**5)}
    assert not NotPrivate("", sqrt(2 * log(Rational(5, 4) / delta)).subs(at), 1, Rational(1, 10**5)).holds()


def test_the_textbook_noise_fails_for_a_large_epsilon() -> None:
    # at epsilon = 10 and delta = 1e-5
    s = sqrt(2 * log(Rational(125000))) / 10
    assert NotPrivate("", s, 10, Rational(1, 10**5)).holds()
    assert delta_of(float(s), 10) > 1e-5


def test_a_finite_box_by_balls() -> None:
    # tight enough that the tail bound alone does not do
    box = Domain({epsilon: (Rational(1, 2), 1)})
    s = Rational(102, 100) * 3.7303
    assert Private("", s, box, epsilon, Rational(1, 100) * Rational(1, 1)).holds()
    assert delta_of(float(s), 0.5) <= 0.01
