"""The letters the papers share, with the domains that every formula may rely on.

Counts are positive integers, everything else a positive real number. ``log`` is natural;
neighbouring datasets differ by the replacement of one record.
"""

from __future__ import annotations

from typing import Any

import sympy


def _counts(names: str) -> Any:
    return sympy.symbols(names, integer=True, positive=True)


def _reals(names: str) -> Any:
    return sympy.symbols(names, positive=True)


# Sizes: records, iterations, records in a minibatch, an iteration, dimensions.
n, T, m, t = _counts("n T m t")
d, d_1, d_2 = _counts("d d_1 d_2")

# Privacy.
epsilon, delta = _reals("epsilon delta")
sigma_w, sigma_v = _reals("sigma_w sigma_v")

# The problem: Lipschitz constants and radii of the two blocks, smoothness.
G_w, G_v, D_w, D_v, L = _reals("G_w G_v D_w D_v L")

# The schedule: step size and its constant; constants a paper leaves open.
eta, c = _reals("eta c")
c_1, c_2, c_3 = _reals("c_1 c_2 c_3")
