"""Norms and inner products of vectors of any dimension, as letters that are entries of one Gram matrix.

The letter ``<x, y>`` stands for the inner product of the vectors x and y, ``<x, x>`` for a squared norm. All such
letters of a domain together are the entries of a symmetric matrix, and the values that vectors of some dimension give
them are just those at which it is positive semidefinite. A domain with such letters says that of them.

An inequality that is linear in the letters is proved by multipliers: the difference less multiples, at least 0, of
conditions is the sum of S_ij <v_i, v_j> with S positive semidefinite, which its principal minors show. All others are
tried with the minors of two vectors (Cauchy and Schwarz) as further conditions.
"""

from __future__ import annotations

import functools
import itertools
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import sympy

from dpcheck.bounds.prover.numeric import numeric
from dpcheck.errors import InputError, require

_NAME = re.compile(r"<(?P<first>[^<>,]+), (?P<second>[^<>,]+)>")
_MOST = 5  # vectors whose minors are looked at
_DRAWS = 40_000  # of vectors, in search of a failure
_LOOKED_AT = 60  # of those that seem to fail


def entry(first: Any, second: Any) -> Any:
    """Return the letter for the inner product of two vectors."""
    names = sorted((str(first), str(second)))
    sign = {"nonnegative": True} if names[0] == names[1] else {"real": True}
    return sympy.Symbol(f"<{names[0]}, {names[1]}>", **sign)


def gram(*vectors: Any) -> tuple[Any, ...]:
    """Return the letters for all inner products of some vectors, fit for ``over``.

    Parameters
    ----------
    *vectors : Symbol
        Letters that stand for vectors of one dimension, whatever it is.

    Returns
    -------
    tuple of Symbol
        One for each pair, the squared norms among them.

    Examples
    --------
    >>> from sympy import symbols
    >>> gram(*symbols("x y"))
    (<x, x>, <x, y>, <y, y>)
    """
    return tuple(itertools.starmap(entry, itertools.combinations_with_replacement(vectors, 2)))


def inner(first: Any, second: Any, vectors: Sequence[Any]) -> Any:
    """Return the inner product of two sums of multiples of ``vectors``, in the letters of :func:`gram`.

    Parameters
    ----------
    first, second : Expr
        The sums.
    vectors : sequence of Symbol
        The letters in them that stand for vectors; all others are numbers.

    Returns
    -------
    Expr
        A sum of multiples of the letters.

    Examples
    --------
    >>> from sympy import symbols
    >>> x, y = symbols("x y")
    >>> inner(x - y, x + 2 * y, (x, y))
    <x, x> + <x, y> - 2*<y, y>
    """
    pairs = itertools.product(_parts(first, vectors), _parts(second, vectors))
    return sympy.expand(sum((a * b * entry(u, v) for (u, a), (v, b) in pairs), sympy.S.Zero))


def norm(vector: Any, vectors: Sequence[Any]) -> Any:
    """Return the norm of a sum of multiples of ``vectors``; its square is that of :func:`inner`."""
    return sympy.sqrt(inner(vector, vector, vectors))


def _parts(vector: Any, vectors: Sequence[Any]) -> list[tuple[Any, Any]]:
    expanded = sympy.expand(sympy.sympify(vector, strict=True))
    factors = [(letter, expanded.coeff(letter, 1)) for letter in vectors]
    rest = sympy.expand(expanded - sum(factor * letter for letter, factor in factors))
    linear = rest == 0 and not any(factor.has(*vectors) for _, factor in factors)
    require(linear, "a vector", f"be a sum of multiples of {', '.join(map(str, vectors))}", vector)
    return [(letter, factor) for letter, factor in factors if factor != 0]


def pair(letter: Any) -> tuple[str, str] | None:
    """Return the names of the two vectors whose inner product the letter stands for."""
    match = _NAME.fullmatch(letter.name)
    return (match["first"], match["second"]) if match else None


