"""What an audit of privacy returns: each output set that was tested, the verdict, and the bound on epsilon."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits.limits import binomial
from dpcheck.audits.numbers import plain
from dpcheck.audits.output_sets import OutputSet
from dpcheck.audits.running.runs import SIDES
from dpcheck.shown import Shown

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

_STEEP = 700.0  # an epsilon whose exponential is still a number


@dataclass(frozen=True)
class Look:
    """One output set tested on a fresh block of runs, and the limit it gave.

    Attributes
    ----------
    number : int
        Number of the block; several sets may be tested on one.
    kind : str
        Why the set was chosen, as in :class:`~.output_sets.Choice`.
    event : OutputSet
        The set with its counts.
    learned_from : int
        Earlier runs on each dataset on which the set was chosen.
    alpha : float
        Error probability of this test alone.
    claimed, delta : float
        The point (epsilon, delta) of the claim that was tested.
    bars : tuple of ndarray
        Edges (m + 1,) of a histogram of the score, and its counts (m,) on data and on neighbour.
    """

    number: int
    kind: str
    event: OutputSet
    learned_from: int
    alpha: float
    claimed: float
    delta: float
    bars: tuple[Floats, Floats, Floats] = field(repr=False, compare=False)

    @cached_property
    def epsilon_lower(self) -> float:
        """The exact limit at this delta, computed when it is first needed, since that is slow."""
        limit = binomial.epsilon_lower(*self._counts, delta=self.delta, alpha=self.alpha)
        # The limit is computed to a thousandth; whether the claim is rejected is known to the last digit.
        return max(limit, math.nextafter(self.claimed, math.inf)) if self.breaks else limit

    @cached_property
    def at_most(self) -> float:
        """More than the limit can be, by its normal approximation; no guarantee rests on it."""
        return binomial.most(*self._counts, delta=self.delta, alpha=self.alpha)

    @cached_property
    def breaks(self) -> bool:
        """Whether the claim fails at this point: the limit exceeds it."""
        if self.at_most <= self.claimed:
            return False
        return binomial.rejects(*self._counts, self.claimed, delta=self.delta, alpha=self.alpha)

    @property
    def _counts(self) -> tuple[int, int, int]:
        return self.event.hits, self.event.other_hits, self.event.trials


@dataclass(frozen=True)
class PrivacyAudit(Shown):
    """What an audit of privacy claimed, ran and showed.

    Attributes
    ----------
    verdict : str
        ``"violated"`` if a look's limit exceeds the claim; ``"inconclusive"`` if these trials could not have shown a
        violation even with outputs that never overlap; else ``"consistent"``, which says that no violation was found,
        not that there is none.
    epsilon_lower : float
        One-sided lower confidence bound on epsilon (natural log) at ``delta``, for all looks together.
    trials : int
        Runs used on each dataset; fewer than asked for where a violation was plain early.
    event : OutputSet
        The output set that broke the claim, or else the one behind ``epsilon_lower``.
    claim : str
        The claim in words.
    epsilon, delta : float
        The claim at ``delta``; epsilon is inf where the claim says nothing there.
    confidence : float
        One-sided confidence of ``epsilon_lower``.
    seed : int or None
        Seed of all randomness; None where the mechanism has its own.
    version : str
        Version of dpcheck that made the audit.
    looks : tuple of Look
        Every set that was tested.
    in_family : float or None
        A larger bound on epsilon at ``delta`` where the claim was privacy events whose certificate some pair of
        neighbours attains. It ASSUMES the claimed mechanism with
        one common factor on its noise, and is the epsilon at the least factor rejected.
    no_difference : bool
        Whether the first runs, from one seed, gave the same outputs on both datasets, as where both clip to one value:
        such a pair shows nothing. Not looked at where the mechanism is isolated or ``seeded`` is False.
    """

    verdict: str
    epsilon_lower: float
    trials: int
    event: OutputSet
    claim: str
    epsilon: float
    delta: float
    confidence: float
    seed: int | None
    version: str
    looks: tuple[Look, ...] = field(repr=False)
    in_family: float | None = None
    no_difference: bool = False

    @property
    def one_sided(self) -> bool:
        """Whether the set was never seen on one dataset: evidence that no finite epsilon will do.

        ``epsilon_lower`` then grows with the logarithm of the trials, and says no more than they can.
        """
        return self.event.other_hits == 0 < self.event.hits

    def _sentence(self) -> str:
        family = self.in_family
        within = "" if family is None else f"; within the claimed family, epsilon >= {family:.4f}"
        alike = "; this pair shows no difference" if self.no_difference else ""
        return (
            f"{self.verdict}: epsilon >= {self.epsilon_lower:.4f} at delta {self.delta:g}, claimed {self.epsilon:g}"
            f"{alike}\nwith confidence {self.confidence:g} from {self.trials} runs a dataset{within}\n"
            f"witness: {self.event}"
        )

    __str__ = _sentence  # three lines: the verdict with its bound, what it rests on, and the witness

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the plot's bars, ready for JSON."""
        return {
            "verdict": self.verdict,
            "epsilon_lower": self.epsilon_lower,
            "trials": self.trials,
            "event": self.event.to_dict(),
            "one_sided": self.one_sided,
            "claim": self.claim,
            "in_family": self.in_family,
            "no_difference": self.no_difference,
            "epsilon": plain(self.epsilon),
            "delta": self.delta,
            "confidence": self.confidence,
            "seed": self.seed,
            "version": self.version,
            "looks": [
                {
                    "look": look.number,
                    "kind": look.kind,
                    "event": look.event.to_dict(),
                    "learned_from": look.learned_from,
                    "alpha": look.alpha,
                    "claimed": plain(look.claimed),
                    "delta": look.delta,
                    "epsilon_lower": look.epsilon_lower,
                }
                for look in self.looks
            ],
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row for each set tested."""
        import pandas as pd

        return pd.DataFrame(
            {
                "look": look.number,
                "kind": look.kind,
                "learned_from": look.learned_from,
                "trials": look.event.trials,
                "alpha": look.alpha,
                "event": look.event.words,
                "favours": look.event.favours,
                "hits": look.event.hits,
                "other_hits": look.event.other_hits,
                "claimed": look.claimed,
                "delta": look.delta,
                "epsilon_lower": look.epsilon_lower,
            }
            for look in self.looks
        )

    def plot(self) -> Figure:
        """Draw the score of the deciding look on both datasets: histogram, tails, the claim's limit, and the set."""
        from dpcheck import style

        look = next(look for look in reversed(self.looks) if look.event == self.event)
        event, (edges, *counts) = look.event, look.bars
        figure = style.figure(style.PAGE, 3.0)
        left, right = figure.subplots(1, 2)
        sign = 1 if event.direction == ">=" else -1
        tails = {}
        looks = (style.MEASURED, "-"), (style.PREDICTED, "--")
        for side, count, (color, line) in zip(SIDES, counts, looks, strict=True):
            left.stairs(count / event.trials, edges * sign, color=color, linestyle=line, label=f"on {side}")
            tails[side] = np.cumsum(count[::-1])[::-1] / event.trials
            right.step(edges[:-1] * sign, tails[side], where="post", color=color, linestyle=line, label=f"on {side}")
        other = tails[next(side for side in SIDES if side != event.favours)]
        limit = np.minimum(np.exp(min(look.claimed, _STEEP)) * other + look.delta, 1.0)
        claim = f"most that the claim allows on {event.favours}"
        right.step(edges[:-1] * sign, limit, where="post", color=style.CLAIMED, label=claim)
        for axes, title in ((left, "share of runs in each bin"), (right, "share in the set")):
            axes.axvline(event.threshold, color=style.FAINT, linestyle=":", label="threshold of the set")
            axes.set(xlabel=event.score.words, title=title)
            style.small(axes)
        right.set_yscale("log")
        right.set_ylim(bottom=0.5 / event.trials)
        style.plain_logs(right.yaxis)
        figure.legend(
            *right.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=style.TEXT, frameon=False
        )
        figure.suptitle(
            f"{self.verdict}: audited epsilon >= {self.epsilon_lower:.4g}, claimed {self.epsilon:g}"
            f" (delta {self.delta:g}, confidence {self.confidence:g})",
            fontsize=style.TEXT + 1, parse_math=False,
        )  # fmt: skip
        return figure
