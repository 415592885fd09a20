"""The verdict on a claimed exponent of a fitted power law.

It comes after whatever forbids one. Slopes are signed so that larger is slower: along ``n`` the response should fall;
along ``epsilon``, which goes to 0, it should not grow faster than claimed. Four numbers decide:

- the slope of the straight line over the whole grid,
- the slope of a parabola at the end of the grid where the rate is claimed,
- the bend, which is how much the slope of the parabola changes from one end of the grid to the other,
- the share that a second, slower term holds of the mean at the end of the grid.

"supported" is a statement of equivalence: with confidence, the slope at the end is below the claim plus the margin, no
bend leads out of it, and no second term lies hidden that would. "contradicted" needs, with confidence, the straight
line above the claim plus the margin, the end above the claim, and no bend: a bend towards the claim may still reach it,
and one away from it may be a floor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpcheck.arrays import Floats
from dpcheck.audits.power_law import Estimate, PowerLaw, fit_law, starting_line
from dpcheck.audits.rate_table import Measurements

_ORDER = ("contradicted", "not asymptotic", "inconclusive", "supported")
# Chances of error, in multiples of a comparison's own. Each was chosen by simulation of the laws in tests/rate_laws.py,
# as a balance between supporting a law that bends away and failing to support, or to contradict, a clean one.
_BENDS = 2.0  # to see a bend away from the claim, with care, since missing one is the dangerous mistake
_RESCUES = 0.2  # to let a bend prevent a contradiction; more would cost power, since chance shows bends of each kind
_AT_END = 8.0  # to see the end above the claim, which laws that reach the claim in the end do not show
_SECOND = 0.75  # to miss a second term: errors of the first power and of few clusters come on top
_BEYOND = 1.35  # a bend, and a second term, are followed this far past the grid, in lengths of the grid
_SLOWER = 1.5  # margins by which a second term is slower than the claim
_SHARE, _MOST = 2.5, 0.5  # a second term counts from a share of so many margins of the mean at the end of the grid on
_ROUNDS = 30
_LARGE = 300.0  # logarithms beyond it are not followed
_NEAR = 1e-3  # of the logarithm of a mean; the fit that follows leaves the first power free


@dataclass(frozen=True)
class Slopes:
    """The slopes of one factor, signed so that larger is slower; ``end`` and ``bend`` need three sizes."""

    line: Estimate
    end: Estimate | None
    bend: Estimate | None


@dataclass(frozen=True)
class SecondTerm:
    """A law of two powers, and by how much the logarithm of the odds of the second at the end exceeds its share's."""

    first: float
    second: float
    share: float
    excess: Estimate


@dataclass(frozen=True)
class Judgement:
    """A verdict on one exponent, the clause that says why, and by how much it is faster than claimed, if it is.

    ``hidden`` : nothing but a second term stands against "supported".
    """

    verdict: str
    reason: str
    faster: float | None = None
    hidden: bool = False


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
    name: str, slopes: Slopes, claim: float, second: Callable[[], SecondTerm | None], *,
    margin: float, level: float, equal: bool, sign: float,
) -> Judgement:  # fmt: skip
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
    if end.high(level) > claim + margin:
        return Judgement("inconclusive", f"at the end of the grid {last} may be slower than {claimed} by {margin:g}")
    if equal and end.low(level) < claim - margin:
        return Judgement("inconclusive", f"at the end of the grid {last} may be faster than {claimed} by {margin:g}")
    hidden = second()
    if hidden is None:
        return Judgement("inconclusive", f"whether {name} has a second, slower term cannot be seen")
    if hidden.excess.high(_but(level, _SECOND)) >= 0.0:
        terms = f"{name}^{sign * hidden.first:.2f} and a second term {name}^{sign * hidden.second:.4g}"
        share = f"{hidden.share:.0%} of the mean at the end of the grid"
        return Judgement("inconclusive", f"{terms}, {share}, cannot be excluded and would break {claimed}", hidden=True)
    return Judgement("supported", f"at the end of the grid {last} is no slower than {claimed}, within {margin:g}")


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
        names = self.measurements.factors
        values = [float("nan")] * len(names) if self.line is None else self.line.coefficients[1:].tolist()
        return dict(zip(names, values, strict=True))

    def intervals(self, confidence: float) -> dict[str, tuple[float, float]]:
        """Return two-sided intervals, simultaneous over the factors."""
        names = self.measurements.factors
        level = 1 - (1 - confidence) / (2 * len(names))
        if self.line is None:
            return dict.fromkeys(names, (float("nan"), float("nan")))
        estimates = map(self.line.contrast, np.eye(1 + len(names))[1:])
        return {name: (e.low(level), e.high(level)) for name, e in zip(names, estimates, strict=True)}

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
            second = partial(_second, self.measurements, self.line, i, sign, claim, margin)
            judgement = _judgement(name, slopes, claim, second, margin=margin, level=level, equal=equal, sign=sign)
            faster = claim - slopes.line.value if slopes.line.high(level) < claim else None
            judged[name] = replace(judgement, faster=faster)
        return judged


