"""The share of its declared sensitivity by which the canary moves each release of a game's runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcheck.catalogue.zhang2022.output_perturbation import Phased
from dpcheck.checks.context import Context
from dpcheck.checks.layout import Release, layout
from dpcheck.checks.privacy.entry import Entry
from dpcheck.checks.privacy.transcript import Game
from dpcheck.checks.releases import multiplier
from dpcheck.events import shift_of
from dpcheck.report.findings import Finding

RUNS = 3
ROUNDING = 1e-6  # relative; a base solver's certificate is met to about 1e-9
_COLUMNS = {"w": [0, 2, 4], "v": [1, 3, 4]}  # of a record of ``worst_case``: what the gradient in a block is made of


@dataclass(frozen=True)
class Share:
    """release : of a run;  share : moved over declared sensitivity;  multiplier : recorded noise over sensitivity.

    due : whether the release reads the canary and the pair differs in what it releases
    still : whether its clean value is 0 on every data set, as a difference between a point and itself is
    """

    release: Release
    share: float
    multiplier: float
    due: bool
    still: bool

    def __str__(self) -> str:
        """Return what moves, and by how much."""
        of = "times" if self.share > 1 + ROUNDING else "of"
        return f"{self.release} by {self.share:.4g} {of} its declared sensitivity"

    @property
    def shift(self) -> float:
        """How far it moves in units of its noise."""
        return 0.0 if self.share == 0 else self.share * shift_of(self.multiplier)


def shares(context: Context, entry: Entry) -> list[Share]:
    """Return the share of each release of a few runs, in order."""
    game, found = entry.game, list[Share]()
    for k in range(RUNS):
        reached, history, still = game.shares(context.stream(21, k))
        for release in layout(game.solver, game.data, history)[: len(reached)]:
            row = release.row
            drawn = any(game.pattern)  # the share of a minibatch's release is that of a minibatch with the canary
            due = (drawn and release.records is None) or release.reads(history, game.place)
            due = due and _can_move(game, release)
            found.append(Share(release, float(reached[row]), multiplier(history, row), due, bool(still[row])))
    return found


def _can_move(game: Game, release: Release) -> bool:
    """Say whether the pair differs in the block that is released, or all records couple it to the other in a
    solution.
    """
    canary, replaced, others = game.roles
    columns = _COLUMNS.get(release.what, slice(None))
    return bool((canary[columns] != replaced[columns]).any() or (isinstance(game.solver, Phased) and others[4] != 0))


def most_telling(found: list[Share]) -> str:
    """Return a sentence on the release that moves farthest in units of its noise."""
    most = max(found, key=lambda each: _rounded(each.shift))
    return f"the canary moves {most}, whose noise is {most.multiplier:.4g} sensitivities"


def share(id: str, entry: Entry, found: list[Share]) -> Finding:
    """Say whether releases move by no more than they declare, and by as much as the game is made for."""
    largest = max(found, key=lambda each: _rounded(each.share))
    due = [each for each in found if each.due and not each.still]
    least = min(due, key=lambda each: _rounded(each.share), default=largest)
    unmoved = sum(each.due and each.still for each in found) / RUNS
    if largest.share == 0:
        verdict, reason = "inconclusive", "no release moves with the canary: this game shows nothing"
    elif largest.share > 1 + ROUNDING:
        verdict, reason = "violated", f"the canary moves {largest}, which is understated by that factor"
    elif least.share < entry.least_share:
        verdict = "inconclusive"
        reason = (
            f"the canary moves {least}, and the game is made for {entry.least_share:.4g} at least: it shows little, or "
            "the sensitivity is overstated"
        )
    elif unmoved > entry.still:
        verdict = "inconclusive"
        reason = f"{unmoved:g} releases of a run are 0 whatever the records are, where the game has {entry.still}"
    else:
        verdict, reason = "consistent", f"the canary moves {largest}, and no other release by more"
    values = [each.share for each in due]
    return Finding(
        id, "sensitivity", f"{entry.words}: share of the declared sensitivity that the canary reaches", verdict, reason,
        evidence={
            "largest": largest.share, "mean": float(np.mean(values)) if values else 0.0, "least": least.share,
            "least expected": entry.least_share, "releases": len(found), "runs": RUNS,
        },
    )  # fmt: skip


def _rounded(value: float) -> float:
    """Round to six digits, so that of equal ones the first is named."""
    return float(f"{value:.6g}")
