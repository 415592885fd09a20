"""Pictures of a fitted rate: what each factor does once the others are taken out, and its local slopes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpcheck.audits.rates import RateFit

_MEASURED, _CLAIMED = "#0072b2", "#d55e00"  # told apart by the colour-blind
_TICKS = 5  # plain numbers that fit below a panel


def draw(fit: RateFit) -> Figure:
    """Means with two standard errors over each factor, with the fitted and the claimed line; below, local slopes."""
    from matplotlib.figure import Figure

    names = list(fit.exponents)
    figure = Figure(figsize=(1 + 4 * len(names), 5.6), layout="constrained")
    axes = figure.subplots(2, len(names), squeeze=False, height_ratios=(3, 1.4), sharex="col")
    for column, name in enumerate(names):
        levels, means, errors = _partial(fit, name)
        _line(axes[0, column], fit, name, levels, means, errors)
        _local(axes[1, column], fit, name, levels, means, errors)
        _plain(axes[0, column], axes[1, column], levels)
    axes[0, 0].set_ylabel(fit.response if len(names) == 1 else f"{fit.response}, other factors removed")
    axes[1, 0].set_ylabel("local slope")
    figure.suptitle(_title(fit))
    return figure


def _title(fit: RateFit) -> str:
    """The verdict, and what was measured and claimed of the factors that decided it."""
    deciding = [name for name, word in fit.by_factor.items() if word == fit.verdict]
    said = [f"{name}^{fit.exponents[name]:.2f}, claimed {name}^{fit.claimed[name]:.3g}" for name in deciding]
    return f"{fit.verdict}: {'; '.join(said) or 'no exponent was claimed'}"


def _partial(fit: RateFit, name: str) -> tuple[Any, Any, Any]:
    """The levels of a factor, the mean response there without the other factors, and its standard error.

    Rows that share something count as one; where all rows of a level do, no error can be seen.
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


def _line(axis: Any, fit: RateFit, name: str, levels: Any, means: Any, errors: Any) -> None:
    good = means > 0
    shown = "o" if len(levels) <= 30 else "."
    axis.errorbar(levels[good], means[good], yerr=2 * errors[good], fmt=shown, color=_MEASURED, markersize=4, capsize=2)
    axis.set_xscale("log")
    axis.set_yscale("log", nonpositive="clip")
    if not good.any() or not np.isfinite(fit.exponents[name]):
        return
    centre, level = np.exp(np.log(levels[good]).mean()), np.exp(np.log(means[good]).mean())
    low, high = fit.interval[name]
    ends = np.geomspace(levels.min(), levels.max(), 40)
    sides = [level * (ends / centre) ** slope for slope in (low, high)]
    axis.fill_between(ends, np.minimum(*sides), np.maximum(*sides), color=_MEASURED, alpha=0.2, linewidth=0)
    label = f"measured {fit.exponents[name]:.2f} [{low:.2f}, {high:.2f}]"
    axis.plot(ends, level * (ends / centre) ** fit.exponents[name], color=_MEASURED, label=label)
    if name in fit.claimed:
        slope = fit.claimed[name]
        axis.plot(ends, level * (ends / centre) ** slope, "--", color=_CLAIMED, label=f"claimed {slope:.3g}")
    axis.legend(fontsize="small", frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)


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
    axis.set_xlabel(name)


def _plain(above: Any, below: Any, levels: Any) -> None:
    """Numbers as people write them, at levels that were measured."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    chosen = levels[:: -(-len(levels) // _TICKS)]
    below.set_xticks(chosen, [f"{level:.4g}" if level < 1e4 else f"{level:.0f}" for level in chosen])
    below.xaxis.set_minor_locator(NullLocator())
    low, high = above.get_ylim()
    wide = high / low > 1e3
    above.yaxis.set_major_locator(LogLocator(subs=(1.0,) if wide else (1.0, 2.0, 5.0)))
    above.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    above.yaxis.set_minor_formatter(NullFormatter())
