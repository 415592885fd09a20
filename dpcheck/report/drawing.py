"""What the figures of a report are made of: rows with names, segments, legends, titles."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcheck import style
from dpcheck.style import ALARM, TEXT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = Mapping[str, Any]
NARROW = 5.0  # inches below which a figure has no room beside its axes
LEGEND: dict[str, Any] = {"fontsize": TEXT - 1, "frameon": False}
_ROW, _LINE = 0.17, 0.14  # inches of a row, and of a line of the legend


def rows_of(names: list[str], width: float) -> tuple[Figure, Any, list[float]]:
    """A figure with a named row for each name, the first on top; its axes, and where the rows are."""
    labels = ["\n".join(_wrapped(name, int(8 * width))) for name in names]
    lines = np.array([1 + 0.7 * label.count("\n") for label in labels])
    places = np.cumsum(lines) - lines / 2
    figure = style.figure(width, _ROW * lines.sum() + 0.7)
    axis = figure.subplots()
    size = TEXT - 1 if width > NARROW else TEXT - 2
    axis.set_yticks(places, labels, fontsize=size, parse_math=False)
    axis.set_ylim(lines.sum() + 0.1, -0.1)
    axis.tick_params(axis="y", length=0)
    axis.tick_params(axis="x", labelsize=TEXT)
    return figure, axis, places.tolist()


def _wrapped(name: str, most: int) -> list[str]:
    """Break a name into lines, after spaces and underscores."""
    lines = [""]
    for part in re.findall(r"[^_ ]*[_ ]*", name):
        if len(lines[-1]) + len(part.rstrip()) > most and lines[-1]:
            lines.append("")
        lines[-1] += part
    return [line.rstrip() for line in lines]


def stripe(axis: Any, y: float) -> None:
    """Draw a stripe behind a row that breaks a promise."""
    axis.axhspan(y - 0.5, y + 0.5, color=ALARM, alpha=0.1, linewidth=0)


def segment(
    axis: Any, y: float, low: float, high: float, ends: tuple[float, float], color: str, label: str = ""
) -> None:
    """Draw a line from low to high, with an arrow where it goes beyond the axis."""
    if np.isnan(low) or np.isnan(high) or low > high:
        return
    inside = np.clip([low, high], *ends)
    axis.plot(inside, [y, y], color=color, linewidth=1.4, solid_capstyle="butt", label=label)
    for value, end, mark in ((low, ends[0], "<"), (high, ends[1], ">")):
        if (value < end) if mark == "<" else (value > end):
            axis.plot(end, y, mark, color=color, markersize=4, clip_on=False)


def below(figure: Figure, axis: Any, width: float) -> None:
    """Draw a legend below the figure, each kind of mark once, in as many columns as there is room for."""
    handles, labels = axis.get_legend_handles_labels()
    once = dict(zip(labels, handles, strict=True))
    columns = max(1, min(4, int(width / (0.05 * max(map(len, labels)) + 0.5))))
    literal(figure.legend(once.values(), once, loc="outside lower center", ncols=columns, **LEGEND))
    figure.set_figheight(figure.get_figheight() + _LINE * -(-len(once) // columns))


def literal(legend: Any) -> None:
    """Return names as they are: a dollar sign is no formula."""
    for text in legend.get_texts():
        text.set_parse_math(False)


def title(figure: Figure, words: str, width: float) -> None:
    """Write words above a figure, in lines that it has room for."""
    whole = words.replace(" = ", "\u00a0=\u00a0")  # one setting stays on one line
    lines = textwrap.wrap(whole, int(14.5 * width))
    figure.suptitle("\n".join(lines), fontsize=TEXT + 1, parse_math=False)
    figure.set_figheight(figure.get_figheight() + _LINE * len(lines))


def number(row: Row, name: str) -> float:
    """A number of a table, NaN where there is none; infinities may be the words that JSON has for them."""
    try:
        return float(row[name])
    except (KeyError, TypeError, ValueError):
        return float("nan")
