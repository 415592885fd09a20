"""Default schedules computed anew from the formulas that the papers print, or that a reconstruction states.

They are those that no theorem of the registry carries: a wrong default is seen here, where every run elsewhere is given
its numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from dpcheck.algorithms.problem import Problem
from dpcheck.errors import InputError
from dpcheck.solvers import algorithm
from reference.small_runs import problem

_RELATIVE = 1e-9
# (n, epsilon, delta) are those of the example; two settings, so that an exponent that is wrong shows.
_SETTINGS = ((1.0, 1e-3), (0.25, 1e-5))
Numbers = dict[str, Any]


def _a(p: Problem, eps: float, delta: float) -> float:
    """Return sqrt(d log(1/delta))/(n epsilon)."""
    return math.sqrt(max(p.dim_w, p.dim_v) * math.log(1 / delta)) / (len(p.records) * eps)


def _remark_1(n: int, T: int, eps: float) -> int:
    """Return the minibatch of Remark 1 of Yang et al., m = max(1, n sqrt(epsilon/(4T))), rounded up and at most n."""
    return min(n, math.ceil(max(1.0, n * math.sqrt(eps / (4 * T)))))


def dp_sgda_clipped(p: Problem, eps: float, delta: float, variant: str) -> Numbers:
    """Return the numbers of Theorem 2 of Zhang et al. 2025 with every constant 1."""
    n, l, kappa = len(p.records), p.smoothness, p.smoothness / p.concavity
    T = math.ceil(n * eps / math.sqrt(max(p.dim_w, p.dim_v) * math.log(1 / delta)))
    m = _remark_1(n, T, eps)
    return {
        "steps": T, "batch": m if variant == "as_printed" else min(n, max(m, math.ceil(1 / _a(p, eps, delta)))),
        "eta_w": 1 / (16 * (kappa + 1) ** 2 * l), "eta_v": 1 / l,
        "clip_w": p.lipschitz_w, "clip_v": p.lipschitz_v, "output": "uniform",
    }  # fmt: skip


def nseg(p: Problem, eps: float, delta: float, variant: str) -> Numbers:
    """Return the numbers of NSEG: T = n, the minibatch of DP-SGDA, eta = 1/(L N)."""
    n = len(p.records)
    N = max(math.sqrt(n), math.sqrt(max(p.dim_w, p.dim_v) * math.log(1 / delta)) / eps)
    return {"steps": n, "batch": _remark_1(n, 2 * n, eps), "eta": 1 / (p.smoothness * N)}


def dptd(p: Problem, eps: float, delta: float, variant: str) -> Numbers:
    """Return the steps nu_t = a/sqrt(t + b) with a = 1/4, b = 3."""
    t = np.arange(1, len(p.records) + 1)
    return {"nu": 0.25 / np.sqrt(t + 3), "batch": 1, "chi": 2.0, "eta": 2.0, "alpha": 3.0, "beta": 3.0}


def spider(p: Problem, eps: float, delta: float, variant: str) -> Numbers:
    """Return T, b2, eta of Arora et al. with constant 1 and F_0 = 1."""
    n, a, L0, L1 = len(p.records), _a(p, eps, delta), p.lipschitz_w, p.smoothness
    T = math.ceil(max((L1**0.25 / (math.sqrt(L0) * a)) ** (4 / 3), 1 / a))
    b2 = min(n, max(math.ceil(n / math.sqrt(T)), math.ceil(1 / (T * a**2))))
    return {"steps": T, "b1": n, "b2": b2, "eta": 1 / (2 * L1), "L0": L0, "Ls": L1}


def dp_spider(p: Problem, eps: float, delta: float, variant: str) -> Numbers:
    """Return what :func:`spider` does, and q = 1/(T a^2)."""
    numbers = spider(p, eps, delta, variant)
    return numbers | {"period": max(1, math.floor(1 / (numbers["steps"] * _a(p, eps, delta) ** 2)))}


def privatediff(p: Problem, eps: float, delta: float, variant: str) -> Numbers:
    """Return the numbers in the proof of Theorem 6 of Zhang et al. 2025: its thresholds, and the ascent's steps
    1/(mu i).

    The failure theta of C3 is 1/20. Repaired, theta is within the logarithm, and no step is above 1/l.
    """
    l, mu, theta = p.smoothness, p.concavity, 0.05
    R = T2 = max(2, math.ceil(_a(p, eps, delta) ** (-4 / 3)))
    often = R * max(math.log(T2), 1.0)
    logs = math.log(often) / theta if variant == "as_printed" else math.log(often) - math.log(theta)
    steps = 1 / (mu * np.arange(1, T2 + 1))
    return {
        "C0": p.lipschitz_v, "C1": p.lipschitz_w, "C2": l + l * l / mu,
        "C3": 50 * l / mu * max(p.lipschitz_w, p.lipschitz_v) * math.sqrt((logs + 1) / T2),
        "eta_y": steps if variant == "as_printed" else np.minimum(steps, 1 / l),
    }  # fmt: skip


def nispp(p: Problem, eps: float, delta: float, variant: str) -> Numbers:
    """Return a batch of sqrt n, and lam = (L/D) max{1, a sqrt n} over the root of the number of phases n/B."""
    n, batch = len(p.records), math.ceil(math.sqrt(len(p.records)))
    steep, wide = math.hypot(p.lipschitz_w, p.lipschitz_v), math.hypot(p.domain_w[0, 3], p.domain_v[0, 3])
    lam = steep / wide * max(1.0, _a(p, eps, delta) * math.sqrt(n)) / math.sqrt(n // batch)
    return {"batch": batch, "lam": lam}


# name -> its formulas, and the problem they are taken for
DEFAULTS: dict[str, tuple[Callable[[Problem, float, float, str], Numbers], str]] = {
    "ada_dp_spider": (spider, "double_well"),
    "dp_sgda_clipped": (dp_sgda_clipped, "quadratic"),
    "dp_spider": (dp_spider, "double_well"),
    "dptd": (dptd, "quadratic"),
    "nispp": (nispp, "bilinear"),
    "nseg": (nseg, "bilinear"),
    "privatediff": (privatediff, "quadratic"),
    "sto_spider": (spider, "double_well"),
}


def compared(name: str) -> tuple[list[str], int]:
    """Return what differs, in sentences, and how many numbers were compared."""
    found = list(_differences(name))
    return [sentence for sentence in found if sentence], len(found)


def _differences(name: str) -> Iterator[str]:
    formulas, place = DEFAULTS[name]
    p = problem(place)
    for eps, delta in _SETTINGS:
        for variant in algorithm(name).variants:
            numbers: Numbers = {"epsilon": eps, "delta": delta, "variant": variant, "private": False}
            schedule, solver = algorithm(name).scheduled(p, **numbers), None
            with suppress(InputError):  # numbers that the solver refuses differ from their formulas
                solver = algorithm(name).configure(p, **numbers)
            where = f"{variant.replace('_', ' ')}, epsilon = {eps:g}, delta = {delta:g}, on {p.name}"
            for option, expected in formulas(p, eps, delta, variant).items():
                yield _unlike(f"The default {option}", getattr(schedule, option), expected, where)
                if hasattr(solver, option):
                    yield _unlike(f"The {option} of the solver", getattr(solver, option), expected, where)


def _unlike(said: str, found: Any, expected: Any, where: str) -> str:
    """Return how a number, an array whose entries are to be all that number, or a word differs; else nothing."""
    if isinstance(expected, str):
        equal, shown, promised = found == expected, found, expected
    else:
        equal = np.allclose(found, expected, rtol=_RELATIVE, atol=0)
        shown, promised = (f"{float(np.ravel(each)[0]):.6g}" for each in (found, expected))
    return "" if equal else f"{said} is {shown}, where its formula gives {promised} ({where})."