def named(letters: Iterable[Any]) -> dict[frozenset[str], Any]:
    """Return the letters that are inner products, by their vectors.

    Raises :class:`~dpcheck.errors.InputError` where one of a pair is missing, or is there twice.
    """
    found: dict[frozenset[str], Any] = {}
    for letter in letters:
        if (names := pair(letter)) is not None:
            require(frozenset(names) not in found, "an inner product", "be named once", letter.name)
            require(not letter.is_integer, "an inner product", "be any real number", letter.name)
            found[frozenset(names)] = letter
    for first, second in itertools.combinations_with_replacement(sorted(set[str]().union(*found)), 2):
        there = frozenset((first, second)) in found
        require(there, "a domain with inner products", "have those of all its vectors", f"no <{first}, {second}>")
    return found


def matrix(found: Mapping[frozenset[str], Any]) -> Any:
    """Return the Gram matrix in its letters, the vectors in the order of their names."""
    names = sorted(set[str]().union(*found))
    return sympy.Matrix(len(names), len(names), lambda i, j: found[frozenset((names[i], names[j]))])


def minors(square: Any) -> Iterator[Any]:
    """Yield all principal minors: the matrix is positive semidefinite if and only if none is negative."""
    for size in range(1, square.rows + 1):
        for chosen in itertools.combinations(range(square.rows), size):
            yield square.extract(list(chosen), list(chosen)).det(method="berkowitz")


def semidefinite(values: Mapping[Any, Any]) -> bool:
    """Say whether the inner products among exact values are those of vectors, for certain; there may be none."""
    from dpcheck.bounds.prover import ball  # which sympy's letters pass through first

    try:
        found = named(values)
    except InputError:  # some are missing
        return False
    if not found:
        return True
    square = matrix({names: values[letter] for names, letter in found.items()})
    return all(ball.sign(minor, {}) in (0, 1) for minor in minors(square))


def settled(
    difference: Any, domain: Any, genuine: Callable[[Mapping[Any, Any]], Any]
) -> tuple[Any, tuple[tuple[Any, ...], str] | None]:  # fmt: skip
    """Return inner products of explicit vectors, and values of the other letters, at which the difference is negative
    for certain; else plain inequalities that show that it is not, and the idea.
    """
    point = next(points(domain, (difference,), genuine), None)
    found = named(domain.intervals)
    if point is not None or len(set[str]().union(*found)) > _MOST:
        return point, None
    return None, _linear(difference, domain, found) or _with_minors(difference, domain, found)


def _linear(difference: Any, domain: Any, found: Mapping[frozenset[str], Any]) -> tuple[tuple[Any, ...], str] | None:
    """Return a proof with multipliers of the conditions, for what is linear in the inner products."""
    entries = set(found.values())
    facts = [fact for fact in domain.differences() if fact.has(*entries)]
    form = form_of(difference, found)
    forms = [form_of(fact, found) for fact in facts]
    if form is None:
        return None
    used = [(fact, shape) for fact, shape in zip(facts, forms, strict=True) if shape is not None]
    kept = tuple(relation for relation in domain.where if not relation.has(*entries))
    scalars = type(domain)({x: ends for x, ends in domain.intervals.items() if x not in entries}, kept)
    for factors in _multipliers(form, [shape for _, shape in used], scalars):
        parts = _shown(form, [shape for _, shape in used], factors, scalars)
        if parts is not None:
            names = [f"{factor} times ({fact})" for factor, (fact, _) in zip(factors, used, strict=True) if factor != 0]
            less = f" less {' and '.join(names)}" if names else ""
            return parts, f"the difference{less} is a positive semidefinite form of the vectors"
    return None


