"""What right guesses say about a claim of many points (epsilon, delta), all points together.

With w_k the chance of k right guesses of r, a_k = k w_k and b_k = (r - k + 1) w_{k-1}, a mechanism on m coins keeping
the points (e_l, delta_l) has ``sum_k (a_k - exp(e_l) b_k)_+ <= m delta_l`` for each l (:mod:`.coin_guesses` says why).
For any weights ``0 <= y_kl <= x_l`` therefore ``sum_kl y_kl (a_k - exp(e_l) b_k) <= m sum_l x_l delta_l``. Added to the
chance of v or more right guesses, coefficient by coefficient of w_k, this gives

    P(W >= v)  <=  m sum_l x_l delta_l + max_k (1{k >= v} - k Y_k + (r - k) Z_{k+1}),
    Y_k = sum_l y_kl,  Z_k = sum_l exp(e_l) y_kl.

The bound holds whatever x and y are: nothing rests on the program that proposes x, a linear one over the likely k and a
few points around the best. For each x the best y is found exactly. A maximum of at most s allows Z_1 = s / r, hence a
largest Y_1, hence a largest Z_2, and so on up to v; it asks for Y_r = (1 - s) / r at least, hence a least Z_r, hence a
least Y_{r-1}, and so on down to v. Where the two meet, s is enough. Filling the smallest epsilons first gives the most
Y for a Z.

For a point alone this is the bound of :mod:`.coin_guesses`. For curves it is the largest chance under the inequalities
above, and below the bound of [1], which uses them only for the sets of all k from some number on.

[1] S. Mahloujifar, L. Melis, K. Chaudhuri, "Auditing f-differential privacy in one run", ICML 2025.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse, special

from dpcheck.compiled import njit

Floats = NDArray[np.float64]

_POINTS, _BELOW, _ABOVE = 12, 0.6, 0.9  # points tested jointly, and how far from the best alone
_LARGEST = 7_000  # points times numbers of right guesses: what a linear program is worth
_LIKELY = 0.6, 3.0  # the program's window begins where this share of epsilon has this many deviations fewer
_ROUNDING = 1e-9  # more than the recurrences lose


def joint_p_value(right: int, guesses: int, canaries: int, best: float, deltas_at: Callable[[Floats], Floats]) -> float:
    """Return a bound on the probability of ``right`` right guesses under a curve, from points around ``best``.

    Parameters
    ----------
    right, guesses, canaries : int
        1 <= right <= guesses <= canaries.
    best : float
        Epsilon of the point that alone says most (natural log).
    deltas_at : callable
        The curve, from epsilons (n,) to deltas (n,).
    """
    steps = np.linspace(-1, 1, _POINTS)
    around = best + np.sign(steps) * np.abs(steps) ** 1.5 * np.where(steps < 0, _BELOW, _ABOVE)
    epsilons = np.unique(np.maximum(around, 0.0))
    return _bound(right, guesses, canaries, tuple(epsilons.tolist()), tuple(deltas_at(epsilons).tolist()))


@lru_cache(maxsize=4096)
def _bound(right: int, guesses: int, canaries: int, epsilons: tuple[float, ...], deltas: tuple[float, ...]) -> float:
    e, d = np.array(epsilons), np.array(deltas)
    weights = _proposed(right, guesses, canaries, e, d)
    return 1.0 if weights is None else bound_of(weights, right, guesses, canaries, e, d)


def bound_of(weights: Floats, right: int, guesses: int, canaries: int, epsilons: Floats, deltas: Floats) -> float:
    """Return the bound that weights x (n,) >= 0 of the points give, valid for any."""
    spent = canaries * float(weights @ deltas)
    low, high = 0.0, 1.0
    if not spent < 1:
        return 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if enough(middle, weights, np.exp(epsilons), right, guesses):
            high = middle
        else:
            low = middle
    return min(1.0, (spent + high) * (1 + _ROUNDING))


def _proposed(right: int, guesses: int, canaries: int, epsilons: Floats, deltas: Floats) -> Floats | None:
    """Propose weights: the dual of maximising the chance over the laws of W on the likely numbers, without the first's.

    None where that is too large a program, or it is not solved.
    """
    share, deviations = _LIKELY
    usual = float(special.expit(share * epsilons[len(epsilons) // 2]))
    wide = max(1.0, math.sqrt(guesses * usual * (1 - usual)))
    first, last = max(0, int(guesses * usual - deviations * wide)), min(guesses, int(right + 4 * wide) + 2)
    k, n = np.arange(first, last + 1), len(epsilons)
    if k.size < 2 or k.size * n > _LARGEST:
        return None
    ahead = sparse.diags_array(k.astype(float), format="csr")[1:]
    behind = sparse.diags_array((guesses - k[1:] + 1.0), offsets=-1, shape=(k.size, k.size), format="csr")[1:]
    rises, slacks = (k.size - 1) * n, sparse.identity((k.size - 1) * n, format="csr")
    excess = sparse.hstack([sparse.vstack([ahead - math.exp(e) * behind for e in epsilons]), -slacks])
    total = sparse.hstack(
        [sparse.csr_array((n, k.size)), sparse.kron(sparse.identity(n), np.ones((1, k.size - 1)), format="csr")]
    )
    one = np.concatenate([np.ones(k.size), np.zeros(rises)])[None]
    found = optimize.linprog(
        np.concatenate([-(k >= right).astype(float), np.zeros(rises)]),
        A_ub=sparse.vstack([excess, total]).tocsr(), b_ub=np.concatenate([np.zeros(rises), canaries * deltas]),
        A_eq=one, b_eq=[1.0], method="highs-ipm",
    )  # fmt: skip
    if not found.success or found.ineqlin.marginals is None:
        return None
    return np.maximum(-np.asarray(found.ineqlin.marginals[rises:], np.float64), 0.0)


@njit("boolean(float64, float64[::1], float64[::1], int64, int64)", nogil=True)
def enough(most: float, weights: Floats, growth: Floats, right: int, guesses: int) -> bool:
    """Say whether some weights y keep all coefficients of w_k at most ``most``; ``growth`` is e^epsilon, rising."""
    y = 0.0
    for k in range(right):  # the largest Y_1, ..., Y_right
        left = (most + k * y) / (guesses - k)
        y = 0.0
        for i in range(weights.size):
            part = min(weights[i] * growth[i], left)
            y += part / growth[i]
            left -= part
    whole = weights.sum()
    needed, z = 0.0, 0.0
    for k in range(guesses, right - 1, -1):  # the least Y_guesses, ..., Y_right
        needed = (1 - most + (guesses - k) * z) / k
        if needed > whole:
            return False
        left, z = needed, 0.0
        for i in range(weights.size):
            part = min(weights[i], left)
            z += part * growth[i]
            left -= part
    return y >= needed
