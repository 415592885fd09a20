"""How pictures look, wherever they are drawn: sizes of a printed page, colours, plain numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMN, PAGE = 3.4, 7.0  # widths of print, in inches
TEXT = 8.0  # points
# Told apart by the colour-blind: Okabe and Ito's blue, vermilion and green.
MEASURED, CLAIMED, PREDICTED, ALARM, FAINT = "#0072b2", "#d55e00", "#009e73", "#b3261e", "#77808c"
INK = "#000000"  # what is copied from a paper
SERIES = (MEASURED, CLAIMED, PREDICTED, "#cc79a7", "#e69f00", "#56b4e9", INK)  # many lines of one kind
_TICKS = 5  # plain numbers that fit below a panel
_NARROW = 4.0  # ratio of a logarithmic axis's ends below which its powers of ten are too few ticks
_WIDE = 1e3


def figure(width: float, height: float) -> Figure:
    """An empty figure of a size in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained", dpi=200)


def plain(value: float) -> str:
    """A number as people write it: 0.05, 16384, 5e-5."""
    if value and abs(value) < 1e-4:
        return f"{value:.3g}".replace("e-0", "e-")
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e7 else f"{value:.4g}".replace("e+0", "e")


def small(axis: Any) -> None:
    """Set text to the size of a printed page."""
    axis.tick_params(labelsize=TEXT)
    for text in (axis.title, axis.xaxis.label, axis.yaxis.label):
        text.set_fontsize(TEXT)


def ticks_at(axis: Any, levels: Any, *, most: int = _TICKS) -> None:
    """Write plain numbers below an axis, at levels that were measured."""
    import numpy as np
    from matplotlib.ticker import NullLocator

    levels = np.unique(levels)
    chosen = levels[:: -(-len(levels) // most)]
    axis.set_xticks(chosen, [plain(level) for level in chosen])
    axis.xaxis.set_minor_locator(NullLocator())


def plain_logs(axis: Any) -> None:
    """Write plain numbers on a logarithmic axis (a figure's ``xaxis`` or ``yaxis``), as many as its range needs."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    low, high = axis.get_view_interval()
    if high / low < _NARROW:
        axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    else:
        axis.set_major_locator(LogLocator(subs=(1.0,) if high / low > _WIDE else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain(value)))
    axis.set_minor_formatter(NullFormatter())


def not_positive(axis: Any, x: Any, words: str) -> None:
    """Mark at the foot of a logarithmic axis the means that have no place on it."""
    foot = axis.get_xaxis_transform()
    axis.plot(x, [0.03] * len(x), "v", transform=foot, color=MEASURED, fillstyle="none", markersize=4, label=words)
