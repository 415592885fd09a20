"""What an experiment shows of a theorem's factors, in a word for every factor, and which wrong exponents it rejects.

``measured = c * order * product of factor^b`` is fitted, with the theorem's order. The theorem claims that all b are 0;
an exponent that is wrong by x is planted by multiplying the measurements by factor^x, which moves b and its interval by
x. The intervals hold for all factors at once. They are signed here so that more is slower, and half of a margin is left
on both sides for what a grid of finite sizes adds to an asymptotic law. The margin is ``MARGIN``, .1, and more where an
order leaves out logarithms or the constants of its terms:

- a claim is rejected as too fast where the interval lies above it by more than that, as too slow where it lies below;
- *contradicted*: the theorem's own exponent is rejected as too fast, and :func:`fit_rate` contradicts it too;
- *attained*: claims that are .1 too fast and .1 too slow are both rejected, and the theorem's is not;
- *not exceeded*: a claim that is a margin too slow is rejected, one that is .1 too fast is not;
- *untested*: neither, or the grid cannot tell this factor from others, or the slope still bends out of the margin.

Where the intervals hold, what is *attained* is within .05 of the theorem's exponent, what is *not exceeded* is slower
by half of the margin at most, and what is *contradicted* is slower by more than that. All is said of this grid: the
exponent is the mean slope along it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcheck.audits.rates import RateFit, fit_rate

if TYPE_CHECKING:
    import pandas as pd

MARGIN = 0.1  # by which a claim is wrong that an attained exponent rejects, on both sides
WORST = ("contradicted", "untested", "not exceeded", "attained")
OFTEN = 0.9  # share of repeats from which on a word does not say how many give it
TO_ZERO = ("epsilon",)  # factors of experiments along which rates are claimed as they go to 0
_PLANTED = tuple(k / 100 for k in range(1001))  # wrong by so much
_FAR = 50.0  # a claim so fast that every law that can be judged contradicts it
_TIED = 1e-8  # relative; a direction in which a grid extends less is none


@dataclass(frozen=True, kw_only=True)
class Factor:
    """One factor of a theorem's term: exponents over the grid, the word, and the smallest wrong claims rejected."""

    name: str
    word: str
    claimed: float | None = None
    measured: float | None = None
    low: float | None = None
    high: float | None = None
    too_fast: float | None = None  # the least x for which a claim that is x faster than the theorem's is rejected
    too_slow: float | None = None
    margin: float = MARGIN
    why: str = ""  # why it is untested, or not attained
    tied: tuple[str, ...] = ()  # the factors from which the grid cannot tell it
    share: float | None = None  # of repeats of the whole measurement, measured or estimated, in which it is attained

    @property
    def varied(self) -> bool:
        """Whether the grid varies it."""
        return self.claimed is not None or bool(self.tied)

    @property
    def open(self) -> bool:
        """Whether more measurements on the same grid may tell; of what attains but for its interval they may, too."""
        if self.claimed is None or self.measured is None or self.word != "not exceeded":
            return self.word == "untested" and self.claimed is not None
        return abs(self.measured - self.claimed) < self.margin / 2

    def unknown(self, why: str) -> Factor:
        """Return the factor without anything that is rejected of it."""
        return replace(self, word="untested", why=why, too_fast=None, too_slow=None)

    def beside(self, exponent: float) -> Factor:
        """Return the factor; where it is not exceeded and nothing says why, with the exponent of the instance's law."""
        law = f"the instance's own law has {self.name}^{exponent:.3f} along this grid"
        return replace(self, why=self.why or law) if self.word == "not exceeded" else self

    def to_dict(self) -> dict[str, Any]:
        """Return the columns of a table of rates that are about a factor."""
        kept = asdict(self)
        name, word, tied = kept.pop("name"), kept.pop("word"), kept.pop("tied")
        kept["share"] = self.share if word == "attained" else None
        return {"factor": name, **kept, "tied": ", ".join(tied), "verdict": word}

    def __str__(self) -> str:
        """The clause of a finding's reason."""
        if self.measured is None or self.claimed is None:
            return f"{self.name} is untested: {self.why}"
        at = f"{self.name}^{self.measured:.2f} [{self.low:.2f}, {self.high:.2f}]"
        claim, sign = f"{self.name}^{self.claimed:.2f}", -1 if self.name in TO_ZERO else 1
        room = self.margin / 2
        if self.word == "contradicted":
            return f"{at} is slower than {claim} by more than {room:g}"
        if self.word == "untested" or self.too_slow is None:
            return f"{at} leaves {claim} untested: {self.why}"
        slow = f"{self.name}^{self.claimed + sign * self.too_slow:.2f}"
        fast = "none" if self.too_fast is None else f"{self.name}^{self.claimed - sign * self.too_fast:.2f}"
        if self.word == "attained":
            often = self.share is None or self.share >= OFTEN
            seldom = "" if often else f"; about {self.share:.0%} of repeats would say so"
            return f"{at} attains {claim} within {room:g} (claims of {fast} and {slow} are rejected{seldom})"
        return f"{at} does not exceed {claim} by more than {room:g} (of faster claims, {fast} is the first rejected)"


