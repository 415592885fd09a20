"""Measured over bound, a line for each setting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcheck import style
from dpcheck.errors import require
from dpcheck.report.drawing import LEGEND, NARROW, Row, below, literal, number, title
from dpcheck.style import CLAIMED, PAGE, SERIES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARKS = "osD^vPX"
# Columns that say how a number came about, not what was measured.
_NOT_SETTINGS = frozenset(
    {"measured", "error", "predicted", "bound", "measured/bound", "rate", "runs", "seed", "seconds"}
)
_BESIDE = 30  # letters of a legend that stands beside the axes


def over_bound(rows: Sequence[Row], *, along: str = "n", width: float = PAGE) -> Figure:
    """Draw measured over bound, means with two standard errors, a line for each setting of the other factors.

    Parameters
    ----------
    rows : sequence of dict
        With ``measured``, ``bound``, ``error`` (standard error; may be missing), ``along`` and settings
        such as ``d`` or ``epsilon``. Rows whose measured or bound is no finite number are left out,
        which the title says.
    along : str
        The column to the right: positive numbers.
    width : float
        In inches.

    Raises
    ------
    InputError
        Where no row can be drawn, or ``along`` is not a positive number in each.
    """
    drawn = [row for row in rows if has_bound(row)]
    require(bool(drawn), "rows", "hold a finite measured with a finite bound > 0", f"none among {len(rows)}")
    for row in drawn:
        good = 0 < number(row, along) < np.inf
        require(good, along, "be a positive number in each row", row.get(along))
    settings = settings_of(drawn, along)
    lines: dict[tuple[Any, ...], list[Row]] = {}
    for row in drawn:
        lines.setdefault(tuple(row.get(name) for name in settings), []).append(row)
    figure = style.figure(width, 2.9)
    axis = figure.subplots()
    axis.set_xscale("log")
    axis.axhline(1, color=CLAIMED, linewidth=1.2)
    for i, (values, own) in enumerate(lines.items()):
        label = words_of(settings, dict(zip(settings, values, strict=True)))
        color, mark = SERIES[i % len(SERIES)], _MARKS[(i + i // len(SERIES)) % len(_MARKS)]
        x, ratio, error = np.array(sorted((number(row, along), *_ratio(row)) for row in own)).T
        good = ratio > 0
        axis.errorbar(
            x[good], ratio[good], yerr=2 * error[good], fmt=f"{mark}-", color=color, markersize=4, linewidth=1,
            capsize=2, label=label,
        )  # fmt: skip
    axis.set_yscale("log", nonpositive="clip")
    style.plain_logs(axis.yaxis)
    low = [number(row, along) for row in drawn if _ratio(row)[0] <= 0]
    if low:
        style.not_positive(axis, low, "mean not positive")
    axis.set(xlabel=along, ylabel="measured / bound")
    sizes = [number(row, along) for row in drawn]
    axis.set_xlim(min(sizes) / 1.2, max(sizes) * 1.2)
    style.ticks_at(axis, sizes, most=int(1.4 * width))
    style.small(axis)
    if len(lines) > 1 or low:
        if width > NARROW and max(map(len, axis.get_legend_handles_labels()[1])) < _BESIDE:
            literal(axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), **LEGEND))
        else:
            below(figure, axis, width)
    left_out = f"; rows left out for lack of numbers: {len(rows) - len(drawn)}" if len(drawn) < len(rows) else ""
    title(figure, _largest(drawn, along, settings) + left_out, width)
    return figure


def has_bound(row: Row) -> bool:
    """Whether a row holds a finite measured with a finite bound > 0."""
    measured, bound = number(row, "measured"), number(row, "bound")
    return bool(np.isfinite(measured) and 0 < bound < np.inf)


def along_of(rows: Sequence[Row]) -> str | None:
    """Return what a table's figure goes along: ``n`` or the first factor that varies and is positive in each row."""
    names: list[str] = ["n", *(rows[0] if rows else ())]
    for name in names:
        positive = name not in _NOT_SETTINGS and all(0 < number(row, name) < np.inf for row in rows)
        if rows and positive and _count(rows, name) > 1:
            return name
    return None


def settings_of(rows: Sequence[Row], along: str) -> list[str]:
    """The columns that tell the lines apart: words, and numbers that differ at one place along."""
    found: list[str] = []
    for name in rows[0]:
        if name == along or name in _NOT_SETTINGS:
            continue
        words = any(isinstance(row.get(name), str) for row in rows)
        differ = _count(rows, name) > 1 and (words or _count(rows, along, name) > _count(rows, along))
        if differ and _count(rows, *found, name) > _count(rows, *found):  # else an earlier column says the same
            found.append(name)
    return found


def _count(rows: Sequence[Row], *names: str) -> int:
    """Count the settings of these columns."""
    return len({tuple(row.get(name) for name in names) for row in rows})


def words_of(names: Sequence[str], row: Row) -> str:
    """Say which setting of some columns a row has."""
    return ", ".join(_setting(name, row.get(name)) for name in names)


def _setting(name: str, value: Any) -> str:
    return f"{name} = {style.plain(float(value))}" if isinstance(value, int | float | np.number) else str(value)


def _ratio(row: Row) -> tuple[float, float]:
    """Return measured over bound, and its standard error."""
    bound = number(row, "bound")
    return number(row, "measured") / bound, number(row, "error") / bound


def _largest(rows: Sequence[Row], along: str, settings: list[str]) -> str:
    """The largest measured over bound in words; one that is above 1 beyond its error goes first."""

    def clear(row: Row) -> bool:
        ratio, error = _ratio(row)
        return bool(ratio - 2 * np.nan_to_num(error) > 1)

    row = max([row for row in rows if clear(row)] or rows, key=lambda row: _ratio(row)[0])
    ratio = f"{_ratio(row)[0]:.2g} times the bound"
    place = f"at {words_of((along, *settings), row)}"
    if clear(row):
        return f"Measured exceeds the bound: {ratio}, {place}"
    if _ratio(row)[0] > 1:
        return f"Measured reaches {ratio}, {place}, within two standard errors"
    return f"Measured is at most {ratio}, {place}"
