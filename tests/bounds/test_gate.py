"""What stands around the prover: one exact gate for the numbers and functions of every kind of step."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
import sympy
from sympy import Float, Function, Integer, Rational, Sum, Symbol, binomial, exp, oo, sqrt, symbols

import dpcheck
from dpcheck.bounds import wording, workers
from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.calibration import NotPrivate, Private
from dpcheck.bounds.claim import BY_HAND, Claim, Decision, Evidence
from dpcheck.bounds.evidence import AtMost, Below, Counterexample, Enumerated, Identity, Inequality
from dpcheck.bounds.judge import judge
from dpcheck.bounds.prover import Domain, over
from dpcheck.bounds.statement import stated
from dpcheck.bounds.terms import exact
from dpcheck.errors import InputError
from dpcheck.report.claims import claims_text

a, x, d = symbols("a x d", positive=True)
n, k = symbols("n k", integer=True)
N, t = symbols("N t", integer=True, positive=True)
UNIT = Domain({a: (0, 1)})


WAVE = sympy.sin(2 * sympy.pi * t, evaluate=False)  # sympy knows that it is 0


def size(letter: Any) -> Any:
    """The absolute value, as it is written."""
    return sympy.Abs(letter, evaluate=False)


class Liar(Function):  # type: ignore[misc]
    """A function that says of itself what makes a proof of it."""

    def _eval_is_positive(self) -> bool:
        return True


class Equal(Fraction):
    """A fraction that is equal to everything."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = Fraction.__hash__


FALSE = {
    "a third in binary": lambda: AtMost("", a / 3, 0.3333333333333333 * a),
    "beyond 2^53": lambda: AtMost("", (10**17 + 1) * a, 1e17 * a),
    "below the rounding": lambda: Identity("", lambda: x + Float(1e-20) * x, x),
    "a tenth is not 0.1": lambda: Identity("", 0.1 * x, x / 10),
    "0.3 is below three tenths": lambda: AtMost("", 3 * a / 10, 0.3 * a),
    "one tenth of an inequality": lambda: Inequality("", 0.1 * a, a / 10, UNIT),
    "an end in binary": lambda: Inequality("", a, Rational(1, 10), Domain({a: (0, 0.1)})),
    "a printed constant": lambda: Inequality("", x, d * x, Domain({x: (0, 1)}), (d, 1 - 1e-16)),
    "a number": lambda: Below("", 0.1, Rational(1, 10)),
    "a counterexample": lambda: Counterexample("", sympy.Le(x, Rational(1, 10)), {x: 0.09999999999999999}),
    "a half record": lambda: Counterexample("", sympy.Le(N, 1), {N: 1.5}),
    "a power of d": lambda: Dominated("", x + x * d, x, Region()),
    "a free power of d": lambda: Dominated("", x + x * d, x, Region(), (d,)),
    "equal to everything": lambda: Enumerated("", lambda: Equal(2), (), Fraction(1)),
    "a float that is enumerated": lambda: Enumerated("", lambda: 0.5, (), Fraction(1, 2)),
    "an endless sum": lambda: Identity("", Sum(k, (k, 1, Symbol("y", positive=True))), Symbol("y", positive=True)),
    "noise in binary": lambda: NotPrivate("", 5, 1, 0.5),
    "a bound letter that is called positive": lambda: Identity("", Sum(size(t), (t, -2, 2)), 0),
    "a replaced letter that is called positive": lambda: Identity("", sympy.Subs(size(x), x, -2), -2),
    "a bound letter that is free as well": lambda: Identity("", Sum(size(t), (t, -2, t)), t * (t + 1) / 2 - 3),
    "a slope between whole numbers": lambda: Identity("", sympy.Derivative(WAVE, t), 0),
    "a path of negative values": lambda: Exceeds("", x, x + d, Region(), {x: s, d: 1 / s - s}),
}
REFUSED = {
    "binomial coefficients at -2": (lambda: Identity("", binomial(n, k), binomial(n, n - k)), "binomial"),
    "a function that lies": (lambda: AtMost("", x, x + Liar(x)), "Liar"),
    "a function in a domain": (lambda: Domain({a: (0, 1)}, (Liar(a) <= a,)), "Liar"),
    "a number that is none": (lambda: AtMost("", x, float("nan")), "without nan"),
    "infinity": (lambda: AtMost("", x, oo), "without oo"),
    "two letters of a name": (lambda: Identity("", x - Symbol("x"), Integer(0)), "different names"),
    "a bound letter of a name": (lambda: Identity("", Sum(t * Symbol("t"), (t, 1, 3)), 6 * Symbol("t")), "t twice"),
    "a Cyrillic letter": (lambda: Exceeds("", a / Symbol("\u0430", positive=True), 1, Region()), "Latin or Greek"),
    "a Greek letter like v": (lambda: AtMost("", Symbol("v"), Symbol("\u03bd")), "v and \u03bd|\u03bd and v"),
    "two indices that look alike": (lambda: AtMost("", Symbol("x1"), Symbol("x_1")), "x1 and x_1|x_1 and x1"),
    "a letter of which no text tells": (lambda: Identity("", Symbol("x", imaginary=True), 1), "the letter x must be"),
    "a sum outside an identity": (lambda: AtMost("", 1, 1 + Sum(t, (t, 1, 3))), "free of Derivative"),
    "a sum in an order": (lambda: Exceeds("", Sum(-t, (t, N, 1)), 1, Region(), {N: s}), "free of Derivative"),
    "text": (lambda: AtMost("", "x", x), "a formula must be a number or a sympy expression"),
    "a value that equals all": (lambda: Enumerated("", lambda: Equal(2), (), Equal(1)), "whole number or a fraction"),
    "a letter as a number": (lambda: Below("", x, 2 * x), "must be a number"),
    "what sympy folded": (lambda: Counterexample("", N >= 1, {N: 1}), "a relation that sympy leaves open"),
}


