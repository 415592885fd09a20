"""The prover proves nothing false and refutes nothing true: rewritings, letters, empty domains, numbers, errors."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import sympy
from sympy import Abs, Float, Ge, Le, Lt, Max, Rational, Symbol, cbrt, erf, exp, log, oo, sqrt, symbols

from dpcheck.bounds import registry
from dpcheck.bounds.prover import Domain, Inequality, ball, forms, search, smt
from dpcheck.bounds.prover.decide import NO_POINT, decide
from dpcheck.bounds.prover.domain import Names
from dpcheck.errors import InputError

a, b, c, p = symbols("a b c p", positive=True)
x, y, s = symbols("x y s", real=True)
plain = Symbol("z")  # no assumption at all: a real number once it has an interval
n, m = symbols("n m", integer=True, positive=True)
u = Symbol("u", nonnegative=True)
LINE = Domain({x: (-oo, oo)})
BOTH = Domain({x: (-oo, oo), y: (-oo, oo)})


def inequality(smaller: Any, larger: Any, over: Any, **more: Any) -> Inequality:
    return Inequality("", smaller, larger, over, **more)


def test_the_logarithm_of_a_square_keeps_negative_numbers() -> None:
    found = inequality(log(x**2), x + 10**13, LINE).outcome()
    assert found.verdict == "refuted"
    assert found.point is not None
    assert found.point[x] < -(10**13)
    assert inequality(log(plain**2), plain + 5, Domain({plain: (-oo, oo)})).outcome().verdict == "refuted"
    assert inequality(log(a**2), 2 * a, Domain({a: (0, oo)})).outcome().verdict == "proved"


# Each is false where a sign is not what a rewriting would like it to be.
MISLEADING = {
    "root of a square": inequality(sqrt(x**2), x, LINE),
    "root of a square, plain letter": inequality(sqrt(plain**2), plain, Domain({plain: (-oo, oo)})),
    "fourth power under a root": inequality(x**2, (x**4) ** Rational(1, 4) + 100, LINE),
    "logarithm of a fourth power": inequality(log(x**4), 4 * log(x + 3), Domain({x: (-2, oo)})),
    "logarithm of a product": inequality(log(x * y), x + y, BOTH),
    "logarithm of a quotient": inequality(1, log(x / y) ** 2 + x * y, BOTH),
    "logarithm of a power": inequality(log((x - 1) ** 2), 2 * x, LINE),
    "absolute value": inequality(Abs(x), x, LINE),
    "exponential of a logarithm": inequality(exp(log(x**2) / 2), x, LINE),
    "root of a product": inequality(sqrt(x * y), x + y, BOTH),
    "product of roots": inequality(0, s * sqrt(x) * sqrt(y), Domain({s: (-1, 1), x: (0, 4), y: (0, 4)})),
    "power three halves": inequality((x**2) ** Rational(3, 2), x**3, LINE),
    "inverse root": inequality(1 / sqrt(x**2), 1 / x + 5, Domain({x: (-1, 1)})),
    "a root that may be 0": inequality(0, s, Domain({s: (-oo, oo), u: (0, oo)}, (Ge(s * sqrt(u), 0),))),
    "a root of a real letter": inequality(0, s, Domain({s: (-oo, oo), x: (0, oo)}, (Ge(s * sqrt(x), 0),))),
    "a root divided by": inequality(0, s, Domain({s: (-5, 5), x: (0, 2)}, (Ge(s * (x + sqrt(x)), 0),))),
    "a root of a sum that may be 0": inequality(
        0, s, Domain({s: (-5, 5), x: (0, 1), y: (0, 1)}, (Ge(s * sqrt(x + y), 0),))
    ),
    "a maximum that may be 0": inequality(0, s, Domain({s: (-5, 5), u: (0, 1)}, (Ge(s * Max(u, u**2), 0),))),
}


@pytest.mark.parametrize("name", MISLEADING)
def test_rewritings_lose_no_point(name: str) -> None:
    each = MISLEADING[name]
    found = each.outcome()
    assert found.verdict == "refuted"
    at = dict(found.point or {})
    smaller, larger = (sympy.N(side.subs(at), 30) for side in each.sides())
    assert smaller > larger
    assert each.over.contains(at)


def test_every_rewriting_keeps_the_value_at_points_with_all_signs() -> None:
    """Naming undone gives the original's value, wherever that is a real number."""
    expressions = [
        log(x**2) + sqrt(x**2) * y, (x**2) ** Rational(3, 4) - log((x * y) ** 2), sqrt(x) * y - sqrt(x + y),
        exp(x - y) * Abs(y), (x + y) ** Rational(3, 2) / sqrt(x), log(x * y) - log(x / y), erf(x) * log(y**4),
        log(sqrt(x)) * log(3 * y) + sqrt(2) * x,
    ]  # fmt: skip
    values = [Rational(k, 3) for k in (-7, -2, -1, 1, 2, 8)]
    for low in (-oo, 0):
        domain = Domain({x: (low, oo), y: (low, oo)})
        new, standard = domain.standard()
        assert standard is not None
        for expression in expressions:
            form = forms.form(expression.xreplace(new), standard)
            back = (form.difference / form.scale).xreplace(form.meanings)
            for point in ({new[x]: v, new[y]: w} for v in values for w in values):
                if domain.contains({x: point[new[x]], y: point[new[y]]}) and search.defined(
                    expression.xreplace(new), point
                ):
                    true = expression.xreplace(new).xreplace(point)
                    assert abs(sympy.N(back.xreplace(point) - true, 30)) < 1e-20


