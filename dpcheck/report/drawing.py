"""What of a report can be drawn, and what its figures are made of: named rows, segments, legends, titles."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcheck import style
from dpcheck.style import ALARM, TEXT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpcheck.report.results import Finding


Row = Mapping[str, Any]
# What a finding about privacy audits, by the end of its id; "" where that does not say.
RELEASED = ("transcript", "iterates", "output", "")
RATES = "Measured rates"  # the table of a report whose rows are exponents
NARROW = 5.0  # inches below which a figure has no room beside its axes
LEGEND: dict[str, Any] = {"fontsize": TEXT - 1, "frameon": False}
_ROW, _LINE = 0.17, 0.14  # inches of a row, and of a line of the legend
# Columns that say how a number came about, not what was measured.
_NOT_SETTINGS = frozenset(
    {"measured", "error", "predicted", "bound", "measured/bound", "rate", "runs", "seed", "seconds"}
)


def number_in(row: Row, name: str) -> float:
    """Return a number of a table's row, NaN where there is none; infinities may be the words that JSON has for them."""
    try:
        return float(row[name])
    except (KeyError, TypeError, ValueError):
        return float("nan")


def has_bound(row: Row) -> bool:
    """Whether a row holds a finite measured with a finite bound > 0."""
    measured, bound = number_in(row, "measured"), number_in(row, "bound")
    return bool(np.isfinite(measured) and 0 < bound < np.inf)


def along_of(rows: Sequence[Row]) -> str | None:
    """Return what a table's figure goes along: ``n`` or the first factor that varies and is positive in each row."""
    names: list[str] = ["n", *(rows[0] if rows else ())]
    for name in names:
        positive = name not in _NOT_SETTINGS and all(0 < number_in(row, name) < np.inf for row in rows)
        if rows and positive and _count(rows, name) > 1:
            return name
    return None


def settings_of(rows: Sequence[Row], along: str) -> list[str]:
    """The columns that tell the lines apart: words, and numbers that differ at one place along."""
    settings: list[str] = []
    for name in rows[0]:
        if name == along or name in _NOT_SETTINGS:
            continue
        words = any(isinstance(row.get(name), str) for row in rows)
        differ = _count(rows, name) > 1 and (words or _count(rows, along, name) > _count(rows, along))
        if differ and _count(rows, *settings, name) > _count(rows, *settings):  # else an earlier column says the same
            settings.append(name)
    return settings


def _count(rows: Sequence[Row], *names: str) -> int:
    """Count the settings of these columns."""
    return len({tuple(row.get(name) for name in names) for row in rows})


def words_of(names: Sequence[str], row: Row) -> str:
    """Say which setting of some columns a row has."""
    values = [(name, row.get(name)) for name in names]
    return ", ".join(
        f"{name} = {style.plain(float(value))}" if isinstance(value, int | float | np.number) else str(value)
        for name, value in values
    )


@dataclass(frozen=True)
class Variant:
    """A variant's row: its label, the audits by what was released, and ``certified``, NaN where there is none."""

    label: str
    audits: dict[str, float]
    certified: float
    claimed: float

    @property
    def audited(self) -> float:
        """The largest of the audited bounds, NaN where there is none."""
        return max(self.audits.values(), default=float("nan"))


def variants_of(findings: Iterable[Finding]) -> list[Variant]:
    """Return what can be drawn: findings about privacy with a claimed epsilon, those of one certificate together."""
    variants: dict[tuple[str, float | None, float], Variant] = {}
    for f in findings:
        if f.kind != "privacy" or f.claimed is None or np.isnan(f.claimed):
            continue
        name, _, what = f.id.rpartition(".")
        if what not in RELEASED or not name:
            name, what = f.id, ""
        label = ", ".join([part if i == 0 else part.replace("_", " ") for i, part in enumerate(name.split("."))])
        certified = float("nan") if f.certified is None else float(f.certified)
        variant = variants.setdefault((name, f.certified, f.claimed), Variant(label, {}, certified, float(f.claimed)))
        if f.audited is not None and not np.isnan(f.audited):
            variant.audits[what] = max(float(f.audited), variant.audits.get(what, 0.0))
    return list(variants.values())


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
