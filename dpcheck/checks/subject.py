"""An algorithm that a user declares, as the stages see it: findings about it, and the data sets that it is run on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from dpcheck.algorithms.declaration import Algorithm
from dpcheck.audits.neighbours import Pair, with_record
from dpcheck.checks.place import place_of, shown_place
from dpcheck.report.findings import Finding


def finding(
    declared: Algorithm, what: str, kind: str, subject: str, verdict: str, reason: str, **fields: Any
) -> Finding:
    """Return a finding about the algorithm's own code, unless ``place`` is given."""
    place = fields.pop("place", None) or place_of(declared.code)
    return Finding(
        f"{declared.name}.{what}", kind, f"{declared.name}: {subject}", verdict, reason, place=place, **fields
    )


def not_checked(declared: Algorithm, what: str, kind: str, subject: str, reason: str) -> Finding:
    """Return the finding of a stage that does not apply, and what to declare for it."""
    return finding(declared, what, kind, subject, "not checked", reason, place=shown_place(declared.place))


def candidates(declared: Algorithm) -> list[Any]:
    """Choose at most four records that may take the place of one, spread over those that are declared."""
    records = declared.data if declared.replacements is None else declared.replacements
    return [records[k] for k in np.unique(np.linspace(0, len(records) - 1, 4).astype(int))]


def bases(declared: Algorithm) -> Iterator[tuple[str, Any]]:
    """Yield the data, and data sets in which all records are equal, where one that differs stands out most."""
    yield "the data", declared.data
    for k, record in enumerate(candidates(declared)):
        yield (
            f"data whose records all equal replacement {k}",
            with_records(declared.data, range(len(declared.data)), record),
        )


def with_records(data: Any, indices: Iterable[int], record: Any) -> Any:
    """Return a copy of ``data`` (array or list) with one record in several places."""
    copy = data.copy() if isinstance(data, np.ndarray) else list(data)
    for index in indices:
        copy[index] = record
    return copy


def worst_pair(declared: Algorithm, seed: int) -> Pair:
    """Return the declared pair, or the one whose outputs differ most, the generator's stream being the same for
    both.
    """
    if declared.neighbour is not None:
        return Pair(declared.data, declared.neighbour, "the two data sets are the declared pair")
    pairs = list(_pairs(declared))

    def apart(pair: Pair) -> float:
        gaps = [
            declared.transcript(pair.data, np.random.default_rng([seed, k]))
            - declared.transcript(pair.neighbour, np.random.default_rng([seed, k]))
            for k in range(8)
        ]
        # what overflows on one side alone is as far as can be
        return float(np.nan_to_num(np.square(gaps), nan=np.inf).sum())

    return max(pairs, key=apart)


def _pairs(declared: Algorithm) -> Iterator[Pair]:
    for words, base in bases(declared):
        if declared.relation == "add_or_remove_one":
            rest = np.delete(base, 0, axis=0) if isinstance(base, np.ndarray) else list(base)[1:]
            yield Pair(base, rest, f"of {words}, record 0 is removed")
            for k, record in enumerate(candidates(declared)):
                replaced = with_record(base, 0, record)
                yield Pair(replaced, rest, f"of {words}, record 0 is replacement {k} or is removed")
            continue
        for k, record in enumerate(candidates(declared)):
            yield Pair(base, with_record(base, 0, record), f"of {words}, record 0 becomes replacement {k}")
