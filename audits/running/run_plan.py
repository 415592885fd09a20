"""The division of an audit's runs into blocks, levels, chunks and their random streams.

The first block is only learned from. Look k tests an output set, chosen from all earlier blocks, on its own fresh block
at level alpha_k. The alpha_k add up to ``1 - confidence``. Each look is valid by itself, so by the union bound the
largest of their limits is valid too. The last look gets most runs and most of the level; the early ones end the audit
soon when a mechanism is far off.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

# (least trials, shares of the blocks, shares of the level)
_PLANS = (
    (5_000, (0.01, 0.03, 0.09, 0.87), (0.03, 0.05, 0.92)),
    (1_000, (0.04, 0.10, 0.86), (0.06, 0.94)),
    (0, (0.15, 0.85), (1.0,)),
)
LEAST_TRIALS = 100
SIDES = ("data", "neighbour")


@dataclass(frozen=True)
class Chunk:
    """Runs on one dataset that share one random stream."""

    side: int  # its place in SIDES
    number: int
    size: int

    def stream(self, seed: int) -> np.random.Generator:
        """Return the stream that a :class:`numpy.random.SeedSequence` spawns for this side and number."""
        return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(self.side, self.number)))


@dataclass(frozen=True)
class Plan:
    """The runs of each dataset in each of ``blocks``, and the ``levels`` of the looks at all blocks but the first.

    chunk : the most runs that share one stream
    """

    blocks: tuple[int, ...]
    levels: tuple[float, ...]
    chunk: int

    @classmethod
    def of(cls, trials: int, confidence: float, chunk: int) -> Plan:
        """Divide ``trials`` runs of each dataset."""
        shares, levels = next((b, a) for least, b, a in _PLANS if trials >= least)
        early = [round(trials * share) for share in shares[:-1]]
        return cls((*early, trials - sum(early)), tuple((1 - confidence) * a for a in levels), chunk)

    def chunks(self, block: int) -> Iterator[Chunk]:
        """Yield the chunks of one block, both datasets in turn; a block ends with a shorter chunk."""
        number = sum(-(-size // self.chunk) for size in self.blocks[:block])
        left = self.blocks[block]
        while left > 0:
            size = min(left, self.chunk)
            for side in (0, 1):
                yield Chunk(side, number, size)
            number += 1
            left -= size
