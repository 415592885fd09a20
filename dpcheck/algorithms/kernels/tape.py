"""What a run writes down, and the one place where noise is added.

A tape is a :class:`dpcheck.algorithms.kernels.jit.Tape`, whose fields it says.

With the mode ``COUNT`` the arrays have no rows and nothing but the counts is kept; ``RECORD`` fills
them; ``REPLAY`` takes the released quantities from the tape in place of fresh noise, so that a run
on other data sees the same history (its own ``clean`` is written). ``STOP``, set from outside,
makes a run end at its next mark.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from dpcheck.algorithms.kernels.jit import kernel
from dpcheck.algorithms.kernels.parts import Draw, below


class Mode(IntEnum):
    """Whether a run counts, records or replays its releases, or ends at its next mark."""

    COUNT, RECORD, REPLAY, STOP = range(4)


class _At(NamedTuple):
    """The entries of a tape's cursor: plain numbers, as older versions of Numba index by no enumeration."""

    RELEASES: int = 0
    DRAWS: int = 1
    MARKS: int = 2
    MODE: int = 3
    EVALUATIONS: int = 4
    OUTCOME: int = 5
    RETURNED: int = 6


At = _At()


class Outcome(IntEnum):
    """How a run ended: in the ordinary way, without a base solver's accuracy, with a certificate, or short of one."""

    FINISHED, EXHAUSTED, CERTIFIED, UNCERTIFIED = range(4)


@kernel("void(vector, float64, float64, stream, tape)")
def release(g, sigma, sensitivity, rng, tape):  # type: ignore[no-untyped-def]
    """Add N(0, sigma^2) to every coordinate of ``g``, and write down both.

    ``sensitivity`` is how far ``g`` may move when one record of the data at hand (the minibatch, the
    whole) is replaced and all earlier releases stay: what the run declares, for its tests to hold it to.
    """
    row, mode = tape.cursor[At.RELEASES], tape.cursor[At.MODE]
    tape.cursor[At.RELEASES] += 1
    recording = mode in (Mode.RECORD, Mode.REPLAY) and row < tape.clean.shape[0]
    if recording:
        for i in range(g.size):
            tape.clean[row, i] = g[i]
        tape.noise[row, 0] = sigma
        tape.noise[row, 1] = sensitivity
    for i in range(g.size):  # drawn even where it is not used: the minibatches stay the same
        g[i] += sigma * rng.standard_normal()
    if mode == Mode.REPLAY and row < tape.released.shape[0]:
        for i in range(g.size):
            g[i] = tape.released[row, i]
    elif recording:
        for i in range(g.size):
            tape.released[row, i] = g[i]


@kernel("int64(int64, int64, int64, indices, stream, indices)")
def draw(scheme, population, batch, deck, rng, out):  # type: ignore[no-untyped-def]
    """Draw a minibatch of record numbers into ``out``; return how many.

    ``deck`` holds a permutation of the records, or of those that are left; a partial Fisher-Yates shuffle of
    any permutation draws uniformly without replacement, so it is kept from step to step. Poisson sampling at rate
    batch/population jumps from one included record to the next by geometric gaps, each the floor of
    an exponential variable.
    """
    if scheme == Draw.WITH_REPLACEMENT:
        for j in range(batch):
            out[j] = below(population, rng)
        return batch
    if batch == population:  # all records as they lie, mostly in order: it costs no draws, and they are read fastest so
        for j in range(population):
            out[j] = deck[j]
        return population
    if scheme == Draw.WITHOUT_REPLACEMENT:
        for j in range(batch):
            k = j + below(population - j, rng)
            deck[j], deck[k] = deck[k], deck[j]
            out[j] = deck[j]
        return batch
    rate = -np.log1p(-batch / population)
    count = 0
    position = np.floor(rng.standard_exponential() / rate)
    while position < population:
        out[count] = np.int64(position)
        count += 1
        position += 1.0 + np.floor(rng.standard_exponential() / rate)
    return count


@kernel("int64(int64, int64, int64, indices, stream, indices, tape)")
def sample(scheme, population, batch, deck, rng, out, tape):  # type: ignore[no-untyped-def]
    """Draw a minibatch of record numbers into ``out``, write it down, return how many."""
    count = draw(scheme, population, batch, deck, rng, out)
    row = tape.cursor[At.DRAWS]
    tape.cursor[At.DRAWS] += 1
    if row < tape.drawn.shape[0]:
        for j in range(tape.drawn.shape[1]):
            tape.drawn[row, j] = out[j] if j < count else -1
    return count


@kernel("boolean(int64, vector, tape)")
def mark(t, x, tape):  # type: ignore[no-untyped-def]
    """Keep the iterate ``x`` of iteration ``t`` if it is asked for; true if the run shall stop."""
    row = tape.cursor[At.MARKS]
    if row < tape.marks.size and tape.marks[row] == t:
        for i in range(x.size):
            tape.path[row, i] = x[i]
        tape.cursor[At.MARKS] += 1
    return tape.cursor[At.MODE] == Mode.STOP
