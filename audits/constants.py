"""A test of constants that should be public, but may have been computed from the data.

Null hypothesis: ``configure(dataset)`` returns the same numbers on all neighbours. A difference is exact evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from dpcheck.arguments import checked
from dpcheck.errors import InputError, one_line, raised, require
from dpcheck.shown import Result


@dataclass(frozen=True)
class Difference:
    """A constant that differs between the data and a neighbour.

    Attributes
    ----------
    name : str
        The constant.
    on_data, on_neighbour : str
        Its values.
    neighbour : int
        Which neighbour, from 0.
    """

    name: str
    on_data: str
    on_neighbour: str
    neighbour: int


@dataclass(frozen=True)
class ConstantsAudit(Result):
    """Which constants differ between a dataset and its neighbours.

    Attributes
    ----------
    verdict : str
        ``"violated"`` where a constant differs, else ``"consistent"``.
    differences : tuple of Difference
        The first difference found of each constant.
    constants, neighbours : int
        How many constants and neighbours were compared.
    """

    verdict: str
    differences: tuple[Difference, ...]
    constants: int
    neighbours: int

    def _sentence(self) -> str:
        differing = "; ".join(
            f"{d.name} is {d.on_data} on the data and {d.on_neighbour} on neighbour {d.neighbour}"
            for d in self.differences
        )
        return f"{self.verdict}: {differing or 'no constant differs'}"


@checked
def audit_constants(configure: Callable[[Any], Any], data: Any, neighbours: Iterable[Any]) -> ConstantsAudit:
    """Test whether the constants that set up a mechanism are the same on all neighbours.

    A noise scale, a batch size, a clipping norm or a class count that differs between neighbours was computed from the
    data and released or used without noise. The comparison is exact.

    Parameters
    ----------
    configure : callable
        ``dataset -> number, array, mapping, sequence or dataclass``, nested as one likes, without randomness. Functions
        and objects without fields are compared by ``==``.
    data : object
        The dataset.
    neighbours : iterable of objects
        Datasets that differ from it in one record; at least one.

    Returns
    -------
    ConstantsAudit
        The verdict, and the first difference of each constant.

    Raises
    ------
    InputError
        For a ``configure`` that raises or is random, and where there is no neighbour.

    References
    ----------
    Z. Yang et al. Differentially private SGDA for minimax problems. UAI 2022, Algorithm 2 (class counts of the data).

    Examples
    --------
    >>> import dpcheck
    >>> def configure(ages):
    ...     return {"scale": (max(ages) - min(ages)) / len(ages), "steps": 10}
    >>> audit = dpcheck.audit_constants(configure, [20, 30, 40], [[20, 30, 90]])
    >>> audit.verdict, audit.differences[0].name
    ('violated', 'scale')
    """
    expected = _constants(configure, data)
    again = _constants(configure, data)
    same = expected.keys() == again.keys() and all(_equal(again[name], expected[name]) for name in expected)
    require(same, "configure", "be deterministic", "two results for one dataset that differ")
    differences: dict[str, Difference] = {}
    count = 0
    for count, neighbour in enumerate(neighbours, 1):
        constants = _constants(configure, neighbour)
        for name in sorted(expected.keys() | constants.keys()):
            one, other = expected.get(name, _Missing), constants.get(name, _Missing)
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
    except (Exception, SystemExit) as error:
        raise InputError(f"configure must return constants, got {raised(error)}") from error
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
    try:
        return bool(one == other) or bool(one != one and other != other)
    except (ValueError, RuntimeError):  # series and tensors, which compare entry by entry
        if type(one) is type(other) and callable(getattr(one, "equals", None)):  # with the names of its entries
            return bool(one.equals(other))
        return _equal(np.asarray(one), np.asarray(other))


def _shown(value: Any) -> str:
    return "absent" if value is _Missing else one_line(value)[:80]
