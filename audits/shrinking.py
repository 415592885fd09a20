"""A smaller pair of neighbours that shows what a larger one does: fewer records, simpler values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np

from dpcheck.audits.columns import Columns, Row, read_columns
from dpcheck.audits.neighbours import Pair
from dpcheck.audits.proposals import moved, shown

Slot = tuple[Row | None, Row | None]  # a record on data and on neighbour, None where it is not there
_LONGEST = 100
_PARTS = 4  # where none of so many parts can be dropped, no smaller one is tried


def smaller(pair: Pair, shows: Callable[..., bool]) -> Pair:
    """Return the smallest pair that was seen to show the same; the pair itself where there is none.

    Records that both datasets have are dropped, at first many at once; then values become simpler. What lies outside
    the range of the data stays outside, and nothing else leaves it. Where a record lies outside, fewer records must
    show nothing once it lies inside: a mechanism may have its number of records built in.

    shows : ``(pair, doubt=False) -> bool``, whether a pair shows the violation, or with ``doubt`` might
    """
    if min(len(pair.data), len(pair.neighbour)) == 0:
        return pair
    table, other = read_columns(pair.data), read_columns(pair.neighbour)
    slots = _aligned(table.rows(), other.rows())
    held = [row for slot in slots for row in slot[: 1 if pair.kind == "beyond" else 2] if row is not None]
    known = [_Known([row[k] for row in held]) for k in range(len(table.values))]
    apart, alike = [slot for slot in slots if not _alike(slot)], [slot for slot in slots if _alike(slot)]

    def made(slots: list[Slot]) -> Pair:
        ours, theirs = ([row for slot in slots for row in slot[side : side + 1] if row is not None] for side in (0, 1))
        return Pair(table.of(ours), other.of(theirs), _words(table, ours, theirs), pair.kind, pair.outside)

    def moved_inside(slot: Slot) -> Slot:
        ours, theirs = slot
        others = ours or (None,) * len(known)
        return ours, theirs and tuple(k.inside(*cells) for k, *cells in zip(known, theirs, others, strict=True))

    def holds(alike: list[Slot]) -> bool:
        if not shows(made(apart + alike)):
            return False
        return pair.kind != "beyond" or not shows(made([moved_inside(slot) for slot in apart] + alike), doubt=True)

    def simplified(slots: list[Slot], whole: Callable[[list[Slot]], list[Slot]]) -> list[Slot]:
        for number, side, k in product(range(len(slots)), (0, 1), range(len(known))):
            slot = slots[number]
            row, same = slot[side], _alike(slot)
            values = [] if row is None or (side and same) else [*known[k].simpler(row[k])]
            if side and not same and row is not None and slot[0] is not None:
                values.insert(0, slot[0][k])  # no difference in this column
            for value in values:
                new = (*row[:k], value, *row[k + 1 :]) if row else ()
                put = (new, new) if same else (new, slot[1]) if side == 0 else (slot[0], new)
                tried = [*slots[:number], put, *slots[number + 1 :]]
                if _alike(put) == same and shows(made(whole(tried))):
                    slots = tried
                    break
        return slots

    before = repr(apart + alike)
    apart = simplified(apart, lambda tried: tried + alike)
    size = len(alike)
    while size:
        start, at_first = 0, len(alike)
        while start < len(alike):
            fewer = alike[:start] + alike[start + size :]
            alike, start = (fewer, start) if holds(fewer) else (alike, start + size)
        size = 0 if len(alike) == at_first >= _PARTS * size else size // 2
    times = len(alike)
    if times and (times == 1 or shows(made(apart + alike[:1] * times))):
        alike = simplified(alike[:1], lambda tried: apart + tried * times) * times
    return pair if repr(apart + alike) == before else made(apart + alike)


def _aligned(ours: list[Row], theirs: list[Row]) -> list[Slot]:
    """Put records side by side: of datasets of different sizes, the larger one has all of the smaller one's."""
    if len(ours) == len(theirs):
        return list(zip(ours, theirs, strict=True))
    long, short = (ours, theirs) if len(ours) > len(theirs) else (theirs, ours)
    slots, place = list[Slot](), 0
    for row in long:
        together = place < len(short) and repr(row) == repr(short[place])
        place += together
        slots.append((row, row) if together else (row, None) if long is ours else (None, row))
    return slots


def _alike(slot: Slot) -> bool:
    return None not in slot and repr(slot[0]) == repr(slot[1])


class _Known:
    """What a column holds."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values
        numbers = [value for value in values if _is_number(value)]
        self.low: Any = min(numbers, default=0)
        self.high: Any = max(numbers, default=0)

    def holds(self, value: Any) -> bool:
        """Whether a value lies in the range."""
        if _is_number(value):
            return bool(self.low <= value <= self.high)
        return repr(value) in set(map(repr, self.values))

    def inside(self, value: Any, other: Any) -> Any:
        """Return a value in the range, far from the ``other`` dataset's, for one that may lie outside."""
        if self.holds(value) or self.low == self.high:
            return value if self.holds(value) else self.values[0]
        return self.low if _is_number(other) and other - self.low > self.high - other else self.high

    def simpler(self, value: Any) -> Iterator[Any]:
        """Yield simpler values on the same side of the range, the simplest first."""
        if isinstance(value, str | list | tuple):
            shorter = (value[:size] for size in (1, len(value) // 2) if 0 < size < len(value))
            yield from (part for part in shorter if self.holds(part) == self.holds(value))
        elif _is_number(value) and value:
            root = math.copysign(10.0 ** (math.floor(math.log10(abs(value))) // 2), value)
            for number in (0.0, 1.0, root, float(f"{value:.0e}"), float(round(value))):
                plainer = (len(f"{number:g}"), abs(number)) < (len(f"{value:g}"), abs(value))
                if plainer and self.holds(number) == self.holds(value):
                    yield int(number) if isinstance(value, int | np.integer) else number


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and math.isfinite(value)


def _words(table: Columns, ours: list[Row], theirs: list[Row]) -> str:
    """Both data sets where they are short; else how many records they have, and those that differ."""
    texts = ["; ".join(shown(table, row) for row in rows) for rows in (ours, theirs)]
    if sum(map(len, texts)) <= _LONGEST:
        return " against ".join(f"[{text}]" for text in texts)
    differ = [moved(table, a, b) for a, b in zip(ours, theirs, strict=False) if repr(a) != repr(b)]
    return f"{len(ours)} and {len(theirs)} records" + (f", {differ[0]}" if differ and len(ours) == len(theirs) else "")
