"""The letters the papers share, with the domains that every formula may rely on.

Counts are positive integers, everything else a positive real number. ``log`` is natural;
neighbouring datasets differ by the replacement of one record.
"""

from typing import Any

import sympy


def _counts(names: str) -> Any:
    return sympy.symbols(names, integer=True, positive=True)


def _reals(names: str) -> Any:
    return sympy.symbols(names, positive=True)


# Sizes: records, iterations, records in a minibatch, an iteration, dimensions.
n, T, m, t = _counts("n T m t")
d, d_1, d_2, d_x, d_y = _counts("d d_1 d_2 d_x d_y")
K, k = _counts("K k")  # phases, a phase; nbar = n/K records in each
R, r = _counts("R r")  # outer iterations, an outer iteration

# Privacy.
epsilon, delta = _reals("epsilon delta")
sigma, sigma_w, sigma_v, sigma_x, sigma_y = _reals("sigma sigma_w sigma_v sigma_x sigma_y")

# The problem: Lipschitz constants and radii of the two blocks, smoothness, strong convexity, condition numbers.
G, G_w, G_v, D, D_w, D_v, D_x, D_y, L, ell = _reals("G G_w G_v D D_w D_v D_x D_y L ell")
mu, mu_x, mu_y, rho, kappa, kappa_x, kappa_y = _reals("mu mu_x mu_y rho kappa kappa_x kappa_y")

# The schedule: step sizes and their constant; constants a paper leaves open.
eta, eta_x, eta_y, eta_w, eta_v, c = _reals("eta eta_x eta_y eta_w eta_v c")
c_1, c_2, c_3 = _reals("c_1 c_2 c_3")
