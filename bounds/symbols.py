"""The letters the papers share, with the domains that every formula may rely on.

Counts are positive integers, everything else a positive real number. ``log`` is natural;
neighbouring datasets differ by the replacement of one record.
"""

from sympy import symbols

_COUNT = {"integer": True, "positive": True}

# Sizes: records, iterations, records in a minibatch, an iteration, dimensions.
n, T, m, t = symbols("n T m t", **_COUNT)
d, d_1, d_2, d_x, d_y = symbols("d d_1 d_2 d_x d_y", **_COUNT)
K, k = symbols("K k", **_COUNT)  # phases, a phase; nbar = n/K records in each
R, r = symbols("R r", **_COUNT)  # outer iterations, an outer iteration

# Privacy.
epsilon, delta = symbols("epsilon delta", positive=True)
sigma, sigma_w, sigma_v, sigma_x, sigma_y = symbols("sigma sigma_w sigma_v sigma_x sigma_y", positive=True)

# The problem: Lipschitz constants and radii of the two blocks, smoothness, strong convexity, condition numbers.
G, G_w, G_v, D, D_w, D_v, D_x, D_y, L, ell = symbols("G G_w G_v D D_w D_v D_x D_y L ell", positive=True)
mu, mu_x, mu_y, rho, kappa, kappa_x, kappa_y = symbols("mu mu_x mu_y rho kappa kappa_x kappa_y", positive=True)

# The schedule: step sizes and their constant; constants a paper leaves open.
eta, eta_x, eta_y, eta_w, eta_v, c = symbols("eta eta_x eta_y eta_w eta_v c", positive=True)
c_1, c_2, c_3 = symbols("c_1 c_2 c_3", positive=True)
