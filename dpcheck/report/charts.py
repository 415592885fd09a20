"""The drawings of a page: measured values along a factor, and rows of epsilons and of exponents on one axis."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from dpcheck.report.drawing import RATES, Row, Variant, along_of, grouped, has_bound, number_in
from dpcheck.report.results import Finding, format_number, standing
from dpcheck.style import plain

_MOST = 7  # ticks
_APART = 9.0  # percent of the axis between two ticks, for their numbers to have room
_HUGE = 1e150  # what is beyond it is drawn at the end of the axis


@dataclass(frozen=True)
class Axis:
    """A scale from ``low`` to ``high``, logarithmic or linear, drawn as shares of its length in percent."""

    low: float
    high: float
    logarithmic: bool

    @classmethod
    def around(cls, values: Iterable[float], *, logarithmic: bool, room: float = 0.06) -> Axis:
        """An axis with all of the values inside, and some room; on a logarithmic one only positive values count."""
        known = [value for value in values if (1 / _HUGE if logarithmic else -_HUGE) < value < _HUGE] or [1.0]
        low, high = min(known), max(known)
        if logarithmic:
            factor = max((high / low) ** room, 1.15)
            return cls(low / factor, high * factor, True)
        more = (high - low) * room or 0.5
        return cls(low - more, high + more, False)

    def at(self, value: float) -> float:
        """Where a value stands, in percent; one that is outside stands at the end."""
        value = min(max(value, self.low), self.high)
        if self.logarithmic:
            return round(100 * math.log(value / self.low) / math.log(self.high / self.low), 2)
        return round(100 * (value - self.low) / (self.high - self.low), 2)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Plain numbers and where they stand."""
        levels = self._decades() if self.logarithmic else []
        return [(self.at(value), plain(value)) for value in (levels if len(levels) > 1 else self._even())]

    def _decades(self) -> list[float]:
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        for parts in (range(1, 10), (1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
            levels = [part * 10.0**power for power in range(first, last + 1) for part in parts]
            levels = [level for level in levels if self.low <= level <= self.high]
            places = [self.at(level) for level in levels]
            if all(right - left >= _APART for left, right in pairwise(places)):
                return levels
        return levels[:: -(-len(levels) // _MOST)]

    def _even(self) -> list[float]:
        step = 10 ** math.floor(math.log10((self.high - self.low) / 2))
        while (self.high - self.low) / step > _MOST - 1:
            step *= 2 if round(step / 10 ** math.floor(math.log10(step) + 1e-9)) != 2 else 2.5
        first = math.ceil(self.low / step - 1e-9)
        return [round(i * step, 12) for i in range(first, math.floor(self.high / step + 1e-9) + 1)]


_KINDS = 7  # series told apart by colour and shape


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
        return "M" + "L".join(f"{point.x:g} {point.y:g}" for point in self.points)


@dataclass(frozen=True)
class Chart:
    """A drawing with two axes."""

    title: str
    x_name: str
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    series: tuple[Series, ...]
    words: str
    # of the space between the axes, in units that are pixels on a screen of usual size
    width: ClassVar[int] = 330
    height: ClassVar[int] = 190


def charts(tables: Mapping[str, Sequence[dict[str, Any]]]) -> list[Chart]:
    """Draw each table that has measured values along a factor; and over its bound, where it has one."""
    fits: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in tables.get(RATES, []):
        fits.setdefault((str(row.get("algorithm")), str(row.get("experiment"))), []).append(row)
    drawn = []
    for title, rows in tables.items():
        algorithm, _, experiment = title.partition(": ")
        along = along_of([row for row in rows if number_in(row, "measured") > 0 and title != RATES])
        if along is None or len([row for row in rows if number_in(row, "measured") > 0]) < 2:
            continue
        fitted = fits.get((algorithm, experiment), [])
        fit = fitted[0] if len(fitted) == 1 and fitted[0].get("factor") == along else None
        drawn.append(_values(title, rows, along, fit))
        bound = [row for row in rows if has_bound(row)]
        if len(bound) > 1:
            drawn.append(_over_bound(title, bound, along))
    return drawn


def _values(title: str, rows: Sequence[Row], along: str, fit: dict[str, Any] | None) -> Chart:
    drawn = [row for row in rows if number_in(row, "measured") > 0]
    groups = grouped(sorted(drawn, key=lambda row: number_in(row, along)), along)
    names = ("measured", "predicted", "bound")
    x = Axis.around([number_in(row, along) for row in drawn], logarithmic=True)
    y = Axis.around([number_in(row, name) for row in drawn for name in names], logarithmic=True)
    series = []
    single = len(groups) == 1
    for i, (label, members) in enumerate(groups.items()):
        words = "measured, with two standard errors" if single else f"measured, {label}"
        points = [(number_in(r, along), number_in(r, "measured"), number_in(r, "error")) for r in members]
        series.append(Series(f"s{i % _KINDS}", words, _points(points, x, y)))
        for name, words in (("predicted", "predicted for the instance"), ("bound", "claimed: the theorem's bound")):
            line = [(number_in(r, along), number_in(r, name), math.nan) for r in members if number_in(r, name) > 0]
            if len(line) > 1:
                series.append(Series(name, words, _points(line, x, y)))
    summary = ""
    if fit is not None and single:
        summary = _fit_words(fit, along)
        for look, name in (("fit", "measured"), ("order", "claimed")):
            slope = number_in(fit, name)
            if math.isfinite(slope):
                words = f"fitted: {along}^{slope:.2f}" if look == "fit" else f"claimed: order {along}^{slope:.2f}"
                series.append(Series(look, words, _power(drawn, along, slope, x, y)))
    return Chart(f"{title}: measured", along, _x(x), _y(y), _once(series), summary or _span(drawn, along))


def _fit_words(fit: dict[str, Any], along: str) -> str:
    low, high = number_in(fit, "low"), number_in(fit, "high")
    interval = f" [{low:.2f}, {high:.2f}]" if math.isfinite(low) else ""
    claimed = number_in(fit, "claimed")
    claim = f"; the theorem claims {claimed:.2f}" if math.isfinite(claimed) else ""
    return f"Measured exponent of {along}: {number_in(fit, 'measured'):.2f}{interval}{claim}: {fit.get('verdict')}."


def _span(rows: Sequence[Row], along: str) -> str:
    first, last = (key(rows, key=lambda row: number_in(row, along)) for key in (min, max))
    return (
        f"From {number_in(first, 'measured'):.3g} at {along} = {number_in(first, along):g} "
        f"to {number_in(last, 'measured'):.3g} at {along} = {number_in(last, along):g}."
    )


def _over_bound(title: str, rows: Sequence[Row], along: str) -> Chart:
    groups = grouped(sorted(rows, key=lambda row: number_in(row, along)), along)
    ratios = [number_in(row, "measured") / number_in(row, "bound") for row in rows]
    x = Axis.around([number_in(row, along) for row in rows], logarithmic=True)
    y = Axis.around([*ratios, 1.0], logarithmic=True)
    series = []
    for i, (label, members) in enumerate(groups.items()):
        points = []
        for row in members:
            bound = number_in(row, "bound")
            if number_in(row, "measured") > 0:
                ratio, error = number_in(row, "measured") / bound, number_in(row, "error") / bound
                points.append((number_in(row, along), ratio, error))
        if points:
            series.append(Series(f"s{i % _KINDS}", label or "measured / bound", _points(points, x, y)))
    ends = _points([(x.low, 1.0, math.nan), (x.high, 1.0, math.nan)], x, y)
    series.append(Series("bound", "the theorem's bound", ends))
    worst = max(ratios)
    words = f"Measured is at most {worst:.2g} times the bound." if worst <= 1 else (
        f"Measured reaches {worst:.2g} times the bound.")  # fmt: skip
    return Chart(f"{title}: measured over bound", along, _x(x), _y(y), _once(series), words)


def _points(rows: Sequence[tuple[float, float, float]], x: Axis, y: Axis) -> tuple[Point, ...]:
    points = []
    for along, value, error in rows:
        error = 0.0 if math.isnan(error) else 2 * error
        ends = (_up(y, value - error), _up(y, value + error))
        points.append(Point(round(x.at(along) * Chart.width / 100, 1), _up(y, value), *ends))
    return tuple(points)


def _power(rows: Sequence[Row], along: str, slope: float, x: Axis, y: Axis) -> tuple[Point, ...]:
    """A power law through the middle of what was measured."""
    logs = [(math.log(number_in(row, along)), math.log(number_in(row, "measured"))) for row in rows]
    middle = [sum(values) / len(logs) for values in zip(*logs, strict=True)]
    ends = [min(logs)[0], max(logs)[0]]
    line = [(math.exp(end), math.exp(middle[1] + slope * (end - middle[0])), math.nan) for end in ends]
    return _points(line, x, y)


def _once(series: Sequence[Series]) -> tuple[Series, ...]:
    """The series, lines first so that points lie on top."""
    return tuple(sorted(series, key=lambda line: line.look.startswith("s")))


def _up(axis: Axis, value: float) -> float:
    return round(Chart.height - axis.at(value) * Chart.height / 100, 1)


def _x(axis: Axis) -> tuple[tuple[float, str], ...]:
    return tuple((round(at * Chart.width / 100, 1), words) for at, words in axis.ticks)


def _y(axis: Axis) -> tuple[tuple[float, str], ...]:
    return tuple((round(Chart.height - at * Chart.height / 100, 1), words) for at, words in axis.ticks)


_FARTHEST = 100.0  # how many times above or below the claims epsilon is drawn
_SHAPES = {"transcript": "circle", "iterates": "diamond", "output": "triangle", "": "square"}
_ORDER = ("broken", "conditional", "good")
_MEANINGS = {
    "circle": "audited, whole transcript", "diamond": "audited, all iterates", "triangle": "audited, output only",
    "square": "audited",
}  # fmt: skip


@dataclass(frozen=True)
class Mark:
    """A sign at a place of a row, or a bar from there to ``end``; ``look`` names its style."""

    look: str
    at: float
    end: float | None = None
    shape: str = ""


@dataclass(frozen=True)
class Strip:
    """A row of a drawing: its name, its numbers in words, its marks, and whether it breaks a promise."""

    name: str
    words: str
    marks: tuple[Mark, ...]
    tone: str


@dataclass(frozen=True)
class Strips:
    """A drawing: rows on one axis, and a legend of (look, shape, words)."""

    title: str
    unit: str
    axis: Axis
    rows: tuple[Strip, ...]
    legend: tuple[tuple[str, str, str], ...]


def epsilon_strips(findings: Sequence[Finding], algorithm: str) -> Strips | None:
    """Draw audited, certified and claimed epsilon of an algorithm's variants; None where nothing is claimed."""
    variants = Variant.of(f for f in findings if f.id.split(".", 1)[0] == algorithm)
    if not variants:
        return None
    claims = [variant.claimed for variant in variants if 0 < variant.claimed < math.inf] or [1.0]
    least, most = min(claims) / _FARTHEST, max(claims) * _FARTHEST
    values = [value for variant in variants for value in (*variant.audits.values(), variant.certified, variant.claimed)]
    axis = Axis.around([value for value in values if least < value < most] or claims, logarithmic=True)
    rows = tuple(
        sorted((_sandwich(variant, axis, algorithm) for variant in variants), key=lambda row: _ORDER.index(row.tone))
    )
    looks = {(mark.look.replace("leak", "audit"), mark.shape) for row in rows for mark in row.marks}
    meanings = {
        ("audits", ""): "red: audited above the claim, a leak", ("claim", ""): "claimed",
        ("between", ""): "audited to certified: epsilon lies here", ("certificate", ""): "certified",
        ("short", ""): "certified above the claim",
    }  # fmt: skip
    meanings |= {("audit", shape): words for shape, words in _MEANINGS.items()}
    legend = tuple((look.replace("audits", "leaks"), shape, meanings[look, shape]) for look, shape in meanings
                   if (look, shape) in looks)  # fmt: skip
    return Strips(algorithm, "epsilon, natural log; the axis is logarithmic", axis, rows, legend)


def _sandwich(variant: Variant, axis: Axis, algorithm: str) -> Strip:
    audited = variant.audited
    claim, certified = axis.at(variant.claimed), variant.certified
    marks: list[Mark] = []
    if math.isfinite(certified) or certified == math.inf:
        low = 0.0 if math.isnan(audited) else axis.at(audited)
        high = axis.at(min(certified, max(variant.claimed, audited if audited > 0 else 0.0)))
        if high > low:
            marks.append(Mark("between", low, high))
        if certified > variant.claimed:
            marks.append(Mark("short", max(claim, low), axis.at(certified)))
        marks.append(Mark("certificate", axis.at(certified)))
    if audited > variant.claimed:
        marks.append(Mark("leaks", claim, axis.at(audited)))
    marks.append(Mark("claim", claim))
    for what, value in variant.audits.items():
        marks.append(Mark("leak" if value > variant.claimed else "audit", axis.at(value), shape=_SHAPES[what]))
    parts = [
        "; ".join(
            f"audited {what} {format_number(value)}".replace("  ", " ") for what, value in variant.audits.items()
        ),
        "" if math.isnan(certified) else f"certified {format_number(certified)}",
        f"claimed {format_number(variant.claimed)}",
    ]
    name = variant.label.removeprefix(f"{algorithm}, ").replace("as printed", "as published")
    tone = "broken" if audited > variant.claimed else "conditional" if certified > variant.claimed else "good"
    return Strip(name, "; ".join(filter(None, parts)), tuple(marks), tone)


def exponent_strips(rows: Sequence[dict[str, Any]]) -> Strips | None:
    """Draw measured exponents with their intervals beside the predicted and the claimed ones."""
    needed = {"experiment", "theorem", "factor", "measured", "verdict"}
    drawn = [row for row in rows if row.keys() >= needed and math.isfinite(number_in(row, "measured"))]
    if not drawn:
        return None
    values = [number_in(row, name) for row in drawn for name in ("measured", "predicted", "claimed")]
    axis = Axis.around(values, logarithmic=False, room=0.1)
    meanings = {
        ("interval", ""): "measured, with its interval", ("interval broken", ""): "measured, contradicts the claim",
        ("point", "circle"): "", ("point broken", "circle"): "",
        ("claim", ""): "claimed by the theorem", ("predicted", "hollow"): "predicted for the instance",
    }  # fmt: skip
    strips = tuple(_exponent(row, axis) for row in drawn)
    looks = {(mark.look, mark.shape) for row in strips for mark in row.marks}
    legend = tuple((*look, words) for look, words in meanings.items() if words and look in looks)
    return Strips("Measured exponents", "exponent", axis, strips, legend)


def _exponent(row: dict[str, Any], axis: Axis) -> Strip:
    measured, low, high, predicted, claimed = (
        number_in(row, name) for name in ("measured", "low", "high", "predicted", "claimed")
    )
    tone = standing(str(row["verdict"]))
    more = " broken" if tone == "broken" else ""
    marks = [] if math.isnan(low) or math.isnan(high) else [Mark(f"interval{more}", axis.at(low), axis.at(high))]
    marks += [Mark("claim", axis.at(claimed))] * math.isfinite(claimed)
    marks += [Mark("predicted", axis.at(predicted), shape="hollow")] * math.isfinite(predicted)
    marks.append(Mark(f"point{more}", axis.at(measured), shape="circle"))
    interval = "" if math.isnan(low) else f" [{low:.2f}, {high:.2f}]"
    words = f"{row['verdict']}: {measured:.2f}{interval}"
    words += f", claimed {claimed:.2f}" if math.isfinite(claimed) else ""
    errors = [(number_in(row, f"too_{side}"), side) for side in ("fast", "slow")]
    rejected = " and ".join(f"{least:.2f} too {side}" for least, side in errors if math.isfinite(least))
    words += f"; rejected are claims that are {rejected}" if rejected else ""
    theorem = str(row["theorem"]).replace(".", " ", 1).replace("_", " ")
    # what the experiment's name says beyond its theorem's, which tells apart the experiments of one theorem
    further = str(row["experiment"]).removeprefix(str(row["theorem"]).partition(".")[2]).strip("._")
    further = f", {further.replace('_', ' ').replace('.', ' ')}" if further else ""
    regime = f", {row['regime']}" if row.get("regime") else ""
    name = f"{theorem}{further}{regime}, in {row['factor']} ({row.get('algorithm', '')})"
    return Strip(name.replace(" ()", ""), words, tuple(marks), tone)
