"""Proofs by the signs of derivatives: what they prove is true, and their parts are right about numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from inequalities.families import every
from slices import first
from sympy import E, Ge, Integer, Rational, cos, exp, log, oo, pi, sin, sqrt, symbols

from dpcheck.bounds.prover import Domain, cuts, ranges, signs, slopes

a, b, p, q, r, t = symbols("a b p q r t", positive=True)
x = symbols("x", real=True)
HALF, LINE, UNIT = Domain({a: (0, oo)}), Domain({x: (-oo, oo)}), Domain({p: (0, 1)})

TRUE = {
    "logarithm": (a - 1 - log(a), HALF),
    "logarithm squared": (a - log(a) ** 2, Domain({a: (1, oo)})),
    "exponential": (exp(x) - 1 - x, LINE),
    "chord": (a * (E - 1) - exp(a) + 1, Domain({a: (0, 1)})),
    "sine": (a - sin(a), HALF),
    "Jordan": (sin(a) - 2 * a / pi, Domain({a: (0, pi / 2)})),
    "cosine": (cos(x) - 1 + x**2 / 2, LINE),
    "Bernoulli": ((1 + a) ** r - 1 - r * a, Domain({a: (0, oo), r: (1, oo)})),
    "entropy": (-p * log(p) - (1 - p) * log(1 - p) - 4 * p * (1 - p) * log(2), UNIT),
    "Gibbs": (p * log(p / q) + (1 - p) * log((1 - p) / (1 - q)), Domain({p: (0, 1), q: (0, 1)})),
    "falls to 0": (log(1 + a) / a - log(2 + a) / (1 + a), Domain({a: (1, oo)})),
    "two relations": (log(b) - log(a) + p - q, Domain({a: (1, oo), b: (1, oo), p: (0, oo), q: (0, oo)},
                                                     (Ge(b, 2 * a), Ge(p, q)))),
    "one relation after another": (log(r) - log(a), Domain({a: (1, oo), b: (1, oo), r: (1, oo)}, (Ge(b, a), Ge(r, b)))),
    "ratio": (log(a) / a - log(b) / b, Domain({a: (3, oo), b: (3, oo)}, (Ge(b, a),))),
    "weights": (t * a + (1 - t) * b - a**t * b ** (1 - t), Domain({a: (0, oo), b: (0, oo), t: (0, 1)})),
    "pole inside, square": (1 / (a - 1) ** 2, Domain({a: (0, 3)})),
}  # fmt: skip
# each misses by little, or at one end, or at a point where a careless rule would not look
NEAR = {
    "limit below 0": (1 / a - Rational(1, 10**9), HALF),
    "limit below 0 with logarithms": (log(1 + 1 / a) - Rational(1, 10**9), HALF),
    "limit -0": (a * log(1 + 1 / a) - 1, HALF),
    "pole": (1 / (a - 1), Domain({a: (0, 3)})),
    "pole, growing on both sides": (-1 / (a - 1) + 10, Domain({a: (0, 3)})),
    "two poles": (1 / ((a - 1) * (a - 2)), Domain({a: (0, 3)})),
    "one side of 0": (exp(x) - 1 - x - x**2 / 2, LINE),
    "tangent moved": (a - 1 - log(a) - Rational(1, 10**9), HALF),
    "chord moved": (a * (E - 1 - Rational(1, 10**6)) - exp(a) + 1, Domain({a: (0, 1)})),
    "Jordan too wide": (sin(a) - 2 * a / pi, Domain({a: (0, pi / 2 + Rational(1, 1000))})),
    "sine moved": (a - sin(a) - a**3 / 6, HALF),
    "Bernoulli below 1": ((1 + a) ** r - 1 - r * a, Domain({a: (0, oo), r: (Rational(99, 100), oo)})),
    "Gibbs moved": (p * log(p / q) + (1 - p) * log((1 - p) / (1 - q)) - 2 * (p - q) ** 2 * Rational(1001, 1000),
                    Domain({p: (0, 1), q: (0, 1)})),
    "a relation the wrong way": (log(a) - log(r), Domain({a: (1, oo), b: (1, oo), r: (1, oo)}, (Ge(b, a), Ge(r, b)))),
    "one relation too few": (log(b) - log(a) + p - q,
                             Domain({a: (1, oo), b: (1, oo), p: (0, oo), q: (0, oo)}, (Ge(b, a),))),
    "ratio from 2": (log(a) / a - log(b) / b, Domain({a: (2, oo), b: (2, oo)}, (Ge(b, a),))),
    "weights the other way": (a**t * b ** (1 - t) - t * a - (1 - t) * b, Domain({a: (0, oo), b: (0, oo), t: (0, 1)})),
    "0^0": (p**q - Rational(1, 2), Domain({p: (0, 1), q: (0, 1)})),
    "a dip": ((a - Rational(1, 3)) ** 2 - Rational(1, 10**12), Domain({a: (0, 1)})),
    "a dip of an exponential": (exp(a) + exp(-a) - 2 - Rational(1, 10**9), HALF),
    "far away": (1 - a / 10**30, HALF),
    "scaled apart": ((a - b) ** 2 - a * b / 10**6, Domain({a: (0, oo), b: (0, oo)})),
    "added constant": (a - b + 1, Domain({a: (0, oo), b: (0, oo)})),
    "a wave": (1 - sin(a) - Rational(1, 10**6), HALF),
}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("name", TRUE)
def test_true_differences_are_shown(name: str) -> None:
    difference, domain = TRUE[name]
    assert slopes.proves(_standard(difference, domain), domain.standard()[1])


@pytest.mark.parametrize("warned", [True, pytest.param(False, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("name", first(8, NEAR))
def test_near_misses_are_not_shown(name: str, warned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not warned:  # by samples: the rules alone have to see it
        monkeypatch.setattr(slopes, "_hopeless", lambda values: False)
    difference, domain = NEAR[name]
    assert not slopes.proves(_standard(difference, domain), domain.standard()[1])


@pytest.mark.parametrize("guess", [1, -1])
@pytest.mark.parametrize("name", ["a dip", "one side of 0", "a dip of an exponential", "pole", "a wave"])
def test_near_misses_are_not_shown_whatever_samples_say(name: str, guess: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slopes, "_hopeless", lambda values: False)
    monkeypatch.setattr(slopes, "way", lambda values: guess)
    difference, domain = NEAR[name]
    assert not slopes.proves(_standard(difference, domain), domain.standard()[1])


def test_a_scale_must_be_exact() -> None:
    v, w = (sympy.Symbol(name, positive=True) for name in ("v0", "v1"))
    box = {v: (Integer(0), oo), w: (Integer(0), oo)}
    assert cuts._scaled((v - w) ** 2 + v * w, box) is not None
    assert cuts._scaled((v - w) ** 2 + v * w + v / 10**13, box) is None  # floating point does not see it


@pytest.mark.parametrize(
    "step", [pytest.param(9, marks=pytest.mark.thorough), pytest.param(1, marks=pytest.mark.experiment)]
)
def test_no_false_inequality_is_shown(step: int) -> None:
    for item in [each for each in every() if not each.truth][::step]:
        if item.over.intervals:
            difference = sympy.sympify(item.larger) - item.smaller
            assert not slopes.proves(_standard(difference, item.over), item.over.standard()[1]), item.name


def _standard(difference: Any, domain: Domain) -> Any:
    return difference.xreplace(domain.standard()[0])


# The parts, against numbers


EXPRESSIONS = (
    log(a) - a / (1 + a**2), a * log(a) - sqrt(a), exp(-a) * sin(a) + a**2,
    (1 + a) ** a - cos(a) / a, a**3 - 3 * a + 1 / a,
    (a - 2) ** 2 * (a - 3), log(1 + a) ** 2 - a**Rational(1, 3), exp(a) / (1 + exp(a)),
    Rational(1, 2) - a**Rational(5, 2),
)  # fmt: skip
ENDS = st.fractions(Fraction(1, 50), 8, max_denominator=50)
WIDTHS, SHARES = st.fractions(0, 4, max_denominator=50), st.fractions(0, 1, max_denominator=8)


@pytest.mark.thorough
@settings(deadline=None, max_examples=150)
@given(st.sampled_from(EXPRESSIONS), ENDS, WIDTHS, SHARES)
def test_enclosures_contain_the_values_and_signs_are_theirs(
    f: Any, low: Fraction, width: Fraction, share: Fraction
) -> None:
    ends = (_exact(low), _exact(low + width + Fraction(1, 100)))
    at = _exact(low) + _exact(share) * (ends[1] - ends[0])
    true = Rational(str(sympy.N(f.subs({a: at}), 40)))
    lower, upper = ranges.enclose(f, {a: ranges.ends(*ends)})
    slack = 1e-12 * (1 + abs(float(true)))
    assert float(lower) - slack <= float(true) <= float(upper) + slack
    beyond = ranges.enclose(f, {a: ranges.ends(ends[0], oo)})
    assert float(beyond[0]) - slack <= float(true) <= float(beyond[1]) + slack
    known = signs.sign(f, {a: ends})
    if known is not None and known > 0:
        assert true >= 0
    if known is not None and known < 0:
        assert true <= 0


def _exact(value: Fraction) -> Any:
    return Rational(value.numerator, value.denominator)


LIMITS = {
    "power and logarithm": (a * log(a), 0, 0),
    "logarithm over a power": (log(a) / a, oo, 0),
    "first order": (a * log(1 + 1 / a), oo, 1),
    "cancelling logarithms": (log(a + 2) - log(a + 1), oo, 0),
    "cancelling, times a": (a * log(a + 2) - a * log(a + 1), oo, 1),
    "exponential": (a**5 * exp(-a), oo, 0),
    "exponential wins": (exp(a) / a**9 - a**9, oo, oo),
    "root": (sqrt(a) - a, oo, -oo),
    "constant": ((2 * a**2 + 1) / (3 * a**2 - a), oo, Rational(2, 3)),
    "a pole against a logarithm": (log(a + 1) - log(a) - 1 / a, 0, -oo),
    "a pole": (1 / a - 5, 0, oo),
    "entropy at 1": ((1 - a) * log(1 - a), 1, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("far", [False, True])
def test_limits(name: str, far: bool) -> None:
    f, end, expected = LIMITS[name]
    inside = Rational(1, 2) if end in (0, 1) else Integer(1)
    if far and end != 1:
        inside = oo if end == 0 else -oo  # the other end of the interval may be infinite
    assert signs.limit_at(f, a, sympy.sympify(end), inside) == expected
    with mpmath.workdps(60):
        near = {0: mpmath.mpf("1e-40"), 1: 1 - mpmath.mpf("1e-40"), oo: mpmath.mpf("1e4")}[end]
        value = sympy.lambdify(a, f, "mpmath")(near)
        assert value > 90 if expected == oo else value < -90 if expected == -oo else abs(value - expected) < 1e-2


@pytest.mark.parametrize("f", [sqrt(a**2 + a) - a, sin(a), exp(a**2) / exp(a), log(log(a))])
def test_limits_that_the_rules_do_not_give_are_left_open(f: Any) -> None:
    with pytest.raises(signs.OpenError):
        signs.limit_at(f, a, oo, Integer(3))


def test_smooth_means_defined_and_differentiable_inside() -> None:
    box = {a: (Integer(0), Integer(3))}
    assert slopes.smooth(log(a) + sqrt(a) + 1 / a, box)
    for f in (
        1 / (a - 1),
        log(a - 1),
        sqrt(a - 1),
        abs(x).xreplace({x: a - 1}),
        sympy.ceiling(a),
        (a - 1) ** Rational(4, 3),
    ):
        assert not slopes.smooth(f, box)
    for square in ((a - 1) ** 2, a**2 - 2 * a + 1):
        assert signs.sign(square, box) == 1  # it vanishes inside
        assert not slopes.smooth(log(square), box) and not slopes.smooth(1 / square, box)
    assert signs.sign(3 - a, box) == 2
