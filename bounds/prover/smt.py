"""The second route: a solver looks for a point where the inequality fails.

The negation goes to z3 (simplify, purify-arith, qfnra-nlsat) with every logarithm a free letter.
A model whose letter is not the true logarithm is cut off by lemmas at its argument p, with
rational constants on the safe side of log p: the tangents log a <= log p + (a - p)/p and
log a >= log p + 1 - p/a, and the secants between neighbouring p. So ``unsat`` is a proof about the
true logarithm, and a model counts only once the inequality fails there with the true functions.

The solver runs in a process of its own, which is killed when its time is up.
"""

from __future__ import annotations

import functools
import itertools
import json
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import flint
import sympy

from dpcheck.bounds.prover.forms import Form, Tie


def least_positive(polynomial: Any) -> Any:
    """Return the least positive number among those that the polynomial can be; ``None`` if not all its letters are
    integers.

    At integers it is its constant term plus a multiple of the greatest common divisor of the other
    coefficients; an even letter is taken as 2 j, an odd one as 2 j + 1.
    """
    letters = sorted(polynomial.free_symbols, key=str)
    if not letters or not all(letter.is_integer for letter in letters) or not polynomial.is_polynomial(*letters):
        return None
    halved = [letter for letter in letters if letter.is_even or letter.is_odd]
    parity = {letter: 2 * sympy.Dummy() + (1 if letter.is_odd else 0) for letter in halved}
    terms = sympy.Poly(polynomial.xreplace(parity)).terms()
    if not all(coefficient.is_Rational for _, coefficient in terms):
        return None
    constant = sum((c for powers, c in terms if not any(powers)), sympy.S.Zero)
    others = [c for powers, c in terms if any(powers)]
    if not others:
        return None
    step = abs(functools.reduce(sympy.gcd, others))
    return constant % step or step


_ROUNDS = 60
MEMORY = 4 * 2**30  # bytes a solver may take
_FIRST = (Fraction(1, 10), Fraction(1), Fraction(2), Fraction(10), Fraction(100))  # where lemmas start
_KEPT = (  # of a letter's assumptions
    "positive", "negative", "nonnegative", "nonpositive", "integer", "even", "odd", "nonzero",
)  # fmt: skip
_SHORT, _WORK = 8, 1_000_000  # rounds and steps of the solver in a first, short attempt
_CHILD = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
import z3
def fraction(value):
    if z3.is_algebraic_value(value):
        value = value.approx(40)
    return str(value.as_fraction())
for line in sys.stdin:
    goal = z3.Then("simplify", "purify-arith", "qfnra-nlsat").solver()
    text, work = json.loads(line)
    if work:
        goal.set("rlimit", work)
    goal.add(z3.parse_smt2_string(text))
    answer = str(goal.check())
    model = goal.model() if answer == "sat" else ()
    print(json.dumps([answer, {str(name): fraction(model[name]) for name in model}]), flush=True)