def form_of(expression: Any, found: Mapping[frozenset[str], Any]) -> tuple[Any, Any] | None:
    """Return the matrix S and the rest with which an expression is the sum of S_ij <v_i, v_j> and the rest."""
    expanded = sympy.expand(expression)
    entries = list(found.values())
    slopes = {letter: expanded.coeff(letter, 1) for letter in entries}
    rest = sympy.expand(expanded - sum(slope * letter for letter, slope in slopes.items()))
    if rest.has(*entries) or any(slope.has(*entries) for slope in slopes.values()):
        return None
    names = sorted(set[str]().union(*found))

    def factor(i: int, j: int) -> Any:
        return slopes[found[frozenset((names[i], names[j]))]] / (1 if i == j else 2)

    return sympy.Matrix(len(names), len(names), factor), rest


def _multipliers(form: tuple[Any, Any], forms: list[tuple[Any, Any]], scalars: Any) -> Iterator[list[Any]]:
    """Yield guesses of the multipliers: none, those that make entries of the form vanish, and where its minors peak."""
    count = len(forms)
    yield [sympy.S.Zero] * count
    if not count or count > 4:
        return
    unknown = sympy.symbols(f"m:{count}", cls=sympy.Dummy)
    left = form[0] - sum((u * shape for u, (shape, _) in zip(unknown, forms, strict=True)), sympy.zeros(*form[0].shape))
    size = left.rows
    equations = [left[i, j] for i in range(size) for j in range(i, size) if left[i, j].has(*unknown)]
    for i, j in itertools.combinations(range(size), 2):
        minor = sympy.expand(left[i, i] * left[j, j] - left[i, j] ** 2)
        equations += [minor.diff(u) for u in unknown if sympy.degree(minor, u) == 2]
    seen = set()
    for chosen in range(1, count + 1):  # that are not 0
        for active in itertools.combinations(unknown, chosen):
            off = {u: sympy.S.Zero for u in unknown if u not in active}
            open_ones = [e.xreplace(off) for e in dict.fromkeys(equations) if e.has(*active)]
            for few in itertools.islice(itertools.combinations(open_ones, chosen), 200):
                try:
                    solved = sympy.solve(few, active, dict=True)
                except (NotImplementedError, ValueError):
                    continue
                for answer in solved:
                    factors = [off.get(u, answer.get(u, u)) for u in unknown]
                    if not any(factor.has(*unknown) for factor in factors) and tuple(factors) not in seen:
                        seen.add(tuple(factors))
                        yield [sympy.factor(factor) for factor in factors]


def _shown(
    form: tuple[Any, Any], forms: list[tuple[Any, Any]], factors: list[Any], scalars: Any
) -> tuple[Any, ...] | None:
    """Return the inequalities that the multipliers, the minors and the rest are not negative, if all are proved."""
    from dpcheck.bounds.prover import known
    from dpcheck.bounds.prover.inequality import Inequality

    left, rest = form
    for factor, (shape, other) in zip(factors, forms, strict=True):
        left, rest = left - factor * shape, rest - factor * other
    goals = [("a multiplier", factor) for factor in factors]
    goals += [("a principal minor", minor) for minor in minors(left.applyfunc(sympy.cancel))]
    goals += [("what has no vectors", rest)]
    parts = []
    for says, goal in dict.fromkeys((says, sympy.factor(goal)) for says, goal in goals):
        if goal.is_nonnegative and not goal.free_symbols:
            continue
        if not known.defined(goal, scalars):
            return None
        part = Inequality(f"{says} is not negative", sympy.S.Zero, goal, scalars)
        if not part.holds():
            return None
        parts.append(part)
    return tuple(parts)


