"""The axes of a page's drawings: where a value stands, and which ticks are written."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from dpcheck.style import plain

_MOST = 7  # ticks
_APART = 9.0  # percent of the axis between two ticks, for their numbers to have room
_HUGE = 1e150  # what is beyond it is drawn at the end of the axis


@dataclass(frozen=True)
class Axis:
    """A scale from ``low`` to ``high``, logarithmic or linear, drawn as shares of its length in percent."""

    low: float
    high: float
    logarithmic: bool

    @classmethod
    def around(cls, values: Iterable[float], *, logarithmic: bool, room: float = 0.06) -> Axis:
        """An axis with all of the values inside, and some room; on a logarithmic one only positive values count."""
        known = [each for each in values if (1 / _HUGE if logarithmic else -_HUGE) < each < _HUGE] or [1.0]
        low, high = min(known), max(known)
        if logarithmic:
            factor = max((high / low) ** room, 1.15)
            return cls(low / factor, high * factor, True)
        more = (high - low) * room or 0.5
        return cls(low - more, high + more, False)

    def at(self, value: float) -> float:
        """Where a value stands, in percent; one that is outside stands at the end."""
        value = min(max(value, self.low), self.high)
        if self.logarithmic:
            return round(100 * math.log(value / self.low) / math.log(self.high / self.low), 2)
        return round(100 * (value - self.low) / (self.high - self.low), 2)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Plain numbers and where they stand."""
        found = self._decades() if self.logarithmic else []
        return [(self.at(value), plain(value)) for value in (found if len(found) > 1 else self._even())]

    def _decades(self) -> list[float]:
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        for parts in (range(1, 10), (1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
            found = [part * 10.0**power for power in range(first, last + 1) for part in parts]
            found = [each for each in found if self.low <= each <= self.high]
            places = [self.at(each) for each in found]
            if all(right - left >= _APART for left, right in pairwise(places)):
                return found
        return found[:: -(-len(found) // _MOST)]

    def _even(self) -> list[float]:
        step = 10 ** math.floor(math.log10((self.high - self.low) / 2))
        while (self.high - self.low) / step > _MOST - 1:
            step *= 2 if round(step / 10 ** math.floor(math.log10(step) + 1e-9)) != 2 else 2.5
        first = math.ceil(self.low / step - 1e-9)
        return [round(i * step, 12) for i in range(first, math.floor(self.high / step + 1e-9) + 1)]
