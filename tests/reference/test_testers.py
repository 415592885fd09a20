"""Testers where samples tell little: the very limit of a membership test, and the score of transcripts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcheck.algorithms.kernels import transcripts
from dpcheck.algorithms.kernels.jit import Tape
from dpcheck.algorithms.kernels.parts import Draw
from dpcheck.algorithms.kernels.tape import At
from dpcheck.audits.membership import Look, audit_privacy

# counts of one output set on each data set, the runs, delta and the level: rare sets and common ones
COUNTS = ((60, 12, 2000, 1e-3, 0.01), (400, 250, 5000, 1e-2, 0.02), (2500, 1200, 10_000, 5e-2, 0.001))
SHORT = 0.06  # standard deviations by which a limit may be found too low, a little more than the tester says


@pytest.mark.parametrize(("hits", "others", "trials", "delta", "alpha"), COUNTS)
def test_a_look_breaks_a_claim_below_its_limit_and_none_above(hits, others, trials, delta, alpha):
    """The limit by its own search, the verdict by one test at the claim: both for the delta that is claimed."""
    event = audit_privacy(
        lambda shift, rng, size: shift + rng.standard_normal(size), 0.0, 1.0, epsilon=0.5, delta=0.1, trials=500,
        vectorized=True,
    ).event  # fmt: skip
    counted = type(event)(event.score, event.direction, event.threshold, event.favours, hits, others, trials)

    def look(claimed):
        return Look(1, "plain", counted, 0, alpha, claimed, delta, (np.zeros(1),) * 3)

    limit = look(math.inf).epsilon_lower
    near = SHORT * math.sqrt((1 - hits / trials) / hits + (1 - others / trials) / others)
    assert not look(limit + near).breaks
    assert look(0.999 * limit).breaks


GROUPS, SIZE, POPULATION, BATCH = 3, 2, 9, 4
PATTERNS = ((1,), (0,), (1, 1), (1, 0))  # of the releases after each minibatch: 1 reads it, 0 reads all records


@pytest.mark.parametrize("kind", [Draw.WITHOUT_REPLACEMENT, Draw.WITH_REPLACEMENT])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_score_is_the_logarithm_of_the_likelihood_ratio(pattern, kind):
    rng, rows = np.random.default_rng(4), GROUPS * len(pattern)
    clean = tuple(rng.normal(size=(rows, SIZE)) for _ in range(5))
    tape = Tape(
        np.zeros(7, dtype=np.int64), np.zeros((GROUPS, BATCH), dtype=np.int64), np.zeros((rows, SIZE)),
        rng.normal(size=(rows, SIZE)), rng.uniform(0.5, 1.5, (rows, 2)), np.zeros(0, dtype=np.int64),
        np.zeros((0, SIZE)),
    )  # fmt: skip
    tape.cursor[[At.RELEASES, At.DRAWS]] = rows, GROUPS
    found = transcripts.log_ratio(
        tape, clean, tape.drawn, np.array(pattern, dtype=np.int64), transcripts.Scheme(kind.value, POPULATION)
    )
    due = log_density(tape, clean, pattern, kind, 0) - log_density(tape, clean, pattern, kind, 1)
    assert found == pytest.approx(due, rel=1e-9)


def log_density(tape, clean, pattern, kind, side):
    """The log of the density of a transcript on one of the data sets, whose record is drawn J times."""
    if kind == Draw.WITH_REPLACEMENT:
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