def test_a_letter_of_a_root_is_positive_only_if_its_square_is() -> None:
    over = {x: (0, 1), y: (1, 2), a: (0, oo)}
    new, standard = Domain(over).standard()
    assert standard is not None
    form = forms.form((sqrt(x) + sqrt(y) + sqrt(a) + sqrt(x + a) + sqrt(x * y + x)).xreplace(new), standard)
    for letter, meaning in form.meanings.items():
        assert letter.is_nonnegative
        least = {"x": 0, "y": 1, "a": Rational(1, 10**9)}
        zero = meaning.xreplace({new[each]: sympy.sympify(least[str(each)]) for each in over})
        assert not letter.is_positive or zero > 0


# Letters of one name


def test_two_letters_of_one_name_are_refused() -> None:
    twin = Symbol("n", real=True)
    with pytest.raises(InputError, match="letters must have different names, got n twice"):
        Domain({n: (1, oo), twin: (0, oo)})
    with pytest.raises(InputError, match="interval to n, got none: the domain has another symbol of this name"):
        inequality(n - twin, 0, Domain({n: (1, oo)}))
    with pytest.raises(InputError, match="letters must have different names, got n twice"):
        inequality(twin * n, n, Domain({n: (1, oo)}), constant=(twin, 1))
    with pytest.raises(InputError, match="letters with an interval, got n"):
        Domain({n: (1, oo)}, (Le(twin, 1),))


@pytest.mark.parametrize(
    ("own", "other"),
    [
        (Symbol("free1", real=True), erf(p)), (Symbol("number1", real=True), sqrt(2) * p / p),
        (Symbol("root2_p", positive=True), sqrt(p)), (Symbol("t_p", positive=True), p),
        (Symbol("log1", real=True), log(p)), (Symbol("exp1", positive=True), exp(p)),
        (Symbol("root1", positive=True), sqrt(p + 1)), (Symbol("x0", real=True), p),
        (Symbol("factor", positive=True), p),
    ],
)  # fmt: skip
def test_a_letter_may_have_any_name(own: Any, other: Any) -> None:
    """Whatever the prover calls its own letters, this is another: neither is at most the other."""
    over = Domain({own: (0, oo), p: (0, oo)})
    assert inequality(own, other, over).outcome().verdict == "refuted"
    assert inequality(other, own, over).outcome().verdict == "refuted"
    assert inequality(own, own + 1 + p, over).outcome().verdict == "proved"


def test_fresh_names_differ_from_all_before() -> None:
    fresh = Names(["t", "t_"]).fresh
    assert [fresh("t"), fresh("t"), fresh("s")] == ["t__", "t___", "s"]


# Domains without points, and sides without values


@pytest.mark.parametrize(
    "each",
    [
        inequality(x, -x - 1, Domain({x: (1, 2)}, (Ge(x, 3),))),
        inequality(1, 0 * x, Domain({x: (0, 5), y: (0, 5)}, (Lt(x + y, x),))),
        inequality(10, log(-1 - x**2), LINE),
        inequality(10, sqrt(-1 - a), Domain({a: (0, oo)})),
        inequality(10, 1 / (x - y), Domain({x: (1, 1), y: (1, 1)})),
        inequality(10, sqrt(x), Domain({x: (-5, -1)})),
        inequality(10, log(x), Domain({x: (0, 0)})),
        inequality(sqrt(x - 2), sqrt(1 - x), LINE),
    ],
)  # fmt: skip
def test_nothing_is_proved_where_nothing_is_defined(each: Inequality) -> None:
    found = each.outcome()
    assert found.verdict == "unresolved"
    assert found.note == NO_POINT
    assert not each.holds()


