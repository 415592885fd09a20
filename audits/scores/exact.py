"""Scores that need no fitting, or that no continuous law gives.

Values that repeat exactly where nearly all others differ show a release without noise, even a rare one. Rounding may
depend on the data: on one dataset all values then lie on a lattice, or end in zero bits. Comparisons do not tell NaN
from other outputs, nor zero from zero with a minus sign. The smallest or the largest number of an output shows a leak
in any one of many coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcheck.arrays import Floats
from dpcheck.audits.running.datasets import among, exactly, same, shown, tallied
from dpcheck.audits.scores import Coordinate, Score, one_of

# Runs of each dataset that are examined at a first glance.
GLANCED = 4_000
# The most numbers of an output that have scores of their own, and the shares at which the laws of wider outputs are
# compared to choose them.
_COORDINATES = 32
_GLANCES = (0.0, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0)


def given(a: Floats, b: Floats, codes: int = 0) -> list[Score]:
    """Return scores that need no fitting: single numbers, of a wide output those that differ most at a first glance.

    codes : so many of the last columns hold codes, which are equal or not, and have no order
    """
    columns, width = telling(a, b, codes), a.shape[1]
    numbers = width - codes if codes else None
    ends = [Extreme(end, numbers) for end in ("smallest", "largest")] if width - codes > 1 and codes <= _PLAIN else []
    ordered: list[Score] = [*map(partial(Coordinate, width=width), columns), *specials(a, b, columns), *ends]
    return [*statements(a, b, codes), *ordered] if codes else ordered


def exact(a: Floats, b: Floats, codes: int = 0) -> list[Repeats | Lattice | Short]:
    """Return scores that no continuous law gives: the runs in which they are found may also judge them.

    Repeats are looked for in columns that are nearly continuous, since a continuous law never repeats a value.
    """
    width, columns = a.shape[1], telling(a, b, codes)
    repeating = list[Repeats | Lattice | Short]()
    for index in columns:
        values, counts = tallied(np.sort(np.concatenate([a[:, index], b[:, index]])))
        heavy = values[counts >= _OFTEN]
        if heavy.size == 0 or values.size < _DISTINCT * counts.sum():
            continue
        left, right = (
            np.bincount(np.searchsorted(heavy, v[among(v, heavy)]), minlength=heavy.size)
            for v in (a[:, index], b[:, index])
        )
        sides = np.sign(left - right).astype(float)
        if sides.any():
            repeating.append(Repeats(Coordinate(index, width), heavy[sides != 0], sides[sides != 0]))
    return [*repeating, *lattices(a, b, columns)]


def telling(a: Floats, b: Floats, codes: int = 0) -> list[int]:
    """Return the columns of numbers that have scores of their own, at most ``_COORDINATES``."""
    width = a.shape[1] - codes
    a, b = a[:, :width], b[:, :width]
    if width <= _COORDINATES:
        return list(range(width))
    a, b = a[:GLANCED], b[:GLANCED]
    both = np.sort(np.concatenate([a, b]), axis=0)
    both[np.isnan(both)] = np.inf  # NaN lies in neither tail; at infinity the two comparisons below see it
    apart = np.zeros(width)
    for share in _GLANCES:  # as a Kolmogorov-Smirnov statistic on few points, in standard deviations
        cut = both[int(share * (len(both) - 1))]
        low, high = (np.stack([(v < cut).mean(axis=0), (v <= cut).mean(axis=0)]) for v in (a, b))
        spread = np.sqrt(np.maximum(low * (1 - low) + high * (1 - high), 1 / len(both)))
        apart = np.maximum(apart, (np.abs(low - high) / spread).max(axis=0))
    return sorted(np.argsort(-apart, kind="stable")[:_COORDINATES].tolist())


def _whether(self: Lattice | Short | Special, direction: str, threshold: float) -> str:
    """Name the set of a score that is 1 where what its words ask is so, else 0."""
    statement = self.words.removeprefix("whether ")
    denied, stated = (value >= threshold if direction == ">=" else value <= threshold for value in (0.0, 1.0))
    denial = statement.replace(" is ", " is not ", 1).replace(" are 0", " are not all 0")
    return "any output" if denied and stated else denial if denied else statement


def _values(chosen: Floats) -> list[str]:
    """Write one set for each value."""
    return [f"{{{exactly(value)}}}" for value in chosen.tolist()]


# Share of values that must differ, and the number of runs on both datasets that counts as a repeat.
_DISTINCT = 0.9
_OFTEN = 3


@dataclass(frozen=True, eq=False)
class Repeats:
    """1 for a repeated value that data gives more often, -1 for one that neighbour gives more often, else 0.

    values : (m,), sorted;  sides : (m,)
    """

    source: Coordinate
    values: Floats
    sides: Floats

    @property
    def words(self) -> str:
        return f"side on which the value of {self.source.words} repeats"

    def __call__(self, outputs: Floats) -> Floats:
        column = self.source(outputs)
        places = np.minimum(np.searchsorted(self.values, column), self.values.size - 1)
        return np.where(same(self.values[places], column), self.sides[places], 0.0)

    def describe(self, direction: str, threshold: float) -> str:
        low, high = (threshold, np.inf) if direction == ">=" else (-np.inf, threshold)
        inside = (self.sides >= low) & (self.sides <= high)
        if low <= 0 <= high:
            return one_of(self.source.words, _values(self.values[~inside]), outside=True)
        return one_of(self.source.words, _values(self.values[inside]))


# Values of codes that have scores of their own; and of how many runs on one dataset alone values are tried that were
# seen there.
_VALUES, _TIMES, _LESS = 32, (1, 2, 3), 1e-9
_PLAIN = 2  # codes of outputs that are mostly numbers of one shape: those of others have nothing in common


class Stated(Repeats):
    """The log-likelihood ratio of a code's values that were counted, else 0."""

    @property
    def words(self) -> str:
        return f"learned likelihood ratio of {self.source.words}"


