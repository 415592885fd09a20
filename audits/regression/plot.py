"""The plot of a fitted rate: the effect of each factor with the others removed, and its local slopes."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dpcheck import style
from dpcheck.style import CLAIMED, MEASURED

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_PANEL = 2.2  # the least width, in inches, of the panels of a factor
_SLOPES = 12  # the most local slopes in a panel; between closer levels they are noise


class _Fit(Protocol):
    """What is drawn of a :class:`~dpcheck.audits.rates.RateFit`."""

    @property
    def response(self) -> str: ...
    @property
    def frame(self) -> pd.DataFrame: ...
    @property
    def cluster(self) -> str | None: ...
    @property
    def offset(self) -> str | None: ...
    @property
    def exponents(self) -> Mapping[str, float]: ...
    @property
    def interval(self) -> Mapping[str, tuple[float, float]]: ...
    @property
    def claimed(self) -> Mapping[str, float]: ...
    @property
    def verdict(self) -> str: ...
    @property
    def by_factor(self) -> Mapping[str, str]: ...


def draw(fit: _Fit) -> Figure:
    """Draw means with two standard errors over each factor, the fitted and the claimed line, and local slopes below."""
    names = list(fit.exponents)
    width = style.COLUMN if len(names) == 1 else max(style.PAGE, _PANEL * len(names))
    figure = style.figure(width, 4.2)
    axes = figure.subplots(2, len(names), squeeze=False, height_ratios=(3, 1.4), sharex="col")
    for column, name in enumerate(names):
        above, below = axes[:, column]
        levels, means, errors = _partial(fit, name)
        _line(above, fit, name, levels, means, errors)
        _local(below, fit, name, levels, means, errors)
        style.ticks_at(below, levels)
        for axis in (above, below):
            style.small(axis)
    axes[0, 0].set_ylabel(_response(fit), fontsize=style.TEXT)
    axes[1, 0].set_ylabel("local slope", fontsize=style.TEXT)
    figure.suptitle(textwrap.fill(_title(fit), int(16 * width)), fontsize=style.TEXT + 1)
    return figure


def _title(fit: _Fit) -> str:
    """Return the verdict, and what was measured and claimed for the factors that decided it."""
    found = {name: f"{name}^{exponent:.2f}" for name, exponent in fit.exponents.items() if np.isfinite(exponent)}
    deciding = [name for name, word in fit.by_factor.items() if word == fit.verdict]
    said = [f"{found.get(name, f'no power of {name}')}, claimed {name}^{fit.claimed[name]:.3g}" for name in deciding]
    return f"{fit.verdict}: {'; '.join(said) or 'no exponent was claimed'}"


def _response(fit: _Fit) -> str:
    """Return the label of the vertical axis: the response, and what was removed from it."""
    removed = ["other factors"] * (len(fit.exponents) > 1) + ([fit.offset] if fit.offset else [])
    return f"{fit.response}, {' and '.join(removed)} removed" if removed else fit.response


def _partial(fit: _Fit, name: str) -> tuple[Any, Any, Any]:
    """Return the levels of a factor, the mean response there without the other factors, and its standard error.

    Rows of one cluster count as one; if all rows of a level do, its error is unknown.
    """
    frame = fit.frame
    y = frame[fit.response].to_numpy(float) / np.exp(frame["offset"] - frame["offset"].mean()).to_numpy()
    for other, exponent in fit.exponents.items():
        if other != name and np.isfinite(exponent):
            x = np.log(frame[other].to_numpy(float))
            y = y * np.exp(-exponent * (x - x.mean()))
    values = frame[name].to_numpy(float)
    levels = np.unique(values)
    clusters = frame[fit.cluster].to_numpy() if fit.cluster else np.arange(len(frame))
    means, errors = np.empty(len(levels)), np.full(len(levels), np.nan)
    for i, level in enumerate(levels):
        here = values == level
        means[i] = y[here].mean()
        _, own = np.unique(clusters[here], return_inverse=True)
        sums = np.bincount(own.reshape(-1), y[here] - means[i])
        if len(sums) > 1:
            errors[i] = np.sqrt((sums**2).sum() * len(sums) / (len(sums) - 1)) / here.sum()
    return levels, means, errors


def _line(axis: Any, fit: _Fit, name: str, levels: Any, means: Any, errors: Any) -> None:
    good = means > 0
    shown = "o" if len(levels) <= 30 else "."
    axis.set_xscale("log")
    if not good.any():  # a logarithm cannot show these
        axis.errorbar(levels, means, yerr=2 * errors, fmt=shown, color=MEASURED, markersize=3, capsize=2)
        axis.axhline(0, color=style.FAINT, linewidth=0.8)
        return
    axis.errorbar(levels[good], means[good], yerr=2 * errors[good], fmt=shown, color=MEASURED, markersize=3, capsize=2)
    axis.set_yscale("log", nonpositive="clip")
    if not good.all():
        style.not_positive(axis, levels[~good], "mean not positive")
    if np.isfinite(fit.exponents[name]):
        _powers(axis, fit, name, levels, np.exp(np.log(levels[good]).mean()), np.exp(np.log(means[good]).mean()))
    if axis.get_legend_handles_labels()[0]:
        axis.legend(fontsize=style.TEXT - 1, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    style.plain_logs(axis.yaxis)


def _powers(axis: Any, fit: _Fit, name: str, levels: Any, centre: float, level: float) -> None:
    """Draw the measured and the claimed power of a factor through the middle of the means."""
    low, high = fit.interval[name]
    ends = np.geomspace(levels.min(), levels.max(), 40)
    sides = [level * (ends / centre) ** slope for slope in (low, high)]
    if np.isfinite(sides).all():
        axis.fill_between(ends, np.minimum(*sides), np.maximum(*sides), color=MEASURED, alpha=0.2, linewidth=0)
    label = f"measured {fit.exponents[name]:.2f} [{low:.2f}, {high:.2f}]"
    axis.plot(ends, level * (ends / centre) ** fit.exponents[name], color=MEASURED, linewidth=1.2, label=label)
    if name in fit.claimed:
        slope = fit.claimed[name]
        line = level * (ends / centre) ** slope
        axis.plot(ends, line, "--", color=CLAIMED, linewidth=1.2, label=f"claimed {slope:.3g}")


def _local(axis: Any, fit: _Fit, name: str, levels: Any, means: Any, errors: Any) -> None:
    """Draw the slope from each level to a later one, where both means are positive."""
    good = means > 0
    x, y, relative = np.log(levels[good]), np.log(means[good]), errors[good] / means[good]
    apart = -(-len(x) // (_SLOPES + 1))
    if len(x) > 1:
        steps = x[apart:] - x[:-apart]
        reach = 2 * np.sqrt(relative[apart:] ** 2 + relative[:-apart] ** 2) / steps
        middle, slopes = np.exp((x[apart:] + x[:-apart]) / 2), (y[apart:] - y[:-apart]) / steps
        some = slice(None, None, apart)  # neighbours share nothing
        axis.errorbar(middle[some], slopes[some], yerr=reach[some], fmt="o", color=MEASURED, markersize=3, capsize=2)
    if name in fit.claimed:
        axis.axhline(fit.claimed[name], color=CLAIMED, linestyle="--", linewidth=1.2)
    axis.set_xlabel(name)
