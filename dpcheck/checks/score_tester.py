"""The score of transcripts beside the densities that it stands for, on releases made up for it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from dpcheck.algorithms.kernels import transcripts
from dpcheck.algorithms.kernels.named import Scheme, Tape
from dpcheck.algorithms.kernels.parts import WITH_REPLACEMENT, WITHOUT_REPLACEMENT
from dpcheck.algorithms.kernels.tape import DRAWS, RELEASES
from dpcheck.algorithms.problem import Array

GROUPS, SIZE, POPULATION, BATCH = 3, 2, 9, 4
PATTERNS = ((1,), (0,), (1, 1), (1, 0))  # of the releases after each minibatch: 1 reads it, 0 reads all records
RELATIVE = 1e-9


def scores() -> Iterator[str]:
    """Compare the log-likelihood ratio of one transcript, for each pattern of releases and each way of drawing."""
    rng = np.random.default_rng(4)
    for pattern, kind in itertools.product(PATTERNS, (WITHOUT_REPLACEMENT, WITH_REPLACEMENT)):
        rows = GROUPS * len(pattern)
        clean = tuple(rng.normal(size=(rows, SIZE)) for _ in range(5))
        tape = Tape(
            np.zeros(7, dtype=np.int64), np.zeros((GROUPS, BATCH), dtype=np.int64), np.zeros((rows, SIZE)),
            rng.normal(size=(rows, SIZE)), rng.uniform(0.5, 1.5, (rows, 2)), np.zeros(0, dtype=np.int64),
            np.zeros((0, SIZE)),
        )  # fmt: skip
        tape.cursor[[RELEASES, DRAWS]] = rows, GROUPS
        found = transcripts.log_ratio(
            tape, clean, tape.drawn, np.array(pattern, dtype=np.int64), Scheme(kind, POPULATION)
        )
        promised = _log_density(tape, clean, pattern, kind, 0) - _log_density(tape, clean, pattern, kind, 1)
        if not math.isclose(found, promised, rel_tol=RELATIVE):
            yield f"is {found:.6g} for a transcript whose likelihood ratio is exp({promised:.6g})"


def _log_density(tape: Tape, clean: Sequence[Array], pattern: Sequence[int], kind: int, side: int) -> float:
    """Return the log of the density of a transcript on one of the data sets, whose record is drawn J times."""
    if kind == WITH_REPLACEMENT:
        chance = 1 / POPULATION
        laws = [math.comb(BATCH, J) * chance**J * (1 - chance) ** (BATCH - J) for J in range(BATCH + 1)]
    else:
        laws = [1 - BATCH / POPULATION, BATCH / POPULATION]
    record, background = clean[transcripts.CANARY + side], clean[transcripts.BACKGROUND]
    total = 0.0
    for group in range(GROUPS):
        density = 0.0
        for J, law in enumerate(laws):
            log = 0.0
            for row, reads in enumerate(pattern, group * len(pattern)):
                drawn = background[row] + J / BATCH * (record[row] - background[row])
                mean = drawn if reads else clean[transcripts.OURS + side][row]
                log -= 0.5 * float(np.sum(((tape.released[row] - mean) / tape.noise[row, 0]) ** 2))
            density += law * math.exp(log)
        total += math.log(density)
    return total
