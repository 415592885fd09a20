"""Changes of a data set that make a neighbour of it, in the order in which they are worth trying."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits.columns import Columns, Range, Row
from dpcheck.audits.running.datasets import brief

Edit = tuple[Mapping[int, Row], Sequence[int], Sequence[Row]]  # records replaced, dropped, added
_EACH = 8  # columns that are looked at one by one
_TOLD = 3  # cells that a sentence names
_LONGEST = 40


@dataclass(frozen=True)
class Proposal:
    """A pair not yet made: what changes for its ``neighbour`` and ``data``; kind and outside are those of a Pair."""

    words: str
    neighbour: Edit
    data: Edit | None = None
    kind: str = "inside"
    outside: str = ""


@dataclass(frozen=True)
class _Target:
    """Cells that a record may get, by column, and the records, those first that this moves most."""

    cells: dict[int, object]
    order: NDArray[np.int64]
    kind: str = "inside"
    outside: str = ""

    def record(self, row: Row) -> Row:
        return tuple(self.cells.get(k, value) for k, value in enumerate(row))


def replacing(table: Columns, ranges: Sequence[Range], group: int) -> Iterator[Proposal]:
    """Propose pairs in which ``group`` records are replaced."""
    n = len(table)
    low, high = _ends(ranges)
    for number, target in enumerate(_targets(table, ranges)):
        places = [int(index) for index in target.order[:group]]
        put = {index: target.record(table.record(index)) for index in places}
        if any(_differ(table.record(index), row) for index, row in put.items()):
            words = f"{_named(places)}: {moved(table, table.record(places[0]), put[places[0]])}"
            yield Proposal(words, (put, (), ()), None, target.kind, target.outside)
        if number != 1 or not _differ(low, high):
            continue
        if len(ranges) > 1:
            yield Proposal(
                f"{_named(places)} at the low end of every column, or at the high end",
                (dict.fromkeys(places, high), (), ()), (dict.fromkeys(places, low), (), ()),
            )  # fmt: skip
        for many, named in (((n + 1) // 2, "half of the records"), (n, "all records")):
            if many >= group:
                fewer, rows = [low] * (many - group) + [high] * (n - many + group), [low] * many + [high] * (n - many)
                words = f"{named} at the low end of the range, {group} of them moved to the high end"
                yield Proposal(words, ({}, range(n), fewer), ({}, range(n), rows))
        last = table.record(n - 1)
        if any(_differ(table.record(index), last) for index in range(min(group, n - 1))):
            copies = dict.fromkeys(range(min(group, n - 1)), last)
            yield Proposal(f"{_named(list(copies))} a copy of record {n - 1}", (copies, (), ()))


def adding(table: Columns, ranges: Sequence[Range], group: int) -> Iterator[Proposal]:
    """Propose pairs in which ``group`` records are added or removed."""
    n = len(table)
    low, high = _ends(ranges)
    for number, target in enumerate(_targets(table, ranges)):
        far = [int(index) for index in target.order[::-1][:group]]
        record = target.record(table.record(far[0]))
        added = f"{_counted(group)} added: {shown(table, record, target.cells)}"
        yield Proposal(added, ({}, (), [record] * group), None, target.kind, target.outside)
        if target.kind == "inside" and n > group:
            yield Proposal(f"{_named(far)} removed: {shown(table, table.record(far[0]))}", ({}, far, ()))
        if number != 1:
            continue
        few = [table.record(index) for index in range(group)]
        for many, named in (((n + 1) // 2, "half of the records"), (n, "all records")):
            at = [low] * many + [high] * (n - many)
            words = f"{named} at the low end of the range, and {_counted(group)} more at the high end"
            yield Proposal(words, ({}, range(n), [*at, *[high] * group]), ({}, range(n), at))
        yield Proposal(
            f"{_counted(group)} alone: {shown(table, few[0])}, and removed", ({}, range(n), ()), ({}, range(n), few),
            "beyond", "no record at all, where the data have some",
        )  # fmt: skip


def _ends(ranges: Sequence[Range]) -> tuple[Row, Row]:
    return tuple(found.low for found in ranges), tuple(found.high for found in ranges)


def _targets(table: Columns, ranges: Sequence[Range]) -> Iterator[_Target]:
    """Yield what records may become: all columns at once, then one by one; within their ranges, then outside."""
    width, places = len(ranges), np.stack([found.places for found in ranges], axis=1)
    signs = [np.ones(width), -np.ones(width)]
    if width > 1:
        single, turns = np.eye(width)[:_EACH], np.where(np.arange(width) % 2, -1.0, 1.0)
        signs += [turns, -turns, *single, *-single]
    for sign in signs:
        cells = {k: found.high if sign[k] > 0 else found.low for k, found in enumerate(ranges) if sign[k]}
        yield _Target(cells, np.argsort(places @ sign, kind="stable"))
    for k, found in enumerate(ranges[:_EACH]):
        if found.lack:
            yield _Target({k: found.lack[0]}, np.argsort(-places[:, k], kind="stable"))
    for kind, values in (("beyond", [r.beyond for r in ranges]), ("not finite", [r.broken for r in ranges])):
        most = max(map(len, values))
        together = [{k: v[number] for k, v in enumerate(values) if len(v) > number} for number in range(most)]
        apart = [{k: value} for k in range(min(width, _EACH)) for value in values[k]] if width > 1 else []
        for cells in (*together, *apart):
            k = next(iter(cells))
            held = ranges[k].words if kind == "beyond" else "the data hold none"
            yield _Target(cells, np.arange(len(table)), kind, f"{_cell(table, k, cells[k])}, where {held}")


def _differ(row: Row, other: Row) -> bool:
    return repr(row) != repr(other)


def moved(table: Columns, old: Row, new: Row) -> str:
    """What a record was and becomes, cell by cell."""
    cells = [
        f"{_cell(table, k, was)} -> {_brief(now)}"
        for k, (was, now) in enumerate(zip(old, new, strict=True)) if _brief(was) != _brief(now)
    ]  # fmt: skip
    return _joined(cells) or "as it is"


def shown(table: Columns, row: Row, first: Iterable[int] = ()) -> str:
    """A record in a few words, cells in ``first`` before the others."""
    order = dict.fromkeys((*first, *range(len(row))))
    return _joined([_cell(table, k, row[k]) for k in order])


def _cell(table: Columns, k: int, value: object) -> str:
    return f"{table.names[k]} {_brief(value)}".strip()


def _joined(cells: Sequence[str]) -> str:
    more = [f"{len(cells) - _TOLD} more"] if len(cells) > _TOLD else []
    return ", ".join([*cells[:_TOLD], *more])


def _brief(value: object) -> str:
    """A cell on one line, words in quotes; a long one is cut."""
    digits = f"{value:g}" if isinstance(value, float | np.floating) else value
    text = repr(value) if isinstance(value, str) else brief(digits)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text)} characters)"


def _named(places: Sequence[int]) -> str:
    if len(places) == 1:
        return f"record {places[0]}"
    return f"records {', '.join(map(str, places[:_TOLD]))}{'' if len(places) <= _TOLD else ', ...'}"


def _counted(group: int) -> str:
    return "a record" if group == 1 else f"{group} records"
