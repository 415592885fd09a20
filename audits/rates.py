"""Measured rates: a power law fitted to measurements and held against the claimed exponents.

Model: log response = c + sum over factors of exponent * log factor + error, errors independent with
mean zero and any variances (HC3 covariance, Student quantiles). Intervals hold for all factors at
once (Bonferroni). A claimed rate is an upper bound along the way each factor goes (n, d, T to
infinity; epsilon, delta to 0), so only a slower law than claimed contradicts it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.errors import InputError, require, require_confidence

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_TO_ZERO = frozenset({"epsilon", "delta", "alpha", "mu", "gamma", "rho"})
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RateFit:
    """A fitted power law.

    exponents : factor -> estimate;  interval : factor -> (low, high), simultaneous
    verdict : "supported", no slower than claimed within ``margin`` for every claimed factor;
        "contradicted", slower than claimed beyond chance for some factor; "not asymptotic", the
        slope still bends along the grid by more than ``margin``, beyond chance; else "inconclusive"
    by_factor : factor -> its own verdict;  reason : a sentence
    """

    exponents: dict[str, float]
    interval: dict[str, tuple[float, float]]
    verdict: str
    by_factor: dict[str, str]
    reason: str
    claimed: dict[str, float]
    confidence: float
    margin: float
    rows: int
    response: str
    frame: pd.DataFrame

    def to_dict(self) -> dict[str, Any]:
        """Everything but the data, ready for JSON."""
        return {
            "response": self.response,
            "verdict": self.verdict,
            "reason": self.reason,
            "rows": self.rows,
            "confidence": self.confidence,
            "margin": self.margin,
            "factors": [
                {
                    "factor": name,
                    "exponent": self.exponents[name],
                    "low": self.interval[name][0],
                    "high": self.interval[name][1],
                    "claimed": self.claimed.get(name),
                    "verdict": self.by_factor.get(name),
                }
                for name in self.exponents
            ],
        }

    def plot(self) -> Figure:
        """Log-log plot of the response against each factor, with the fitted and claimed slopes."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(4.2 * len(self.exponents), 3.6), layout="constrained")
        axes = np.atleast_1d(figure.subplots(1, len(self.exponents), sharey=True))
        y = self.frame[self.response].to_numpy(float)
        for axis, (name, exponent) in zip(axes, self.exponents.items(), strict=True):
            x = self.frame[name].to_numpy(float)
            axis.loglog(x, y, "o", alpha=0.5, markersize=4)
            ends = np.array([x.min(), x.max()])
            centre, level = np.exp(np.log(x).mean()), np.exp(np.log(y).mean())
            low, high = self.interval[name]
            axis.loglog(ends, level * (ends / centre) ** exponent, "-", label=f"measured {exponent:.2f}")
            if name in self.claimed:
                slope = self.claimed[name]
                axis.loglog(ends, level * (ends / centre) ** slope, "--", label=f"claimed {slope:g}")
            axis.set(xlabel=name, title=f"[{low:.2f}, {high:.2f}]")
            levels = np.unique(x)
            if levels.size <= 8:
                axis.set_xticks(levels, [f"{level:g}" for level in levels])
                axis.minorticks_off()
            axis.legend()
        axes[0].set_ylabel(self.response)
        return figure


