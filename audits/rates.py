"""A test of measured rates: a power law is fitted to measurements, and compared with the claimed exponents.

Null hypothesis of "contradicted": the response falls at least as fast as claimed. That of "supported": at the end of
the grid it is slower than claimed, by more than the margin; or a second term that is slower than claimed by 1.5 margins
holds at least 2.5 margins of the mean there, a quarter for .1 and a half from .2 on, and enough to bring the slope out
of the margin before the grid is continued by 1.35 of its length. Where neither is rejected, or the slope bends, the
verdict is "inconclusive" or "not asymptotic" (:mod:`.rate_verdict`).
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcheck import style
from dpcheck.arguments import checked
from dpcheck.audits import rate_table as table
from dpcheck.audits.rate_verdict import Fitted, overall
from dpcheck.errors import is_finite, require, require_confidence, require_positive
from dpcheck.shown import Shown

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from dpcheck.audits.rate_plan import Plan

_KNOWN = "the known factor"


@dataclass(frozen=True, eq=False)
class RateFit(Shown):
    """A fitted power law and what it says of the claim.

    Attributes
    ----------
    exponents : dict of str to float
        Each factor's exponent, over the whole grid.
    interval : dict of str to (float, float)
        Two-sided confidence intervals, which hold for all factors at once.
    verdict : str
        ``"supported"``, ``"contradicted"``, ``"inconclusive"`` or ``"not asymptotic"``: the worst of
        the claimed factors' verdicts.
    by_factor : dict of str to str
        The verdict on each claimed factor.
    reason : str
        One sentence: what decided, with numbers.
    faster : dict of str to float
        By how much a factor is faster than claimed, where it is, beyond chance.
    claimed, confidence, margin, equal, cluster, offset : object
        As given.
    rows, independent : int
        Rows of the table, and the independent things among them.
    response : str
        The column that was fitted.
    frame : pandas.DataFrame
        The columns that were used; ``offset`` holds the known part of the logarithm.
    """

    exponents: dict[str, float]
    interval: dict[str, tuple[float, float]]
    verdict: str
    by_factor: dict[str, str]
    reason: str
    faster: dict[str, float]
    claimed: dict[str, float]
    confidence: float
    margin: float
    equal: bool
    cluster: str | None
    offset: str | None
    rows: int
    independent: int
    response: str
    frame: pd.DataFrame

    def _sentence(self) -> str:
        return f"{self.reason}; plan() says which sizes and runs would decide" if self.undecided else self.reason

    @property
    def undecided(self) -> bool:
        """Whether an exponent was claimed and is neither supported nor contradicted."""
        return bool(self.claimed) and self.verdict in ("inconclusive", "not asymptotic")

    def _facts(self) -> dict[str, Any]:
        fitted = {
            f"exponent of {name}": f"{self.exponents[name]:.4g} [{low:.4g}, {high:.4g}]"
            for name, (low, high) in self.interval.items()
        }
        return {**fitted, "rows": self.rows}

    @property
    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "factor": name, "exponent": self.exponents[name], "low": low, "high": high,
                "claimed": self.claimed.get(name), "verdict": self.by_factor.get(name),
            }
            for name, (low, high) in self.interval.items()
        ]  # fmt: skip

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row for each factor: exponent, interval, claimed exponent, verdict."""
        import pandas as pd

        return pd.DataFrame(self._rows)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the data, ready for JSON, which has no numbers that are not finite."""
        kept = ("response", "verdict", "reason", "rows", "independent", "cluster", "offset", "equal", "confidence")
        rows = [
            {key: None if isinstance(value, float) and not np.isfinite(value) else value for key, value in row.items()}
            | {"faster": self.faster.get(row["factor"])}
            for row in self._rows
        ]
        return {name: getattr(self, name) for name in (*kept, "margin")} | {"factors": rows}

    def plan(self, *, chance: float = 0.8, seed: int = 0) -> Plan:
        """Return fresh tables, further sizes and runs, that would decide what is undecided; it takes seconds.

        Parameters
        ----------
        chance : float
            Wanted chance that the claim is supported if it holds, in (0.5, 1).
        seed : int
            Seed of the tables that are simulated, 150 or more for each design that is returned.

        Returns
        -------
        Plan
            With ``designs``, the fewest rows first, and ``reason``. Runs spread as those at hand do. Rows that
            are added to a table until its verdict pleases are several looks at it: a plan is measured afresh.

        Examples
        --------
        >>> import numpy as np, pandas as pd, dpcheck
        >>> n = np.repeat(500 * 2 ** np.arange(4), 10)
        >>> noise = np.exp(0.1 * np.random.default_rng(0).standard_normal(n.size))
        >>> frame = pd.DataFrame({"n": n, "gap": 2 / np.sqrt(n) * noise})
        >>> fit = dpcheck.fit_rate(frame, response="gap", factors=["n"], claimed={"n": -0.5})
        >>> fit.verdict, min(design.chance for design in fit.plan().designs) > 0.75
        ('inconclusive', True)
        """
        from dpcheck.audits.rate_plan import plan_for

        require(is_finite(chance) and 0.5 < chance < 1, "chance", "lie in (0.5, 1)", chance)
        frame = self.frame.assign(**{_KNOWN: np.exp(self.frame["offset"] - self.frame["offset"].mean())})
        factors = list(self.exponents)
        measurements = table.read(frame, self.response, factors, cluster=self.cluster, offset=_KNOWN)
        ends = [
            float(frame[name].min() if measurements.sign(i) < 0 else frame[name].max())
            for i, name in enumerate(factors)
        ]
        return plan_for(
            Fitted.of(measurements), self.by_factor, self.claimed, self.faster, ends, chance=chance, seed=seed,
            confidence=self.confidence, margin=self.margin, equal=self.equal,
        )  # fmt: skip

    def plot(self) -> Figure:
        """Draw partial residuals with fitted and claimed lines, and local slopes, one column of panels a factor."""
        return _draw(self)


@checked
def fit_rate(
    frame: pd.DataFrame, *, response: str, factors: Sequence[str],
    claimed: Mapping[str, float] | None = None, confidence: float = 0.95, margin: float = 0.1,
    cluster: str | None = None, offset: str | None = None, equal: bool = False,
) -> RateFit:  # fmt: skip
    """Fit ``E[response] = c * offset * product of factor^exponent`` and judge the claimed exponents.

    A claimed rate is an upper bound along the way each factor goes (n, d, T to infinity; epsilon and
    delta to 0), so that a faster law is no breach; ``faster`` says by how much.

    Parameters
    ----------
    frame : pandas.DataFrame
        A row a measurement. Factors are positive. The response may be zero or negative in single
        rows, since its arithmetic means are fitted.
    response : str
        The column of the measured quantity.
    factors : sequence of str
        The columns whose powers are fitted. A claimed one needs three sizes or more.
    claimed : mapping of str to float, optional
        The exponent of the upper bound for each factor that a theorem speaks of.
    confidence : float
        One-sided confidence of each comparison, and two-sided simultaneous confidence of the
        intervals, in (0.5, 1).
    margin : float
        How much slower than claimed still counts as supported; > 0.
    cluster : str, optional
        A column that names what rows share: one data set, one random stream. Rows of one value count
        as one independent thing. By default every row is one.
    offset : str, optional
        A known factor of the law: a column, or a formula of columns such as ``"log(n)"`` or
        ``"bound"``. With the theorem's own bound as offset the claim is an exponent of 0, which
        serves bounds that are sums or maxima.
    equal : bool
        Whether the claim is an equality rather than an upper bound.

    Returns
    -------
    RateFit
        With ``verdict``, ``exponents``, ``interval``, ``reason``, ``plot()`` and ``to_dict()``.

    Raises
    ------
    InputError
        For missing columns, numbers that are not finite, factors that are not positive, do not vary
        or cannot be told apart, and too few rows.

    Notes
    -----
    The level of "contradicted" holds for power laws, also where rows share something, and for laws
    that bend towards the claim or end in a floor, as far as the bend can be seen; tests simulate it.
    ``log(n)/n`` is not O(1/n): the claim n^-1 is contradicted there, and rightly. A claim that holds
    up to logarithms names them in ``offset``.

    "supported" has the level, too, where a sum of two powers breaks the claim: ``n^-.5 + 300/n`` at
    n = 128, 256, ..., 16384 looks like n^-.92, and does not support n^-.65. The price is rows. From 20
    runs of relative spread .2 there a clean law is supported within .1 one time in six, from 200 runs
    three times in four; by Neyman and Pearson no rule of that level exceeds .18 and .76. A wider margin
    or grid, or less spread, needs fewer: ``plan()``. A claim that is .15 too fast is contradicted nine
    times in ten there.

    References
    ----------
    R. M. Bell, D. F. McCaffrey. Bias reduction in standard errors for linear regression with
    multi-stage samples. Survey Methodology 28, 2002.

    Examples
    --------
    >>> import numpy as np, pandas as pd, dpcheck
    >>> n = np.repeat(500 * 2 ** np.arange(6), 10)
    >>> noise = np.exp(0.03 * np.random.default_rng(0).standard_normal(n.size))
    >>> frame = pd.DataFrame({"n": n, "gap": 2 / np.sqrt(n) * noise})
    >>> dpcheck.fit_rate(frame, response="gap", factors=["n"], claimed={"n": -0.5}).verdict
    'supported'
    """
    require_confidence(confidence)
    require_positive(margin, "margin")
    measurements = table.read(frame, response, factors, cluster=cluster, offset=offset)
    for name, value in (claimed or {}).items():
        require(name in factors, "claimed", f"name factors among {list(factors)}", name)
        require(is_finite(value), f"the claimed exponent of {name}", "be a finite number", value)
    claimed = {name: float(value) for name, value in (claimed or {}).items()}
    fitted = Fitted.of(measurements)
    judged = fitted.judge(claimed, confidence=confidence, margin=margin, equal=equal)
    verdict, reason = overall(judged)
    shown = list(dict.fromkeys([response, *factors, *([] if cluster is None else [cluster])]))
    known = np.log(table.known(frame, response, offset))
    return RateFit(
        exponents=fitted.exponents(), interval=fitted.intervals(confidence),
        verdict=verdict, reason=reason, by_factor={name: judgement.verdict for name, judgement in judged.items()},
        faster={name: judgement.faster for name, judgement in judged.items() if judgement.faster is not None},
        claimed=claimed, confidence=confidence, margin=margin, equal=equal, cluster=cluster, offset=offset,
        rows=len(frame), independent=measurements.independent, response=response,
        frame=frame[shown].assign(offset=known),
    )  # fmt: skip


_PANEL = 2.2  # the least width, in inches, of the panels of a factor
_SLOPES = 12  # the most local slopes in a panel; between closer levels they are noise


def _draw(fit: RateFit) -> Figure:
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


def _title(fit: RateFit) -> str:
    """Return the verdict, and what was measured and claimed for the factors that decided it."""
    measured = {name: f"{name}^{exponent:.2f}" for name, exponent in fit.exponents.items() if np.isfinite(exponent)}
    deciding = [name for name, word in fit.by_factor.items() if word == fit.verdict]
    parts = [
        f"{measured.get(name, f'no power of {name}')}, claimed {name}^{fit.claimed[name]:.3g}" for name in deciding
    ]
    return f"{fit.verdict}: {'; '.join(parts) or 'no exponent was claimed'}"


def _response(fit: RateFit) -> str:
    """Return the label of the vertical axis: the response, and what was removed from it."""
    removed = ["other factors"] * (len(fit.exponents) > 1) + ([fit.offset] if fit.offset else [])
    return f"{fit.response}, {' and '.join(removed)} removed" if removed else fit.response


def _partial(fit: RateFit, name: str) -> tuple[Any, Any, Any]:
    """Return a factor's levels, the mean response there without the other factors, and its standard error."""
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
        _, members = np.unique(clusters[here], return_inverse=True)
        sums = np.bincount(members.reshape(-1), y[here] - means[i])
        if len(sums) > 1:
            errors[i] = np.sqrt((sums**2).sum() * len(sums) / (len(sums) - 1)) / here.sum()
    return levels, means, errors


