"""Proofs of polynomial inequalities: products of facts of which the difference is a sum.

A linear program picks products of what is known to be nonnegative (letters less their bounds, the
relations of the domain, squares of differences) whose combination with nonnegative factors is the
difference over a positive denominator. Only the choice is computed here: Coq is given the products
and finds the factors itself, exactly.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import flint
import sympy

from sympy.polys.polyerrors import BasePolynomialError

from dpcheck.bounds.coq.expression import UntranslatedError, Writer, names
from dpcheck.bounds.evidence import AtMost
from dpcheck.bounds.formula import formula
from dpcheck.bounds.prover import Inequality, ball


_MOST_COLUMNS = 20_000
_GRAIN = 1000  # numbers that are not rational are enclosed to one part in this many


@dataclass(frozen=True)
class Problem:
    """``difference >= 0`` is wanted where every one of ``facts`` is nonnegative and ``lows`` bound letters.

    ``names`` gives each letter, and each letter that stands for a root or logarithm, its term;
    ``script`` are the sentences of Coq that have led here.
    """

    difference: Any
    lows: dict[Any, Any]
    facts: tuple[Any, ...]
    names: dict[Any, str]
    script: tuple[str, ...] = field(default=("intros.", "dp_forget."))


def proof(step: Inequality | AtMost) -> str | None:
    """A script for the step, or ``None`` if no products are found."""
    try:
        return _script(_problem(step))
    except (BasePolynomialError, UntranslatedError):
        return None


def _problem(step: Inequality | AtMost) -> Problem:
    """The inequality as a problem, before anything is named."""
    if isinstance(step, AtMost):
        smaller, larger = formula(step.smaller), formula(step.larger)
        letters = names(sorted(smaller.free_symbols | larger.free_symbols, key=str))
        return Problem(larger - smaller, {x: sympy.Integer(0) if x.is_positive else -sympy.oo for x in letters}, (), letters)
    smaller, larger = step.sides()
    lows, facts = {}, []
    for letter, (low, high) in step.over.intervals.items():
        plain = low.is_Rational or not low.is_finite
        lows[letter] = low if plain else sympy.Integer(0) if letter.is_positive else -sympy.oo
        if not plain:
            facts.append(letter - low)
        if high.is_finite:
            facts.append(high - letter)
    facts += step.over.differences()
    return Problem(larger - smaller, lows, tuple(facts), names(step.over.intervals))


def _script(problem: Problem) -> str | None:
    chosen = _choice(problem)
    if chosen is not None:
        branches = [_script(each) for each in _branches(problem, chosen)]
        if any(each is None for each in branches):
            return None
        first, second = (Writer(problem.names)(each) for each in _ordered(chosen, problem))
        kind = "max" if chosen.func is sympy.Max else "min"
        inner = "\n".join("  { " + str(each).replace("\n", "\n    ") + " }" for each in branches)
        return "\n".join([*problem.script, f"dp_case_{kind} ({first}) ({second}).", inner])
    named = _roots(problem)
    named = functools.reduce(_named, _atoms(named), named)
    found = _products(named)
    return None if found is None else "\n".join([*named.script, *found])


def _choice(problem: Problem) -> Any:
    found = sorted(problem.difference.atoms(sympy.Max, sympy.Min), key=lambda each: (each.count_ops(), str(each)))
    if found and len(found[0].args) != 2:
        return None
    return found[0] if found else None


def _branches(problem: Problem, chosen: Any) -> Iterator[Problem]:
    """The maximum is its first argument, then its second."""
    first, second = _ordered(chosen, problem)
    rooted = any(each.exp.is_Rational and each.exp.q == 2 for each in problem.difference.atoms(sympy.Pow) if each.base == chosen)
    for winner, other in ((first, second), (second, first)):
        fact = winner - other if chosen.func is sympy.Max else other - winner
        yield replace(
            problem, difference=problem.difference.xreplace({chosen: winner}), facts=(*problem.facts, fact),
            script=("dp_split_roots.",) if rooted else (),
        )  # fmt: skip


def _ordered(chosen: Any, problem: Problem) -> list[Any]:
    """The two arguments in the order in which they are written."""
    return sorted(chosen.args, key=lambda each: _atom(Writer(problem.names)(each)))


def _roots(problem: Problem) -> Problem:
    """Letters to fractional powers become whole powers of new letters."""
    expressions = [problem.difference, *problem.facts]
    powers = set().union(*(each.atoms(sympy.Pow) for each in expressions))
    exponents: dict[Any, set[Any]] = {}
    for each in powers:
        if each.base.is_Symbol and each.exp.is_Rational and each.exp.q > 1:
            exponents.setdefault(each.base, set()).add(abs(each.exp))
    names, lows, script = dict(problem.names), dict(problem.lows), list(problem.script)
    facts, swap = expressions[1:], {}
    for letter in sorted(exponents, key=str):
        q = math.lcm(*(int(each.q) for each in exponents[letter]))
        root = sympy.Symbol(f"root_{letter}", positive=True)
        old, low = names.pop(letter), lows.pop(letter)
        names[root] = new = f"root_{old}"
        if q == 2:
            script.append(f"dp_root_letter {old} {new}.")
        else:
            script.append(f"dp_nth_root {old} {new} {q}%nat.")
            script += [_power_of_root(new, q, each) for each in sorted(exponents[letter])]
        lows[root] = sympy.Integer(0)
        if low.is_finite and low > 0:
            lows[root] = _enclosed(sympy.root(low, q))[0] if not sympy.root(low, q).is_Rational else sympy.root(low, q)
            script.append(f"assert ({lows[root]} <= {new}) by (destruct (dp_root_low {lows[root]} {new} {q}%nat) as [? | ?]; [ lra | lra | simpl; nra | lra | lia ]).")
        swap[letter] = root**q
    changed = [each.xreplace(swap) for each in (expressions[0], *facts)]
    return replace(
        problem, difference=changed[0], facts=tuple(changed[1:]), lows=lows, names=names, script=tuple(script)
    )  # fmt: skip


def _power_of_root(name: str, q: int, exponent: Any) -> str:
    p = int(exponent * q)
    if exponent.q == 2:
        half = f"replace (sqrt ({name} ^ {q})) with ({name} ^ {q // 2}) in * by "
        return f"{half}(symmetry; apply dp_sqrt_root; [ assumption | reflexivity ])."
    written = f"{exponent.p} / {exponent.q}"
    whole = f"replace (Rpower ({name} ^ {q}) ({written})) with ({name} ^ {p}) in * by "
    return f"{whole}(symmetry; apply dp_Rpower_root; [ assumption | simpl; lra ])."


def _atoms(problem: Problem) -> list[Any]:
    """Roots and logarithms that are not letters, simple ones first."""
    kinds = (sympy.Pow, sympy.log, sympy.exp)
    found = set().union(*(each.atoms(*kinds) for each in (problem.difference, *problem.facts)))
    roots = {sympy.sqrt(p.base) for p in found if p.is_Pow and p.exp.is_Rational and p.exp.q == 2}
    logs = {each for each in found if isinstance(each, sympy.log)}
    numbers = set().union(*(each.atoms(sympy.NumberSymbol) for each in (problem.difference, *problem.facts)))
    return sorted(roots | logs | numbers, key=lambda each: (each.count_ops(), str(each)))


def _named(problem: Problem, atom: Any) -> Problem:
    """The problem with a letter for the atom, and what is known of it."""
    write = Writer(problem.names)
    term = f"({write(atom)})"
    letter = sympy.Symbol(f"atom_{len(problem.names)}", real=True)
    names = {**problem.names, letter: term}
    swap = {atom: letter}
    if atom.is_Pow and atom.free_symbols:
        swap |= {sympy.Pow(atom.base, sympy.Rational(k, 2)): letter**k for k in (-3, -1, 3)}
    facts = [each.xreplace(swap) for each in problem.facts]
    lows, script = dict(problem.lows), list(problem.script)
    if not atom.free_symbols:
        low, high = _enclosed(atom)
        script.append(f"assert (dp_bounds : {write(low)} <= {term} <= {write(high)}) by (split; dp_interval).")
        script.append("destruct dp_bounds.")
        lows[letter] = low
        facts.append(high - letter)
    elif atom.is_Pow:
        script.append(f"assert (0 <= {term}) by apply sqrt_pos.")
        script.append(f"assert ({term} ^ 2 = {write(atom.base)}) by (apply pow2_sqrt; dp_sign).")
        lows[letter] = sympy.Integer(0)
        facts += [letter**2 - atom.base, atom.base - letter**2]
    else:
        low = _least(atom.args[0], problem)
        lows[letter] = -sympy.oo
        if low is not None and low > 0:
            below, _ = _enclosed(sympy.log(low))
            script.append(f"assert ({write(below)} <= {term}) by (apply (dp_ln_low {_atom(write(low))}); [ dp_interval | lra | dp_polynomial ]).")
            lows[letter] = below
    difference = problem.difference.xreplace(swap)
    return Problem(difference, lows, tuple(facts), names, tuple(script))


def _least(expression: Any, problem: Problem) -> Any:
    """The least value at the corners of the domain, which Coq then has to prove least."""
    highs = {}
    for fact in problem.facts:
        for letter in fact.free_symbols:
            if fact.free_symbols == {letter} and fact.is_polynomial(letter) and sympy.Poly(fact, letter).degree() == 1:
                slope, rest = sympy.Poly(fact, letter).all_coeffs()
                if slope < 0:
                    highs[letter] = -rest / slope
    ends = [[end for end in (problem.lows[x], highs.get(x)) if end is not None] for x in expression.free_symbols]
    found = []
    for corner in itertools.product(*ends):
        value = expression.subs(dict(zip(expression.free_symbols, corner, strict=True)))
        if value.is_Rational:
            found.append(value)
    return min(found, default=None)


def _enclosed(number: Any) -> tuple[Any, Any]:
    saved = flint.ctx.prec
    try:
        flint.ctx.prec = 96
        middle = ball.exact(number) * _GRAIN
        low = sympy.Rational(int(middle.lower().floor().unique_fmpz()), _GRAIN)
        return low, low + sympy.Rational(1, _GRAIN)
    finally:
        flint.ctx.prec = saved


def _products(problem: Problem) -> list[str] | None:
    """The sentences that close the goal, or ``None`` if the linear program finds no products."""
    letters = sorted(problem.difference.free_symbols.union(*(f.free_symbols for f in problem.facts)), key=str)
    if not letters or not problem.difference.is_rational_function(*letters):
        return None
    write = Writer(problem.names)
    sentences, facts = [], []
    for fact in problem.facts:
        if not fact.is_rational_function(*letters):
            continue
        above, below = _stripped(fact, problem.lows)
        name = f"({write(above)})"
        scale = _atom(write(below))
        sentences.append(
            f"assert (0 <= {write(above)}) by "
            f"(apply (dp_scaled {_atom(write(fact))} {scale}); [ lra | dp_sign | field; dp_side ])."
        )
        facts.append((name, above))
    for name, fact, proof in _rooted(facts, problem.lows, write):
        sentences.append(f"assert (0 <= {name[1:-1]}) by ({proof}).")
        facts.append((name, fact))
    numerator, denominator = _stripped(problem.difference, problem.lows)
    shifts = {x: low for x, low in problem.lows.items() if low.is_finite and low != 0}
    plain = [(f"({write(x - low)})", x - low) for x, low in shifts.items()]
    for lows, known in ((problem.lows, facts), (problem.lows | dict.fromkeys(shifts, sympy.Integer(0)), facts + plain)):
        for wide, multiplied in ((False, False), (False, True), (True, False), (True, True)):
            space = _Space(letters, lows, known, write)
            found = space.combination(numerator, wide, multiplied)
            if found is not None:
                total, multiplier = found
                scale = write(denominator) if multiplier == "1" else f"{_atom(write(denominator))} * {multiplier}"
                apply = f"apply (dp_combination _ _ {_atom(scale)} ({total}));"
                return [*sentences, apply, "  [ dp_sign | field; dp_side | dp_sign ]."]
        if not shifts:
            break
    return None


def _stripped(expression: Any, lows: dict[Any, Any]) -> tuple[Any, Any]:
    """A polynomial without common powers of positive letters, and what the expression is multiplied by for it."""
    above, below = sympy.fraction(sympy.together(expression))
    above = sympy.expand(above)
    letters = sorted((x for x in above.free_symbols if x.is_positive), key=str)
    common = sympy.Integer(1)
    if letters:
        powers, _ = sympy.Poly(above, *letters).terms_gcd()
        common = sympy.prod([x**k for x, k in zip(letters, powers, strict=True)])
    if below.xreplace({x: _inside(x, lows) for x in below.free_symbols}) < 0:
        above, below = -above, -below
    return sympy.expand(above / common), below / common


def _inside(letter: Any, lows: dict[Any, Any]) -> Any:
    """A value just above the least, where a denominator shows its sign."""
    return (lows[letter] if lows[letter].is_finite else 0) + sympy.Rational(1, 1000)


def _rooted(facts: list[tuple[str, Any]], lows: dict[Any, Any], write: Writer) -> Iterator[tuple[str, Any, str]]:
    """From a x^2 <= b y^2 with positive letters: x <= c y with a number c just above the root of b/a."""
    for _, fact in facts:
        terms = sympy.Add.make_args(fact)
        if len(terms) != 2:
            continue
        (a, small), (b, large) = sorted((each.as_coeff_Mul() for each in terms), key=lambda pair: pair[0])
        x, y = sympy.sqrt(small), sympy.sqrt(large)
        if not (a < 0 < b and x.is_Symbol and y.is_Symbol and x.is_positive and y.is_positive):
            continue
        ratio = sympy.sqrt(-b / a)
        c = ratio if ratio.is_Rational else _enclosed(ratio)[1]
        derived = c * y - x
        yield f"({write(derived)})", derived, f"apply dp_root_order; [ dp_sign | dp_sign | lra ]"


class _Space:
    """Products of letters, of facts and of squares, in which a polynomial is to be written."""

    def __init__(self, letters: list[Any], lows: dict[Any, Any], facts: list[tuple[str, Any]], write: Writer) -> None:
        self._letters, self._lows, self._write = letters, lows, write
        self._free = [not lows[x].is_finite for x in letters]
        self._ring = sympy.ring(letters, sympy.QQ)[0]
        self._shifts = {x: low + x for x, low in lows.items() if low.is_finite and low != 0}
        self._facts = [(name, self._shifted(fact)) for name, fact in facts]

    def _shifted(self, expression: Any) -> Any:
        polynomial = sympy.Poly(expression.xreplace(self._shifts), *self._letters, domain=sympy.QQ)
        return self._ring(dict(polynomial.rep.to_dict()))

    def combination(self, numerator: Any, wide: bool, multiplied: bool) -> tuple[str, str] | None:
        """The numerator times a positive multiplier as a nonnegative combination of products, and the multiplier."""
        goal, multiplier = self._shifted(numerator), "1"
        if multiplied:
            positive = [i for i, free in enumerate(self._free) if not free]
            goal *= sum((self._ring.gens[i] for i in positive), self._ring.one)
            multiplier = "(" + " + ".join(["1", *(self._letter(i) for i in positive)]) + ")"
        if all(c >= 0 for c in goal.coeffs()) and not any(self._free):
            return self._sum([(c, self._product((), m)) for m, c in goal.terms()]), multiplier
        columns = [*self._columns(goal, wide), *self._squares(goal)]
        found = _solve(goal, columns)
        return None if found is None else (self._sum(found), multiplier)

    def _sum(self, parts: list[tuple[Any, str]]) -> str:
        factors = ((self._write(sympy.Rational(int(c.numerator), int(c.denominator))), name) for c, name in parts)
        return " + ".join(name if c == "1" else f"{c} * {name}" for c, name in factors) or "0"

    def _columns(self, goal: Any, wide: bool) -> Iterator[tuple[str, dict[Any, Any]]]:
        count = 0
        most = [max((m[i] for m in goal.monoms()), default=0) for i in range(len(self._letters))]
        if wide:
            reaches = [[max(m[i] for m in fact.monoms()) for i in range(len(most))] for _, fact in self._facts if fact]
            most = [max(each) for each in zip(most, *reaches, strict=True)]
        for size in range(4):
            for chosen in itertools.combinations_with_replacement(self._facts, size):
                product = math.prod((fact for _, fact in chosen), start=self._ring.one)
                if not product:
                    continue
                reach = [max(m[i] for m in product.monoms()) for i in range(len(most))]
                steps = [range(0, m - r + 1, 2 if odd else 1) for r, m, odd in zip(reach, most, self._free, strict=True)]
                count += math.prod(len(each) for each in steps)
                if count > _MOST_COLUMNS:
                    return
                for powers in itertools.product(*steps):
                    name = self._product(tuple(name for name, _ in chosen), powers)
                    yield name, {tuple(map(sum, zip(m, powers, strict=True))): c for m, c in product.terms()}

    def _squares(self, goal: Any) -> Iterator[tuple[str, dict[Any, Any]]]:
        """Squares of differences of monomials, for each term between two positive ones."""
        positive = {m: c for m, c in goal.terms() if c > 0}
        for m, c in goal.terms():
            for low, a in positive.items():
                high = tuple(2 * k - j for k, j in zip(m, low, strict=True))
                if high not in positive or low >= high:
                    continue
                shared = tuple(min(j, k) for j, k in zip(low, high, strict=True))
                u, v = ([(j - s) for j, s in zip(side, shared, strict=True)] for side in (low, high))
                if any(k % 2 for k in (*u, *v)) or any(f and s % 2 for f, s in zip(self._free, shared, strict=True)):
                    continue
                first, second = (self._product((), tuple(k // 2 for k in side)) for side in (u, v))
                for ratio in {sympy.QQ(1), abs(c) / (2 * a), 2 * positive[high] / abs(c)}:
                    r = ratio if c > 0 else -ratio
                    written = self._write(sympy.Rational(int(r.numerator), int(r.denominator)))
                    name = f"{self._product((), shared)} * ({first} + ({written}) * {second}) ^ 2"
                    yield name, {low: sympy.QQ(1), m: 2 * r, high: r * r}

    def _letter(self, index: int) -> str:
        letter = self._letters[index]
        low = self._lows[letter]
        return self._write(letter) if low == 0 or not low.is_finite else f"({self._write(letter - low)})"

    def _product(self, chosen: tuple[str, ...], powers: Any) -> str:
        parts = [self._letter(i) if k == 1 else f"{self._letter(i)} ^ {k}" for i, k in enumerate(powers) if k]
        return " * ".join([*chosen, *parts]) or "1"


def _solve(goal: Any, columns: list[tuple[str, dict[Any, Any]]]) -> list[tuple[Any, str]] | None:
    """Nonnegative factors of columns that add up to the goal: picked in floating point, solved exactly."""
    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix

    if not columns:
        return None
    rows = {m: i for i, m in enumerate(sorted({m for _, terms in columns for m in terms} | set(goal.monoms())))}
    entries = [(rows[m], j, float(c)) for j, (_, terms) in enumerate(columns) for m, c in terms.items()]
    at, j, values = zip(*entries, strict=True)
    matrix = coo_matrix((values, (at, j)), shape=(len(rows), len(columns))).tocsr()
    right = np.zeros(len(rows))
    for m, c in goal.terms():
        right[rows[m]] = float(c)
    size = np.abs(right).max() or 1.0
    costs = [1.0 + 0.01 * len(name) for name, _ in columns]
    found = linprog(costs, A_eq=matrix, b_eq=right / size, bounds=(0, None), method="highs-ds")
    if found.status != 0:
        return None
    support = [int(k) for k in np.flatnonzero(found.x > 1e-11)]
    return _exact(goal, [columns[k] for k in support], [float(found.x[k] * size) for k in support])


def _exact(goal: Any, columns: list[tuple[str, dict[Any, Any]]], guesses: list[float]) -> list[tuple[Any, str]] | None:
    letters = sympy.symbols(f"x:{len(columns)}")
    monomials = sorted({m for _, terms in columns for m in terms} | set(goal.monoms()))
    known = dict(goal.terms())
    matrix = sympy.Matrix([[terms.get(m, sympy.QQ(0)) for _, terms in columns] for m in monomials])
    target = sympy.Matrix([known.get(m, sympy.QQ(0)) for m in monomials])
    solved = list(sympy.linsolve((matrix, target), *letters)) if columns else []
    if not solved:
        return None
    free = {x: sympy.Rational(guess).limit_denominator(1000) for x, guess in zip(letters, guesses, strict=True)}
    values = [each.subs(free) for each in solved[0]]
    if any(value < 0 for value in values):
        return None
    return [(sympy.QQ(int(v.p), int(v.q)), name) for v, (name, _) in zip(values, columns, strict=True) if v != 0]


def _atom(term: str) -> str:
    return f"({term})" if " " in term else term
