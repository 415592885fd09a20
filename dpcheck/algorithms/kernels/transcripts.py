"""Many runs on one stream: their outputs, their iterates, and their whole noisy transcripts with a score.

A transcript is scored by the likelihood of two data sets that differ in one record. A release is Gaussian about a clean
value that depends on earlier releases and on the records alone. So the same run, fed the released quantities again
(``REPLAY``), tells its clean value on any other data:

- on the data and on the neighbour, for a release that reads all records;
- where it reads a minibatch, on three sets whose records are all alike: all are the canary, all are the record
  that replaces it, all are the record that the others equal. A minibatch of m with the canary J times has the
  mean o + (J/m) (c - o), and J is binomial.

Given the past, the law of what one minibatch releases is thereby a small mixture of Gaussians, known exactly,
and the log-likelihood ratio of a transcript is a sum over its minibatches and its other releases.
"""

from typing import NamedTuple

import numpy as np
from numba import types

from dpcheck.algorithms.kernels.jit import Data, Numbers, Objective, Tape, kernel
from dpcheck.algorithms.kernels.parts import Draw, copy
from dpcheck.algorithms.kernels.tape import At

# The data sets of the replays, in this order.
OURS, THEIRS, CANARY, REPLACED, BACKGROUND = range(5)

_LEAST_NOISE = 1e-9  # in place of none: a release without noise then decides alone


class Replay(NamedTuple):
    """A run on other data that is fed what was released; ``needed`` is 0 where it is one that was made already."""

    data: Data
    rng: np.random.Generator
    tape: Tape
    needed: int


class Others(NamedTuple):
    """The runs that a transcript is scored by: the numbers of all of them, and a replay on each data set."""

    numbers: Numbers
    replays: tuple[Replay, Replay, Replay, Replay, Replay]


class Scheme(NamedTuple):
    """How minibatches are drawn, one of ``dpcheck.algorithms.kernels.parts``, and from how many records."""

    kind: int
    population: int


CLEAN = types.UniTuple(types.float64[:, ::1], 5)  # what the replays would have released


@kernel("float64(float64, float64, int64, float64)")
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


@kernel("float64(tape, CLEAN, index_matrix, indices, Scheme)")
def log_ratio(tape, clean, drawn, pattern, scheme):  # type: ignore[no-untyped-def]
    """Return the log-likelihood ratio, data over neighbour, of the releases on ``tape``.

    clean, drawn : what the replays would have released, and the minibatches of the last of them
    pattern : what follows each draw of a minibatch: 1 for a release that reads it, 0 for one of all records
    """
    released, cursor = tape.released, tape.cursor
    period, size, total = pattern.size, released.shape[1], 0.0
    sampled = np.any(pattern == 1)
    groups = cursor[At.RELEASES] // period
    if sampled:  # what comes after the last minibatch is not Gaussian: a private choice
        groups = min(groups, cursor[At.DRAWS])
    for group in range(groups):
        for side in range(2):
            sign = 1.0 - 2.0 * side
            along, square = 0.0, 0.0
            batch = 0
            if sampled:
                for record in drawn[group]:
                    batch += record >= 0
            for j in range(period):
                row = group * period + j
                sigma = max(tape.noise[row, 0], _LEAST_NOISE)
                if pattern[j] == 0:
                    mean = clean[OURS + side]
                    for i in range(size):
                        total -= sign * 0.5 * ((released[row, i] - mean[row, i]) / sigma) ** 2
                else:
                    one, other = clean[CANARY + side], clean[BACKGROUND]
                    for i in range(size):
                        shift = (one[row, i] - other[row, i]) / (batch * sigma)
                        along += shift * (released[row, i] - other[row, i]) / sigma
                        square += shift * shift
            if square > 0.0:  # else this record looks like the background
                repeated = scheme.kind == Draw.WITH_REPLACEMENT
                most, chance = (batch, 1.0 / scheme.population) if repeated else (1, batch / scheme.population)
                total += sign * mixture(along, square, most, chance)
    return total


@kernel("void(run, parts, play, Others, indices, Scheme, vector)")
def transcripts(run, parts, play, others, pattern, scheme, scores):  # type: ignore[no-untyped-def]
    """Run, replay on the data sets that are needed, score; one run an entry of ``scores``.

    others : the replays, with numbers whose minibatches have a fixed size, and with copies of the run's stream; a run
        and its replays draw equally often, so that what else is random agrees
    """
    numbers, replays = others
    objective, drawn = Objective(*parts), replays[BACKGROUND].tape.drawn
    clean = (
        replays[OURS].tape.clean, replays[THEIRS].tape.clean, replays[CANARY].tape.clean,
        replays[REPLACED].tape.clean, replays[BACKGROUND].tape.clean,
    )  # fmt: skip
    out = np.empty(objective.data.start.size)
    for trial in range(scores.size):
        play.tape.cursor[: At.MARKS + 1] = 0
        run(objective, play.numbers, play.rng, out, play.tape)
        for k in range(len(replays)):
            again = replays[k]
            if again.needed > 0:
                again.tape.cursor[: At.MARKS + 1] = 0
                other = Objective(
                    again.data, objective.gradient, objective.mean, objective.difference, objective.ascent,
                    objective.base,
                )  # fmt: skip
                run(other, numbers, again.rng, out, again.tape)
        scores[trial] = log_ratio(play.tape, clean, drawn, pattern, scheme)


@kernel("void(run, parts, play, matrix)")
def paths(run, parts, play, outputs):  # type: ignore[no-untyped-def]
    """Write the iterates that the tape asks for and the output, one run a row; 0 where a run ends early."""
    tape = play.tape
    for trial in range(outputs.shape[0]):
        tape.cursor[: At.MARKS + 1] = 0
        tape.path[:] = 0.0
        run(Objective(*parts), play.numbers, play.rng, outputs[trial, tape.path.size :], tape)
        copy(tape.path.ravel(), outputs[trial, : tape.path.size])