def _slopes(m: Measurements, line: PowerLaw, i: int, sign: float) -> Slopes:
    """Return the slopes of factor ``i``, signed so that larger is slower; the other factors keep straight lines."""
    direction = np.zeros(len(line.coefficients))
    direction[1 + i] = sign
    straight = line.contrast(direction)
    if m.sizes(i) < 3:
        return Slopes(straight, None, None)
    design: Floats = np.column_stack([m.line, m.x[:, i] ** 2])
    bent = _richer(m, design, m.known, np.append(line.coefficients, 0.0))
    if bent is None:
        return Slopes(straight, None, None)
    length = float(np.ptp(m.x[:, i]))
    at_end, change = np.zeros(design.shape[1]), np.zeros(design.shape[1])
    at_end[1 + i] = sign
    change[-1] = 2 * length  # of b + 2 c x towards x = 0, from below or, where slopes change sign, from above
    return Slopes(straight, bent.contrast(at_end), bent.contrast(change))


def _second(m: Measurements, line: PowerLaw, i: int, sign: float, claim: float, margin: float) -> SecondTerm | None:
    """Fit the law of two powers of factor ``i`` that breaks the claim with the least second term.

    The second power is slower than the claim by ``_SLOWER`` margins. Its share of the mean at the end of the grid is
    the least that brings the slope out of the margin before ``_BEYOND`` lengths of the grid have passed. None where
    rows are too few to see whether they hold less.
    """
    cells = _first_rows(m)
    count = np.bincount(m.cells)
    means = np.bincount(m.cells, m.y * np.exp(m.known.mean() - m.known)) / count
    u, others = sign * m.x[:, i], np.delete(m.line, 1 + i, axis=1)
    at, flat = u[cells], others[cells]
    second = claim + _SLOWER * margin
    first, beta = sign * line.coefficients[1 + i], np.delete(line.coefficients, 1 + i)
    beta[0] += m.known.mean()
    for _ in range(_ROUNDS):  # Fisher's scoring, on the means of the cells
        first = min(first, second - 0.6 * margin)
        share = _least_share(second - first, margin, _BEYOND * float(np.ptp(u)))
        law, held = _two_powers(at, first, second, share)
        design = np.column_stack([flat, (1 - held) * at])
        residual = means * np.exp(np.minimum(-law - flat @ beta, _LARGE)) - 1
        weighted = design.T * count
        step = np.linalg.solve(weighted @ design, weighted @ residual)
        longest = float(np.abs(design @ step).max())
        step *= min(1.0, 1.0 / max(longest, 1e-300))
        beta, first = beta + step[:-1], first + step[-1]
        if longest < _NEAR:
            break
    law, held = _two_powers(u, first, second, share)
    design = np.column_stack([others, (1 - held) * u, held - share])
    beta[0] -= m.known.mean()
    fitted = _richer(m, design, m.known + law, np.concatenate([beta, [0.0, 0.0]]))
    if fitted is None:
        return None
    direction = np.zeros(design.shape[1])
    direction[-1] = 1.0
    return SecondTerm(first, second, share, fitted.contrast(direction))


def _least_share(gap: float, margin: float, beyond: float) -> float:
    """Return the share of a second power, slower by ``gap``, that brings the slope out of the margin ``beyond``."""
    inside = (_SLOWER - 1) * margin
    odds = (gap - inside) / inside * np.exp(-gap * beyond)
    return float(max(odds / (1 + odds), min(_SHARE * margin, _MOST)))


def _two_powers(u: Floats, first: float, second: float, share: float) -> tuple[Floats, Floats]:
    """Return the logarithm of ``(1 - share) e^(first u) + share e^(second u)``, and the share of the second term."""
    law = np.logaddexp(np.log1p(-share) + first * u, np.log(share) + second * u)
    return law, np.exp(np.log(share) + second * u - law)


def _richer(m: Measurements, design: Floats, known: Floats, start: Floats) -> PowerLaw | None:
    """Fit a law with more columns than a line; None where the rows do not hold them all."""
    points = design[_first_rows(m)]
    few = len(design) <= design.shape[1] or np.linalg.matrix_rank(points) < design.shape[1]
    fitted = None if few else fit_law(design, m.y, known, m.clusters, start)
    return None if fitted is None or fitted.alone else fitted


def _first_rows(m: Measurements) -> NDArray[np.int64]:
    """Return the first row of each grid point; its rows stand together."""
    return np.flatnonzero(np.diff(m.cells, prepend=-1))


def _gate(m: Measurements, line: PowerLaw | None) -> str:
    """Return why no verdict can be given, or an empty text."""
    if m.independent < _CLUSTERS:
        return f"there are only {m.independent} independent clusters; {_CLUSTERS} are needed"
    scaled = m.y * np.exp(m.known.mean() - m.known)
    count = np.bincount(m.cells)
    means = np.bincount(m.cells, scaled) / count
    squares = np.bincount(m.cells, (scaled - means[m.cells]) ** 2)
    errors = np.sqrt(squares / np.maximum(count - 1, 1) / count)
    below = (means < -_CLEAR * errors) & (count > 1) | (means < 0) & (count == 1)
    if below.all():
        return (
            "the means are negative, and a power law is positive: change the sign, or subtract a lower reference value"
        )
    if below.any():
        return (
            f"the means at {below.sum()} of {len(means)} grid points are negative beyond chance, and a power law is "
            "positive: the reference value that was subtracted is too high there"
        )
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
