"""The picture of an experiment: its figure's panels where it is a figure, else published beside measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import SymmetricalLogLocator

from dpcheck import style
from dpcheck.errors import require
from dpcheck.experiments.experiment import CERTIFIED, NONE, PUBLISHED, Curve, Experiment, key_text
from dpcheck.experiments.runner import Result
from dpcheck.experiments.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = (style.MEASURED, style.CLAIMED, style.PREDICTED, style.FAINT, style.ALARM)
_SIGNS = (
    ("noise as published", "", style.CLAIMED, "s"),
    ("certified noise", ", certified noise", style.MEASURED, "o"),
)
_LINES = {PUBLISHED: "--", CERTIFIED: "-", NONE: ":"}
_NEAR = 0.01  # up to here, an axis of numbers of either sign is linear
_WORDS = {PUBLISHED: "noise as published", CERTIFIED: "certified noise", NONE: "no noise"}


def draw(experiment: Experiment, results: Sequence[Result]) -> Figure:
    """Return the picture of these runs: means, and bands or bars of two standard errors."""
    require(bool(results), "--plot", "have runs to draw", "none")
    return _panels(experiment, results) if experiment.panels else _table(experiment, results)


def _panels(experiment: Experiment, results: Sequence[Result]) -> Figure:
    columns = min(len(experiment.panels), 3)
    lines = -(-len(experiment.panels) // columns)
    figure = style.figure(style.PAGE, 2.3 * lines + 0.9)
    axes = figure.subplots(lines, columns, squeeze=False).ravel()
    colours: dict[str, str] = {}
    for axis, panel in zip(axes, experiment.panels, strict=False):
        for (name, noise), points in _series(experiment, panel, results).items():
            colour = colours.setdefault(name, _COLOURS[len(colours) % len(_COLOURS)])
            x = np.array(sorted(points))
            mean = np.array([np.mean(points[at]) for at in x])
            error = np.array([np.std(points[at], ddof=1) / np.sqrt(len(points[at])) if len(points[at]) > 1 else 0.0
                              for at in x])  # fmt: skip
            marker = "o" if panel.along else ""
            axis.plot(x, mean, _LINES[noise] + marker, color=colour, linewidth=1.2, markersize=3,
                      label=f"{name}, {_WORDS[noise]}")  # fmt: skip
            low = np.maximum(mean - 2 * error, mean / 10) if panel.log else mean - 2 * error
            axis.fill_between(x, low, mean + 2 * error, color=colour, alpha=0.15, linewidth=0)
        axis.set(xlabel=panel.along or "iteration", title=panel.label)
        if panel.log:
            axis.set_yscale("log")
        elif not panel.along:  # curvatures, of either sign and any size
            axis.set_yscale("symlog", linthresh=_NEAR)
        if panel.along and axis.lines:
            axis.set_xscale("log")
            style.ticks_at(axis, np.unique(np.concatenate([line.get_xdata() for line in axis.lines])))
        style.small(axis)
    for axis in axes[len(experiment.panels) :]:
        axis.set_visible(False)
    known: dict[str, Any] = {}
    for axis in axes:
        handles, labels = axis.get_legend_handles_labels()
        known |= dict(zip(labels, handles, strict=True))
    figure.legend(
        known.values(), known.keys(), loc="outside lower center", ncols=3, fontsize=style.TEXT - 2, frameon=False
    )
    figure.suptitle(f"{experiment.place}: {experiment.title}", fontsize=style.TEXT)
    return figure


def _series(
    experiment: Experiment, panel: Curve, results: Sequence[Result]
) -> dict[tuple[str, str], dict[float, list[float]]]:
    """Return (line, noise) -> x -> one number a seed."""
    lines: dict[tuple[str, str], dict[float, list[float]]] = {}
    for result in results:
        keys = dict(result.trial.cell.keys)
        if any(keys.get(key) != value for key, value in panel.only.items()):
            continue
        x = keys.pop(panel.along, None)
        others = {key: value for key, value in keys.items() if key not in panel.only and value != 0}
        name = ", ".join(
            f"{key_text(value)} {key}" if isinstance(value, float) else value for key, value in others.items()
        )
        line = lines.setdefault((name, result.trial.noise), {})
        if panel.along:
            if panel.metric in result.values:
                line.setdefault(float(x or 0.0), []).append(result.values[panel.metric])
            continue
        for metric, value in result.values.items():
            base, at, iteration = metric.partition("@")
            if at and base == panel.metric:
                line.setdefault(float(iteration), []).append(value)
    return {name: line for name, line in lines.items() if line}


def _table(experiment: Experiment, results: Sequence[Result]) -> Figure:
    """Draw a row for each row of the table: the printed number, and what was measured with either noise."""
    found = Table(experiment, results).rows
    panels = [
        [row for row in found if row.get("metric", experiment.metrics[0]) == metric] for metric in experiment.metrics
    ]
    figure = style.figure(style.PAGE, 0.17 * max(map(len, panels)) + 1.2)
    axes = figure.subplots(1, len(panels), squeeze=False).ravel()
    for number, (axis, metric, lines) in enumerate(zip(axes, experiment.metrics, panels, strict=True)):
        height = -np.arange(len(lines))
        for label, name, colour, sign in _SIGNS:
            mean = np.array([_number(row[f"measured{name}"]) for row in lines])
            error = np.nan_to_num(np.array([_number(row[f"standard error{name}"]) for row in lines]))
            axis.errorbar(mean, height, xerr=2 * error, fmt=sign, color=colour, markersize=3, linewidth=1, label=label)
        published = np.array([_number(row["published"]) for row in lines])
        if np.isfinite(published).any():
            axis.plot(published, height, "x", color=style.INK, markersize=4, label="published")
        labels = [", ".join(key_text(row[key]) for key in experiment.keys) for row in lines]
        axis.set_yticks(height, labels if number == 0 else [""] * len(lines))
        axis.set_title(metric)
        if len(panels) > 1 and all(
            value > 0 for row in lines for value in (row["measured"] or 0, row["published"] or 0)
        ):
            axis.set_xscale("log")
        elif len(panels) > 1:  # of either sign, and one far out would leave no room for the others
            axis.set_xscale("symlog", linthresh=_NEAR, linscale=0.5)
            axis.xaxis.set_major_locator(SymmetricalLogLocator(linthresh=_NEAR, base=100))
            axis.margins(x=0.1)
        style.small(axis)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=style.TEXT - 1,
                  frameon=False)  # fmt: skip
    figure.suptitle(experiment.place, fontsize=style.TEXT)
    return figure


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
