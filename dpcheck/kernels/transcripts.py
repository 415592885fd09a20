"""Whole noisy transcripts, scored by the likelihood of two data sets that differ in one record.

A release is Gaussian about a clean value that depends on earlier releases and on the records alone. So the
same run, fed the released quantities again (``REPLAY``), tells its clean value on any other data:

- on the data and on the neighbour, for a release that reads all records;
- where it reads a minibatch, on three sets whose records are all alike: all are the canary, all are the record
  that replaces it, all are the record that the others equal. A minibatch of m with the canary J times has the
  mean o + (J/m) (c - o), and J is binomial.

Given the past, the law of what one minibatch releases is thereby a small mixture of Gaussians, known exactly,
and the log-likelihood ratio of a transcript is a sum over its minibatches and its other releases.
"""

from __future__ import annotations

import numpy as np
from numba import types

from dpcheck.kernels.jit import (
    BASE,
    DATA,
    DIFFERENCE,
    GRADIENT,
    INDICES,
    MATRIX,
    MEAN,
    PHASED,
    RUN,
    STREAM,
    TAPE,
    VECTOR,
    kernel,
)
from dpcheck.kernels.parts import WITH_REPLACEMENT
from dpcheck.kernels.tape import DRAWS, MARKS, RELEASES

# The data sets of the replays, in this order.
OURS, THEIRS, CANARY, REPLACED, BACKGROUND = range(5)
SETS = types.UniTuple(DATA, 5)
STREAMS = types.UniTuple(STREAM, 5)
TAPES = types.UniTuple(TAPE, 5)

_LEAST_NOISE = 1e-9  # in place of none: a release without noise then decides alone


@kernel(types.float64(types.float64, types.float64, types.int64, types.float64))
def mixture(along, square, most, chance):  # type: ignore[no-untyped-def]
    """Return log E exp(J along - J^2 square/2), J binomial with ``most`` trials of this chance."""
    largest, total, weight = -np.inf, 0.0, 0.0  # weight : log of the binomial coefficient
    for copies in range(most + 1):
        term = weight + copies * along - 0.5 * copies * copies * square
        if copies > 0:
            term += copies * np.log(chance)
        if copies < most:
            term += (most - copies) * np.log1p(-chance)
            weight += np.log((most - copies) / (copies + 1))
        if term > largest:
            total = total * np.exp(largest - term) + 1.0
            largest = term
        elif term > -np.inf:
            total += np.exp(term - largest)
    return largest + np.log(total)


@kernel(types.float64(TAPE, TAPES, INDICES, types.int64, types.int64))
def log_ratio(tape, replays, pattern, scheme, population):  # type: ignore[no-untyped-def]
    """Return the log-likelihood ratio, data over neighbour, of the releases on ``tape``.

    pattern : what follows each draw of a minibatch: 1 for a release that reads it, 0 for one of all records
    """
    cursor, _, _, released, noise, _, _ = tape
    period, size, total = pattern.size, released.shape[1], 0.0
    sampled = np.any(pattern == 1)
    groups = cursor[RELEASES] // period
    if sampled:  # what comes after the last minibatch is not Gaussian: a private choice
        groups = min(groups, cursor[DRAWS])
    for group in range(groups):
        for side in range(2):
            sign = 1.0 - 2.0 * side
            along, square = 0.0, 0.0
            batch = 0
            if sampled:
                for record in replays[BACKGROUND][1][group]:
                    batch += record >= 0
            for j in range(period):
                row = group * period + j
                sigma = max(noise[row, 0], _LEAST_NOISE)
                if pattern[j] == 0:
                    clean = replays[OURS + side][2]
                    for i in range(size):
                        total -= sign * 0.5 * ((released[row, i] - clean[row, i]) / sigma) ** 2
                else:
                    one, other = replays[CANARY + side][2], replays[BACKGROUND][2]
                    for i in range(size):
                        shift = (one[row, i] - other[row, i]) / (batch * sigma)
                        along += shift * (released[row, i] - other[row, i]) / sigma
                        square += shift * shift
            if square > 0.0:  # else this record looks like the background
                repeated = scheme == WITH_REPLACEMENT
                most, chance = (batch, 1.0 / population) if repeated else (1, batch / population)
                total += sign * mixture(along, square, most, chance)
    return total


