"""A power law fitted to means, and the verdict on a claimed exponent of it.

log E[response] is linear, and rows that share something count once. The estimate solves ``sum of x_i (y_i / mu_i - 1) =
0`` with ``log mu_i = x_i beta + offset_i``, the quasi-likelihood of a constant relative spread. It is about arithmetic
means, like a theorem on an expected gap, so that responses of zero and below are data. Standard errors come from the
residuals of each cluster, corrected for the cluster's own effect on the fit (CR2, Bell and McCaffrey 2002); their
degrees of freedom follow Satterthwaite's rule. Leaving clusters out instead (CR3) covers too often where clusters are
few: .99 in place of .95 with four.

The verdict comes after whatever forbids one. Slopes are signed so that larger is slower: along ``n`` the response
should fall; along ``epsilon``, which goes to 0, it should not grow faster than claimed. Three numbers decide:

- the slope of the straight line over the whole grid,
- the slope of a parabola at the end of the grid where the rate is claimed,
- the bend, which is how much the slope of the parabola changes from one end of the grid to the other.

"supported" is a statement of equivalence: with confidence, the slope at the end is below the claim plus the margin, and
no bend leads out of it. "contradicted" needs, with confidence, the straight line above the claim plus the margin, the
end above the claim, and no bend: a bend towards the claim may still reach it, and one away from it may be a floor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpcheck.audits.rate_table import Measurements

Array = NDArray[np.float64]
_STEPS = 200
_EXACT = 1e-9  # the most that rounding changes an exponent
_ALONE = 1e-8  # a coefficient rests on one cluster if the others hold less than this share of its information


@dataclass(frozen=True, eq=False)
class PowerLaw:
    """The coefficients of a power law, and how far each cluster moves them."""

    coefficients: Array  # (p,)
    moves: Array  # (clusters, p), how far each cluster moves the coefficients
    leaned: Array  # (rows, p), the part of each row in the move of its cluster
    design: Array  # (rows, p)
    clusters: NDArray[np.int64]  # (rows,), the cluster of each row
    inverse: Array  # (p, p), of design' design
    alone: bool  # whether some coefficient rests on one cluster, so that its error is unknown

    def contrast(self, direction: Array) -> Estimate:
        """Return the estimate of ``direction @ coefficients``, direction (p,)."""
        error = float(np.sqrt(((self.moves @ direction) ** 2).sum()))
        return Estimate(float(direction @ self.coefficients), error, self._freedom(direction))

    def _freedom(self, direction: Array) -> float:
        """Return Satterthwaite's degrees of freedom of the error, for rows of equal spread that share nothing.

        The error has the matrix ``L' (1 - H) L``, no two of L's columns with a row in common: no such matrix is made.
        """
        weights = self.leaned @ direction  # (rows,): the columns of L, one after the other
        count = len(self.moves)
        size = np.bincount(self.clusters, weights**2, count)
        shared = _sums(self.design * weights[:, None], self.clusters, count)
        within = ((shared @ self.inverse) * shared).sum(1)
        square = self.inverse @ (shared.T @ shared)
        total = float((size**2).sum() - 2 * (size * within).sum() + np.trace(square @ square))
        trace = float((size - within).sum())
        return trace**2 / total if total > 0 else float(count)


@dataclass(frozen=True)
class Estimate:
    """A number with its standard error and the degrees of freedom of that error."""

    value: float
    error: float
    freedom: float

    def low(self, level: float) -> float:
        """Return the lower confidence limit, one-sided at ``level``."""
        return self.value - self._reach(level)

    def high(self, level: float) -> float:
        """Return the upper confidence limit, one-sided at ``level``."""
        return self.value + self._reach(level)

    def _reach(self, level: float) -> float:
        return float(special.stdtrit(max(self.freedom, 1.0), level)) * self.error + _EXACT


def fit_law(
    design: Array, response: Array, offset: Array, clusters: NDArray[np.int64], start: Array
) -> PowerLaw | None:
    """Fit a law (p,) by a design (rows, p) of full rank from ``start``; None if the means follow none."""
    inverse: Array = np.asarray(np.linalg.inv(design.T @ design), dtype=np.float64)
    beta = _solve(design, response, offset, inverse, start)
    if beta is None:
        return None
    residual = response * np.exp(-(design @ beta) - offset) - 1
    count = int(clusters.max()) + 1
    leaned, alone = _leaned(design, clusters, count)
    moves = _sums(leaned * residual[:, None], clusters, count)
    return PowerLaw(beta, moves, leaned, design, clusters, inverse, alone)


def starting_line(design: Array, response: Array, offset: Array, cells: NDArray[np.int64]) -> Array:
    """Return a line (p,) through the logarithms of the means of the cells (rows,), where those are positive."""
    count = np.bincount(cells)
    scaled = response * np.exp(-(offset - offset.mean()))
    means = np.bincount(cells, scaled) / count
    designs = _sums(design, cells, len(count)) / count[:, None]
    good = means > 0
    if good.sum() < design.shape[1] or np.linalg.matrix_rank(designs[good]) < design.shape[1]:
        level = np.linalg.lstsq(design, np.ones(len(design)), rcond=None)[0]
        return np.asarray(level * (np.log(max(scaled.mean(), 1e-300)) - offset.mean()))
    line: Array = np.linalg.lstsq(designs[good], np.log(means[good]) - offset.mean(), rcond=None)[0]
    return line


def _solve(design: Array, response: Array, offset: Array, inverse: Array, start: Array) -> Array | None:
    """Solve the equations by Fisher's scoring, with each step shortened until they come closer to zero."""
    if response.mean() <= 0 or (response > 0).sum() < design.shape[1]:
        return None
    beta = start

    def equations(at: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            value: Array = design.T @ (response * np.exp(-(design @ at) - offset) - 1)
        return value

    now = equations(beta)
    for _ in range(_STEPS):
        if not np.all(np.isfinite(now)):
            return None
        step = inverse @ now
        longest = float(np.max(np.abs(design @ step)))
        if longest < 1e-11:
            return beta
        step *= min(1.0, 1.0 / longest)
        for _ in range(40):
            after = equations(beta + step)
            if np.all(np.isfinite(after)) and after @ inverse @ after < now @ inverse @ now:
                break
            step /= 2
        else:
            return beta if now @ inverse @ now < 1e-14 * len(response) else None
        beta, now = beta + step, after
    return None


def _leaned(design: Array, clusters: NDArray[np.int64], count: int) -> tuple[Array, bool]:
    """Return ``(1 - H_gg)^-1/2 X_g (X'X)^-1`` for each cluster g in the places of its rows, (rows, p).

    In coordinates where X'X = 1 this is ``X_g (1 - X_g'X_g)^-1/2``, a small matrix for each cluster. The second value
    says whether one of these matrices is singular; a coefficient then rests on that cluster alone.
    """
    inverse_root = np.linalg.inv(np.linalg.cholesky(design.T @ design))
    white = design @ inverse_root.T
    if count == len(white):
        left = 1 - (white**2).sum(1)
        gain = np.where(left > _ALONE, 1 / np.sqrt(np.maximum(left, _ALONE)), 0.0)
        return (white * gain[:, None]) @ inverse_root, bool((left <= _ALONE).any())
    size = design.shape[1]
    squares = _sums((white[:, :, None] * white[:, None, :]).reshape(len(white), -1), clusters, count)
    values, vectors = np.linalg.eigh(squares.reshape(count, size, size))
    left = 1 - values
    gain = np.where(left > _ALONE, 1 / np.sqrt(np.maximum(left, _ALONE)), 0.0)
    without = (vectors * gain[:, None, :]) @ vectors.transpose(0, 2, 1) @ inverse_root
    return (white[:, None, :] @ without[clusters])[:, 0, :], bool((left <= _ALONE).any())


def _sums(values: Array, groups: NDArray[np.int64], count: int) -> Array:
    """Return the sum of the rows of each group, (count, columns)."""
    return np.stack([np.bincount(groups, column, count) for column in values.T], axis=1)


_ORDER = ("contradicted", "not asymptotic", "inconclusive", "supported")
# Chances of error, in multiples of a comparison's own. Each was chosen by simulation of the laws in tests/rate_laws.py,
# as a balance between supporting a law that bends away and failing to support, or to contradict, a clean one.
_BENDS = 2.0  # to see a bend away from the claim, with care, since missing one is the dangerous mistake
_ELSEWHERE = 0.5  # to see that the line is not the claimed one; half the margin is then left, unless no bend leads out
_RESCUES = 0.2  # to let a bend prevent a contradiction; more would cost power, since chance shows bends of each kind
_AT_END = 8.0  # to see the end above the claim, which laws that reach the claim in the end do not show
_BEYOND = 1.25  # a bend is followed this far past the grid, in lengths of the grid


@dataclass(frozen=True)
class Slopes:
    """The slopes of one factor, signed so that larger is slower; ``end`` and ``bend`` need three sizes."""

    line: Estimate
    end: Estimate | None
    bend: Estimate | None


@dataclass(frozen=True)
class Judgement:
    """A verdict on one exponent, the clause that says why, and by how much it is faster than claimed, if it is."""

    verdict: str
    reason: str
    faster: float | None = None


def overall(judged: Mapping[str, Judgement]) -> tuple[str, str]:
    """Return the worst verdict, and the sentence that says why."""
    if not judged:
        return "inconclusive", "inconclusive: no exponent was claimed"
    verdict = next(word for word in _ORDER if word in {judgement.verdict for judgement in judged.values()})
    reasons = dict.fromkeys(judgement.reason for judgement in judged.values() if judgement.verdict == verdict)
    by = [
        f"{name} is faster than claimed by {judgement.faster:.2f}"
        for name, judgement in judged.items()
        if judgement.faster
    ]
    return verdict, f"{verdict}: {'; '.join([*reasons, *by])}"


def _judgement(
    name: str, slopes: Slopes, claim: float, *, margin: float, level: float, equal: bool, sign: float
) -> Judgement:
    """Compare a factor's slopes with its claim, signed alike; ``sign`` restores the exponent's own."""
    end, bend, line = slopes.end, slopes.bend, slopes.line
    claimed = f"the claimed {name}^{sign * claim:g}"
    if end is None or bend is None:
        return Judgement("inconclusive", f"{name} has too few independent sizes to see whether the slope bends")
    whole, last = _shown(name, line, level, sign), _shown(name, end, level, sign)
    rescue, loose = _but(level, _RESCUES), _but(level, _AT_END)
    flattens, steepens = bend.low(rescue) > 0.0, bend.high(rescue) < 0.0
    slower = line.low(level) > claim + margin and end.low(loose) > claim
    if slower and not steepens and not flattens:
        return Judgement("contradicted", f"{whole} is slower than {claimed}")
    faster = line.high(level) < claim - margin and end.high(loose) < claim
    if equal and faster and not steepens and not flattens:
        return Judgement("contradicted", f"{whole} is faster than {claimed}, an equality")
    bent = f"the slope in {name} still bends, from {sign * (end.value - bend.value):.2f} to {sign * end.value:.2f}"
    bends = _but(level, _BENDS)
    if bend.low(bends) > 0.0 and end.value + _BEYOND * bend.value > claim + margin:
        return Judgement("not asymptotic", f"{bent}, out of the margin of {claimed}")
    if line.value > claim + margin and steepens:
        return Judgement("not asymptotic", f"{bent}, towards {claimed}")
    care = _but(level, _ELSEWHERE)
    elsewhere = line.high(care) < claim or line.low(care) > claim
    may_leave = end.value + _BEYOND * max(bend.high(rescue), -bend.low(rescue)) > claim + margin
    left = margin / 2 if elsewhere and may_leave else margin
    if end.high(level) > claim + left:
        return Judgement("inconclusive", f"at the end of the grid {last} may be slower than {claimed} by {left:g}")
    if equal and end.low(level) < claim - left:
        return Judgement("inconclusive", f"at the end of the grid {last} may be faster than {claimed} by {left:g}")
    return Judgement("supported", f"at the end of the grid {last} is no slower than {claimed}, within {left:g}")


def _but(level: float, times: float) -> float:
    """Return the level with so many times the chance of error, at least 1/2, where a limit is the estimate itself."""
    return max(1 - times * (1 - level), 0.5)


def _shown(name: str, estimate: Estimate, level: float, sign: float) -> str:
    low, high = sorted((sign * estimate.low(level), sign * estimate.high(level)))
    return f"{name}^{sign * estimate.value:.2f} [{low:.2f}, {high:.2f}]"


_CLEAR = 3.0  # standard errors that the mean at a size must lie above zero, so that it has a logarithm
_CLUSTERS = 3
_FAR = 0.5  # share of the mean; a run this close to it is no sign of a heavy tail, however close the others are
_ONE_RUN = 0.2  # the share of the squared deviations that one run may have; with heavy tails no mean can be fitted


@dataclass(frozen=True, eq=False)
class Fitted:
    """The straight line through all factors, the reason why no verdict can be given (or ""), and slopes once needed."""

    measurements: Measurements
    line: PowerLaw | None
    gate: str
    _slopes: dict[int, Slopes] = field(default_factory=dict)

    @classmethod
    def of(cls, measurements: Measurements) -> Fitted:
        """Fit the line, and find out whether it can be judged."""
        m = measurements
        start = starting_line(m.line, m.y, m.known, m.cells)
        line = fit_law(m.line, m.y, m.known, m.clusters, start)
        return cls(m, line, _gate(m, line))

    def exponents(self) -> dict[str, float]:
        """Return each factor's exponent; NaN if the means follow no power law."""
        return {name: self._exponent(i).value for i, name in enumerate(self.measurements.factors)}

    def intervals(self, confidence: float) -> dict[str, tuple[float, float]]:
        """Return two-sided intervals, simultaneous over the factors."""
        names = self.measurements.factors
        level = 1 - (1 - confidence) / (2 * len(names))
        estimates = {name: self._exponent(i) for i, name in enumerate(names)}
        return {name: (estimate.low(level), estimate.high(level)) for name, estimate in estimates.items()}

    def judge(
        self, claimed: Mapping[str, float], *, confidence: float, margin: float, equal: bool = False
    ) -> dict[str, Judgement]:
        """Return the verdict on each claimed exponent; their errors add up to at most ``1 - confidence``."""
        level = 1 - (1 - confidence) / max(len(claimed), 1)
        judged = {}
        for i, name in enumerate(self.measurements.factors):
            if name not in claimed:
                continue
            if self.gate or self.line is None:
                judged[name] = Judgement("inconclusive", self.gate)
                continue
            sign = self.measurements.sign(i)
            if i not in self._slopes:
                self._slopes[i] = _slopes(self.measurements, self.line, i, sign)
            slopes, claim = self._slopes[i], sign * claimed[name]
            judgement = _judgement(name, slopes, claim, margin=margin, level=level, equal=equal, sign=sign)
            faster = claim - slopes.line.value if slopes.line.high(level) < claim else None
            judged[name] = replace(judgement, faster=faster)
        return judged

    def _exponent(self, i: int) -> Estimate:
        if self.line is None:
            return Estimate(float("nan"), float("inf"), 1.0)
        direction = np.zeros(len(self.line.coefficients))
        direction[1 + i] = 1.0
        return self.line.contrast(direction)


def _slopes(m: Measurements, line: PowerLaw, i: int, sign: float) -> Slopes:
    """Return the slopes of factor ``i``, signed so that larger is slower; the other factors keep straight lines."""
    direction = np.zeros(len(line.coefficients))
    direction[1 + i] = sign
    straight = line.contrast(direction)
    if m.sizes(i) < 3:
        return Slopes(straight, None, None)
    design: Array = np.column_stack([m.line, m.x[:, i] ** 2])
    few = len(design) <= design.shape[1] or np.linalg.matrix_rank(design) < design.shape[1]
    bent = None if few else fit_law(design, m.y, m.known, m.clusters, np.append(line.coefficients, 0.0))
    if bent is None or bent.alone:
        return Slopes(straight, None, None)
    length = float(np.ptp(m.x[:, i]))
    at_end, change = np.zeros(design.shape[1]), np.zeros(design.shape[1])
    at_end[1 + i] = sign
    change[-1] = 2 * length  # of b + 2 c x towards x = 0, from below or, where slopes change sign, from above
    return Slopes(straight, bent.contrast(at_end), bent.contrast(change))


def _gate(m: Measurements, line: PowerLaw | None) -> str:
    """Return why no verdict can be given, or an empty text."""
    if m.independent < _CLUSTERS:
        return f"there are only {m.independent} independent clusters; {_CLUSTERS} are needed"
    scaled = m.y * np.exp(m.known.mean() - m.known)
    count = np.bincount(m.cells)
    means = np.bincount(m.cells, scaled) / count
    squares = np.bincount(m.cells, (scaled - means[m.cells]) ** 2)
    errors = np.sqrt(squares / np.maximum(count - 1, 1) / count)
    if (means <= _CLEAR * errors).any():
        return "at one size or more the mean response cannot be told from zero: a floor, or too few runs"
    if line is None:
        return "the means follow no power law"
    if line.alone:
        return "an exponent rests on a single independent cluster, so that its error cannot be seen"
    spread = (m.y * np.exp(-(line.design @ line.coefficients) - m.known) - 1) ** 2
    if spread.max() > _FAR**2 and spread.max() / spread.sum() > max(_ONE_RUN, 4 * np.log(len(m.y)) / len(m.y)):
        return "a single run carries most of the spread, so that the mean is not determined"
    return ""
