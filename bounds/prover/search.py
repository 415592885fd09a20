"""Points of a domain: where an inequality fails, where everything is defined, where a root is complex.

A search can refute and never prove; a proof about a domain in which no point was found would be about nothing.

Candidates are a structured grid (ends of the intervals, powers of two and ten between them), log-uniform
draws with a fixed seed, and a local descent from the best of them. Floating point only points the
way: a candidate counts once it fails at its exact rational value with the true functions.
"""

import functools
import itertools
import math
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import mpmath
import numpy as np
import sympy

from dpcheck.bounds.prover import ball, vectors
from dpcheck.bounds.prover.domain import Domain
from dpcheck.bounds.prover.numeric import numeric
from dpcheck.errors import require

_DRAWS = 20_000
_GRID = 30_000
REACH = 12.0  # decades that stand for infinity
_FAR = 150.0  # ... in the last search; squares are still floating-point numbers
_NEAR = 2.0  # ... where powers can be written out exactly
_INSIDE = 1e-9  # of an interval, or of a number: as near as points come to an end that is left out
_STEPS = 40  # of the local descent
_WHOLE = 2**1000  # a larger whole number is no floating-point number


class Landscape:
    """A quantity over a domain, in floating point, with the points where it is lowest."""

    def __init__(self, quantity: Any, domain: Domain, reach: float = REACH) -> None:
        self.domain = domain
        self.letters = list(domain.intervals)
        self._quantity = _numeric(quantity, self.letters)
        self._facts = [_numeric(fact, self.letters) for fact in domain.differences()]
        self._ranges = [
            _range(low, high, letter, reach, domain.open_ends.get(letter, ()))
            for letter, (low, high) in domain.limits.items()
        ]

    def values(self, points: Any) -> Any:
        """Return the quantity at ``points`` (rows), ``inf`` outside the domain or where it is undefined."""
        columns = list(points.T)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            values = np.broadcast_to(np.asarray(self._quantity(*columns)), len(points)).astype(float)
            inside = np.isfinite(values)
            for fact in self._facts:
                inside &= np.asarray(fact(*columns)) >= 0
        return np.where(inside, values, np.inf)

    def lowest(self, count: int = 8) -> list[tuple[float, tuple[Any, ...]]]:
        """Return the ``count`` lowest values found with their points as exact numbers."""
        rng = np.random.default_rng(0)
        points = np.concatenate([self._grid(), self._draws(rng, _DRAWS)])
        values = self.values(points)
        scale = 1.0
        best = np.argsort(values)[: 4 * count]
        kept, heights = points[best], values[best]
        for _ in range(_STEPS):
            near = self._near(np.repeat(kept, 12, axis=0), rng, scale)
            points, values = np.concatenate([kept, near]), np.concatenate([heights, self.values(near)])
            _, first = np.unique(points, axis=0, return_index=True)
            order = first[np.argsort(values[first])][: 4 * count]
            kept, heights, scale = points[order], values[order], scale * 0.8
        pairs = [(float(height), self._exact(point)) for height, point in zip(heights, kept, strict=True)]
        return [pair for pair in pairs if np.isfinite(pair[0])][:count]

    def at_edge(self, point: tuple[Any, ...]) -> bool:
        """Say whether a coordinate of the point lies within a decade of where the search stops for want of an end."""
        for letter, value, (low, high, _) in zip(self.letters, point, self._ranges, strict=True):
            first, last = self.domain.limits[letter]
            cut_low = not first.is_finite or (first == 0 and bool(letter.is_positive))
            if (not last.is_finite and float(value) > high / 10) or (
                cut_low and (0 < float(value) < 10 * low or float(value) < low / 10 < 0)
            ):
                return True
        return False

    def inside(self, count: int) -> Iterator[tuple[Any, ...]]:
        """Yield points where it is finite, spread over all that are drawn, in few digits and then as they are."""
        points = np.concatenate([self._draws(np.random.default_rng(0), _DRAWS), self._grid()])
        points = points[np.isfinite(self.values(points))]
        for point in points[:: max(1, len(points) // count)]:
            yield from roundings(self._exact(point))

    def _grid(self) -> Any:
        count = max(2, int(_GRID ** (1 / len(self.letters))))
        axes = [self._axis(i, count) for i in range(len(self.letters))]
        return np.array(list(itertools.islice(itertools.product(*axes), 2 * _GRID)), dtype=float)

    def _axis(self, i: int, count: int) -> Any:
        low, high, bend = self._ranges[i]
        return np.unique(self._rounded(i, bend.back(np.linspace(bend(low), bend(high), count))))

    def _draws(self, rng: Any, count: int) -> Any:
        columns = []
        for i, (low, high, bend) in enumerate(self._ranges):
            u = rng.random(count)
            columns.append(self._rounded(i, bend.back(bend(low) + (bend(high) - bend(low)) * u)))
        return np.stack(columns, axis=1)

    def _near(self, points: Any, rng: Any, scale: float) -> Any:
        moved = points.copy()
        chosen = rng.random(points.shape) < max(0.5, 1 / points.shape[1])
        for i, (low, high, bend) in enumerate(self._ranges):
            reach = min(1.0, float(bend(high) - bend(low)))
            step = scale * reach * rng.standard_normal(len(points)) * chosen[:, i]
            moved[:, i] = self._rounded(i, np.clip(bend.back(bend(points[:, i]) + step), low, high))
        return moved

    def _rounded(self, i: int, column: Any) -> Any:
        letter = self.letters[i]
        if not letter.is_integer:
            return column
        step, rest = (2, 0) if letter.is_even else (2, 1) if letter.is_odd else (1, 0)
        least = self._ranges[i][0]
        return np.maximum(step * np.rint((column - rest) / step) + rest, least + (least - rest) % step)

    def _exact(self, point: Any) -> tuple[Any, ...]:
        """Return rational coordinates, on the ends of intervals where they are meant to be."""
        exact = []
        for letter, value, (low, high, _) in zip(self.letters, point, self._ranges, strict=True):
            limits = zip(self.domain.limits[letter], (low, high), strict=True)
            ends = [end for end, near in limits if near == value and end not in self.domain.open_ends.get(letter, ())]
            if ends and ends[0].is_finite and (ends[0] != 0 or not letter.is_positive):
                exact.append(ends[0])
            elif letter.is_integer:
                exact.append(sympy.Integer(int(value)))
            else:
                exact.append(sympy.Rational(f"{value:.12e}"))
        return tuple(exact)


def refute(difference: Any, domain: Domain, genuine: Callable[[dict[Any, Any]], Any]) -> Any:
    """Return the first of the lowest points at which ``genuine`` finds a failure, or ``None``."""
    return _refute(Landscape(difference, domain), genuine)


def refute_again(difference: Any, domain: Domain, genuine: Callable[[dict[Any, Any]], Any]) -> Any:
    """Search for a failure in proportion to the terms, which rounding spares: small numbers, all, then extreme ones."""
    size = 1 + sum(abs(term) for term in sympy.Add.make_args(difference))
    landscapes = (Landscape(difference / size, domain, reach) for reach in (_NEAR, REACH, _FAR))
    return next((point for landscape in landscapes if (point := _refute(landscape, genuine)) is not None), None)


def _refute(landscape: Landscape, genuine: Callable[[dict[Any, Any]], Any]) -> Any:
    for height, point in landscape.lowest():
        if height > 1e-9:
            break
        for candidate in roundings(point):
            failure = genuine(dict(zip(landscape.letters, candidate, strict=True)))
            if failure is not None:
                return failure
    return None


def roundings(point: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield the point in few digits, so that a person can read it, then as it is."""
    for digits in (1, 2, 4):
        yield tuple(_digits(value, digits) for value in point)
    yield point


def _digits(value: Any, digits: int) -> Any:
    if value.is_Integer or not value.is_Rational:
        return value
    return sympy.Rational(f"{float(value):.{digits - 1}e}")


class _Bend:
    """A scale on which steps are even: the logarithm for positive ranges, else asinh."""

    def __init__(self, positive: bool) -> None:
        self._there: Any = np.log if positive else np.arcsinh
        self.back: Any = np.exp if positive else np.sinh

    def __call__(self, value: Any) -> Any:
        return self._there(value)


def _range(low: Any, high: Any, letter: Any, reach: float, left_out: Collection[Any]) -> tuple[float, float, _Bend]:
    """Return numbers for the ends, and the scale between them; just inside of an end that is left out."""
    start, stop = _float(low), _float(high)
    span = stop - start
    if low in left_out:
        start += _INSIDE * min(max(1.0, abs(start)), span)
    if high in left_out:
        stop -= _INSIDE * min(max(1.0, abs(stop)), span)
    if start == 0 and letter.is_positive:
        start = min(stop, 1.0) * 10**-reach
    if stop == np.inf:
        stop = max(start, 1.0) * 10**reach
    if start == -np.inf:
        start = min(stop, -1.0) * 10**reach if stop < 0 else -(10**reach)
    return start, stop, _Bend(start > 0)


def _float(end: Any) -> float:
    try:
        return float(end)
    except OverflowError:
        return math.copysign(math.inf, 1 if end > 0 else -1)


def _numeric(expression: Any, letters: list[Any]) -> Any:
    beyond = [number for number in expression.atoms(sympy.Rational) if max(abs(number.p), number.q) > _WHOLE]
    rounded = expression.xreplace({number: sympy.Float(number, 17) for number in beyond})  # to inf where it is larger
    return numeric(letters, rounded)


_TRIED = 200  # points of the search


@functools.lru_cache(maxsize=4096)
def find(domain: Domain, expressions: tuple[Any, ...]) -> Mapping[Any, Any] | None:
    """Return an exact point that lies in the domain for certain and at which all are defined, or ``None``."""
    for point in _candidates(domain, expressions):
        if domain.contains(point) and all(defined(expression, point) for expression in expressions):
            return point
    return None


def defined(expression: Any, point: Mapping[Any, Any]) -> bool:
    """Say whether every part of the expression is for certain a real number at an exact point."""
    try:
        return bool(ball.exact(ball.value(expression, point)).is_finite())
    except ball.UndefinedError:
        return False


def _candidates(domain: Domain, expressions: tuple[Any, ...]) -> Iterator[Mapping[Any, Any]]:
    """Yield simple points first, then those a search in floating point finds inside."""
    if vectors.concerns(tuple(domain.intervals)):
        yield from vectors.points(domain, expressions, lambda point: point, failing=False)
        return
    yield from simple(domain)
    letters = list(domain.limits)
    if letters and not any(expression.has(sympy.Sum, sympy.Product) for expression in expressions):
        landscape = Landscape(sum(expressions, sympy.Integer(0)), domain)
        for point in itertools.islice(landscape.inside(_TRIED), 4 * _TRIED):
            yield dict(zip(letters, point, strict=True))


def simple(domain: Domain) -> Iterator[dict[Any, Any]]:
    """Yield points of few digits: small whole numbers, the middle and the ends of the intervals."""
    columns = [_nearby(letter, *ends) for letter, ends in domain.limits.items()]
    for k in range(max(map(len, columns), default=1)):
        yield dict(zip(domain.limits, (column[min(k, len(column) - 1)] for column in columns), strict=True))


def _nearby(letter: Any, low: Any, high: Any) -> list[Any]:
    """Return a few values between the ends, from the middle outwards."""
    inside = [sympy.Integer(k) for k in (1, 2, 3, 10, 100, 0, -1, -10)]
    if low.is_finite and high.is_finite:
        inside += [low + (high - low) * share for share in (sympy.Rational(1, 2), sympy.Rational(1, 10))] + [low, high]
    elif low.is_finite:
        inside += [low + 1, low + 10, low]
    elif high.is_finite:
        inside += [high - 1, high - 10, high]
    return [value for value in inside if (low <= value) == True and (value <= high) == True] or [low]  # noqa: E712


def require_real(expressions: Sequence[Any], domain: Domain) -> None:
    """Raise :class:`~dpcheck.errors.InputError` for a root of odd degree of what is negative somewhere.

    A square root is left out where its argument is negative, as everybody expects. Of ``x**(1/3)``
    many expect the real root instead, which sympy's is not.
    """
    powers = set().union(*(expression.find(_is_odd) for expression in expressions))
    for power in sorted(powers, key=str):
        at = _negative(power.base, domain)
        require(at is None, f"{power.base} in {power}", "be nonnegative, since the power is complex elsewhere", at)


def _negative(base: Any, domain: Domain) -> str | None:
    """Return where the base is negative, in words, if that is found."""
    if base.is_nonnegative or not base.free_symbols:
        return None
    if base.is_Symbol:
        low = domain.limits[base][0]
        return None if low.is_finite and ball.sign(low, {}) in (0, 1) else f"values from {low}"
    for height, point in Landscape(base, domain).lowest(count=2):
        at = dict(zip(domain.limits, point, strict=True))
        if height < 0 and domain.contains(at) and ball.sign(base, at) == -1:
            return "a negative one at " + ", ".join(f"{letter} = {value}" for letter, value in at.items())
    return None


def _is_odd(expression: Any) -> bool:
    power = expression.exp if expression.is_Pow else None
    return power is not None and bool(power.is_Rational and power.q > 1 and power.q % 2 == 1)


_COUNTS = {1: 401, 2: 25, 3: 9, 4: 5}  # points a letter, by the number of letters
_DECADES = 9.0
_DOUBT = 1e-6  # a sum this much smaller than its terms is evaluated again, in
_DIGITS = 60  # ... digits,
_AGAIN = 100  # ... at so many points
_SMALL = 1e-9  # and so is what is this small
_EDGE = 1e-10  # of an end: as near as points come to it


class Samples:
    """Points inside a box, on a grid that is finer towards its ends."""

    def __init__(self, f: Any, box: Mapping[Any, tuple[Any, Any]]) -> None:
        self.letters = list(box)
        decades = max(_DECADES, *(abs(math.log10(abs(c))) + 4 for c in f.atoms(sympy.Rational) if c != 0), 0.0)
        axes = [_axis(*ends, _COUNTS.get(len(box), 3), min(decades, 150.0)) for ends in box.values()]
        self.points = [axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")]

    def values(self, f: Any) -> Any:
        """Return the values of ``f``, NaN where it has none; what rounding could have made is looked at again."""
        terms = sympy.Add.make_args(f)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            values = self._evaluate(f)
            size = abs(values)
            if len(terms) > 1:
                size = sum((abs(self._evaluate(part)) for part in terms), np.float64(0.0))
            doubtful = np.flatnonzero(~(abs(values) > _DOUBT * np.maximum(size, _SMALL)))
        if len(doubtful):
            values = values.copy()
            values[doubtful] = np.nan
            for index in doubtful[:: max(1, len(doubtful) // _AGAIN)]:
                values[index] = self._precisely(f, index)
        return values

    def _evaluate(self, f: Any) -> Any:
        values = _function(f, tuple(self.letters))(*self.points)
        values = np.broadcast_to(np.asarray(values), self.points[0].shape)
        if np.iscomplexobj(values):
            values = np.where(values.imag == 0, values.real, np.nan)
        values = values.astype(float)
        return np.where(np.isfinite(values), values, np.nan)

    def _precisely(self, f: Any, index: int) -> float:
        """Return the sign of the value in many digits; 0 for what vanishes even so."""
        with mpmath.workdps(_DIGITS):
            try:
                point = [mpmath.mpf(float(axis[index])) for axis in self.points]
                value = _exact_function(f, tuple(self.letters))(*point)
            except (ArithmeticError, ValueError, TypeError):
                return math.nan
            if not isinstance(value, mpmath.mpf) or not mpmath.isfinite(value):
                return math.nan
            if abs(value) < mpmath.mpf(10) ** (6 - _DIGITS):
                return 0.0
            return float(mpmath.sign(value)) * max(float(abs(value)), 1e-300)


def way(values: Any) -> int | None:
    """Return 1 if all values are at least 0, -1 if at most, ``None`` if they change sign or there are none."""
    known = values[np.isfinite(values)]
    if not len(known):
        return None
    if (known >= 0).all():
        return 1
    return -1 if (known <= 0).all() else None


@functools.lru_cache(maxsize=20_000)
def _function(f: Any, letters: tuple[Any, ...]) -> Any:
    large = [number for number in f.atoms(sympy.Rational) if max(abs(number.p), number.q) > 2**50]
    rounded = f.xreplace({number: sympy.Float(number, 17) for number in large})
    return numeric(letters, rounded)


@functools.lru_cache(maxsize=20_000)
def _exact_function(f: Any, letters: tuple[Any, ...]) -> Any:
    return sympy.lambdify(letters, f, modules="mpmath")


def _axis(low: Any, high: Any, count: int, decades: float) -> Any:
    """Return points strictly between the ends, and further from them than rounding reaches."""
    start, stop = float(low), float(high)
    t = np.linspace(-1.0, 1.0, count + 2)[1:-1]
    if np.isfinite(start) and np.isfinite(stop):
        # a third evenly, the rest crowding the ends
        bent = np.sign(t) * (1 - 10 ** (-6.0 * abs(t))) if count > 9 else t
        both = np.union1d(t[::3], bent) if count > 30 else bent
        points = start + (stop - start) * (1 + both) / 2
    elif np.isfinite(start) or np.isfinite(stop):
        end = start if np.isfinite(start) else stop
        steps = max(1.0, abs(end)) * 10 ** (decades * t * (1 if count > 9 else 0.5))
        points = start + steps if np.isfinite(start) else stop - steps[::-1]
    else:
        half = 10 ** np.linspace(-decades / 3, decades, count // 2)
        points = np.concatenate([-half[::-1], half])
    near = [_EDGE * abs(end) if np.isfinite(end) else 0.0 for end in (start, stop)]
    return points[(points - start > near[0]) & (stop - points > near[1])]