def _with_minors(
    difference: Any, domain: Any, found: Mapping[frozenset[str], Any]
) -> tuple[tuple[Any, ...], str] | None:
    """Return the inequality itself, with what Cauchy and Schwarz say as conditions on letters like any others."""
    from dpcheck.bounds.prover.inequality import Inequality

    plain = {letter: sympy.Symbol("_dot_".join(pair(letter) or ()), **_sign(letter)) for names, letter in found.items()}
    taken = {letter.name for letter in domain.intervals}
    if any(letter.name in taken for letter in plain.values()):
        return None
    facts = [
        minor.xreplace(plain)
        for size in (2, 3) for chosen in itertools.combinations(range(matrix(found).rows), size)
        for minor in [matrix(found).extract(list(chosen), list(chosen)).det(method="berkowitz")]
    ]  # fmt: skip
    where = tuple(relation.xreplace(plain) for relation in domain.where) + tuple(sympy.Ge(fact, 0) for fact in facts)
    over = type(domain)({plain.get(x, x): ends for x, ends in domain.intervals.items()}, where)
    part = Inequality("with the inequality of Cauchy and Schwarz", sympy.S.Zero, difference.xreplace(plain), over)
    return ((part,), "by the inequality of Cauchy and Schwarz") if part.holds() else None


def _sign(letter: Any) -> dict[str, bool]:
    return {"nonnegative": True} if letter.is_nonnegative else {"real": True}


def points(
    domain: Any, expressions: Sequence[Any], genuine: Callable[[Mapping[Any, Any]], Any], *, failing: bool = True
) -> Iterator[Mapping[Any, Any]]:
    """Yield what ``genuine`` makes of inner products of explicit vectors; of all that are drawn, or those that seem to
    fail.
    """
    found = named(domain.intervals)
    names = sorted(set[str]().union(*found))
    letters = list(domain.intervals)
    rng = np.random.default_rng(0)
    size = min(len(names), 3)
    rows = rng.integers(-3, 4, size=(_DRAWS, len(names), size)).astype(float)
    rows *= (rng.random(rows.shape) < rng.choice((0.4, 1.0), size=(_DRAWS, 1, 1))) & (
        np.arange(size) < rng.integers(1, size + 1, size=(_DRAWS, 1, 1)))  # fmt: skip
    rows *= 2.0 ** rng.integers(-2, 3, size=(_DRAWS, len(names), 1))
    rows[0] = np.eye(1, size)  # all vectors the same
    dots = rows @ rows.transpose(0, 2, 1)
    columns = {found[frozenset((names[i], names[j]))]: dots[:, i, j] for i in range(len(names)) for j in range(i + 1)}
    columns |= {x: _column(x, ends, rng) for x, ends in domain.limits.items() if x not in columns}
    drawn = [columns[letter] for letter in letters]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        inside = np.ones(_DRAWS, dtype=bool)
        for fact in domain.differences():
            inside &= np.asarray(numeric(letters, fact)(*drawn)) >= -1e-12
        if failing:
            value = numeric(letters, expressions[0])(*drawn)
            inside &= np.broadcast_to(value, _DRAWS) < 0
    for k in np.flatnonzero(inside)[:_LOOKED_AT]:
        at = {letter: sympy.Rational(*float(column[k]).as_integer_ratio()) for letter, column in columns.items()}
        if (point := genuine(at)) is not None:
            yield point


def _column(letter: Any, ends: tuple[Any, Any], rng: Any) -> Any:
    """Return binary fractions of few digits in an interval."""
    low, high = ends
    start = float(low) if low.is_finite else float(high) if high.is_finite else 0.0
    if low.is_finite and high.is_finite:
        column = start + (float(high) - start) * rng.integers(0, 17, size=_DRAWS) / 16
    else:
        steps = rng.integers(4, 8, size=_DRAWS) / 4 * 2.0 ** rng.integers(-5, 4, size=_DRAWS)
        way = 1 if low.is_finite else -1 if high.is_finite else rng.choice((-1, 1), size=_DRAWS)
        column = start + way * steps
    return np.floor(column) if letter.is_integer else column


@functools.lru_cache(maxsize=4096)
def concerns(letters: tuple[Any, ...]) -> bool:
    """Say whether a letter is an inner product."""
    return any(pair(letter) is not None for letter in letters)
