r"""The privacy error of the paper, a = sqrt(d log(1/delta))/(n epsilon), and sizes at which it takes a value.

Claims about orders contain ``a`` alone. A counterexample at a value of ``a`` is a counterexample to the paper only if
whole numbers n and d, an epsilon below one and a delta give that value; :func:`attained` is the step that shows it.

[1] D. Xu et al. Finding Differentially Private Second Order Stationary Points in Stochastic Minimax
    Optimization. 2026, Theorem 1.
"""

from __future__ import annotations

from typing import Any

from sympy import Subs, exp, log, sqrt

from dpcheck.bounds.evidence import Identity
from dpcheck.bounds.symbols import d, delta, epsilon, n

ERROR = sqrt(d * log(1 / delta)) / (n * epsilon)


def attained(value: Any, records: int, dimension: int, loss: Any, logarithm: Any) -> Identity:
    """State that the privacy error is ``value`` at these n, d and epsilon, with delta = exp(-``logarithm``)."""
    at = f"n = {records}, d = {dimension}, epsilon = {loss}, delta = exp(-{logarithm})"
    sizes = (records, dimension, loss, exp(-logarithm))
    return Identity(f"a = {value} occurs: {at}", Subs(ERROR, (n, d, epsilon, delta), sizes), value)