def _tallies(a: Floats, b: Floats, codes: int) -> list[tuple[Coordinate, Floats, NDArray[np.int64]]]:
    """Return for each column of codes its values (m,) and how often each occurs on either dataset, (2, m)."""
    width, tallies = a.shape[1], []
    for index in range(width - codes, width):
        values, places = np.unique(np.concatenate([a[:, index], b[:, index]]), return_inverse=True)
        counts = [np.bincount(p, minlength=values.size) for p in np.split(places, [len(a)])]
        if values.size > 1:
            tallies.append((Coordinate(index, width), values, np.array(counts)))
    return tallies


def statements(a: Floats, b: Floats, codes: int) -> list[Score]:
    """Return a score for each of the values of codes whose counts differ most."""
    found = [
        (abs(int(x) - int(y)) / (x + y) ** 0.5, source, value)
        for source, values, counts in _tallies(a, b, codes)
        for place in np.argsort(-np.abs(counts[0] - counts[1]) / np.sqrt(counts.sum(axis=0)), kind="stable")[:_VALUES]
        for value, x, y in [(values[place], *counts[:, place])]
    ]
    found = sorted(found, key=lambda one: (-one[0], one[2] == 0, one[2]))[:_VALUES]
    return [Stated(source, np.array([value]), np.ones(1)) for _, source, value in found]


def stated(a: Floats, b: Floats, codes: int) -> list[Stated]:
    """Fit the likelihood ratio of each column of codes."""
    return [
        Stated(source, values, np.log((counts[0] + 1.0) / (counts[1] + 1.0)))
        for source, values, counts in _tallies(a, b, codes)
    ]