@pytest.mark.parametrize("name", FALSE)
def test_no_false_step_holds(name: str) -> None:
    assert not FALSE[name]().holds()


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_in_the_closed_list_is_refused_by_name(name: str) -> None:
    build, words = REFUSED[name]
    with pytest.raises(InputError, match=words):
        build()


def test_exact_binary_values_hold() -> None:
    assert exact(0.1) == Rational(3602879701896397, 2**55)
    assert AtMost("", 0.5 * a, a / 2).holds()
    assert AtMost("", a / 10, 0.1 * a).holds()
    assert Identity("", 0.25 * x, x / 4).holds()
    assert Enumerated("", lambda: 1, (), 1).holds()
    assert Dominated("", x + x * d, x, Region(d >= 2), (d,)).formula().startswith("d*x + x = O(d*x) for")


def test_what_is_simplified_has_to_stand_at_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sympy, "simplify", lambda _: Integer(0))
    assert not Identity("", sqrt(x + 1), sqrt(x) + 1).holds()


@pytest.mark.parametrize(
    ("step", "verdict"),
    [
        (lambda: Identity("", Sum(t, (t, 1, N)), N * (N + 1) / 2), "proved"),
        (lambda: Inequality("", Sum(1 / sqrt(t), (t, 1, N)), 2 * sqrt(N), Domain({N: (1, oo)})), "proved"),
        (lambda: Inequality("", exp(a), Integer(10) ** 400, UNIT), "proved"),
        (lambda: Inequality("", exp(a), Integer(10) ** 400, Domain({a: (0, oo)})), "refuted"),
        (lambda: Inequality("", a, 10**400 - 1, Domain({a: (0, 10**400)})), "refuted"),
        (lambda: Inequality("", exp(a), exp(Integer(10) ** 400), UNIT), "unresolved"),
        (lambda: Inequality("", N, N - 1, Domain({N: (1, oo)}, (N <= 0,))), "unresolved"),
        (lambda: Inequality("", N, N - 1, over(N, N <= 0)), "unresolved"),
    ],
)
def test_nothing_crashes(step: Any, verdict: str) -> None:
    result = Claim("X", "toy", "c", "words", "l", judge(step())).decide()
    assert result.verdict == verdict
    assert result.note


# What is printed is what was judged

BELOW, NOUGHT, REAL = Symbol("m", negative=True), Symbol("o", zero=True), Symbol("r", real=True)
SOME = Symbol("z", integer=True, nonzero=True)

FAR = Inequality("for every N there is", sympy.log(N), sqrt(N) / 100, Domain({N: (10**8, oo)}))
NEAR = Inequality("", sympy.log(N), sqrt(N) / 100, Domain({N: (1, oo)}))
IT = sympy.Le(sympy.log(N), sqrt(N) / 100)


@pytest.mark.parametrize("words", ["{it} for all N >= 1", "It is false that {it}", "{it}"])
def test_a_judged_text_comes_from_the_step_alone(words: str) -> None:
    given = stated(words, it=IT)
    result = Claim("X", "toy", "c", given, "l", judge(FAR, note="so it is free")).decide()
    assert (result.verdict, result.basis) == ("proved", "judged")
    assert result.statement == "log(N) <= sqrt(N)/100 for N >= 100000000, N integer"
    assert result.words == str(given)
    shown = result.to_dict()
    assert (shown["statement"], shown["words"]) == (result.statement, result.words)
    assert r"\log" in shown["stated"] and shown["stated"].endswith("for N >= 100000000, N integer")
    assert result.note.endswith("In the author's words: so it is free")
    assert claims_text([result], None, 0.0, color=False, width=80).count("in the author's words: ") == 1


