"""What a run writes down, and the one place where noise is added.

A tape is ``(cursor, drawn, clean, released, noise, marks, path)``:

cursor : (7,) counts the releases, the minibatches, the marks and a base solver's gradient evaluations
    so far; it holds the mode, how the run ended, and the iteration whose x it returned (-1 where it does not say)
drawn : (rows, capacity) int64, the records of each minibatch, padded with -1
clean, released : (rows, size), every private quantity before and after its noise, zero-padded
noise : (rows, 2), the standard deviation of that noise, and the sensitivity it is meant for
marks, path : the iterations (increasing) at which the iterate is kept, and these iterates

With the mode ``COUNT`` the arrays have no rows and nothing but the counts is kept; ``RECORD`` fills
them; ``REPLAY`` takes the released quantities from the tape in place of fresh noise, so that a run
on other data sees the same history (its own ``clean`` is written). ``STOP``, set from outside,
makes a run end at its next mark.
"""

from __future__ import annotations

from numba import types

from dpcheck.kernels.jit import INDICES, STREAM, TAPE, VECTOR, kernel
from dpcheck.kernels.parts import draw

COUNT, RECORD, REPLAY, STOP = 0, 1, 2, 3
RELEASES, DRAWS, MARKS, MODE, EVALUATIONS, OUTCOME, RETURNED = 0, 1, 2, 3, 4, 5, 6

# How a run ended: in the ordinary way, without a base solver's accuracy, with a certificate, or short of one.
FINISHED, EXHAUSTED, CERTIFIED, UNCERTIFIED = 0, 1, 2, 3


@kernel(types.void(VECTOR, types.float64, types.float64, STREAM, TAPE))
def release(g, sigma, sensitivity, rng, tape):  # type: ignore[no-untyped-def]
    """Add N(0, sigma^2) to every coordinate of ``g``, and write down both.

    ``sensitivity`` is how far ``g`` may move when one record of the data at hand (the minibatch, the
    whole) is replaced and all earlier releases stay: what the run declares, for its tests to hold it to.
    """
    cursor, _, clean, released, noise, _, _ = tape
    row, mode = cursor[RELEASES], cursor[MODE]
    cursor[RELEASES] += 1
    recording = mode in (RECORD, REPLAY) and row < clean.shape[0]
    if recording:
        for i in range(g.size):
            clean[row, i] = g[i]
        noise[row, 0] = sigma
        noise[row, 1] = sensitivity
    for i in range(g.size):  # drawn even where it is not used: the minibatches stay the same
        g[i] += sigma * rng.standard_normal()
    if mode == REPLAY and row < released.shape[0]:
        for i in range(g.size):
            g[i] = released[row, i]
    elif recording:
        for i in range(g.size):
            released[row, i] = g[i]


@kernel(types.int64(types.int64, types.int64, types.int64, INDICES, STREAM, INDICES, TAPE))
def sample(scheme, population, batch, deck, rng, out, tape):  # type: ignore[no-untyped-def]
    """Draw a minibatch of record numbers into ``out``, write it down, return how many."""
    cursor, drawn, _, _, _, _, _ = tape
    count = draw(scheme, population, batch, deck, rng, out)
    row = cursor[DRAWS]
    cursor[DRAWS] += 1
    if row < drawn.shape[0]:
        for j in range(drawn.shape[1]):
            drawn[row, j] = out[j] if j < count else -1
    return count


@kernel(types.boolean(types.int64, VECTOR, TAPE))
def mark(t, x, tape):  # type: ignore[no-untyped-def]
    """Keep the iterate ``x`` of iteration ``t`` if it is asked for; true if the run shall stop."""
    cursor, _, _, _, _, marks, path = tape
    row = cursor[MARKS]
    if row < marks.size and marks[row] == t:
        for i in range(x.size):
            path[row, i] = x[i]
        cursor[MARKS] += 1
    return cursor[MODE] == STOP
