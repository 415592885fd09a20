"""The prover: known answers, soundness on random inequalities, certificates replayed, a second solver."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from typing import Any

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from polynomials import replay
from sympy import Ge, Integer, Le, Lt, Max, Min, Rational, erfc, exp, log, oo, pi, sqrt, symbols

from dpcheck.bounds.prover import Domain, Inequality, ball, forms, ranges, smt
from dpcheck.bounds.prover.decide import decide
from dpcheck.bounds.prover.room import MUTATION
from dpcheck.errors import InputError

a, b, c = symbols("a b c", positive=True)
x, y = symbols("x y", real=True)
n, m, K = symbols("n m K", integer=True, positive=True)
delta, epsilon = symbols("delta epsilon", positive=True)
PLANE = Domain({a: (0, oo), b: (0, oo)})
UNIT = Domain({delta: (0, 1)})


def inequality(smaller: Any, larger: Any, over: Domain, **more: Any) -> Inequality:
    return Inequality("", smaller, larger, over, **more)


TRUE = {
    "square": inequality(2 * a * b, a**2 + b**2, PLANE),
    "means": inequality(2 * sqrt(a * b), a + b, PLANE),
    "three means": inequality(3 * a * b * c, a**3 + b**3 + c**3, Domain({a: (0, oo), b: (0, oo), c: (0, oo)})),
    "equality at the bound": inequality(2 * n, n**2, Domain({n: (2, oo)})),
    "interior zero": inequality(2 * x, 1 + x**2, Domain({x: (-oo, oo)})),
    "Motzkin": inequality(3 * a**2 * b**2, a**4 * b**2 + a**2 * b**4 + 1, PLANE),
    "Cauchy": inequality((a * x + b * y) ** 2, (a**2 + b**2) * (x**2 + y**2),
                         Domain({a: (0, oo), b: (0, oo), x: (-oo, oo), y: (-oo, oo)})),
    "triangle": inequality(sqrt(a**2 + b**2), a + b, PLANE),
    "log below line": inequality(log(n), n - 1, Domain({n: (1, oo)})),
    "log below root": inequality(log(a), sqrt(a), Domain({a: (1, oo)})),
    "log near-tight": inequality(log(a), Rational(36788, 100000) * a, Domain({a: (1, oo)})),
    "log at an integer": inequality(1, log(n) ** 2, Domain({n: (3, oo)})),
    "entropy": inequality(a * log(1 / a), Rational(3679, 10000), Domain({a: (0, 1)})),
    "two logs": inequality(log(a + b), log(a) + log(b) + log(2), Domain({a: (1, oo), b: (1, oo)})),
    "log of a quotient": inequality(log(Rational(5, 4) / delta), log(Rational(5, 2) / delta), UNIT),
    "exp above line": inequality(1 + a, exp(a), Domain({a: (0, oo)})),
    "exp touching": inequality(exp(a), 1 + a + a**2, Domain({a: (0, 1)})),
    "max": inequality(Max(a, b), a + b, PLANE),
    "max above mean": inequality(a + b, 2 * Max(a, b), PLANE),
    "min": inequality(Min(a, b) ** 2, a * b, PLANE),
    "max in a step size": inequality(1 / Max(sqrt(n), a), 1 / sqrt(n), Domain({n: (1, oo), a: (0, oo)})),
    "where": inequality(m / n, 1, Domain({n: (1, oo), m: (1, oo)}, (Le(m, n),))),
    "where, product": inequality(a**2, 1, Domain({a: (0, oo), b: (1, oo)}, (Le(a * b, 1),))),
    "division": inequality(1 / (n - 1), 1, Domain({n: (2, oo)})),
    "undefined at the bound": inequality(0, 1 / (n - 1), Domain({n: (1, oo)})),
    "integers only": inequality(3 * n - n**2, 2, Domain({n: (1, oo)})),
    "between integers": inequality(0, (2 * n - 3) ** 2 - 1, Domain({n: (1, oo)})),
    "numbers": inequality(sqrt(2) + log(3), pi, Domain({})),
    "normal tail": inequality(erfc(a), exp(-(a**2)), Domain({a: (Rational(1, 10), 3)})),
    "constant": inequality(log(5 / delta), c * log(Rational(5, 2) / delta), UNIT, constant=(c, 2)),
}  # fmt: skip
FALSE = {
    "means reversed": inequality(a + b, 2 * sqrt(a * b), PLANE),
    "one integer": inequality(3 * n, n**2, Domain({n: (2, oo)})),
    "log near-tight": inequality(log(a), Rational(36787, 100000) * a, Domain({a: (1, oo)})),
    "entropy": inequality(a * log(1 / a), Rational(3678, 10000), Domain({a: (0, 1)})),
    "interior": inequality(2 * x, Rational(999, 1000) + x**2, Domain({x: (-oo, oo)})),
    "log of two": inequality(1, log(n), Domain({n: (2, oo)})),
    "growth": inequality(n * log(n), 20 * n, Domain({n: (2, oo)})),
    "far away": inequality(sqrt(n), 1000 + log(n), Domain({n: (1, oo)})),
    "exp": inequality(exp(a), 1 + a + a**2 / 2, Domain({a: (0, 1)})),
    "max": inequality(a + b, Max(a, b), PLANE),
    "where": inequality(m + 1, n, Domain({n: (1, oo), m: (1, oo)}, (Le(m, n),))),
    "division": inequality(1 / a, 1 / a**2, Domain({a: (0, 2)})),
    "narrow": inequality((a - Rational(1, 3)) ** 2 * 10**6, (a - Rational(1, 3)) ** 2 * 10**6 + a - Rational(1, 1000),
                         Domain({a: (0, 1)})),
    "Motzkin less": inequality(3 * a**2 * b**2, a**4 * b**2 + a**2 * b**4 + Rational(999, 1000), PLANE),
    "numbers": inequality(pi, Rational(314159, 100000), Domain({})),
}  # fmt: skip


@pytest.mark.parametrize("name", TRUE)
def test_true_inequalities_are_proved(name: str) -> None:
    assert TRUE[name].outcome().verdict == "proved"
    assert TRUE[name].holds()


@pytest.mark.parametrize("name", FALSE)
def test_false_inequalities_are_refuted_at_a_point_that_breaks_them(name: str) -> None:
    found = FALSE[name].outcome()
    assert found.verdict == "refuted"
    assert not FALSE[name].holds()
    # an independent route: sympy's own multiple precision
    at = dict(found.point or {})
    smaller, larger = FALSE[name].sides()
    assert sympy.N(smaller.subs(at) - larger.subs(at), 50) > 0
    assert all(not letter.is_integer or value.is_Integer for letter, value in at.items())


def test_a_logarithm_known_only_to_exceed_one_is_no_counterexample() -> None:
    # With log n a free letter >= 1, n = 3, log n = 100 would break this.
    assert inequality(log(n), 10 * sqrt(n), Domain({n: (3, oo)})).outcome().verdict == "proved"


def test_what_no_route_decides_is_unresolved() -> None:
    # true, and beyond every route
    assert inequality(1, a**b + b**a, PLANE).outcome().verdict == "unresolved"


def test_a_strict_domain_does_not_count_its_boundary_as_a_failure() -> None:
    open_end = Domain({a: (0, 2)}, (Lt(a, 1),))
    assert not open_end.contains({a: sympy.Integer(1)})
    assert inequality(0, 1 - a, open_end).outcome().verdict == "proved"


# Soundness on random inequalities, by exact evaluation

terms = st.lists(st.tuples(st.integers(-4, 4), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=5)
points = st.tuples(st.fractions(1, 50), st.fractions(1, 50))


@settings(deadline=None, max_examples=60)
@given(terms, points)
def test_verdicts_on_random_polynomials_are_sound(drawn: list[tuple[int, int, int]], point: Any) -> None:
    polynomial = sum((k * a**i * b**j for k, i, j in drawn), sympy.Integer(0))
    over = Domain({a: (1, oo), b: (1, oo)})
    found = decide(polynomial, over, 2.0)
    if found.verdict == "proved":
        u, v = (Rational(each.numerator, each.denominator) for each in point)
        assert polynomial.subs({a: u, b: v}) >= 0
    if found.verdict == "refuted":
        assert found.point is not None
        assert polynomial.subs(found.point) < 0
        assert over.contains(found.point)


@settings(deadline=None, max_examples=40)
@given(st.fractions(Fraction(1, 50), 3), st.integers(-20, 20), st.integers(1, 20))
def test_balls_contain_the_value(value: Fraction, p: int, q: int) -> None:
    at = Rational(value.numerator, value.denominator)
    expression = log(1 + a) * sqrt(a) + exp(-a) * a ** Rational(p, q) - erfc(a) + Max(a, 1 / a)
    enclosed = ball.compile(expression, [a])([ball.exact(at)])
    # sympy's own multiple precision, as a fraction
    true = Rational(str(sympy.N(expression.subs({a: at}), 30)))
    assert abs(float(enclosed.mid()) - float(true)) <= float(enclosed.rad()) + 1e-14 * (1 + abs(float(true)))
    assert enclosed.rad() < 1e-9 * (1 + abs(float(true)))


def test_sign_settles_what_rounding_would_not() -> None:
    close = Rational(f"{sympy.N(pi, 60)}")
    assert ball.sign(pi - close, {}) == (1 if sympy.N(pi - close, 90) > 0 else -1)
    assert ball.sign(sqrt(2) ** 2 - a, {a: sympy.Integer(2)}) == 0
    assert ball.sign(sqrt(2) + sqrt(3) - sqrt(5 + 2 * sqrt(6)), {}) in (0, None)
    assert ball.sign(1 / a, {a: sympy.Integer(0)}) is None
    assert ball.sign(log(a), {a: sympy.Integer(0)}) is None


# Certificates: replayed by expansion, and by another route from their coefficients


def test_certificates_replay() -> None:
    found = [proof for each in TRUE.values() for proof in each.outcome().certificates if proof.difference.free_symbols]
    assert len(found) >= 15
    for proof in found:
        assert proof.holds()
        replay(json.loads(json.dumps(proof.to_dict())))


def test_no_certificate_for_what_is_false() -> None:
    for each in FALSE.values():
        if not each.over.intervals:
            continue
        smaller, larger = each.sides()
        split = list(forms.cases(larger - smaller, each.over))
        assert any(forms.find(forms.form(case, where), case, where) is None for case, where in split)
        assert not all(ranges.proves(case, where) for case, where in split)


# Tightness, and the same inequality with its constant half a per cent beyond

ROOM = {
    "log below root": 2 / 2.718281828459045,
    "log below line": 0.6931471805599453,
    "entropy": 0.36787944117144233 / 0.3679,
    "means": 1.0,
    "max above mean": 1.0,
    "constant": 1.7564707973660298,  # log(5)/log(5/2), at delta = 1
}


@pytest.mark.parametrize("name", ROOM)
def test_critical_values(name: str) -> None:
    room = TRUE[name].tightness()
    assert room.critical == pytest.approx(ROOM[name], rel=1e-3)
    assert room.certain
    assert room.critical is not None
    beyond = TRUE[name].at(Rational(repr(room.critical)) * MUTATION)
    assert beyond.verdict == "refuted"
    assert TRUE[name].over.contains(beyond.point or {})


def test_a_constant_that_says_nothing_is_flagged() -> None:
    room = inequality(-a, c * a, Domain({a: (0, 5)}), constant=(c, 7)).tightness()
    assert room.status == "any"
    assert TRUE["means"].tightness().status != "any"


def test_a_constant_on_the_smaller_side() -> None:
    room = inequality(c * sqrt(a), 1 + a, Domain({a: (0, oo)}), constant=(c, 1)).tightness()
    assert room.critical == pytest.approx(2.0, rel=1e-3)


# A second solver is asked the very problems that z3 found to have no solution

CVC5 = """
import sys, cvc5
terms = cvc5.TermManager()
solver = cvc5.Solver(terms)
solver.setLogic("QF_NRA")
parser = cvc5.InputParser(solver)
parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, sys.stdin.read(), "problem")
while not (command := parser.nextCommand()).isNull():
    command.invoke(solver, parser.getSymbolManager())
