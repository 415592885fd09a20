"""What differs between a recorded run and the pseudo-code that follows it, part by part."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NoReturn

# What is compared, in the order of the findings.
PARTS = ("minibatches", "gradients", "solutions", "scales", "iterates", "feasible", "output", "ending")
TOLERANCE = 1e-8  # relative to the larger of 1 and the quantity; kernels may sum in any order


@dataclass(frozen=True)
class Difference:
    """What differs, in a sentence, and by how much."""

    sentence: str
    by: float


class EndedError(Exception):
    """The run holds no more of what the pseudo-code does next."""


@dataclass
class Differences:
    """found : the first difference of each part;  largest, compared : of each part, whatever the verdict."""

    found: dict[str, Difference] = field(default_factory=dict)
    largest: dict[str, float] = field(default_factory=dict)
    compared: Counter[str] = field(default_factory=Counter)

    def keep(self, part: str, by: float, sentence: str) -> None:
        """Keep the size of a difference, and the sentence where it is none by rounding alone."""
        self.compared[part] += 1
        self.largest[part] = max(self.largest.get(part, 0.0), float(by))
        if by > 0 and sentence and part not in self.found:
            self.found[part] = Difference(sentence, float(by))

    def note(self, part: str, by: float, sentence: str, *, allowed: float = TOLERANCE) -> None:
        """Keep a difference whose sentence counts where it is more than ``allowed``."""
        self.keep(part, by, sentence if by > allowed else "")

    def stop(self, part: str, sentence: str) -> NoReturn:
        """Keep a difference after which nothing can be compared."""
        self.keep(part, 1.0, sentence)
        raise EndedError
