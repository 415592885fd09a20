"""The verdict on one claimed exponent of a fitted power law: first what forbids a verdict, then the comparison.

Slopes are signed so that larger is slower: along ``n`` the response should fall; along ``epsilon``, which goes to 0, it
should not grow faster than claimed. Three numbers decide:

- the slope of the straight line over the whole grid,
- the slope of a parabola at the end of the grid where the rate is claimed,
- the bend, which is how much the slope of the parabola changes from one end of the grid to the other.

"supported" is a statement of equivalence: with confidence, the slope at the end is below the claim plus the margin, and
no bend leads out of it. "contradicted" needs, with confidence, the straight line above the claim plus the margin, the
end above the claim, and no bend: a bend towards the claim may still reach it, and one away from it may be a floor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dpcheck.audits.regression.power_law import Estimate

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


def judge(
    name: str, slopes: Slopes, claim: float, *, margin: float, level: float, equal: bool, sign: float
) -> Judgement:
    """Compare the slopes of one factor with its claim.

    ``claim`` is signed as the slopes are, and ``sign`` restores the exponent's own sign. ``equal`` means that the claim
    is an equality rather than an upper bound.
    """
    found = _verdict(name, slopes, claim, margin=margin, level=level, equal=equal, sign=sign)
    if slopes.line.high(level) < claim:
        return replace(found, faster=claim - slopes.line.value)
    return found


def overall(judged: Mapping[str, Judgement]) -> tuple[str, str]:
    """Return the worst verdict, and the sentence that says why."""
    if not judged:
        return "inconclusive", "inconclusive: no exponent was claimed"
    verdict = next(word for word in _ORDER if word in {each.verdict for each in judged.values()})
    reasons = dict.fromkeys(each.reason for each in judged.values() if each.verdict == verdict)
    by = [f"{name} is faster than claimed by {each.faster:.2f}" for name, each in judged.items() if each.faster]
    return verdict, f"{verdict}: {'; '.join([*reasons, *by])}"


def _verdict(
    name: str, slopes: Slopes, claim: float, *, margin: float, level: float, equal: bool, sign: float
) -> Judgement:
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
    own = _but(level, _ELSEWHERE)
    elsewhere = line.high(own) < claim or line.low(own) > claim
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