def test_a_proof_shows_a_point_it_is_about() -> None:
    over = Domain({n: (2, oo), m: (1, oo), x: (-3, 3)}, (Lt(m, n), Ge(x, n - 4)))
    each = inequality(sqrt(x) + m, n + sqrt(x), over)
    point = each.outcome().witness
    assert point is not None
    assert over.contains(point)
    assert all(search.defined(side, point) for side in each.sides())
    assert each.details()["witness"] == {str(letter): str(value) for letter, value in point.items()}
    assert search.find(Domain({}), (sqrt(2),)) == {}


def test_a_refuting_point_is_one_where_both_sides_are_defined() -> None:
    """The logarithms cancel in the difference, and speak of negative x alone."""
    each = inequality(log(-x), log(-x) - x, Domain({x: (-10, 10)}))
    assert each.outcome().verdict != "refuted"
    assert search.find(each.over, each.sides()) is not None


# Numbers


def test_floating_point_numbers_keep_their_digits() -> None:
    more = Float("0.1000000000000000000000001", 40)
    assert inequality(more * a, a / 10, Domain({a: (1, 2)})).outcome().verdict == "refuted"
    assert inequality(a, Float("1e400"), Domain({a: (0, 1)})).outcome().verdict == "proved"
    with pytest.raises(InputError, match="floating-point number must have an exponent below"):
        inequality(a, Float("1e100000"), Domain({a: (0, 1)}))


even, odd, prime = Symbol("e", even=True), Symbol("o", odd=True), Symbol("q", prime=True)
nonzero, negative, nonpositive = Symbol("z", nonzero=True), Symbol("g", negative=True), Symbol("h", nonpositive=True)
KNOWN = {
    "even": (inequality(2, even, Domain({even: (1, oo)})), even, 3),
    "odd": (inequality(3, odd, Domain({odd: (2, oo)})), odd, 4),
    "prime": (inequality(2, prime, Domain({prime: (0, oo)})), prime, 4),
    "negative": (inequality(negative, 0, Domain({negative: (-oo, oo)})), negative, 0),
    "nonpositive": (inequality(nonpositive, 0, Domain({nonpositive: (-oo, oo)})), nonpositive, 1),
    "nonnegative": (inequality(0, u, Domain({u: (-oo, oo)})), u, -1),
    "positive": (inequality(0, a, Domain({a: (-5, 5)})), a, 0),
    "integer": (inequality(1, n, Domain({n: (0, oo)})), n, Rational(3, 2)),
}


@pytest.mark.parametrize("name", KNOWN)
def test_what_a_symbol_says_of_itself_holds(name: str) -> None:
    each, letter, outside = KNOWN[name]
    assert each.outcome().verdict == "proved"
    assert not Domain({letter: (-10, 10)}).contains({letter: sympy.sympify(outside)})


def test_no_counterexample_breaks_an_assumption() -> None:
    for each in (
        inequality(x**2 + 1, x**2 + nonzero**2 * 10**30, Domain({x: (-1, 1), nonzero: (-oo, oo)})),
        inequality(1, odd**2, Domain({odd: (-oo, oo)})),
        inequality(Rational(1, 2), (prime - 4) ** 2, Domain({prime: (0, oo)})),
        inequality(Rational(1, 2), (even - 3) ** 2, Domain({even: (0, 6)})),
    ):
        found = each.outcome()
        assert found.point is None or each.over.contains(found.point)
        assert found.verdict != "refuted" or nonzero in each.over.intervals


@pytest.mark.parametrize("symbol", [
    Symbol("w", commutative=False), Symbol("w", imaginary=True), Symbol("w", real=False), Symbol("w", finite=False),
])  # fmt: skip
def test_a_letter_that_is_no_real_number_is_refused(symbol: Any) -> None:
    with pytest.raises(InputError, match="the letter w must stand for real numbers, got"):
        Domain({symbol: (0, 1)})