print(solver.checkSat())
"""


def second_opinion(text: str) -> str:
    command = [sys.executable, "-c", CVC5]
    try:
        ran = subprocess.run(command, input=text, capture_output=True, text=True, timeout=3, check=True)
    except subprocess.TimeoutExpired:
        return "unknown"
    return ran.stdout.strip()


SOLVED = [
    "square", "means", "three means", "interior zero", "Motzkin", "Cauchy", "triangle", "log below line",
    "log below root", "log near-tight", "entropy", "exp above line",
]  # fmt: skip


def test_the_second_solver_is_asked_about_every_proof() -> None:
    assert [name for name, each in TRUE.items() if "solver (z3)" in each.outcome().methods] == SOLVED


@pytest.mark.thorough
@pytest.mark.parametrize("name", SOLVED)
def test_the_second_solver_agrees_on_proofs(name: str) -> None:
    pytest.importorskip("cvc5")
    smaller, larger = TRUE[name].sides()
    for case, where in forms.cases(larger - smaller, TRUE[name].over):
        verdict, _, text = smt.decide(forms.form(case, where), lambda _: None, 10.0)
        assert verdict == "proved"
        assert second_opinion(text) in ("unsat", "unknown")


@pytest.mark.parametrize("name", ["means reversed", "one integer", "interior", "where", "division"])
def test_the_second_solver_agrees_on_failures(name: str) -> None:
    pytest.importorskip("cvc5")
    smaller, larger = FALSE[name].sides()
    ((case, where),) = forms.cases(larger - smaller, FALSE[name].over)
    assert second_opinion(smt.problem(forms.form(case, where), {})) in ("sat", "unknown")


def test_the_second_solver_answers_at_all() -> None:
    pytest.importorskip("cvc5")
    assert second_opinion("(declare-const x Real)(assert (< (* x x) 0.0))") == "unsat"
    assert second_opinion("(declare-const x Real)(assert (> x 0.0))") == "sat"


# Bad input


def test_bad_input_is_named() -> None:
    with pytest.raises(InputError, match=r"interval of a must not be empty, got \[2, 1\]"):
        Domain({a: (2, 1)})
    with pytest.raises(InputError, match="give an interval to b, got none"):
        inequality(a, b, Domain({a: (0, 1)}))
    with pytest.raises(InputError, match="letters with an interval, got b"):
        Domain({a: (0, 1)}, (Ge(b, a),))
    with pytest.raises(InputError, match="number or a sympy expression, got '1/2'"):
        Domain({a: (0, "1/2")})
    with pytest.raises(InputError, match="number or a sympy expression"):
        inequality("a", a, Domain({a: (0, 1)}))
    with pytest.raises(InputError, match=r"must be made of .* got .*gamma"):
        inequality(sympy.gamma(a), a, Domain({a: (1, 2)})).outcome()


# Integers, roundings, moduli, and failures far away


@pytest.mark.parametrize(
    ("polynomial", "least"),
    [
        ((n - m) * (n - m - 1), 1),  # even numbers would do too; one is what its coefficients say
        (4 * n**2 - 4 * n * m + 2, 2),
        (6 * n - 4 * m + 1, 1),
        (3 * n - 6 * m, 3),
        (n / 2 + Rational(1, 3), Rational(1, 3)),
        (a * n, None),
    ],
)
def test_the_least_positive_value_of_a_polynomial_of_integers(polynomial: Any, least: Any) -> None:
    assert smt.least_positive(sympy.expand(polynomial)) == least
    if least is not None:
        grid = [polynomial.subs({n: i, m: j}) for i in range(1, 9) for j in range(1, 9)]
        assert min((value for value in grid if value > 0), default=least) >= least


def test_parity_counts() -> None:
    even, odd = sympy.Symbol("u", even=True), sympy.Symbol("v", odd=True)
    assert smt.least_positive(even**2) == 4
    assert smt.least_positive(odd**2 - 1) == 4
    assert inequality(1, odd**2, Domain({odd: (-oo, oo)})).outcome().verdict == "proved"
    assert inequality(0, even * (even - 2), Domain({even: (-oo, oo)})).outcome().verdict == "proved"
    assert inequality(0, even * (even - 4), Domain({even: (-oo, oo)})).outcome().verdict == "refuted"


NEW = {
    "a modulus": (inequality(abs(x + y), abs(x) + abs(y), Domain({x: (-oo, oo), y: (-oo, oo)})), "proved"),
    "a modulus, reversed": (inequality(abs(x) + abs(y), abs(x + y), Domain({x: (-oo, oo), y: (-oo, oo)})), "refuted"),
    "the last full step": (
        inequality(sympy.ceiling(n / m), (n + m - 1) / m, Domain({n: (1, oo), m: (1, oo)})), "proved"),
    "a step less": (inequality(sympy.ceiling(n / m), (n + m - 2) / m, Domain({n: (1, oo), m: (1, oo)})), "refuted"),
    "a strict relation": (inequality(m + 1, n, Domain({n: (1, oo), m: (1, oo)}, (Lt(m, n),))), "proved"),
    "the same, not strict": (inequality(m + 1, n, Domain({n: (1, oo), m: (1, oo)}, (Le(m, n),))), "refuted"),
    "a strict relation of reals": (inequality(b + 1, a, Domain({a: (0, oo), b: (0, oo)}, (Lt(b, a),))), "refuted"),
    "consecutive": (inequality(0, (n - m) * (n - m - 1), Domain({n: (1, oo), m: (1, oo)})), "proved"),
    "consecutive, of reals": (inequality(0, (a - b) * (a - b - 1), PLANE), "refuted"),
    "a circle": (inequality(3 * sympy.sin(x) + 4 * sympy.cos(x), 5, Domain({x: (-oo, oo)})), "proved"),
    "a circle too small": (
        inequality(3 * sympy.sin(x) + 4 * sympy.cos(x), Rational(499, 100), Domain({x: (-oo, oo)})), "refuted"),
    "far away": (inequality(a, Integer(10) ** 40, Domain({a: (0, oo)})), "refuted"),
    "far away, slowly": (inequality(log(a), 60, Domain({a: (1, oo)})), "refuted"),
    "an integer beside e": (inequality(log(n) / n, log(3) / 3, Domain({n: (1, oo)})), "proved"),
    "an integer beside e, tighter": (
        inequality(log(n) / n, log(3) / 3 - Rational(1, 10**6), Domain({n: (1, oo)})), "refuted"),
    "right side 0": (inequality((a - 1) * (2 - a), 0, Domain({a: (0, oo)})), "refuted"),
}  # fmt: skip


@pytest.mark.parametrize("name", NEW)
def test_moduli_roundings_integers_and_distance(name: str) -> None:
    claim, expected = NEW[name]
    assert claim.outcome().verdict == expected