@pytest.mark.parametrize(
    ("words", "verdict"),
    [("{it}.", "refuted"), ("It is false that {it}", "unresolved"), ("{it} for all N >= 10^8", "unresolved")],
)
def test_a_false_step_refutes_nothing_but_its_relation(words: str, verdict: str) -> None:
    decision = Decision("proved", "m", Evidence((NEAR,)), "fine")
    assert Claim("X", "toy", "c", stated(words, it=IT), "l", lambda: decision).decide().verdict == verdict


@pytest.mark.parametrize("relations", [(), (AtMost("", 2 * a, a),)])
def test_a_verdict_that_is_only_called_judged_is_argued_by_hand(relations: tuple[Any, ...]) -> None:
    decision = Decision("proved", "m", Evidence((FAR,)), "fine", "judged", relations)
    result = Claim("X", "toy", "c", stated("It is false that {it}", it=IT), "l", lambda: decision).decide()
    assert (result.basis, result.judged) == (BY_HAND, "")


def test_what_fails_is_named_by_its_relation() -> None:
    result = Claim("X", "toy", "c", stated("{it}", it=IT), "l", judge(NEAR)).decide()
    assert result.verdict == "refuted"
    assert result.note.startswith("It fails: log(N) <= sqrt(N)/100 fails at N = ")
    assert result.counterexamples[0].startswith("log(N) <= sqrt(N)/100 fails at N = ")


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (AtMost("", a, a + x), "a <= a + x for a > 0, x > 0"),
        (Identity("", k * sympy.log(d), sympy.log(d) * k + 0), "k log(d) = k log(d) for d > 0, any real k, k integer"),
        (Identity("", 1 / k, 1 / k), "1/k = 1/k for any real k, k integer, wherever both sides are defined"),
        (Inequality("", a, 1, Domain({a: (0, 1)}, (a < 1,))), "a <= 1 for 0 < a < 1"),
        (Dominated("", x + x * d, x, Region(d > 2), (d,)), "x + d x = O(d x) for 2 < d, d > 0, x > 0"),
        (Dominated("", 1, x, Region(t <= x)), "1 = O(x) for t <= x, x > 0, t > 0, t integer"),
        (Exceeds("", a, 1, Region()), "a is not O(1) for a > 0"),
        (
            Private("", 5 * n, over(Domain({a: (0, 1), n: (8, 9)})), 1, 0.5),
            "N(0, (5 n)^2) on sensitivity 1 is (1, 1/2)-DP for 0 < a <= 1, 8 <= n <= 9, n integer",
        ),
        (Inequality("", 0, a, Domain({a: (-1, 1)})), "0 <= a for 0 < a <= 1"),
        (Inequality("", BELOW, 0, Domain({BELOW: (-1, 0)})), "m <= 0 for -1 <= m < 0"),
        (Inequality("", 1, SOME**2, Domain({SOME: (-2, 2)})), "1 <= z^2 for -2 <= z <= 2, z integer, z nonzero"),
        (Identity("", size(NOUGHT), 0), "Abs(o) = 0 for o = 0, o even"),
        (
            Inequality("", sqrt(REAL) * sqrt(REAL + 2), REAL + 1, Domain({REAL: (-4, 4)})),
            "sqrt(r) sqrt(2 + r) <= 1 + r for -4 <= r <= 4, wherever both sides are defined",
        ),
        (Below("", 2, 3), "2 < 3"),
    ],
)
def test_the_text_of_a_step_has_its_domain_and_the_kinds_of_its_letters(step: Any, text: str) -> None:
    assert wording.text([step]) == text


def test_a_fault_of_dpcheck_itself_ends_the_wait_for_a_verdict(monkeypatch):
    def fails(*_):
        raise RuntimeError("planted")

    monkeypatch.setattr(workers._Decider, "decide", fails)
    with pytest.raises(RuntimeError, match="planted"):
        dpcheck.prove("Y17")


@pytest.mark.parametrize(
    ("ends", "due"),
    [((0, oo), 1), ((7, oo), 10), ((Rational(1, 10**6), Rational(1, 10**5)), None)],
)
def test_a_point_of_failure_is_plain_where_a_plain_one_fails(ends: Any, due: int | None) -> None:
    """x <= x/2 fails everywhere: at the first plain number of the domain; where there is none, as it was found."""
    (failure,) = judge(Inequality("", x, x / 2, Domain({x: ends})))().evidence.steps
    (value,) = dict(failure.values).values()
    assert failure.holds() and ends[0] <= value <= ends[1]
    assert value == due if due is not None else value < 1
