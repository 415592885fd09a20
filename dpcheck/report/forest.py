"""The exponents of all theorems: measured, predicted, claimed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcheck.errors import require
from dpcheck.report.drawing import NARROW, Row, below, number, rows_of, segment, stripe, title
from dpcheck.style import ALARM, CLAIMED, FAINT, MEASURED, PAGE, PREDICTED, TEXT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NEEDED = frozenset({"experiment", "theorem", "factor", "measured", "verdict"})
# How a measured exponent is drawn: marker, colour, filled. Shapes differ too, for print without colours.
_VERDICTS = {
    "contradicted": ("X", ALARM, True),
    "not asymptotic": ("^", FAINT, False),
    "inconclusive": ("o", FAINT, False),
    "supported": ("o", MEASURED, True),
}


def forest(rows: Sequence[Row], *, width: float = PAGE) -> Figure:
    """Draw measured exponents with their intervals beside the predicted and the claimed ones, paper by paper.

    Parameters
    ----------
    rows : sequence of dict
        One an experiment and factor: ``experiment``, ``algorithm``, ``theorem`` (as
        ``"yang2022.theorem_2a"``), ``regime``, ``factor``, ``measured``, ``low``, ``high``,
        ``predicted``, ``claimed`` and ``verdict``. Missing exponents are not drawn.
    width : float
        In inches; the numbers are written out beside the axes where they have room.

    Raises
    ------
    InputError
        Where there are no rows, or one lacks experiment, theorem, factor, measured or verdict.
    """
    require(len(rows) > 0, "rows", "hold at least one exponent", "none")
    for row in rows:
        require(row.keys() >= NEEDED, "rows", f"have {', '.join(sorted(NEEDED))}", sorted(row))
    papers: dict[str, list[tuple[str, Row]]] = {}
    for label, row in zip(_labels(rows), rows, strict=True):
        papers.setdefault(_paper(row), []).append((label, row))
    names: list[tuple[str, Row | None]] = []  # None beside the name of a paper
    for paper, own in papers.items():
        names.append((paper, None))
        last = None
        for label, row in own:
            names.append((str(row["factor"]) if _key(row) == last else f"{label}:\u00a0{row['factor']}", row))
            last = _key(row)
    figure, axis, places = rows_of([name for name, _ in names], width)
    points = [number(row, name) for row in rows for name in ("measured", "predicted", "claimed")]
    known = [point for point in points if np.isfinite(point)] or [0.0]
    reach = max(0.25, 0.1 * (max(known) - min(known)))
    ends = min(known) - reach, max(known) + reach
    axis.set_xlim(*ends)
    for y, text, (_, each) in zip(places, axis.get_yticklabels(), names, strict=True):
        if each is None:
            text.set_fontweight("bold")
            continue
        _exponent(axis, y, each, ends)
        if width > NARROW:
            axis.text(1.03, y, _interval(each), transform=axis.get_yaxis_transform(), va="center", fontsize=TEXT - 1)
    axis.locator_params(axis="x", nbins=6 if width > NARROW else 4)
    axis.set_xlabel("exponent", fontsize=TEXT)
    axis.grid(axis="x", color=FAINT, alpha=0.25, linewidth=0.6)
    found = Counter(str(row["verdict"]) for row in rows)
    order = [*(word for word in _VERDICTS if word in found), *sorted(found.keys() - _VERDICTS.keys())]
    below(figure, axis, width)
    title(figure, f"Exponents: {', '.join(f'{found[word]} {word}' for word in order)}", width)
    return figure


def _labels(rows: Sequence[Row]) -> list[str]:
    """Name each row by theorem and regime, and by more where another experiment of the paper has both too."""
    choices = []
    for row in rows:
        name, regime, algorithm = _theorem(str(row["theorem"])), row.get("regime"), row.get("algorithm")
        parts = (name, regime), (name, algorithm, regime), (algorithm, row["experiment"])
        choices.append([", ".join(str(part) for part in each if part) for each in parts])
    labels = []
    for row, (short, long, full) in zip(rows, choices, strict=True):
        others = [
            each for other, each in zip(rows, choices, strict=True)
            if _key(other) != _key(row) and _paper(other) == _paper(row)
        ]  # fmt: skip
        taken = [{each[i] for each in others} for i in (0, 1)]
        labels.append(short if short not in taken[0] else long if long not in taken[1] else full)
    return labels


def _key(row: Row) -> tuple[Any, ...]:
    """The experiment of a row: names of experiments are unique for a theorem and an algorithm."""
    return row["theorem"], row["experiment"], row.get("algorithm")


def _paper(row: Row) -> str:
    return str(row["theorem"]).rpartition(".")[0]


def _theorem(id: str) -> str:
    """Return ``"zhang2022.corollary_b_6"`` as "Corollary B.6"."""
    word, *rest = id.rpartition(".")[2].split("_")
    number = ".".join(part.upper() if len(part) == 1 else part for part in rest if len(part) < 3)
    return " ".join(filter(None, (word.capitalize(), number, *(part for part in rest if len(part) > 2))))


def _exponent(axis: Any, y: float, row: Row, ends: tuple[float, float]) -> None:
    verdict = str(row["verdict"])
    mark, color, filled = _VERDICTS.get(verdict, ("P", FAINT, False))
    measured, low, high = (number(row, name) for name in ("measured", "low", "high"))
    if verdict == "contradicted":
        stripe(axis, y)
    claimed, predicted = number(row, "claimed"), number(row, "predicted")
    if np.isfinite(claimed):
        axis.vlines(claimed, y - 0.5, y + 0.5, color=CLAIMED, linewidth=1.6, label="claimed by the theorem")
    if np.isfinite(predicted):
        label = "predicted for the instance"
        axis.plot(predicted, y, "D", color=PREDICTED, fillstyle="none", markersize=5.5, label=label)
    segment(axis, y, low, high, ends, color)
    face = color if filled else "white"
    axis.plot(measured, y, mark, color=color, markerfacecolor=face, markersize=4, label=f"measured, {verdict}")


def _interval(row: Row) -> str:
    measured, low, high = (number(row, name) for name in ("measured", "low", "high"))
    return f"{measured:.2f} [{low:.2f}, {high:.2f}]" if np.isfinite(measured) else "no power law"
