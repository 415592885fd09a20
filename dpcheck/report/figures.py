"""The figures of a report at the size of print: exponents, epsilons, and measured over bound."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcheck import style
from dpcheck.errors import require
from dpcheck.report.drawing import RATES, Row, Variant, along_of, grouped, has_bound, number_in

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpcheck.report.results import Finding, Results


_NEEDED = frozenset({"experiment", "theorem", "factor", "measured", "verdict"})
# How a measured exponent is drawn: marker, colour, filled. Shapes differ too, for print without colours.
_VERDICTS = {
    "contradicted": ("X", style.ALARM, True),
    "untested": ("o", style.FAINT, False),
    "not exceeded": ("v", style.MEASURED, False),
    "attained": ("o", style.MEASURED, True),
}
# How an audit is drawn, by what of a run it sees.
_RELEASED = {"transcript": "o", "iterates": "D", "output": "^", "": "s"}
_ABSURD = 1e9  # an epsilon that says as much as infinity
_FARTHEST = 100.0  # how many times above or below the claims epsilon is drawn
_MARKS = "osD^vPX"
_LEGEND: dict[str, Any] = {"fontsize": style.TEXT - 1, "frameon": False}
_ROW, _LINE = 0.17, 0.14  # inches of a row, and of a line of the legend
_BESIDE = 30  # letters of a legend that stands beside the axes


def figures(report: Results) -> dict[str, Figure]:
    """Draw every figure that the findings and tables of a report have numbers for, by its name."""
    drawn = {}
    rows = report.tables.get(RATES, [])  # those of factors that no grid varies hold no exponent
    rates = [row for row in rows if any(np.isfinite(number_in(row, name)) for name in ("measured", "claimed"))]
    if rates and all(row.keys() >= _NEEDED for row in rates):
        drawn["rates"] = forest(rates)
    if Variant.of(report.findings):
        drawn["epsilon"] = sandwiches(report.findings)
    for name, rows in report.tables.items():
        if along := along_of([row for row in rows if has_bound(row)]):
            drawn[f"over bound, {name}"] = over_bound(rows, along=along)
    return drawn


def forest(rows: Sequence[Row]) -> Figure:
    """Draw measured exponents with intervals beside the predicted and the claimed ones, those of one paper together."""
    require(len(rows) > 0, "rows", "hold at least one exponent", "none")
    for row in rows:
        require(row.keys() >= _NEEDED, "rows", f"have {', '.join(sorted(_NEEDED))}", sorted(row))
    papers: dict[str, list[tuple[str, Row]]] = {}
    for label, row in zip(_labels(rows), rows, strict=True):
        papers.setdefault(_paper(row), []).append((label, row))
    names: list[tuple[str, Row | None]] = []  # None beside the name of a paper
    for paper, members in papers.items():
        names.append((paper, None))
        last = None
        for label, row in members:
            names.append((str(row["factor"]) if _key(row) == last else f"{label}:\u00a0{row['factor']}", row))
            last = _key(row)
    figure, axis, places = _rows_of([name for name, _ in names])
    points = [number_in(row, name) for row in rows for name in ("measured", "predicted", "claimed")]
    known = [point for point in points if np.isfinite(point)] or [0.0]
    reach = max(0.25, 0.1 * (max(known) - min(known)))
    ends = min(known) - reach, max(known) + reach
    axis.set_xlim(*ends)
    for y, text, (_, drawn) in zip(places, axis.get_yticklabels(), names, strict=True):
        if drawn is None:
            text.set_fontweight("bold")
            continue
        _exponent(axis, y, drawn, ends)
        right = axis.get_yaxis_transform()
        axis.text(1.03, y, _interval(drawn), transform=right, va="center", fontsize=style.TEXT - 1)
    axis.locator_params(axis="x", nbins=6)
    axis.set_xlabel("exponent", fontsize=style.TEXT)
    axis.grid(axis="x", color=style.FAINT, alpha=0.25, linewidth=0.6)
    counts = Counter(str(row["verdict"]) for row in rows)
    order = [*(word for word in _VERDICTS if word in counts), *sorted(counts.keys() - _VERDICTS.keys())]
    _below(figure, axis)
    _title(figure, f"Exponents: {', '.join(f'{counts[word]} {word}' for word in order)}")
    return figure


def _labels(rows: Sequence[Row]) -> list[str]:
    """Name each row by theorem and regime, and by more where another experiment of the paper has both too."""
    choices = []
    for row in rows:
        name, regime, algorithm = _theorem(str(row["theorem"])), row.get("regime"), row.get("algorithm")
        parts = (name, regime), (name, algorithm, regime), (algorithm, row["experiment"])
        choices.append([", ".join(str(part) for part in name_parts if part) for name_parts in parts])
    labels = []
    for row, (short, long, full) in zip(rows, choices, strict=True):
        others = [
            choice for other, choice in zip(rows, choices, strict=True)
            if _key(other) != _key(row) and _paper(other) == _paper(row)
        ]  # fmt: skip
        taken = [{choice[i] for choice in others} for i in (0, 1)]
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
    mark, color, filled = _VERDICTS.get(verdict, ("P", style.FAINT, False))
    measured, low, high = (number_in(row, name) for name in ("measured", "low", "high"))
    if verdict == "contradicted":
        _stripe(axis, y)
    claimed, predicted = number_in(row, "claimed"), number_in(row, "predicted")
    if np.isfinite(claimed):
        axis.vlines(claimed, y - 0.5, y + 0.5, color=style.CLAIMED, linewidth=1.6, label="claimed by the theorem")
    if np.isfinite(predicted):
        label = "predicted for the instance"
        axis.plot(predicted, y, "D", color=style.PREDICTED, fillstyle="none", markersize=5.5, label=label)
    _segment(axis, y, low, high, ends, color)
    face = color if filled else "white"
    axis.plot(measured, y, mark, color=color, markerfacecolor=face, markersize=4, label=f"measured, {verdict}")


def _interval(row: Row) -> str:
    measured, low, high = (number_in(row, name) for name in ("measured", "low", "high"))
    return f"{measured:.2f} [{low:.2f}, {high:.2f}]" if np.isfinite(measured) else "no power law"


def sandwiches(findings: Iterable[Finding]) -> Figure:
    """Draw audited, certified and claimed epsilon, a row for each variant; what no claim allows is red."""
    variants = Variant.of(findings)
    require(bool(variants), "findings", "hold one about privacy with a claimed epsilon", "none")
    figure, axis, places = _rows_of([variant.label for variant in variants])
    positive = [variant.claimed for variant in variants if 1 / _ABSURD < variant.claimed < _ABSURD] or [1.0]
    least, most = min(positive) / _FARTHEST, max(positive) * _FARTHEST
    values = [value for variant in variants for value in (*variant.audits.values(), variant.certified, variant.claimed)]
    inside = [value for value in values if least < value < most] or [1.0]
    ends = min(inside) / 1.3, max(inside) * 1.3
    axis.set_xscale("log")
    axis.set_xlim(*ends)
    for y, variant in zip(places, variants, strict=True):
        _variant(axis, y, variant, ends)
    axis.set_xlabel("epsilon", fontsize=style.TEXT)
    style.plain_logs(axis.xaxis)
    axis.grid(axis="x", color=style.FAINT, alpha=0.25, linewidth=0.6)
    _below(figure, axis)
    _title(figure, _counted(variants))
    return figure


def _variant(axis: Any, y: float, variant: Variant, ends: tuple[float, float]) -> None:
    broken = variant.audited > variant.claimed
    if broken:
        _stripe(axis, y)
    _segment(axis, y, variant.audited, min(variant.certified, variant.claimed), ends, style.MEASURED)
    if variant.certified > variant.claimed:
        start = max(variant.claimed, np.nan_to_num(variant.audited))
        _segment(axis, y, start, variant.certified, ends, style.ALARM, "certified above the claim")
    axis.vlines(np.clip(variant.claimed, *ends), y - 0.5, y + 0.5, color=style.CLAIMED, linewidth=1.6, label="claimed")
    certified = np.clip(variant.certified, *ends)
    axis.plot(certified, y, "|", color=style.MEASURED, markersize=7, markeredgewidth=1.6, label="certified")
    for what, value in variant.audits.items():
        above = value > min(variant.claimed, np.nan_to_num(variant.certified, nan=np.inf))
        label = "audited above claim or certificate" if above else f"audited, {what}".removesuffix(", ")
        mark = "<" if value < ends[0] else ">" if value > ends[1] else _RELEASED[what]
        at, color = np.clip(value, *ends), style.ALARM if above else style.MEASURED
        axis.plot(at, y, mark, color=color, markersize=4, label=label, clip_on=mark in _RELEASED.values())


def _counted(variants: list[Variant]) -> str:
    violated = sum(variant.audited > variant.claimed for variant in variants)
    short = sum(variant.certified > variant.claimed for variant in variants)
    leaks = sum(variant.claimed >= variant.audited > variant.certified for variant in variants)
    counts = (
        (violated, "audited above the claim"), (leaks, "audited above the certificate"),
        (short, "certified above the claim"),
    )  # fmt: skip
    words = ", ".join(f"{count} {words}" for count, words in counts if count)
    return f"{len(variants)} variants: {words or 'none audited or certified above the claim'}"


def over_bound(rows: Sequence[Row], *, along: str = "n") -> Figure:
    """Draw measured over bound along a column, means with two standard errors, a line for each other setting."""
    drawn = [row for row in rows if has_bound(row)]
    require(bool(drawn), "rows", "hold a finite measured with a finite bound > 0", f"none among {len(rows)}")
    for row in drawn:
        good = 0 < number_in(row, along) < np.inf
        require(good, along, "be a positive number in each row", row.get(along))
    lines = grouped(drawn, along)
    figure = style.figure(style.PAGE, 2.9)
    axis = figure.subplots()
    axis.set_xscale("log")
    axis.axhline(1, color=style.CLAIMED, linewidth=1.2)
    for i, (label, members) in enumerate(lines.items()):
        color, mark = style.SERIES[i % len(style.SERIES)], _MARKS[(i + i // len(style.SERIES)) % len(_MARKS)]
        x, ratio, error = np.array(sorted((number_in(row, along), *_ratio(row)) for row in members)).T
        good = ratio > 0
        axis.errorbar(
            x[good], ratio[good], yerr=2 * error[good], fmt=f"{mark}-", color=color, markersize=4, linewidth=1,
            capsize=2, label=label,
        )  # fmt: skip
    axis.set_yscale("log", nonpositive="clip")
    style.plain_logs(axis.yaxis)
    low = [number_in(row, along) for row in drawn if _ratio(row)[0] <= 0]
    if low:
        style.not_positive(axis, low, "mean not positive")
    axis.set(xlabel=along, ylabel="measured / bound")
    sizes = [number_in(row, along) for row in drawn]
    axis.set_xlim(min(sizes) / 1.2, max(sizes) * 1.2)
    style.ticks_at(axis, sizes, most=int(1.4 * style.PAGE))
    style.small(axis)
    if len(lines) > 1 or low:
        if max(map(len, axis.get_legend_handles_labels()[1])) < _BESIDE:
            _literal(axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), **_LEGEND))
        else:
            _below(figure, axis)
    left_out = f"; rows left out for lack of numbers: {len(rows) - len(drawn)}" if len(drawn) < len(rows) else ""
    _title(figure, _largest(drawn, lines, along) + left_out)
    return figure


def _ratio(row: Row) -> tuple[float, float]:
    """Return measured over bound, and its standard error."""
    bound = number_in(row, "bound")
    return number_in(row, "measured") / bound, number_in(row, "error") / bound


def _largest(rows: Sequence[Row], lines: Mapping[str, Sequence[Row]], along: str) -> str:
    """The largest measured over bound in words; one that is above 1 beyond its error goes first."""

    def clear(row: Row) -> bool:
        ratio, error = _ratio(row)
        return bool(ratio - 2 * np.nan_to_num(error) > 1)

    row = max([row for row in rows if clear(row)] or rows, key=lambda row: _ratio(row)[0])
    label = next(label for label, members in lines.items() if any(member is row for member in members))
    ratio = f"{_ratio(row)[0]:.2g} times the bound"
    place = "at " + ", ".join(filter(None, (f"{along} = {style.plain(number_in(row, along))}", label)))
    if clear(row):
        return f"Measured exceeds the bound: {ratio}, {place}"
    if _ratio(row)[0] > 1:
        return f"Measured reaches {ratio}, {place}, within two standard errors"
    return f"Measured is at most {ratio}, {place}"


def _rows_of(names: list[str]) -> tuple[Figure, Any, list[float]]:
    """A figure with a named row for each name, the first on top; its axes, and where the rows are."""
    labels = ["\n".join(_wrapped(name, int(8 * style.PAGE))) for name in names]
    lines = np.array([1 + 0.7 * label.count("\n") for label in labels])
    places = np.cumsum(lines) - lines / 2
    figure = style.figure(style.PAGE, _ROW * lines.sum() + 0.7)
    axis = figure.subplots()
    axis.set_yticks(places, labels, fontsize=style.TEXT - 1, parse_math=False)
    axis.set_ylim(lines.sum() + 0.1, -0.1)
    axis.tick_params(axis="y", length=0)
    axis.tick_params(axis="x", labelsize=style.TEXT)
    return figure, axis, places.tolist()


def _wrapped(name: str, most: int) -> list[str]:
    """Break a name into lines, after spaces and underscores."""
    lines = [""]
    for part in re.findall(r"[^_ ]*[_ ]*", name):
        if len(lines[-1]) + len(part.rstrip()) > most and lines[-1]:
            lines.append("")
        lines[-1] += part
    return [line.rstrip() for line in lines]


def _stripe(axis: Any, y: float) -> None:
    """Draw a stripe behind a row that breaks a promise."""
    axis.axhspan(y - 0.5, y + 0.5, color=style.ALARM, alpha=0.1, linewidth=0)


def _segment(
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


def _below(figure: Figure, axis: Any) -> None:
    """Draw a legend below the figure, each kind of mark once, in as many columns as there is room for."""
    handles, labels = axis.get_legend_handles_labels()
    once = dict(zip(labels, handles, strict=True))
    columns = max(1, min(4, int(style.PAGE / (0.05 * max(map(len, labels)) + 0.5))))
    _literal(figure.legend(once.values(), once, loc="outside lower center", ncols=columns, **_LEGEND))
    figure.set_figheight(figure.get_figheight() + _LINE * -(-len(once) // columns))


def _literal(legend: Any) -> None:
    """Return names as they are: a dollar sign is no formula."""
    for text in legend.get_texts():
        text.set_parse_math(False)


def _title(figure: Figure, words: str) -> None:
    """Write words above a figure, in lines that it has room for."""
    whole = words.replace(" = ", "\u00a0=\u00a0")  # one setting stays on one line
    lines = textwrap.wrap(whole, int(14.5 * style.PAGE))
    figure.suptitle("\n".join(lines), fontsize=style.TEXT + 1, parse_math=False)
    figure.set_figheight(figure.get_figheight() + _LINE * len(lines))
