"""Default schedules computed anew from the formulas that the papers print, or that a reconstruction states.

They are those that no theorem of the registry carries: a wrong default is seen here, where every run elsewhere is given
its numbers. ``test_replay.py`` changes each number that a schedule declares, and one of the two has to see it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
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
UNCLIPPED: Numbers = {"clip_w": math.inf, "clip_v": math.inf}


def _a(p: Problem, eps: float, delta: float) -> float:
    """Return sqrt(d log(1/delta))/(n epsilon)."""
    return math.sqrt(max(p.dim_w, p.dim_v) * math.log(1 / delta)) / (len(p.records) * eps)


def _remark_1(n: int, T: int, eps: float) -> int:
    """Return the minibatch of Remark 1 of Yang et al., m = max(1, n sqrt(epsilon/(4T))), rounded up and at most n."""
    return min(n, math.ceil(max(1.0, n * math.sqrt(eps / (4 * T)))))


def dp_sgda(p: Problem, eps: float, delta: float, variant: str) -> Numbers:
    """Return that DP-SGDA does not clip; its theorems carry the rest."""
    return dict(UNCLIPPED)


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
    sizes = {"steps": n, "batch": _remark_1(n, 2 * n, eps), "eta": 1 / (p.smoothness * N)}
    return sizes | UNCLIPPED | {"sampling": "without_replacement"}


def dptd(p: Problem, eps: float, delta: float, variant: str) -> Numbers:
    """Return the steps nu_t = a/sqrt(t + b) with a = 1/4, b = 3."""
    t = np.arange(1, len(p.records) + 1)
    return {"nu": 0.25 / np.sqrt(t + 3), "batch": 1, "chi": 2.0, "eta": 2.0, "alpha": 3.0, "beta": 3.0} | UNCLIPPED


def spider(p: Problem, eps: float, delta: float, variant: str) -> Numbers:
    """Return T, b2, eta of Arora et al. with constant 1 and F_0 = 1."""
    n, a, L0, L1 = len(p.records), _a(p, eps, delta), p.lipschitz_w, p.smoothness
    T = math.ceil(max((L1**0.25 / (math.sqrt(L0) * a)) ** (4 / 3), 1 / a))
    b2 = min(n, max(math.ceil(n / math.sqrt(T)), math.ceil(1 / (T * a**2))))
    return {"steps": T, "b1": n, "b2": b2, "eta": 1 / (2 * L1), "L0": L0, "Ls": L1, "F0": 1.0}


def drift(name: str, p: Problem, eps: float, delta: float, variant: str) -> Numbers:
    """Return what :func:`spider` does, and what follows from the drift kappa = (L0 sigma_1/(L1 sigma_2))^2.

    The noise is the schedule's, which is held against the accountant elsewhere; alpha is 4 times what noise and
    sampling bring to an estimate of that drift, omega is 1/10.
    """
    numbers = spider(p, eps, delta, variant)
    n, d, a, T, L0, L1 = len(p.records), p.dim_w, _a(p, eps, delta), numbers["steps"], p.lipschitz_w, p.smoothness
    one, two = algorithm(name).scheduled(p, epsilon=eps, delta=delta, variant=variant, private=False).noise
    kappa = (L0 * one / (L1 * two)) ** 2
    noise = d * ((L0 * one) ** 2 + (L1 * two) ** 2 * kappa)
    sampling = L0**2 * (1 / numbers["b1"] - 1 / n) + L1**2 * kappa * (1 / numbers["b2"] - 1 / n)
    level = math.sqrt(noise + sampling)
    growth = numbers["eta"] * math.sqrt(p.hessian_lipschitz * 4 * level)
    regular = math.ceil(T / max(1, math.floor(1 / (T * a**2))))
    descent = 1 + math.ceil(math.sqrt(2 * numbers["eta"] * T) * L1 / L0)
    return numbers | {
        "kappa": kappa, "rho": p.hessian_lipschitz, "failure": 0.1, "refreshes": max(regular, descent),
        "Gamma": max(1, math.ceil(math.log(d * T / 0.1) / growth)),
    } | _ending(name, p, level, one)  # fmt: skip


def _ending(name: str, p: Problem, level: float, sigma_1: float) -> Numbers:
    """Return how the run near a saddle ends: by rounds from an anchor, or by noise and a private choice."""
    if name == "ada_dp_spider":
        R = math.sqrt(4 * level / p.hessian_lipschitz)
        return {"chi": level, "alpha": 4 * level, "R": R, "Q": math.ceil(5.2 * math.log(10))}
    return {"alpha": 4 * level, "gamma": 3 * level, "r": p.lipschitz_w * sigma_1, "selection": 0.25}


def dp_rgda(p: Problem, eps: float, delta: float, variant: str) -> Numbers:
    """Return the clipping norm and the ascent's step of DP-RGDA, and the sizes of Theorem 1 as its proof has them."""
    n, a, L, kappa = len(p.records), _a(p, eps, delta), p.smoothness, p.smoothness / p.concavity
    alpha = a ** (2 / 3)
    numbers = {"C_v": max(p.lipschitz_w, p.lipschitz_v), "lam": 1 / (6 * L), "F0": 1.0, "theorem": "1"}
    if variant == "as_printed":
        return numbers
    T = math.ceil(L * (1 + kappa) / alpha**2)
    return numbers | {
        "alpha": alpha, "steps": T, "period": max(1, math.floor(1 / (T * a**2))), "S1": n,
        "S2": min(n, max(1, math.ceil(max(n / math.sqrt(T), 1 / (T * a**2))))),
        "K": max(2, math.ceil(kappa)), "eta": alpha / (2 * L), "C_u": alpha,
    }  # fmt: skip


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
    return {"batch": batch, "lam": lam, "sampling": "single_pass"}


# name -> its formulas, and the problem they are taken for
DEFAULTS: dict[str, tuple[Callable[[Problem, float, float, str], Numbers], str]] = {
    "ada_dp_spider": (partial(drift, "ada_dp_spider"), "double_well"),
    "dp_rgda": (dp_rgda, "quartic"),
    "dp_sgda": (dp_sgda, "quadratic"),
    "dp_sgda_clipped": (dp_sgda_clipped, "quadratic"),
    "dp_spider": (dp_spider, "double_well"),
    "dptd": (dptd, "quadratic"),
    "nispp": (nispp, "bilinear"),
    "nseg": (nseg, "bilinear"),
    "privatediff": (privatediff, "quadratic"),
    "sto_spider": (partial(drift, "sto_spider"), "double_well"),
}


def compared(name: str) -> list[str]:
    """Return what differs, in sentences."""
    return list(filter(None, _differences(name)))


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