def stated_once(a: Floats, b: Floats, codes: int) -> tuple[Stated, float] | None:
    """Return the values of one column of codes that were seen on one dataset alone, and 1 for data or -1 for neighbour.

    How often a value must have been seen is chosen by what each half of the runs says of the other.
    """
    best, chosen = -np.inf, None
    for source, values, counts in _tallies(a, b, codes):
        odd = [np.bincount(np.searchsorted(values, source(v[1::2])), minlength=values.size) for v in (a, b)]
        halves = counts - odd, np.array(odd)
        for side, times in product((0, 1), _TIMES):
            ours, *found = ((c[side] >= times) & (c[1 - side] == 0) for c in (counts, *halves))
            hits = sum(
                c[[side, 1 - side]][:, inside].sum(axis=1) for c, inside in zip(halves[::-1], found, strict=True)
            )
            worth = (hits[0] - hits[1]) / (hits.sum() + 1) ** 0.5
            # Of equal ones it is said first that something raised, and last that something is missing.
            worth += _LESS * (bool((values[ours] < 0).any()) + bool((values[ours] != 0).all()))
            if ours.any() and worth > best:
                best, sign = worth, 1.0 - 2.0 * side
                chosen = Stated(source, values[ours], np.full(int(ours.sum()), sign)), sign
    return chosen


# Repeats within one dataset that a continuous law does not give; one may come from rounding.
_PAIRS = 2


def seen(a: Floats, b: Floats, codes: int = 0) -> Repeats | None:
    """Return the side on which a value was seen, where values of so fine a law should all differ and some do not.

    Noise that is drawn from a table, or from a generator with a short seed, has few values, which are others on the
    neighbour. Each value that was seen on one dataset alone is then likely to come again there, and there alone.
    """
    width = a.shape[1]
    for index in telling(a, b, codes):
        one, times = tallied(np.sort(a[:, index]))
        other, other_times = tallied(np.sort(b[:, index]))
        counts = np.append(times, other_times)
        pairs, oftener = int((counts == 2).sum()), int((counts > 2).sum())
        few = counts.size < _DISTINCT * counts.sum() or not np.isfinite([*one[-1:], *other[-1:]]).all()
        if pairs >= _PAIRS and pairs > 2 * oftener and not few:  # a value that comes often has a score already
            values = np.setxor1d(one, other, assume_unique=True)
            return Repeats(Coordinate(index, width), values, np.where(among(values, one), 1.0, -1.0))
    return None


_DISTINCT_VALUES = 20
_SHARE = 0.99
# Bits of a significand, and zeros at its end that chance does not explain.
_BITS, _ZEROS = 53, 8
# Distance from a multiple, in steps, that rounding explains; the least step, as a share of the range.
_NEAR = 1e-4
_FINE = 1e-9


@dataclass(frozen=True)
class Lattice:
    """1 where one number of the output is ``offset`` plus a multiple of ``step``, up to rounding, else 0."""

    source: Coordinate
    offset: float
    step: float

    @property
    def words(self) -> str:
        offset = "" if self.offset == 0 else f"{shown(self.offset)} plus "
        return f"whether {self.source.words} is {offset}a multiple of {shown(self.step)}"

    def __call__(self, outputs: Floats) -> Floats:
        with np.errstate(all="ignore"):
            steps = (self.source(outputs) - self.offset) / self.step
            return (np.abs(steps - np.rint(steps)) <= _NEAR).astype(float)

    describe = _whether


@dataclass(frozen=True)
class Short:
    """1 where the significand of one number of the output ends in ``zeros`` zero bits, as a float32 does, else 0."""

    source: Coordinate
    zeros: int

    @property
    def words(self) -> str:
        return f"whether the last {self.zeros} bits of {self.source.words} are 0"

    def __call__(self, outputs: Floats) -> Floats:
        return (_zeros(self.source(outputs)) >= self.zeros).astype(float)

    describe = _whether


def lattices(a: Floats, b: Floats, columns: Iterable[int]) -> Iterator[Lattice | Short]:
    """Yield scores for the columns of outputs a and b, (n, k) each, that are rounded on one dataset only.

    A continuous law lies on no lattice, so chance plays no part: the runs that show one may also judge it.
    """
    for index in columns:
        source = Coordinate(index, a.shape[1])
        for ours, theirs in ((a[:GLANCED], b[:GLANCED]), (b[:GLANCED], a[:GLANCED])):
            for score in _rounded(source, ours):
                if score(ours).mean() >= _SHARE > score(theirs).mean():
                    yield score
                    break