_REST = (SETS, INDICES, STREAMS, TAPE, TAPES, INDICES, INDICES, types.int64, VECTOR)


@kernel(types.void(RUN, GRADIENT, MEAN, DIFFERENCE, DATA, VECTOR, INDICES, MATRIX, STREAM, *_REST))
def transcripts(  # type: ignore[no-untyped-def]
    run, gradient, mean, difference, data, reals, counts, steps, rng,
    sets, fixed, streams, tape, replays, needed, pattern, scheme, scores,
):  # fmt: skip
    """Run on ``data``, replay on the ``sets`` that are ``needed``, score; one run an entry of ``scores``.

    fixed : the ``counts`` of the replays, whose minibatches have a fixed size
    streams : copies of ``rng``; a run and its replays draw equally often, so that what else is random agrees
    """
    out = np.empty(data[4].size)
    for trial in range(scores.size):
        tape[0][: MARKS + 1] = 0
        run(gradient, mean, difference, data, reals, counts, steps, rng, out, tape)
        for k in range(len(sets)):
            if needed[k] > 0:
                replays[k][0][: MARKS + 1] = 0
                run(gradient, mean, difference, sets[k], reals, fixed, steps, streams[k], out, replays[k])
        scores[trial] = log_ratio(tape, replays, pattern, scheme, data[1].shape[0])


@kernel(types.void(PHASED, BASE, GRADIENT, DATA, VECTOR, INDICES, MATRIX, STREAM, *_REST))
def phased_transcripts(  # type: ignore[no-untyped-def]
    run, base, gradient, data, reals, counts, steps, rng,
    sets, fixed, streams, tape, replays, needed, pattern, scheme, scores,
):  # fmt: skip
    """Score transcripts of an algorithm that calls a base solver, one without chance, as :func:`transcripts` does."""
    out = np.empty(data[4].size)
    for trial in range(scores.size):
        tape[0][: MARKS + 1] = 0
        run(base, gradient, data, reals, counts, steps, rng, out, tape)
        for k in range(len(sets)):
            if needed[k] > 0:
                replays[k][0][: MARKS + 1] = 0
                run(base, gradient, sets[k], reals, fixed, steps, streams[k], out, replays[k])
        scores[trial] = log_ratio(tape, replays, pattern, scheme, data[1].shape[0])


@kernel(types.void(RUN, GRADIENT, MEAN, DIFFERENCE, DATA, VECTOR, INDICES, MATRIX, STREAM, TAPE, MATRIX))
def paths(run, gradient, mean, difference, data, reals, counts, steps, rng, tape, outputs):  # type: ignore[no-untyped-def]
    """Write the iterates that ``tape`` asks for and the output, one run a row; 0 where a run ends early."""
    for trial in range(outputs.shape[0]):
        tape[0][: MARKS + 1] = 0
        tape[6][:] = 0.0
        run(gradient, mean, difference, data, reals, counts, steps, rng, outputs[trial, tape[6].size :], tape)
        outputs[trial, : tape[6].size] = tape[6].ravel()


@kernel(types.void(PHASED, BASE, GRADIENT, DATA, VECTOR, INDICES, MATRIX, STREAM, TAPE, MATRIX))
def phased_paths(run, base, gradient, data, reals, counts, steps, rng, tape, outputs):  # type: ignore[no-untyped-def]
    """Write the paths of an algorithm that calls a base solver, as :func:`paths` does."""
    for trial in range(outputs.shape[0]):
        tape[0][: MARKS + 1] = 0
        tape[6][:] = 0.0
        run(base, gradient, data, reals, counts, steps, rng, outputs[trial, tape[6].size :], tape)
        outputs[trial, : tape[6].size] = tape[6].ravel()