def _line(axis: Any, fit: RateFit, name: str, levels: Any, means: Any, errors: Any) -> None:
    good = means > 0
    shown = "o" if len(levels) <= 30 else "."
    axis.set_xscale("log")
    if not good.any():  # a logarithm cannot show these
        axis.errorbar(levels, means, yerr=2 * errors, fmt=shown, color=style.MEASURED, markersize=3, capsize=2)
        axis.axhline(0, color=style.FAINT, linewidth=0.8)
        return
    axis.errorbar(
        levels[good], means[good], yerr=2 * errors[good], fmt=shown, color=style.MEASURED, markersize=3, capsize=2
    )
    axis.set_yscale("log", nonpositive="clip")
    if not good.all():
        style.not_positive(axis, levels[~good], "mean not positive")
    if np.isfinite(fit.exponents[name]):
        _powers(axis, fit, name, levels, np.exp(np.log(levels[good]).mean()), np.exp(np.log(means[good]).mean()))
    if axis.get_legend_handles_labels()[0]:
        axis.legend(fontsize=style.TEXT - 1, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    style.plain_logs(axis.yaxis)


def _powers(axis: Any, fit: RateFit, name: str, levels: Any, centre: float, level: float) -> None:
    """Draw the measured and the claimed power of a factor through the middle of the means."""
    low, high = fit.interval[name]
    ends = np.geomspace(levels.min(), levels.max(), 40)
    sides = [level * (ends / centre) ** slope for slope in (low, high)]
    if np.isfinite(sides).all():
        axis.fill_between(ends, np.minimum(*sides), np.maximum(*sides), color=style.MEASURED, alpha=0.2, linewidth=0)
    label = f"measured {fit.exponents[name]:.2f} [{low:.2f}, {high:.2f}]"
    axis.plot(ends, level * (ends / centre) ** fit.exponents[name], color=style.MEASURED, linewidth=1.2, label=label)
    if name in fit.claimed:
        slope = fit.claimed[name]
        line = level * (ends / centre) ** slope
        axis.plot(ends, line, "--", color=style.CLAIMED, linewidth=1.2, label=f"claimed {slope:.3g}")


def _local(axis: Any, fit: RateFit, name: str, levels: Any, means: Any, errors: Any) -> None:
    """Draw the slope from each level to a later one, where both means are positive."""
    good = means > 0
    x, y, relative = np.log(levels[good]), np.log(means[good]), errors[good] / means[good]
    apart = -(-len(x) // (_SLOPES + 1))
    if len(x) > 1:
        steps = x[apart:] - x[:-apart]
        reach = 2 * np.sqrt(relative[apart:] ** 2 + relative[:-apart] ** 2) / steps
        middle, slopes = np.exp((x[apart:] + x[:-apart]) / 2), (y[apart:] - y[:-apart]) / steps
        some = slice(None, None, apart)  # neighbours share nothing
        axis.errorbar(
            middle[some], slopes[some], yerr=reach[some], fmt="o", color=style.MEASURED, markersize=3, capsize=2
        )
    if name in fit.claimed:
        axis.axhline(fit.claimed[name], color=style.CLAIMED, linestyle="--", linewidth=1.2)
    axis.set_xlabel(name)