def worst(factors: Sequence[Factor]) -> str:
    """Return the word for all factors together."""
    return next(word for word in WORST if word in {factor.word for factor in factors})


def said(factors: Sequence[Factor]) -> str:
    """Say what is shown of every factor, the worst first, and name those of which a grid can tell nothing."""
    claimed = [factor for factor in factors if factor.claimed is not None]
    clauses = [str(factor) for word in WORST for factor in claimed if factor.word == word]
    tied = {frozenset((factor.name, *factor.tied)): factor for factor in factors if factor.tied}
    clauses += [
        f"{' and '.join((factor.name, *factor.tied))} are untested, as this grid cannot tell them apart"
        for factor in tied.values()
    ]
    held = ", ".join(factor.name for factor in factors if not factor.varied)
    clauses += [f"untested, as this grid does not vary it: {held}"] * bool(held)
    return f"{'; '.join(clauses)}; margin {factors[0].margin:g}"


def judged(
    frame: pd.DataFrame, response: str, claimed: Mapping[str, float], *, confidence: float, margin: float = MARGIN
) -> tuple[list[Factor], RateFit | None]:
    """Judge the factors that a grid varies, and return the fit; ``claimed`` are the exponents of column "order" there.

    The fit is None where the grid can tell no factor from the others.
    """
    names = [*claimed]
    levels = np.log(frame[names].drop_duplicates().to_numpy(dtype=float))
    ties = _ties(levels - levels.mean(0), names)
    free = [name for name, others in ties.items() if not others]
    judgements = {
        name: Factor(
            name=name, word="untested", tied=others, why=f"this grid cannot tell it from {' and '.join(others)}"
        )
        for name, others in ties.items()
    }
    if not free:
        return [*judgements.values()], None
    factors = [names[column] for column in _enough(levels, [names.index(name) for name in free])]

    def against(claim: float, margin: float) -> RateFit:
        return fit_rate(
            frame, response=response, factors=factors, offset="order", margin=margin, confidence=confidence,
            claimed={name: -claim if name in TO_ZERO else claim for name in free},
        )  # fmt: skip

    fit = against(0.0, margin)
    useful = fit
    if "inconclusive" in fit.by_factor.values():  # for want of runs, or because nothing could be said of any claim
        useful = against(-_FAR, margin)
    stricter = fit
    for name in free:
        own = _measured(name, claimed[name], fit, margin)
        if own.word == "contradicted" and stricter is fit:
            stricter = against(0.0, margin / 2)
        if useful.by_factor[name] == "inconclusive":
            own = own.unknown(useful.reason.partition(": ")[2])
        elif fit.by_factor[name] == "not asymptotic":
            own = own.unknown("the slope still bends along the grid")
        elif own.word == "contradicted" and stricter.by_factor[name] != "contradicted":
            own = own.unknown("the mean slope along the grid is slower, the slope at its end may not be")
        judgements[name] = own
    return [judgements[name] for name in claimed], fit


def _measured(name: str, claimed: float, fit: RateFit, margin: float) -> Factor:
    """Return a factor with the word that its interval alone gives it."""
    if not np.isfinite(fit.exponents[name]):
        return Factor(name=name, word="untested", claimed=claimed, margin=margin)
    low, high = fit.interval[name]
    slow = (-high, -low) if name in TO_ZERO else (low, high)
    too_fast, too_slow = _first(slow[0], margin), _first(-slow[1], margin)
    word = "untested"
    if too_fast == 0:
        word = "contradicted"
    elif too_slow is not None and too_slow <= margin:
        both = too_fast is not None and max(too_fast, too_slow) <= MARGIN
        word = "attained" if both else "not exceeded"
    return Factor(
        name=name, word=word, claimed=claimed, measured=claimed + fit.exponents[name], low=claimed + low,
        high=claimed + high, too_fast=too_fast, too_slow=too_slow, margin=margin,
        why="more measurements are needed to tell it from a slower one" if word == "untested" else "",
    )  # fmt: skip


def _first(end: float, margin: float) -> float | None:
    """Return the least planted error that moves an interval's end past half of the margin."""
    place = bisect_left(_PLANTED, True, key=lambda x: end + x > margin / 2)
    return _PLANTED[place] if place < len(_PLANTED) else None


def _ties(levels: Any, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return from which others a grid (cells, factors) of centred logarithms cannot tell each factor."""
    _, sizes, directions = np.linalg.svd(levels)
    none = directions[int((sizes > _TIED * max(sizes[0], _TIED)).sum()) :]  # (directions, factors)
    shared = np.abs(none.T @ none) > _TIED
    return {
        name: tuple(other for j, other in enumerate(names) if j != i and shared[i, j]) for i, name in enumerate(names)
    }


def _enough(levels: Any, free: Sequence[int]) -> list[int]:
    """Return the ``free`` columns of a grid (cells, factors), in logarithms, and others that stand for all of them."""
    kept = list(free)
    for column in range(levels.shape[1]):
        some = levels[:, [*kept, column]] - levels[:, [*kept, column]].mean(0)
        sizes = np.linalg.svd(some, compute_uv=False)
        if column not in kept and len(some) >= len(sizes) and sizes[-1] > _TIED * sizes[0]:
            kept.append(column)
    return kept
