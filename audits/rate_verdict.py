"""What a fitted power law says of one claimed exponent: each gate first, then the comparison.

Slopes are turned so that larger is slower: along ``n`` the response should fall, along ``epsilon``,
which goes to 0, it should not grow faster than claimed. Three numbers decide:

- the slope of the straight line over the whole grid,
- the slope at the end of the grid where the rate is claimed, from a parabola,
- the bend, how much the slope changes from one end of the grid to the other.

"supported" is a statement of equivalence: the slope at the end is below the claim plus the margin,
with confidence, and no bend leads out of it. "contradicted" needs the straight line above the claim
plus the margin and the end above the claim, both with confidence, and no bend: towards the claim it may still be reached, and away from it a floor is in sight.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpcheck.audits.rate_model import Estimate

_BENDS = 0.85  # one-sided confidence at which a bend away from the claim counts: a careful gate, not a verdict
_RESCUES = 0.95  # ... and one towards the claim, or into a floor, which spare a contradiction
_BEYOND = 1.0  # how far past the grid, in grids, a bend is followed


@dataclass(frozen=True)
class Slopes:
    """The slopes of one factor in the direction in which larger is slower; ``end`` and ``bend`` need three sizes."""

    line: Estimate
    end: Estimate | None
    bend: Estimate | None

    def beyond(self) -> float:
        """The slope that far past the end, if the bend goes on."""
        assert self.end is not None and self.bend is not None
        return self.end.value + _BEYOND * self.bend.value


@dataclass(frozen=True)
class Judgement:
    """A verdict on one exponent, and the sentence that says why."""

    verdict: str
    reason: str


def judge(name: str, slopes: Slopes, claim: float, *, margin: float, level: float, exact: bool) -> Judgement:
    """Hold one factor's slopes against its claim; ``exact`` claims equality, not an upper bound."""
    end, bend, line = slopes.end, slopes.bend, slopes.line
    if end is None or bend is None:
        return Judgement("inconclusive", f"{name} has too few sizes to see whether the slope bends; three are needed")
    slower = bend.exceeds(0.0, _BENDS)
    faster = bend.high(_RESCUES) < 0.0
    flattens = bend.exceeds(0.0, _RESCUES)  # a floor, which is no power law
    above = line.exceeds(claim + margin, level) and end.exceeds(claim, level)
    if above and not faster and not flattens:
        return Judgement("contradicted", f"{name} is slower than claimed: {_shown(line, level)}")
    if exact and line.high(level) < claim - margin and end.high(level) < claim and not slower:
        return Judgement("contradicted", f"{name} is faster than the claimed equality: {_shown(line, level)}")
    if slower and slopes.beyond() > claim + margin:
        return Judgement(
            "not asymptotic", f"the slope in {name} still bends, towards slower, and would leave the claim's margin"
        )
    if line.value > claim + margin and faster:
        return Judgement("not asymptotic", f"the slope in {name} still bends, towards faster")
    if end.high(level) > claim + margin:
        return Judgement(
            "inconclusive",
            f"{name} is not shown to be within {margin:g} of the claim at the end of the grid: {_shown(end, level)}",
        )
    if exact and end.low(level) < claim - margin:
        return Judgement("inconclusive", f"{name} may be faster than the claimed equality: {_shown(end, level)}")
    return Judgement("supported", f"{name} is no slower than claimed, within {margin:g}: {_shown(end, level)}")


def _shown(estimate: Estimate, level: float) -> str:
    return f"{estimate.value:.2f} [{estimate.low(level):.2f}, {estimate.high(level):.2f}]"
