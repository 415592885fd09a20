"""An output set: the outputs whose score lies beyond a threshold, the evidence that a mechanism leaks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits.numbers.number_text import plain, shown
from dpcheck.audits.running.run_plan import SIDES
from dpcheck.audits.scores.score import DescribedScore, Score, evaluate, parameters

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class OutputSet:
    """An output set ``{score >= threshold}`` (or ``<=``) that one dataset hits more often.

    Attributes
    ----------
    score : Score
        What is computed from an output.
    direction : str
        ``">="`` or ``"<="``.
    threshold : float
        Where the set begins.
    favours : str
        ``"data"`` or ``"neighbour"``, the dataset under which the set is more likely.
    hits, other_hits : int
        Counts in the fresh runs, on the favoured dataset and on the other.
    trials : int
        Fresh runs on each dataset.
    """

    score: Score
    direction: str
    threshold: float
    favours: str
    hits: int = 0
    other_hits: int = 0
    trials: int = 0

    def values(self, outputs: Floats) -> Floats:
        """Return what is compared; the set is where it reaches :attr:`level`.

        Parameters
        ----------
        outputs : ndarray, (n, k)
            One output a row.

        Returns
        -------
        ndarray, (n,)
            The score with its sign.
        """
        return evaluate(self.score, self.sign, outputs)

    @property
    def sign(self) -> int:
        """The sign of the score in :meth:`values`."""
        return 1 if self.direction == ">=" else -1

    @property
    def level(self) -> float:
        """The threshold of :meth:`values`."""
        return self.sign * self.threshold

    def contains(self, outputs: Any) -> NDArray[np.bool_]:
        """Say which outputs lie in the set.

        Parameters
        ----------
        outputs : array_like, (n,) or (n, ...)
            One output a row.

        Returns
        -------
        ndarray of bool, (n,)
            Whether each lies in the set.
        """
        rows = np.asarray(outputs, float)
        return np.asarray(self.values(rows.reshape(len(rows), -1)) >= self.level)

    @property
    def words(self) -> str:
        """The set as a sentence would name it."""
        if self.level == -math.inf:
            return "any output"
        if isinstance(self.score, DescribedScore):
            return self.score.describe(self.direction, self.threshold)
        return f"{self.score.words} {self.direction} {shown(self.threshold)}"

    def __str__(self) -> str:
        """Return the set and its counts."""
        other = SIDES[1 - SIDES.index(self.favours)]
        return (
            f"{self.words}: {self.hits} of {self.trials} runs on {self.favours}, "
            f"{self.other_hits} of {self.trials} on {other}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the set in words and in full, and its counts, ready for JSON."""
        return {
            "words": self.words,
            "score": parameters(self.score),
            "direction": self.direction,
            "threshold": plain(self.threshold),
            "favours": self.favours,
            "hits": self.hits,
            "other_hits": self.other_hits,
            "trials": self.trials,
        }