"""


class Solver:
    """A z3 process, killed on leaving the ``with`` block or when ``seconds`` are up."""

    def __init__(self, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _CHILD.replace("MEMORY", str(MEMORY))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def __enter__(self) -> Solver:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def ask(self, text: str, work: int = 0) -> tuple[str, dict[str, Fraction]]:
        """Return ``("sat", model)``, ``("unsat", {})``, or ``("unknown", {})`` also when time or ``work`` is used
        up.
        """
        pipe_in, pipe_out = self._process.stdin, self._process.stdout
        assert pipe_in is not None and pipe_out is not None
        left = self._deadline - time.monotonic()
        if left <= 0:
            return "unknown", {}
        try:
            pipe_in.write((json.dumps([text, work]) + "\n").encode())
            pipe_in.flush()
        except BrokenPipeError:
            return "unknown", {}
        ready, _, _ = select.select([pipe_out], [], [], left)
        line = pipe_out.readline() if ready else b""
        if not line:
            return "unknown", {}
        answer, model = json.loads(line)
        return answer, {letter: Fraction(value) for letter, value in model.items()}


def decide(
    form: Form, genuine: Callable[[dict[Any, Any]], Any], seconds: float, short: bool = False
) -> tuple[str, Any, str]:
    """Return ``("proved", None, text)``, ``("refuted", point, text)`` or ``("unresolved", values, text)``.

    ``genuine`` takes values of the form's letters and returns the refuting point in the original
    letters, or ``None``. ``values`` is the last model, or ``None``. ``text`` is the last problem in
    SMT-LIB, which any solver can be given. A ``short`` attempt ends after a few rounds.
    """
    points: dict[int, list[Fraction]] = {index: list(_FIRST) for index in range(len(form.ties))}
    text, values = "", None
    with Solver(seconds) as solver:
        for _ in range(_SHORT if short else _ROUNDS):
            text = problem(form, points)
            answer, model = solver.ask(text, _WORK if short else 0)
            if answer == "unsat":
                return "proved", None, text
            if answer != "sat":
                break
            values = {letter: _sympy(model.get(str(name), Fraction(1))) for letter, name in _names(form).items()}
            failure = genuine(values)
            if failure is not None:
                return "refuted", failure, text
            if not _refine(form, values, points):
                break
    return "unresolved", values, text


def problem(form: Form, points: dict[int, list[Fraction]]) -> str:
    """Return the negation in SMT-LIB: a letter each, bounds, facts, lemmas at ``points``, and the failure."""
    names = _names(form)
    lines = [f"(declare-const {name} Real)" for name in names.values()]
    renamed = Form(
        form.difference.xreplace(names),
        {names[letter]: ends for letter, ends in form.intervals.items()},
        [fact.xreplace(names) for fact in form.facts],
        [equation.xreplace(names) for equation in form.equations],
        [Tie(names[tie.letter], tie.kind, tie.argument.xreplace(names)) for tie in form.ties],
        above=[(rounding.xreplace(names), strict) for rounding, strict in form.above],
        strict=form.strict,
    )
    return "\n".join([*lines, *(f"(assert {condition})" for condition in _conditions(renamed, points))])


def query(form: Form, text: str) -> str:
    """Return the problem with what its letters mean and the command that runs it: ``z3 -in`` answers unsat."""
    meanings = [f"; {name} is {form.meanings.get(letter, letter)}" for letter, name in _names(form).items()]
    return "\n".join([*meanings, text, "(check-sat-using (then simplify purify-arith qfnra-nlsat))"]) + "\n"


def _names(form: Form) -> dict[Any, Any]:
    """Return letters that no solver can take for another or for a word of its own."""
    return {
        letter: sympy.Symbol(f"x{index}", real=True, **{key: True for key in _KEPT if getattr(letter, f"is_{key}")})
        for index, letter in enumerate(form.intervals)
    }


def _conditions(form: Form, points: dict[int, list[Fraction]]) -> Iterator[str]:
    for letter, (low, high) in form.intervals.items():
        if low.is_finite:
            yield f"({'>' if low == 0 and letter.is_positive else '>='} {letter} {_text(low)})"
        if high.is_finite:
            yield f"({'<' if high == 0 and letter.is_negative else '<='} {letter} {_text(high)})"
        if letter.is_nonzero and not (letter.is_positive or letter.is_negative):
            yield f"(or (>= {letter} 1.0) (<= {letter} (- 1.0)))" if letter.is_integer else f"(not (= {letter} 0.0))"
    for fact, strict in itertools.zip_longest(form.facts, form.strict, fillvalue=False):
        least = least_positive(_product(fact)) if strict else None
        yield f"(>= {_cleared(fact)} {_text(least or sympy.S.Zero)})"
    for rounding, strict in form.above:
        least = least_positive(_product(rounding)) if strict else None
        yield f"({'>' if strict and least is None else '>='} {_cleared(rounding)} {_text(least or sympy.S.Zero)})"
    for equation in form.equations:
        numerator, _ = sympy.fraction(sympy.together(equation))
        yield f"(= {_text(sympy.expand(numerator))} 0)"
    for index, tie in enumerate(form.ties):
        value, argument = (tie.letter, tie.argument) if tie.kind == "log" else (tie.argument, tie.letter)
        yield from _lemmas(value, argument, sorted(set(points[index])))
    most = least_positive(-_product(form.difference)) if _together(form.difference) else None
    yield f"(< {_cleared(form.difference)} 0)" if most is None else f"(<= {_cleared(form.difference)} {_text(-most)})"


def _together(difference: Any) -> bool:
    """Say whether to use at once that its letters are integers; a single letter is cut, which gives certificates."""
    letters = difference.free_symbols
    return len(letters) > 1 or any(letter.is_even or letter.is_odd for letter in letters)


def _lemmas(value: Any, argument: Any, points: list[Fraction]) -> Iterator[str]:
    """Yield what every pair (log a, a) satisfies."""
    yield f"(> {_cleared(argument)} 0)"
    bounds = [(point, *_log_bounds(point)) for point in points]
    for p, low, high in bounds:
        yield f"(<= {_cleared(value - _sympy(high) - (argument - _sympy(p)) / _sympy(p))} 0)"
        yield f"(>= {_cleared(argument * (value - _sympy(low) - 1) + _sympy(p))} 0)"
        above = _cleared(argument - _sympy(p))
        yield f"(=> (>= {above} 0) (>= {_cleared(value - _sympy(low))} 0))"
        yield f"(=> (<= {above} 0) (<= {_cleared(value - _sympy(high))} 0))"
    for (p, low_p, _), (r, low_r, _) in itertools.pairwise(bounds):
        slope = (low_r - low_p) / (r - p)
        line = _cleared(value - _sympy(low_p) - _sympy(slope) * (argument - _sympy(p)))
        inside = f"(and (>= {_cleared(argument - _sympy(p))} 0) (<= {_cleared(argument - _sympy(r))} 0))"
        yield f"(=> {inside} (>= {line} 0))"


def _refine(form: Form, values: dict[Any, Any], points: dict[int, list[Fraction]]) -> bool:
    """Add the model's arguments to the points of the lemmas; ``False`` if none is new."""
    new = False
    for index, tie in enumerate(form.ties):
        argument = (tie.argument if tie.kind == "log" else tie.letter).subs(values)
        if argument.is_Rational and argument > 0:
            point = Fraction(int(argument.p), int(argument.q))
            simple = point.limit_denominator(10**6) or point
            if simple not in points[index]:
                points[index].append(simple)
                new = True
    return new


