"""Sums of all increments so far, with noise along a binary tree: each increment is in few of the sums made private.

The node that increment j = 1, 2, ... closes is the sum of the last 2^i of them, where 2^i divides j and 2^{i+1} does
not. The increments 1 to j are the nodes of the binary digits of j, so their sum holds at most log2(j) + 1 noises; and
an increment is in at most log2(m) + 1 of the nodes that m increments close (Dwork, Naor, Pitassi and Rothblum 2010;
Chan, Shi and Song 2011).
"""

from __future__ import annotations

from numba import types

from dpcheck.algorithms.kernels.jit import MATRIX, VECTOR, kernel


@kernel(types.int64(types.int64))
def levels(increments):  # type: ignore[no-untyped-def]
    """Return the most nodes that one of so many increments is in; a sum of them is made of no more."""
    count = 0
    while increments > 0:
        increments //= 2
        count += 1
    return count


@kernel(types.int64(types.int64, VECTOR, MATRIX, MATRIX))
def close(j, increment, clean, nodes):  # type: ignore[no-untyped-def]
    """Bring increment ``j``; return the level of the node that it closes, whose sum is that row of ``nodes``.

    clean, nodes : (levels, d), the open nodes without noise, and the closed ones, which the caller makes private
    """
    level = 0
    while j % 2 == 0:
        j //= 2
        level += 1
    for i in range(increment.size):
        total = increment[i]
        for below in range(level):
            total += clean[below, i]
        clean[level, i] = nodes[level, i] = total
    return level


@kernel(types.void(types.int64, MATRIX, VECTOR, VECTOR))
def add_prefix(j, nodes, base, out):  # type: ignore[no-untyped-def]
    """Write base plus the sum of increments 1 to ``j`` to ``out``."""
    for i in range(out.size):
        out[i] = base[i]
    level = 0
    while j > 0:
        if j % 2 == 1:
            for i in range(out.size):
                out[i] += nodes[level, i]
        j //= 2
        level += 1
