"""Pictures of a fitted rate: what each factor does once the others are taken out, and its local slopes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpcheck.audits.rates import RateFit

_MEASURED, _CLAIMED = "#0072b2", "#d55e00"  # told apart by the colour-blind


def draw(fit: RateFit) -> Figure:
    """Means with two standard errors over each factor, with the fitted and the claimed line; below, local slopes."""
    from matplotlib.figure import Figure

    names = list(fit.exponents)
    figure = Figure(figsize=(4.4 * len(names), 5.2), layout="constrained")
    axes = figure.subplots(2, len(names), squeeze=False, height_ratios=(3, 1.4))
    for column, name in enumerate(names):
        levels, means, errors = _partial(fit, name)
        _line(axes[0, column], fit, name, levels, means, errors)
        _local(axes[1, column], fit, name, levels, means, errors)
    axes[0, 0].set_ylabel(fit.response if len(names) == 1 else f"{fit.response}, other factors removed")
    axes[1, 0].set_ylabel("local slope")
    figure.suptitle(fit.verdict)
    return figure


def _partial(fit: RateFit, name: str) -> tuple[Any, Any, Any]:
    """The levels of a factor, the mean response there without the other factors, and its standard error."""
    frame = fit.frame
    y = frame[fit.response].to_numpy(float) / np.exp(frame["offset"] - frame["offset"].mean())
    for other, exponent in fit.exponents.items():
        if other != name and np.isfinite(exponent):
            x = np.log(frame[other].to_numpy(float))
            y = y * np.exp(-exponent * (x - x.mean()))
    levels, index = np.unique(frame[name].to_numpy(float), return_inverse=True)
    count = np.bincount(index)
    means = np.bincount(index, y) / count
    spread = np.bincount(index, (y - means[index]) ** 2) / np.maximum(count - 1, 1)
    return levels, means, np.sqrt(spread / count)


def _line(axis: Any, fit: RateFit, name: str, levels: Any, means: Any, errors: Any) -> None:
    axis.errorbar(levels, means, yerr=2 * errors, fmt="o", color=_MEASURED, markersize=4, capsize=2)
    axis.set(xscale="log", yscale="log", xlabel=name)
    good = means > 0
    if good.any() and np.isfinite(fit.exponents[name]):
        centre, level = np.exp(np.log(levels[good]).mean()), np.exp(np.log(means[good]).mean())
        low, high = fit.interval[name]
        ends = np.geomspace(levels.min(), levels.max(), 40)
        sides = [level * (ends / centre) ** slope for slope in (low, high)]
        axis.fill_between(ends, np.minimum(*sides), np.maximum(*sides), color=_MEASURED, alpha=0.2, linewidth=0)
        label = f"measured {fit.exponents[name]:.2f} [{low:.2f}, {high:.2f}]"
        axis.plot(ends, level * (ends / centre) ** fit.exponents[name], color=_MEASURED, label=label)
        if name in fit.claimed:
            slope = fit.claimed[name]
            axis.plot(ends, level * (ends / centre) ** slope, "--", color=_CLAIMED, label=f"claimed {slope:g}")
        axis.legend(fontsize="small", frameon=False)


def _local(axis: Any, fit: RateFit, name: str, levels: Any, means: Any, errors: Any) -> None:
    """The slope between each two neighbouring levels, where both means are positive."""
    good = means > 0
    x, y, relative = np.log(levels[good]), np.log(means[good]), errors[good] / means[good]
    if len(x) > 1:
        steps = np.diff(x)
        reach = 2 * np.sqrt(relative[1:] ** 2 + relative[:-1] ** 2) / steps
        middle = np.exp((x[1:] + x[:-1]) / 2)
        axis.errorbar(middle, np.diff(y) / steps, yerr=reach, fmt="o", color=_MEASURED, markersize=3, capsize=2)
    if name in fit.claimed:
        axis.axhline(fit.claimed[name], color=_CLAIMED, linestyle="--")
    axis.set(xscale="log", xlabel=name, xlim=(levels.min() * 0.9, levels.max() / 0.9))
