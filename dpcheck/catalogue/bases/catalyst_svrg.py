"""Catalyst-Acc-SVRG: n + sqrt(n kappa_w kappa_v) + n^(3/4) sqrt(kappa) gradients times log(1/accuracy); saddle points.

Yang, Zhang, Kiyavash, He, "A catalyst framework for minimax optimization", 2020. Reconstructed from its
abstract and common knowledge: :mod:`dpcheck.catalogue.bases.catalyst` around
:mod:`dpcheck.catalogue.bases.accelerated_svrg`.
"""

from __future__ import annotations

from dpcheck.catalogue.bases.accelerated_svrg import inner
from dpcheck.catalogue.bases.catalyst import around
from dpcheck.catalogue.bases.inside import with_inner

run = with_inner(around, inner, "catalyst_svrg")
