"""Drawings of measured tables: what was measured beside the fit and the claim, and measured over bound."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpcheck.report.drawing import number as known
from dpcheck.report.figures import RATES
from dpcheck.report.over_bound import along_of, has_bound, settings_of, words_of
from dpcheck.report.page.axis import Axis

WIDTH, HEIGHT = 330, 190  # of the space between the axes, in units that are pixels on a screen of usual size
_KINDS = 7  # series told apart by colour and shape
_LEFT_OUT = "rows without numbers are not drawn"


@dataclass(frozen=True)
class Point:
    """A measured mean, and the ends of its bar of two standard errors."""

    x: float
    y: float
    low: float
    high: float


@dataclass(frozen=True)
class Series:
    """Points or a line: ``look`` names its style."""

    look: str
    words: str
    points: tuple[Point, ...]

    @property
    def path(self) -> str:
        """The points as the path of a line."""
        return "M" + "L".join(f"{each.x:g} {each.y:g}" for each in self.points)


@dataclass(frozen=True)
class Chart:
    """A drawing with two axes."""

    title: str
    x_name: str
    y_name: str
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    series: tuple[Series, ...]
    words: str


def charts(tables: Mapping[str, Sequence[dict[str, Any]]]) -> list[Chart]:
    """Draw each table that has measured values along a factor; and over its bound, where it has one."""
    fits = {(str(row.get("algorithm")), str(row.get("experiment"))): row for row in tables.get(RATES, [])
            if isinstance(row, dict)}  # fmt: skip
    count: dict[tuple[str, str], int] = {}
    for row in tables.get(RATES, []):
        key = (str(row.get("algorithm")), str(row.get("experiment")))
        count[key] = count.get(key, 0) + 1
    found = []
    for title, rows in tables.items():
        algorithm, _, experiment = title.partition(": ")
        along = along_of([row for row in rows if known(row, "measured") > 0 and title != RATES])
        if along is None or len([row for row in rows if known(row, "measured") > 0]) < 2:
            continue
        fit = fits.get((algorithm, experiment)) if count.get((algorithm, experiment)) == 1 else None
        found.append(_values(title, rows, along, fit if fit and fit.get("factor") == along else None))
        bound = [row for row in rows if has_bound(row)]
        if len(bound) > 1:
            found.append(_over_bound(title, bound, along))
    return found


def _values(title: str, rows: Sequence[dict[str, Any]], along: str, fit: dict[str, Any] | None) -> Chart:
    drawn = [row for row in rows if known(row, "measured") > 0]
    groups = _grouped(drawn, along)
    names = ("measured", "predicted", "bound")
    x = Axis.around([known(row, along) for row in drawn], logarithmic=True)
    y = Axis.around([known(row, name) for row in drawn for name in names], logarithmic=True)
    series = []
    single = len(groups) == 1
    for i, (label, own) in enumerate(groups.items()):
        words = "measured, with two standard errors" if single else f"measured, {label}"
        points = [(known(r, along), known(r, "measured"), known(r, "error")) for r in own]
        series.append(Series(f"s{i % _KINDS}", words, _points(points, x, y)))
        for name, words in (("predicted", "predicted for the instance"), ("bound", "claimed: the theorem's bound")):
            line = [(known(r, along), known(r, name), math.nan) for r in own if known(r, name) > 0]
            if len(line) > 1:
                series.append(Series(name, words, _points(line, x, y)))
    said = ""
    if fit is not None and single:
        said = _fit_words(fit, along)
        for look, name in (("fit", "measured"), ("order", "claimed")):
            slope = known(fit, name)
            if math.isfinite(slope):
                words = f"fitted: {along}^{slope:.2f}" if look == "fit" else f"claimed: order {along}^{slope:.2f}"
                series.append(Series(look, words, _power(drawn, along, slope, x, y)))
    return Chart(f"{title}: measured", along, "measured", _x(x), _y(y), _once(series), said or _span(drawn, along))


def _fit_words(fit: dict[str, Any], along: str) -> str:
    low, high = known(fit, "low"), known(fit, "high")
    interval = f" [{low:.2f}, {high:.2f}]" if math.isfinite(low) else ""
    claimed = known(fit, "claimed")
    claim = f"; the theorem claims {claimed:.2f}" if math.isfinite(claimed) else ""
    return f"Measured exponent of {along}: {known(fit, 'measured'):.2f}{interval}{claim}: {fit.get('verdict')}."


def _span(rows: Sequence[dict[str, Any]], along: str) -> str:
    first, last = (key(rows, key=lambda row: known(row, along)) for key in (min, max))
    return (
        f"From {known(first, 'measured'):.3g} at {along} = {known(first, along):g} "
        f"to {known(last, 'measured'):.3g} at {along} = {known(last, along):g}."
    )


def _over_bound(title: str, rows: Sequence[dict[str, Any]], along: str) -> Chart:
    groups = _grouped(rows, along)
    ratios = [known(row, "measured") / known(row, "bound") for row in rows]
    x = Axis.around([known(row, along) for row in rows], logarithmic=True)
    y = Axis.around([*ratios, 1.0], logarithmic=True)
    series = []
    for i, (label, own) in enumerate(groups.items()):
        points = [(known(r, along), known(r, "measured") / known(r, "bound"), known(r, "error") / known(r, "bound"))
                  for r in own if known(r, "measured") > 0]  # fmt: skip
        if points:
            series.append(Series(f"s{i % _KINDS}", label or "measured / bound", _points(points, x, y)))
    ends = _points([(x.low, 1.0, math.nan), (x.high, 1.0, math.nan)], x, y)
    series.append(Series("bound", "the theorem's bound", ends))
    worst = max(ratios)
    words = f"Measured is at most {worst:.2g} times the bound." if worst <= 1 else (
        f"Measured reaches {worst:.2g} times the bound.")  # fmt: skip
    return Chart(f"{title}: measured over bound", along, "measured / bound", _x(x), _y(y), _once(series), words)


def _grouped(rows: Sequence[dict[str, Any]], along: str) -> dict[str, list[dict[str, Any]]]:
    """The rows of each setting of the other factors, in order of the factor along."""
    names = settings_of(rows, along)
    found: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: known(row, along)):
        found.setdefault(words_of(names, row), []).append(row)
    return found


def _points(rows: Sequence[tuple[float, float, float]], x: Axis, y: Axis) -> tuple[Point, ...]:
    found = []
    for along, value, error in rows:
        error = 0.0 if math.isnan(error) else 2 * error
        ends = (_up(y, value - error), _up(y, value + error))
        found.append(Point(_right(x, along), _up(y, value), *ends))
    return tuple(found)


def _power(rows: Sequence[dict[str, Any]], along: str, slope: float, x: Axis, y: Axis) -> tuple[Point, ...]:
    """A power law through the middle of what was measured."""
    logs = [(math.log(known(row, along)), math.log(known(row, "measured"))) for row in rows]
    middle = [sum(each) / len(logs) for each in zip(*logs, strict=True)]
    ends = [min(logs)[0], max(logs)[0]]
    line = [(math.exp(end), math.exp(middle[1] + slope * (end - middle[0])), math.nan) for end in ends]
    return _points(line, x, y)


def _once(series: Sequence[Series]) -> tuple[Series, ...]:
    """The series, lines first so that points lie on top."""
    return tuple(sorted(series, key=lambda each: each.look.startswith("s")))


def _right(axis: Axis, value: float) -> float:
    return round(axis.at(value) * WIDTH / 100, 1)


def _up(axis: Axis, value: float) -> float:
    return round(HEIGHT - axis.at(value) * HEIGHT / 100, 1)


def _x(axis: Axis) -> tuple[tuple[float, str], ...]:
    return tuple((round(at * WIDTH / 100, 1), words) for at, words in axis.ticks)


def _y(axis: Axis) -> tuple[tuple[float, str], ...]:
    return tuple((round(HEIGHT - at * HEIGHT / 100, 1), words) for at, words in axis.ticks)
