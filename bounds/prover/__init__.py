"""Inequalities decided by machine: certificate, solver, ball arithmetic, derivatives, search.

``Inequality`` is a step of evidence like those of ``dpcheck.bounds.evidence``; ``Domain`` says
where it is claimed, and ``over`` makes one of letters and relations.
"""

from dpcheck.bounds.prover.conditions import over
from dpcheck.bounds.prover.domain import Domain
from dpcheck.bounds.prover.inequality import Inequality

__all__ = ["Domain", "Inequality", "over"]
