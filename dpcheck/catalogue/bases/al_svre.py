"""AL-SVRE: n + sqrt(n kappa_w kappa_v) + n^(3/4) sqrt(kappa) gradients times log(1/accuracy); saddle points.

Luo, Xie, Zhang, Zhang, "Near optimal stochastic algorithms for finite-sum unbalanced convex-concave minimax
optimization", 2021. Reconstructed from its abstract and common knowledge: :mod:`dpcheck.catalogue.bases.catalyst`
around the loopless variance-reduced extragradient of :mod:`dpcheck.catalogue.bases.jin_sidford_tian`, whose reference
point moves with probability about 1/n a step.
"""

from __future__ import annotations

from dpcheck.catalogue.bases.catalyst import around
from dpcheck.catalogue.bases.inside import with_inner
from dpcheck.catalogue.bases.jin_sidford_tian import inner

run = with_inner(around, inner, "al_svre")
