"""A query of a batch, called on chosen records that are multiplied by factors, and on batches of any other kind."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.arrays import real_numbers
from dpcheck.errors import InputError, raised

Array = NDArray[np.float64]
Member = tuple[int, float]  # the number of a record, and the factor that it is multiplied by

# What a query may end with, apart from an interrupt.
ENDS = (Exception, SystemExit)


class BatchQuery:
    """A query without noise, and the records that its batches are made of.

    query : ``batch -> number or array``
    records : (n, ...) array or list; batches are arrays where it is one
    scale : ``(record, factor) -> record``, by default the product
    """

    def __init__(
        self, query: Callable[[Any], Any], records: Sequence[Any], scale: Callable[[Any, float], Any] | None
    ) -> None:
        self.query, self.records = query, records
        self.unit = 2.0**-52  # the coarsest relative distance of neighbouring numbers among the outputs' types
        self.scale = scale or (lambda record, factor: real_numbers(record, "records") * factor)
        self.member: Callable[[Member], Any] = cache(self._member)
        self.alone: Callable[[Member], Array] = cache(lambda member: self.on([member]))

    def _member(self, member: Member) -> Any:
        """Return a record, made larger or smaller."""
        number, factor = member
        try:
            return self.records[number] if factor == 1 else self.scale(self.records[number], factor)
        except InputError:
            raise
        except ENDS as error:
            raise InputError(f"scale must return a record, got {raised(error)}") from error

    def on(self, members: Sequence[Member]) -> Array:
        """Return what the query returns on a batch of the records; InputError where it raises."""
        return self.on_records([self.member(member) for member in members])

    def on_records(self, batch: list[Any]) -> Array:
        """Return what the query returns on any batch; InputError where it raises."""
        try:
            return self.tried_on(batch)
        except InputError:
            raise
        except ENDS as error:
            raise InputError(f"query must return numbers, got {raised(error)}") from error

    def tried_on(self, batch: list[Any]) -> Array:
        """Return what the query returns on any batch; what it raises is the caller's."""
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # outliers overflow, empty batches have no mean
            value = self.query(self._as_given(batch))
            found = real_numbers(value, "query", verb="return").ravel()
        kind = np.asarray(value).dtype
        self.unit = max(self.unit, float(np.finfo(kind).eps) if kind.kind == "f" else 0.0)
        return found

    def _as_given(self, batch: list[Any]) -> Any:
        """Return a batch as an array where the records are one."""
        if not isinstance(self.records, np.ndarray):
            return batch
        kind, shape = self.records.dtype, self.records.shape[1:]
        if kind.kind in "iub" and batch:  # tokens stay whole numbers, unless one of them was made larger
            return np.array(batch).reshape(-1, *shape)
        with np.errstate(over="ignore"):
            rows = np.array(batch, kind).reshape(-1, *shape)
        if kind.kind == "f":  # a record made larger than its type can hold
            finite = np.array([np.isfinite(record).all() for record in batch], bool)
            largest = np.finfo(kind).max
            rows[finite] = np.clip(rows[finite], -largest, largest)
        return rows