def test_what_passes_through_infinity_has_no_value() -> None:
    zero = sympy.Integer(0)
    for each in (1 / (1 + 1 / x), exp(-1 / x**2), x / (x + log(x)), erf(1 / x), Max(1, -1 / x)):
        assert ball.sign(each, {x: zero}) is None
        assert not search.defined(each, {x: zero})
    for each in (sqrt(x) ** 3 + 1, Abs(sqrt(x)), log(x) ** 2, x ** Rational(4, 3), (x**3) ** Rational(1, 2) + 7):
        assert ball.sign(each, {x: sympy.Integer(-1)}) is None
    assert ball.sign(1 / (1 + 1 / x), {x: sympy.Integer(1)}) == 1
    assert inequality(Rational(1, 10), 1 / (1 + 1 / x), Domain({x: (0, 0)})).outcome().verdict == "unresolved"


# Tightness


def test_tightness_never_prevents_a_verdict() -> None:
    unit = Domain({a: (0, 1)})
    for each, verdict, status in (
        (inequality(a, 0, unit), "refuted", "fixed"),
        (inequality(-a, 0, unit), "proved", "fixed"),
        (inequality(2, 1, Domain({})), "refuted", "critical"),
        (inequality(1, 2, Domain({})), "proved", "critical"),
        (inequality(2, 0, Domain({})), "refuted", "fixed"),
        (inequality(a, Float("1e400"), unit), "proved", "unknown"),
        (inequality(-a, c * a, unit, constant=(c, 7)), "proved", "any"),
        (inequality(a, -c * a, unit, constant=(c, 1)), "refuted", "none"),
    ):
        assert each.outcome().verdict == verdict
        room = each.tightness()
        assert room.status == status
        assert room.to_dict()["says"] == room.says
        assert "nothing" not in room.says


def test_a_critical_constant_beyond_the_first_search() -> None:
    far = inequality(a / (1 + a / 10**15), c, Domain({a: (0, oo)}), constant=(c, 10**16)).tightness()
    assert far.critical == pytest.approx(1e15, rel=1e-3)
    assert far.certain
    growing = inequality(a, c * sqrt(a), Domain({a: (1, oo)}), constant=(c, 1)).tightness()
    assert growing.status == "at least"
    assert (growing.critical or 0) > 1e40
    square = inequality(a * 10**20, c**2 * (1 + a), Domain({a: (0, oo)}), constant=(c, Rational(1, 2)))
    assert square.outcome().verdict == "refuted"
    assert square.tightness().critical == pytest.approx(1e10, rel=2e-3)


# Errors: one line that names what is wrong


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Domain({a: (0, b)}), r"interval of a must have numbers for its ends .* got b"),
        (lambda: Domain({a: (0, sympy.nan)}), "interval of a must be made of real numbers, without nan"),
        (lambda: Domain({a: (0, sympy.I)}), "interval of a must be made of real numbers, without I"),
        (lambda: Domain({a: (oo, oo)}), "interval of a must not be empty"),
        (lambda: Domain({a: (-2, -1)}), "interval of a must not be empty, with a as the symbol says"),
        (lambda: Domain({n: (Rational(1, 3), Rational(1, 2))}), "interval of n must not be empty, with n as"),
        (lambda: Domain({a: 3}), "interval of a must be a pair of numbers, got 3"),
        (lambda: Domain({"a": (0, 1)}), "a letter must be a sympy Symbol, got a"),
        (lambda: Domain([a]), "intervals of a domain must be a mapping"),
        (lambda: Domain({a: (0, 1)}, a < 1), "where must be a tuple of relations"),
        (lambda: Domain({a: (0, 1)}, (sympy.Eq(a, 1),)), "where must hold relations"),
        (lambda: inequality(a, a, {a: (0, 1)}), "over must be a Domain, got"),
        (lambda: inequality(sympy.nan, a, Domain({a: (0, 1)})), "smaller side must be made of real numbers, without"),
        (lambda: inequality(a, oo, Domain({a: (0, 1)})), "larger side must be made of real numbers, without oo"),
        (lambda: inequality(a, sympy.I * a, Domain({a: (0, 1)})), "larger side must be made of real numbers"),
        (lambda: inequality(a, float("nan"), Domain({a: (0, 1)})), "larger side must be made of real numbers"),
        (lambda: inequality(a < 1, a, Domain({a: (0, 1)})), "smaller side must be a number or an expression"),
        (lambda: inequality(a, {a: 1}, Domain({a: (0, 1)})), "larger side must be a number or an expression"),
        (lambda: inequality(a, 1 / c, Domain({a: (0, 1)}), constant=(c, 0)), "a side must be made of real numbers"),
        (lambda: inequality(a, c, Domain({a: (0, 1)}), constant=(c, a)), "printed constant must be a number"),
        (lambda: inequality(a, c, Domain({a: (0, 1)}), constant=c), "constant must be a letter and its value"),
        (lambda: inequality(cbrt(x), 2, Domain({x: (-1, 1)})).outcome(), r"x in x\*\*\(1/3\) must be nonnegative"),
        (lambda: inequality(cbrt(x - y), 2, BOTH).outcome(), r"x - y in .* must be nonnegative"),
        (lambda: inequality(x ** Rational(2, 5), 2, LINE).outcome(), r"x in x\*\*\(2/5\) must be nonnegative"),
    ],
)
def test_errors_are_one_line(build: Any, words: str) -> None:
    with pytest.raises(InputError, match=words) as raised:
        build()
    assert "\n" not in str(raised.value)