def _log_bounds(point: Fraction) -> tuple[Fraction, Fraction]:
    """Return rationals below and above log(point)."""
    if point == 1:
        return Fraction(0), Fraction(0)
    with flint.ctx.workprec(64):
        enclosed = flint.arb(flint.fmpq(point.numerator, point.denominator)).log()
        edges = [edge.mid().man_exp() for edge in (enclosed.lower(), enclosed.upper())]
    low, high = (Fraction(int(man)) * Fraction(2) ** int(exp) for man, exp in edges)
    return low, high


@functools.lru_cache(maxsize=20_000)  # each round asks about most of the same bounds again
def _cleared(expression: Any) -> str:
    """Return an expression of the same sign without division."""
    return _text(_product(expression))


def _product(expression: Any) -> Any:
    numerator, denominator = sympy.fraction(sympy.together(expression))
    return sympy.expand(numerator if denominator.is_positive else numerator * denominator)


def _text(expression: Any) -> str:
    if expression.is_Rational:
        p, q = int(expression.p), int(expression.q)
        whole = f"{abs(p)}.0" if q == 1 else f"(/ {abs(p)}.0 {q}.0)"
        return f"(- {whole})" if p < 0 else whole
    if expression.is_Symbol:
        return str(expression)
    if expression.is_Pow:
        return "(* " + " ".join([_text(expression.base)] * int(expression.exp)) + ")"
    sign = "+" if expression.is_Add else "*"
    return f"({sign} {' '.join(_text(part) for part in expression.args)})"


def _sympy(value: Fraction) -> Any:
    return sympy.Rational(value.numerator, value.denominator)