def fit_rate(
    frame: pd.DataFrame, *, response: str, factors: Sequence[str],
    claimed: Mapping[str, float] | None = None, confidence: float = 0.95, margin: float = 0.1,
) -> RateFit:  # fmt: skip
    """Fit response ~ product of factor^exponent and judge the claimed exponents.

    frame : a row a measurement, positive numbers;  claimed : factor -> exponent of the upper bound
    margin : how much slower than claimed still counts as supported, and how much an exponent may
        bend along the grid before it is called not asymptotic

    Raises InputError for missing columns, values that are not positive and finite, factors that do
    not vary or cannot be told apart, and fewer than two rows more than exponents.
    """
    import pandas as pd
    from scipy import stats

    claimed = dict(claimed or {})
    require(isinstance(frame, pd.DataFrame), "frame", "be a pandas DataFrame", type(frame).__name__)
    require_confidence(confidence)
    require(margin > 0, "margin", "be > 0", margin)
    require(not isinstance(factors, str), "factors", "be several names", factors)
    require(response not in factors, "factors", f"leave out the response {response!r}", list(factors))
    require(len(factors) > 0, "factors", "name at least one column", list(factors))
    require(len(set(factors)) == len(factors), "factors", "be distinct", list(factors))
    for name in claimed:
        require(name in factors, "claimed", f"name factors among {list(factors)}", name)
    for name in (response, *factors):
        require(name in frame.columns, "frame", f"have a column {name!r}", list(frame.columns))
    logs = {name: _logs(frame[name], name) for name in (response, *factors)}
    y, X = logs[response], np.column_stack([logs[name] for name in factors])
    X = X - X.mean(0)
    for name, column in zip(factors, X.T, strict=True):
        require(np.ptp(column) > 1e-9, name, "vary in frame", "one value")
    rows, k = len(y), len(factors)
    require(rows >= k + 3, "frame", f"have at least {k + 3} rows for {k} factors", rows)
    design = np.column_stack([np.ones(rows), X])
    require(np.linalg.matrix_rank(design) == k + 1, "factors", "vary independently", list(factors))

    beta, covariance = _robust_fit(design, y)
    freedom = rows - k - 1
    spread = stats.t.ppf(1 - (1 - confidence) / (2 * k), freedom) * np.sqrt(np.diag(covariance))
    exponents = {name: float(beta[1 + i]) for i, name in enumerate(factors)}
    interval = {
        name: (float(beta[1 + i] - spread[1 + i]), float(beta[1 + i] + spread[1 + i])) for i, name in enumerate(factors)
    }
    bent = _bends(X, y, list(factors), confidence, margin)
    by_factor = {
        name: "not asymptotic" if name in bent else _judge(name, interval[name], claimed[name], margin)
        for name in claimed
    }
    verdict, reason = _overall(by_factor, exponents, claimed)
    return RateFit(
        exponents, interval, verdict, by_factor, reason, claimed, confidence, margin, rows, response,
        frame[[response, *factors]].copy(),
    )  # fmt: skip


def _logs(column: pd.Series, name: str) -> Array:
    try:
        values = column.to_numpy(dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be numeric, got {column.dtype}") from error
    good = np.isfinite(values) & (values > 0)
    if not good.all():
        row = int(np.argmin(good))
        require(False, name, "be positive and finite", f"{values[row]} at row {row}")
    logs: Array = np.log(values)
    return logs


def _robust_fit(design: Array, y: Array) -> tuple[Array, Array]:
    """Least squares with MacKinnon and White's HC3 covariance."""
    inverse = np.linalg.pinv(design.T @ design)
    beta = inverse @ design.T @ y
    leverage = np.minimum(((design @ inverse) * design).sum(1), 1 - 1e-9)
    weight = ((y - design @ beta) / (1 - leverage)) ** 2
    half = inverse @ (design.T * np.sqrt(weight))
    return beta, half @ half.T  # a square, so that variances are never negative by rounding


def _bends(X: Array, y: Array, factors: list[str], confidence: float, margin: float) -> set[str]:
    """Factors whose exponent changes along the grid by more than ``margin``, beyond chance."""
    from scipy import stats

    curved = [i for i in range(len(factors)) if len(np.unique(np.round(X[:, i], 9))) >= 3]
    design = np.column_stack([np.ones(len(y)), X, X[:, curved] ** 2])
    freedom = len(y) - design.shape[1]
    if not curved or freedom < 2 or np.linalg.matrix_rank(design) < design.shape[1]:
        return set()
    beta, covariance = _robust_fit(design, y)
    # Bonferroni over the curvatures; the whole interval of the change must clear the margin
    quantile = stats.t.ppf(1 - (1 - confidence) / (2 * len(curved)), freedom)
    bent = set()
    for j, i in enumerate(curved):
        at = 1 + len(factors) + j
        change = 2 * np.ptp(X[:, i]) * beta[at]
        error = 2 * np.ptp(X[:, i]) * quantile * np.sqrt(covariance[at, at])
        if abs(change) - error > margin:
            bent.add(factors[i])
    return bent


def _judge(name: str, interval: tuple[float, float], claim: float, margin: float) -> str:
    # A factor that goes to 0 makes the response grow where its exponent is smaller: mirror it.
    low, high = interval if name not in _TO_ZERO else (-interval[1], -interval[0])
    claim = claim if name not in _TO_ZERO else -claim
    if low > claim:
        return "contradicted"
    return "supported" if high <= claim + margin else "inconclusive"


def _overall(by_factor: dict[str, str], exponents: dict[str, float], claimed: dict[str, float]) -> tuple[str, str]:
    if not by_factor:
        return "inconclusive", "no exponent was claimed"
    for verdict in ("not asymptotic", "contradicted", "inconclusive", "supported"):
        names = [name for name, word in by_factor.items() if word == verdict]
        if names:
            shown = ", ".join(f"{n}: {exponents[n]:.2f} (claimed {claimed[n]:g})" for n in names)
            return verdict, f"{verdict}: {shown}"
    raise AssertionError("a factor's verdict has no rank")