def test_decide_alone_says_nothing_of_points() -> None:
    """A part of a domain may be empty: then what is decided about it holds, and only the whole must have a point."""
    assert decide(x, Domain({x: (-2, -1)}, (Ge(x, 0),))).verdict == "proved"


# A solver's proof can be run again


def test_a_query_can_be_run_again() -> None:
    each = inequality(log(a), sqrt(a), Domain({a: (1, oo)}))
    (query,) = each.details()["queries"]
    assert "; x0 is sqrt(a)\n; x1 is log(sqrt(a))\n" in query
    binary = Path(sys.executable).with_name("z3")
    if not binary.exists():
        pytest.skip("the z3 command is not installed beside its Python package")
    ran = subprocess.run([binary, "-in"], input=query, capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.split() == ["unsat"]


def test_the_solver_reads_no_module_of_the_current_folder(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "z3.py").write_text("raise RuntimeError('stray')")
    (tmp_path / "json.py").write_text("raise RuntimeError('stray')")
    monkeypatch.chdir(tmp_path)
    with smt.Solver(20.0) as solver:
        assert solver.ask("(declare-const x Real)(assert (< (* x x) 0.0))")[0] == "unsat"


# Files of claims, and the processes that read them

OWN = """
{before}
from sympy import log, oo, sqrt, symbols

from dpcheck.bounds.claim import Claim
from dpcheck.bounds.judge import judge
from dpcheck.bounds.prover import Domain, Inequality

x = symbols("x", positive=True)
CLAIMS = (
    Claim("root", "mine", "const", "log x <= sqrt x", "Lemma 1",
          judge(Inequality("r", log(x), sqrt(x), Domain({{x: (1, oo)}})))),
)
"""


def write(folder: Path, before: str) -> str:
    (folder / "own.py").write_text(OWN.format(before=before))
    return str(folder / "own.py")


def test_stray_modules_have_no_say(tmp_path: Path, monkeypatch: Any) -> None:
    for name in ("types", "z3", "sympy", "json", "flint"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('stray')")
    monkeypatch.chdir(tmp_path)
    (one,) = registry.prove(write(tmp_path, ""))
    assert one.verdict == "proved"


def test_a_file_may_import_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "neighbour_of_claims.py").write_text("HERE = True")
    (one,) = registry.prove(write(tmp_path, "from neighbour_of_claims import HERE"))
    assert one.verdict == "proved"


@pytest.mark.thorough
def test_a_file_that_never_ends_is_named(tmp_path: Path) -> None:
    started = time.monotonic()
    with pytest.raises(InputError, match=r"file of claims must be imported within 1 s, got .*own\.py"):
        registry.prove(write(tmp_path, "while True: pass"), seconds=1.0)
    assert time.monotonic() - started < 60


def test_a_file_that_ends_the_process_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must be importable, got .*own\.py: the process .* ended with code 3"):
        registry.prove(write(tmp_path, "import os; os._exit(3)"))


def test_memory_is_limited(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must be importable, got .*own\.py: MemoryError"):
        registry.prove(write(tmp_path, "kept = bytearray(6 * 2**30)"))


@pytest.mark.thorough
def test_the_command_ends_with_two(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dpcheck", "prove", write(tmp_path, "while True: pass"), "--seconds", "1"]
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ, timeout=120)
    assert ran.returncode == 2
    assert ran.stderr.strip().splitlines()[-1].endswith("own.py")
    assert "Traceback" not in ran.stderr