def _rounded(source: Coordinate, outputs: Floats) -> Iterator[Lattice | Short]:
    """Yield the lattice of the smallest distance between two values, and the zero bits that nearly all values share."""
    values = source(outputs)
    distinct = np.unique(values[np.isfinite(values)])
    if distinct.size < _DISTINCT_VALUES:
        return
    with np.errstate(over="ignore"):
        gaps = np.diff(distinct)
        gaps = gaps[gaps > _FINE * (distinct[-1] - distinct[0])]
    if gaps.size and np.isfinite(gaps).all():
        step = float(np.mean(gaps[gaps < 1.5 * gaps.min()]))  # with less rounding than in one gap
        middle = float(distinct[distinct.size // 2])
        offset = middle - step * round(middle / step)
        yield Lattice(source, 0.0 if abs(offset) <= _NEAR * step else offset, step)
    zeros = int(np.sort(_zeros(values))[int((1 - _SHARE) * (values.size - 1))])
    if zeros >= _ZEROS:
        yield Short(source, zeros)


def _zeros(values: Floats) -> Floats:
    """Count the zero bits at the end of each significand."""
    return np.where(values == 0, _BITS, low_bits(values)[..., 1])


# Stand for the place of the lowest bit of 0 and of infinite outputs, which have none: beyond that of any double.
_NO_BIT, _BEYOND_BITS = 2000.0, 3000.0


def low_bits(outputs: ArrayLike) -> Floats:
    """Return (..., 2) of outputs (...): the exponent of the lowest bit set, and the zeros below it in the significand.

    >>> low_bits([1.0, 0.75, 0.1]).tolist()
    [[0.0, 52.0], [-2.0, 51.0], [-55.0, 1.0]]
    """
    values = np.asarray(outputs, float)
    finite = np.isfinite(values)
    fraction, exponent = np.frexp(np.where(finite, np.abs(values), 0.0))
    significand = (fraction * 2.0**53).astype(np.int64)
    zeros = np.frexp((significand & -significand).astype(float))[1] - 1.0
    place = np.where(significand > 0, exponent - 53 + zeros, np.where(finite, _NO_BIT, _BEYOND_BITS))
    return np.stack([place, np.maximum(zeros, -1.0)], axis=-1)


_SEEN: dict[str, Callable[[Floats], NDArray[np.bool_]]] = {
    "nan": np.isnan,
    "-0": lambda values: (values == 0) & np.signbit(values),
}


@dataclass(frozen=True)
class Special:
    """1 where one number of the output is ``value``, which is "nan" or "-0", else 0."""

    source: Coordinate
    value: str

    @property
    def words(self) -> str:
        return f"whether {self.source.words} is {self.value}"

    def __call__(self, outputs: Floats) -> Floats:
        return _SEEN[self.value](self.source(outputs)).astype(float)

    describe = _whether


def specials(a: Floats, b: Floats, columns: Iterable[int]) -> Iterator[Special]:
    """Yield a score for each of these columns of outputs a and b, (n, k) each, that holds NaN or minus zero."""
    for index in columns:
        source = Coordinate(index, a.shape[1])
        for value, seen in _SEEN.items():
            if seen(source(a)).any() or seen(source(b)).any():
                yield Special(source, value)


@dataclass(frozen=True)
class Extreme:
    """The smallest or largest, as ``end`` says, of the first ``numbers`` numbers, None for all; NaN is neither."""

    end: str
    numbers: int | None = None

    @property
    def words(self) -> str:
        return f"{self.end} number of the output"

    def __call__(self, outputs: Floats) -> Floats:
        end = np.fmin if self.end == "smallest" else np.fmax
        return np.asarray(end.reduce(outputs[:, : self.numbers], axis=1))
