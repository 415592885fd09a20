"""Constants that a mechanism should take as public, and may have computed from its data.

Null hypothesis: ``configure(dataset)``, the numbers that set up a mechanism (noise scale, batch size,
clipping norm, number of steps, class counts), gives the same on all neighbours. Deterministic: a
difference is exact evidence that those numbers are about the data, and were released or used
without noise. Functions and objects without fields are compared by ``==``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from dpcheck.errors import InputError, one_line, require


@dataclass(frozen=True)
class Difference:
    """``name`` of the constant, its value on the data and on neighbour number ``neighbour``."""

    name: str
    on_data: str
    on_neighbour: str
    neighbour: int


@dataclass(frozen=True)
class ConstantsAudit:
    """The first difference found of each constant, and how many constants and neighbours were compared."""

    verdict: str
    differences: tuple[Difference, ...]
    constants: int
    neighbours: int

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return {**vars(self), "differences": [vars(difference) for difference in self.differences]}


def audit_constants(configure: Callable[[Any], Any], data: Any, neighbours: Iterable[Any]) -> ConstantsAudit:
    """Compare what ``configure`` derives from ``data`` and from each neighbour.

    configure : dataset -> number, array, mapping, sequence or dataclass, nested as one likes; without
        randomness
    """
    require(callable(configure), "configure", "be callable", type(configure).__name__)
    expected = _constants(configure, data)
    again = _constants(configure, data)
    same = expected.keys() == again.keys() and all(_equal(again[name], expected[name]) for name in expected)
    require(same, "configure", "be deterministic", "two results for one dataset that differ")
    differences: dict[str, Difference] = {}
    count = 0
    for count, neighbour in enumerate(neighbours, 1):
        found = _constants(configure, neighbour)
        for name in sorted(expected.keys() | found.keys()):
            one, other = expected.get(name, _Missing), found.get(name, _Missing)
            if not _equal(one, other):
                differences.setdefault(name, Difference(name, _shown(one), _shown(other), count - 1))
    require(count > 0, "neighbours", "hold at least one dataset", "none")
    verdict = "violated" if differences else "consistent"
    return ConstantsAudit(verdict, tuple(differences.values()), len(expected), count)


class _Missing:
    """Stands for a constant that is not there."""


def _constants(configure: Callable[[Any], Any], data: Any) -> dict[str, Any]:
    try:
        value = configure(data)
    except Exception as error:
        raise InputError(f"configure must return constants, got {type(error).__name__}: {error}") from error
    return dict(_leaves("", value))


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    inner: Iterable[tuple[Any, Any]]
    if is_dataclass(value) and not isinstance(value, type):
        inner = ((field.name, getattr(value, field.name)) for field in fields(value))
    elif isinstance(value, Mapping):
        inner = value.items()
    elif isinstance(value, (list, tuple)):
        inner = enumerate(value)
    else:
        yield name or "the constant", value
        return
    for key, part in inner:
        yield from _leaves(f"{name}.{key}" if name else str(key), part)


def _equal(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        a, b = np.asarray(one), np.asarray(other)
        return bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc" and b.dtype.kind in "fc"))
    return bool(one == other) or bool(one != one and other != other)


def _shown(value: Any) -> str:
    return "absent" if value is _Missing else one_line(value)[:80]
