"""Measured rates: a power law fitted to measurements and held against the claimed exponents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits import rate_model
from dpcheck.audits.expression import evaluate
from dpcheck.audits.rate_model import Estimate, PowerLaw
from dpcheck.audits.rate_verdict import Judgement, Slopes, judge
from dpcheck.errors import InputError, require, require_confidence

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_TO_ZERO = frozenset({"epsilon", "delta", "alpha", "mu", "gamma", "rho"})
_ORDER = ("contradicted", "not asymptotic", "inconclusive", "supported")
_CLEAR = 3.0  # standard errors above zero that a size's mean needs to have a logarithm
_CLUSTERS = 3
_ONE_RUN = 0.2  # share of the squared deviations that one run may have: heavy tails have no mean to fit
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RateFit:
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
    claimed, confidence, margin, cluster, offset
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
    claimed: dict[str, float]
    confidence: float
    margin: float
    rows: int
    response: str
    frame: pd.DataFrame
    faster: dict[str, float]
    independent: int
    cluster: str | None
    offset: str | None

    def to_dict(self) -> dict[str, Any]:
        """Everything but the data, ready for JSON."""
        return {
            "response": self.response,
            "verdict": self.verdict,
            "reason": self.reason,
            "rows": self.rows,
            "independent": self.independent,
            "cluster": self.cluster,
            "offset": self.offset,
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
                    "faster": self.faster.get(name),
                }
                for name in self.exponents
            ],
        }

    def plot(self) -> Figure:
        """Partial residuals with fitted and claimed lines, and local slopes, a column of panels a factor."""
        from dpcheck.audits.rate_plot import draw

        return draw(self)


def fit_rate(
    frame: pd.DataFrame, *, response: str, factors: Sequence[str],
    claimed: Mapping[str, float] | None = None, confidence: float = 0.95, margin: float = 0.1,
    cluster: str | None = None, offset: str | None = None, equal: bool = False,
) -> RateFit:  # fmt: skip
    """Fit ``E[response] = c * exp(offset) * product of factor^exponent`` and judge the claimed exponents.

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
        How much slower than claimed still counts as supported.
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
    A law such as ``log(n)/n`` is not O(1/n): where a claim holds up to logarithms, name them in
    ``offset``.

    Examples
    --------
    >>> import numpy as np, pandas as pd, dpcheck
    >>> n = np.repeat([500, 1000, 2000, 4000, 8000], 8)
    >>> noise = np.exp(0.1 * np.random.default_rng(0).standard_normal(n.size))
    >>> frame = pd.DataFrame({"n": n, "gap": 2 / np.sqrt(n) * noise})
    >>> dpcheck.fit_rate(frame, response="gap", factors=["n"], claimed={"n": -0.5}).verdict
    'supported'
    """
    claimed = _checked_claim(claimed, factors)
    _check_arguments(frame, response, factors, confidence, margin, cluster)
    columns = {name: _numbers(frame, name) for name in dict.fromkeys((response, *factors))}
    known = _offset(frame, offset)
    logs = np.column_stack([_logs(columns[name], name) for name in factors])
    top = np.array([logs[:, i].min() if name in _TO_ZERO else logs[:, i].max() for i, name in enumerate(factors)])
    X = logs - top  # 0 at the end where the rate is claimed
    for name, column in zip(factors, X.T, strict=True):
        require(float(np.ptp(column)) > 1e-9, name, "vary in frame", "one value")
    design = np.column_stack([np.ones(len(X)), X])
    require(len(X) >= len(factors) + 3, "frame", f"have at least {len(factors) + 3} rows for {len(factors)} factors",
            len(X))  # fmt: skip
    require(np.linalg.matrix_rank(design) == design.shape[1], "factors", "vary independently", list(factors))
    groups = _groups(frame, cluster)
    level = 1 - (1 - confidence) / max(len(claimed), 1)
    line = rate_model.fit(design, columns[response], known, groups)
    shown = frame[list(dict.fromkeys([response, *factors, *([cluster] if cluster else [])]))].assign(offset=known)
    gate = _gate(columns[response], known, design, groups, line)
    exponents, interval = _exponents(line, factors, confidence)
    judged: dict[str, Judgement] = {}
    faster: dict[str, float] = {}
    for i, name in enumerate(factors):
        if name not in claimed:
            continue
        sign = -1.0 if name in _TO_ZERO else 1.0
        if gate or line is None:
            judged[name] = Judgement("inconclusive", gate or "the means follow no power law")
            continue
        slopes = _slopes(X, columns[response], known, groups, line, i, sign)
        claim = sign * claimed[name]
        judged[name] = judge(name, slopes, claim, margin=margin, level=level, exact=equal)
        if slopes.line.high(level) < claim:
            faster[name] = claim - slopes.line.value
    verdict, reason = _overall(judged, faster)
    return RateFit(
        exponents, interval, verdict, {name: each.verdict for name, each in judged.items()}, reason, claimed,
        confidence, margin, len(frame), response, shown, faster, int(groups.max()) + 1, cluster, offset,
    )  # fmt: skip


def _slopes(
    X: Array, y: Array, known: Array, groups: NDArray[np.int64], line: PowerLaw, i: int, sign: float
) -> Slopes:
    """The slopes of factor ``i``, turned so that larger is slower; the other factors keep a straight line each."""
    direction = np.zeros(X.shape[1] + 1)
    direction[1 + i] = sign
    straight = line.contrast(direction)
    bent = None
    if len(np.unique(np.round(X[:, i], 9))) >= 3:
        design = np.column_stack([np.ones(len(X)), X, X[:, i] ** 2])
        if len(X) > design.shape[1] + 1 and np.linalg.matrix_rank(design) == design.shape[1]:
            bent = rate_model.fit(design, y, known, groups)
    if bent is None:
        return Slopes(straight, None, None)
    length = float(np.ptp(X[:, i]))
    at_end, change = np.zeros(X.shape[1] + 2), np.zeros(X.shape[1] + 2)
    at_end[1 + i] = sign
    # the slope b + 2 c x grows by 2 c length towards larger x; the rate is claimed at x = 0, above or below the rest
    change[-1] = sign * 2 * length * (-1.0 if X[:, i].max() > 1e-9 else 1.0)
    return Slopes(straight, bent.contrast(at_end), bent.contrast(change))


def _gate(y: Array, known: Array, design: Array, groups: NDArray[np.int64], line: PowerLaw | None) -> str:
    """Why no verdict can be given, or an empty text."""
    count = int(groups.max()) + 1
    if count < _CLUSTERS:
        return f"there are only {count} independent clusters; {_CLUSTERS} are needed"
    cells, index = np.unique(np.round(design, 9), axis=0, return_inverse=True)
    index = index.reshape(-1)
    scaled = y / np.exp(known - known.mean())
    for cell in range(len(cells)):
        values = scaled[index == cell]
        error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
        if values.mean() <= _CLEAR * error or values.mean() <= 0:
            return "at one size or more the mean response cannot be told from zero: a floor, or too few runs"
    if line is None:
        return "the means follow no power law"
    spread = (y * np.exp(-(design @ line.coefficients) - known) - 1) ** 2
    if spread.max() > 1e-18 and spread.max() / spread.sum() > max(_ONE_RUN, 4 * np.log(len(y)) / len(y)):
        return "a single run carries most of the spread, so that the mean is not determined"
    return ""


def _exponents(
    line: PowerLaw | None, factors: Sequence[str], confidence: float
) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    level = 1 - (1 - confidence) / (2 * len(factors))
    exponents, interval = {}, {}
    for i, name in enumerate(factors):
        direction = np.zeros(len(factors) + 1)
        direction[1 + i] = 1.0
        found = line.contrast(direction) if line else Estimate(float("nan"), float("inf"), 1.0)
        exponents[name], interval[name] = found.value, (found.low(level), found.high(level))
    return exponents, interval


def _overall(judged: dict[str, Judgement], faster: dict[str, float]) -> tuple[str, str]:
    if not judged:
        return "inconclusive", "no exponent was claimed"
    verdict = next(word for word in _ORDER if word in {each.verdict for each in judged.values()})
    reasons = dict.fromkeys(each.reason for each in judged.values() if each.verdict == verdict)
    by = ", ".join(f"{name} is faster than claimed by {much:.2f}" for name, much in faster.items())
    return verdict, f"{verdict}: {'; '.join(reasons)}" + (f"; {by}" if by else "")


def _checked_claim(claimed: Mapping[str, float] | None, factors: Sequence[str]) -> dict[str, float]:
    require(claimed is None or isinstance(claimed, Mapping), "claimed", "map factors to exponents", claimed)
    require(not isinstance(factors, str), "factors", "be several names", factors)
    for name, value in (claimed or {}).items():
        require(name in factors, "claimed", f"name factors among {list(factors)}", name)
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        require(bool(number and np.isfinite(value)), f"the claimed exponent of {name}", "be a finite number", value)
    return {name: float(value) for name, value in (claimed or {}).items()}


def _check_arguments(
    frame: object, response: str, factors: Sequence[str], confidence: float, margin: float, cluster: str | None
) -> None:
    import pandas as pd

    require(isinstance(frame, pd.DataFrame), "frame", "be a pandas DataFrame", type(frame).__name__)
    assert isinstance(frame, pd.DataFrame)
    require_confidence(confidence)
    good = isinstance(margin, int | float) and bool(np.isfinite(margin)) and margin > 0
    require(good, "margin", "be a finite number > 0", margin)
    require(response not in factors, "factors", f"leave out the response {response!r}", list(factors))
    require(len(factors) > 0, "factors", "name at least one column", list(factors))
    require(len(set(factors)) == len(factors), "factors", "be distinct", list(factors))
    require(len(frame) > 0, "frame", "have rows", "none")
    for name in (response, *factors, *([cluster] if cluster else [])):
        require(name in frame.columns, "frame", f"have a column {name!r}", list(frame.columns))
        require(frame.columns.tolist().count(name) == 1, "frame", f"have one column {name!r}", "several")


def _numbers(frame: pd.DataFrame, name: str) -> Array:
    try:
        values: Array = frame[name].to_numpy(dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be numeric, got {frame[name].dtype}") from error
    good = np.isfinite(values)
    if not good.all():
        row = int(np.argmin(good))
        require(False, name, "be finite", f"{values[row]} at row {row}")
    return values


def _logs(values: Array, name: str) -> Array:
    if not np.all(values > 0):
        row = int(np.argmax(values <= 0))
        require(False, name, "be positive", f"{values[row]} at row {row}")
    found: Array = np.log(values)
    return found


def _offset(frame: pd.DataFrame, offset: str | None) -> Array:
    """The logarithm of the known factor : (rows,)."""
    if offset is None:
        return np.zeros(len(frame))
    require(isinstance(offset, str), "offset", "be a column or a formula of columns", offset)
    numeric = {str(name): _numbers(frame, name) for name in frame.columns if frame[name].dtype.kind in "iuf"}
    factor = evaluate(offset, numeric)
    bad = ~(np.isfinite(factor) & (factor > 0))
    if bad.any():
        row = int(np.argmax(bad))
        require(False, f"the offset {offset}", "be positive and finite", f"{factor[row]} at row {row}")
    found: Array = np.log(factor)
    return found


def _groups(frame: pd.DataFrame, cluster: str | None) -> NDArray[np.int64]:
    if cluster is None:
        return np.arange(len(frame))
    import pandas as pd

    codes, _ = pd.factorize(frame[cluster], use_na_sentinel=True)
    require(bool((codes >= 0).all()), cluster, "have a value in every row", "a missing one")
    return np.asarray(codes, dtype=np.int64)
