"""All 40 theorems at three settings against formulas written out again from the papers, in plain floats.

Schedules and noises are the papers', with the roundings and repairs that each theorem's file names; a bound that is an
order is 3 times the rate. Nothing here is taken from the theorems but their ids.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from math import ceil, e, exp, floor, log, log2, sqrt

import pytest

from dpcheck.bounds import registry

Values = dict[str, float]
ORDER = 3.0  # what the order-only bounds are multiplied with


def minibatch(n: float, T: float, epsilon: float, parts: int = 4) -> int:
    """max(1, n sqrt(epsilon/(parts T))), rounded up."""
    return ceil(max(1.0, n * sqrt(epsilon / (parts * T))))


def gaussian(n: float, T: float, epsilon: float, delta: float) -> float:
    """sqrt(T log(1/delta))/(n epsilon), of equation (3) in both papers."""
    return sqrt(T * -log(delta)) / (n * epsilon)


def error(d: float, n: float, epsilon: float, delta: float) -> float:
    """a = sqrt(d log(1/delta))/(n epsilon)."""
    return sqrt(d * -log(delta)) / (n * epsilon)


# Bok et al. 2024: sums over the steps, where the theorems have closed forms


def bok_full(v: Values) -> Values:
    powers = [v["c"] ** k for k in range(int(v["T"]))]
    return {"bound": v["s"] / v["sigma"] * sum(powers) / sqrt(sum(p * p for p in powers))}


def bok_cyclic(v: Values) -> Values:
    epoch, waiting = int(v["l"]), range(1, int(v["l"]) * (int(v["E"]) - 1) + 1)
    met = sum(v["c"] ** k for k in waiting if k % epoch == 0)
    return {"bound": v["s"] / v["sigma"] * sqrt(1 + met**2 / sum(v["c"] ** (2 * k) for k in waiting))}


def bok_diameter(v: Values) -> Values:
    powers = [v["c"] ** k for k in range(int(v["m"]))]
    left = v["c"] ** v["m"] * v["D"] + v["s"] * sum(powers)
    return {"bound": left / (v["sigma"] * sqrt(sum(p * p for p in powers)))}


def bok_saddle(eta: float, mu: float, size: float) -> Values:
    return {"bound": sqrt(1 - 2 * eta * mu + (eta * size) ** 2)}


def bok_extragradient(v: Values) -> Values:
    eta, size = v["eta"], v["L"]
    return {"bound": sqrt(1 - 2 * eta * v["mu"] * (1 - eta * size) ** 2 + 3 * (eta * size) ** 2)}


def bok_unequal(v: Values) -> Values:
    ratio = exp(abs(log(v["sigma_w"] / v["sigma_v"])))
    squared = bok_saddle(v["eta"], v["mu"], v["L"] * ratio)["bound"] ** 2
    return {"bound": sqrt(squared + v["eta"] * v["ell"] * (ratio - 1 / ratio))}


# Yang et al. 2022


def yang_1(v: Values) -> Values:
    s = 8 * gaussian(v["n"], v["T"], v["epsilon"], v["delta"])
    return {"m": minibatch(v["n"], v["T"], v["epsilon"]), "sigma_w": s * v["G_w"], "sigma_v": s * v["G_v"]}


def yang_1_open(v: Values) -> Values:
    s = gaussian(v["n"], v["T"], v["epsilon"], v["delta"])
    return {"sigma_w": v["c_2"] * v["G_w"] * s, "sigma_v": v["c_3"] * v["G_v"] * s}


def yang_2(v: Values, T: int, eta: float, stability: float) -> Values:
    noise = yang_1(v | {"T": T})
    energy = noise["sigma_w"] ** 2 + noise["sigma_v"] ** 2
    bound = stability + eta * (v["G_w"] ** 2 + v["G_v"] ** 2) / 2 + (v["D_w"] ** 2 + v["D_v"] ** 2) / (2 * eta * T)
    bound += (v["D_w"] * v["G_w"] + v["D_v"] * v["G_v"]) / sqrt(noise["m"] * T) + eta * v["d"] * energy
    return noise | {"T": T, "eta": eta, "bound": bound}


def yang_2a(v: Values) -> Values:
    n, L, both = int(v["n"]), v["L"], v["G_w"] + v["G_v"]
    eta = v["c"] / (L * max(sqrt(n), sqrt(v["d"] * -log(v["delta"])) / v["epsilon"]))
    return yang_2(v, n, eta, 4 * sqrt(e * (n + n)) * both**2 * eta * exp(L * L * n * eta**2 / 2) / sqrt(n))


def yang_2b(v: Values) -> Values:
    n, both = int(v["n"]), v["G_w"] + v["G_v"]
    eta = v["c"] / (n * max(sqrt(n), sqrt(v["d"] * -log(v["delta"])) / v["epsilon"]))
    return yang_2(v, n * n, eta, 4 * sqrt(2) * eta * both**2 * (n + n))


def yang_steps(v: Values) -> Values:
    kappa, L, mu, t = v["kappa"], v["L"], v["mu"], v["t"]
    rho = L / kappa
    ratio = max(8 * kappa**2 * sqrt((L + L * L / rho) / mu), 4 * sqrt(2) * kappa**2)
    return {"eta_w": 2 / (mu * t), "eta_v": ratio * 2 / (mu * t ** (2 / 3))}


def yang_3(v: Values) -> Values:
    front = v["kappa"] ** 3.5 / v["mu"] ** 2.5 / v["T"] ** (2 / 3)
    return yang_steps(v) | {
        "bound": ORDER * front * max(1 / v["m"], v["d"] * v["sigma_w"] ** 2, v["d"] * v["sigma_v"] ** 2)
    }


def yang_4(v: Values) -> Values:
    kappa, mu, rho, n = v["L"] / v["rho"], v["mu"], v["rho"], v["n"]
    distance = 2 * sqrt(2 * v["e"] / mu) + 2 * sqrt((v["G_w"] / mu) ** 2 + v["G_v"] ** 2 / (rho * mu)) / n
    return {"bound": (v["G_w"] + kappa * v["G_v"]) * distance + 4 * v["G_v"] ** 2 / (rho * n)}


def yang_5(v: Values) -> Values:
    n, s = v["n"], 8 * gaussian(v["n"], v["n"], v["epsilon"], v["delta"])
    terms = n ** (-1 / 3), sqrt(v["d"] * -log(v["delta"])) / (n ** (5 / 6) * v["epsilon"])
    return yang_steps(v) | {
        "T": n, "sigma_w": s * v["G_w"], "sigma_v": s * v["G_v"],
        "bound": ORDER * v["kappa"] ** 2.75 / v["mu"] ** 1.75 * max(terms),
    }  # fmt: skip


# Zhang, Thekumparampil, Oh and He 2022


def zhang_3_3(v: Values) -> Values:
    n, L, mu, logs = v["n"], v["L"], v["mu"], log(2.5 / v["delta"])
    kappa = v["ell"] / mu
    return {
        "energy": L * L / (mu * n * n),
        "sigma": 4 * L * sqrt(2 * logs) / (mu * n * v["epsilon"]),
        "bound": L * L * kappa * (7 / (mu * n) + 48 * v["d"] * logs / (mu * n**2 * v["epsilon"] ** 2)),
    }


def zhang_3_4(v: Values) -> Values:
    n, L, D, logs = int(v["n"]), v["L"], v["D"], log(2.5 / v["delta"])
    K, b = floor(log2(n)), sqrt(v["d"] * logs) / (n * v["epsilon"])
    mu = L / D * max(1 / sqrt(n), 14 * log2(n) * b)
    return {
        "K": K, "mu": mu, "sigma": 4 * L * sqrt(2 * logs) / (mu * 2 ** v["k"] * (n // K) * v["epsilon"]),
        "energy": mu * 2 ** v["k"] * (L / (mu * 2 ** v["k"] * (n // K))) ** 2,
        "bound": 4 * L * D * log2(n) * (1 / sqrt(n) + 7 * b),
    }  # fmt: skip


def zhang_4_3(v: Values) -> Values:
    n, L, ell, logs = v["n"], v["L"], v["ell"], log(5 / v["delta"])
    mu = min(v["mu_x"], v["mu_y"])
    condition = ell / v["mu_x"] * ell / v["mu_y"] + ell / mu
    noise = {f"sigma_{z}": 8 * L / (n * v["epsilon"]) * sqrt(2 * logs / (v[f"mu_{z}"] * mu)) for z in "xy"}
    terms = 3 / (mu * n) + 128 * v["d"] * logs / (mu * n**2 * v["epsilon"] ** 2)
    return noise | {"energy": L * L / (mu * n * n), "bound": 3 * L * L * condition * terms}


def zhang_4_5(v: Values) -> Values:
    n, L, D, logs = int(v["n"]), v["L"], v["D"], log(5 / v["delta"])
    K, b = floor(log2(n)), sqrt(v["d"] * logs) / (n * v["epsilon"])
    mu = L / D * max(2 / sqrt(n), 13 * log2(n) * b)
    return {
        "K": K, "mu": mu, "sigma": 8 * L / (n // K * v["epsilon"]) * sqrt(2 * logs / (mu * 2 ** v["k"] * mu)),
        "energy": L * L / (mu * (n // K) ** 2), "bound": 16 * L * D * log2(n) ** 2 * (1 / sqrt(n) + 5 * b),
    }  # fmt: skip


def zhang_b_6(v: Values) -> Values:
    n, L, D, logs, mu_y = int(v["n"]), v["L"], v["D"], log(2.5 / v["delta"]), v["mu_y"]
    K, b = floor(log2(n)), sqrt(v["d"] * logs) / (n * v["epsilon"])
    nbar, mu = n // K, 3 * L / D * max(1 / sqrt(n), 4 * log2(n) * b)
    mu_k = mu * 2 ** v["k"]
    phases = 8 * K / (mu_y * nbar) + 65 * (K - 1) * v["d"] * logs / (mu_y * (nbar * v["epsilon"]) ** 2)
    return {
        "K": K, "mu": mu, "sigma": 4 * L / (nbar * v["epsilon"]) * sqrt(2 * logs / (mu_k * min(mu_k, mu_y))),
        "energy": L * L / (nbar**2 * min(mu_k, mu_y)),
        "bound": 6 * L * D * log2(n) * (1 / sqrt(n) + 4 * b) + L * L * phases,
    }  # fmt: skip


def table(cost: Callable[[float, float], float]) -> Callable[[Values], Values]:
    """A row of Table 2 in n and r = ell D/L, by its largest term."""
    return lambda v: {"bound": ORDER * cost(v["n"], v["r"])}


# Zhang et al. 2025


def clip_1(v: Values) -> Values:
    s = 8 * gaussian(v["n"], v["T"], v["epsilon"], v["delta"])
    return {"m": minibatch(v["n"], v["T"], v["epsilon"]), "sigma_x": s * v["C_1"], "sigma_y": s * v["C_2"]}


def clip_1_open(v: Values) -> Values:
    s = gaussian(v["n"], v["T"], v["epsilon"], v["delta"])
    return {"sigma_x": v["c_2"] * v["C_1"] * s, "sigma_y": v["c_3"] * v["C_2"] * s}


def clip_2(v: Values) -> Values:
    l, kappa = v["l"], v["l"] / v["mu"]
    T = m = ceil(1 / error(v["d"], v["n"], v["epsilon"], v["delta"]))
    noise = clip_1_open(v | {"T": T})
    eta_x = 1 / (16 * (kappa + 1) ** 2 * l)
    square = v["Delta_Phi"] / (eta_x * (T + 1)) + 9 / 4 * kappa * l**2 * v["Lambda"] ** 2 / (T + 1)
    square += (27 / 4 * kappa + 1 / (16 * kappa)) * v["B"] ** 2 / m
    square += (9 / 2 * kappa + 1 / (16 * kappa)) * v["d"] * (noise["sigma_x"] ** 2 + noise["sigma_y"] ** 2)
    return noise | {
        "T": T, "m": m, "kappa": kappa, "eta_x": eta_x, "eta_y": 1 / l, "bound": sqrt(256 / 103 * square)
    }  # fmt: skip


def least(power: float) -> Callable[[Values], Values]:
    """min{1, d^power sqrt(log(1/delta))/(n epsilon)}."""
    return lambda v: {
        "bound": ORDER * min(1, v["d"] ** power * sqrt(-log(v["delta"])) / (v["n"] * v["epsilon"]))
    }  # fmt: skip


def private_5_open(v: Values) -> Values:
    root = sqrt(v["R"] * -log(v["delta"])) / (v["n"] * v["epsilon"])
    return {
        "sigma_x1": v["c_5"] * root / sqrt(v["T"]), "sigma_x2": v["c_6"] * root,
        "sigma_y": v["c_7"] * (2 * v["C_0"] ** 2 + v["beta"] * v["M"]) * root,
    }  # fmt: skip


def private_5(v: Values) -> Values:
    noise = private_5_open(v | {"c_5": 4, "c_6": 4, "c_7": 4 / v["mu"]})
    return noise | {"m": minibatch(v["n"], v["T"], v["epsilon"], 8)}


def private_6(v: Values) -> Values:
    a, l, d = error(v["d"], v["n"], v["epsilon"], v["delta"]), v["l"], v["d"]
    many = ceil(a ** (-4 / 3))
    T = ceil(a ** (2 / 3) * many)
    noise = private_5(v | {"T": T, "R": many})
    C_2 = l + l * l / v["mu"]
    eta_x = min(1 / (2 * C_2), 1 / (2 * sqrt(2 * T * noise["sigma_x2"] ** 2 * C_2**2 * d)))
    bound = ORDER * (d * -log(v["delta"])) ** (1 / 3) / (v["n"] * v["epsilon"]) ** (2 / 3)
    return noise | {"R": many, "T": T, "T_2": many, "m": many, "eta_x": eta_x, "bound": bound}


# Xu et al. 2026


def algorithm_3(v: Values, found: Values) -> Values:
    scale = sqrt(-log(v["delta"])) / v["epsilon"]
    refresh = max(1 / found["S_1"], sqrt(found["T"] / found["q"]) / v["n"])
    return found | {
        "sigma_omega": v["C_v"] * scale * refresh,
        "sigma_zeta": v["C_u"] * scale * max(1 / found["S_2"], sqrt(found["T"]) / v["n"]),
    }


def rgda_empirical(v: Values) -> Values:
    a, n, L, M, F_0 = error(v["d"], v["n"], v["epsilon"], v["delta"]), v["n"], v["L"], v["M"], v["F_0"]
    T = ceil(max(((L * F_0) ** 0.25 / (sqrt(M) * a)) ** (4 / 3), 1 / a))
    S_2 = ceil(max((M / (sqrt(F_0 * L) * a)) ** (2 / 3), M ** (1 / 3) * n * a ** (2 / 3) / (L * F_0) ** (1 / 6)))
    found = {"T": T, "q": floor(1 / (T * a * a)), "S_1": n, "S_2": S_2, "K": 1, "eta": 1 / (2 * L)}
    return algorithm_3(v, found) | {"bound": ORDER * a ** (2 / 3)}


def rgda_population(v: Values) -> Values:
    a, n, L = error(v["d"], v["n"], v["epsilon"], v["delta"]), v["n"], v["L"]
    kappa, logs = L / v["mu"], log(4 / v["delta_1"])
    step = sqrt(a) / (L * logs)
    found = {
        "T": ceil(a ** (-2 / 3)), "q": floor(a ** (-1 / 3)), "S_1": ceil(round(n ** (2 / 3), 9)),
        "S_2": ceil(logs**2 * kappa * a ** (-1 / 3)), "K": ceil(kappa), "eta": step, "lambda": 1 / (6 * L), "r": step,
        "D": step**2,
    }  # fmt: skip
    return algorithm_3(v, found) | {"bound": ORDER * max(n ** (-1 / 3), sqrt(a))}


def koskela_binomial(v: Values) -> Values:
    """The mean as the sum of the chances of the law, each by its recursion."""
    chance, mean, total = 1.0, 0.0, 0.0
    for number in range(1, 20_000):
        chance *= (1 - v["gamma"]) * (number - 1 + v["shape"]) / number
        mean, total = mean + number * chance, total + chance
    mean /= total
    return {"mean": mean, "epsilon": v["e_1"] + v["e_2"] * (1 + v["shape"]), "bound": mean * v["delta_1"]}


BY_HAND: dict[str, Callable[[Values], Values]] = {
    "bok2024.alternating_step": lambda v: {
        "bound": 1 - v["eta"] * v["mu"] + v["eta"] * v["ell"] * (1 + v["eta"] * v["ell"])
    },
    "bok2024.cocoercive_step": lambda v: {"bound": sqrt(1 - v["eta"] * v["mu"] * (2 - v["eta"] * v["ell"]))},
    "bok2024.cyclic": bok_cyclic,
    "bok2024.diameter": bok_diameter,
    "bok2024.extragradient_step": bok_extragradient,
    "bok2024.full_batch": bok_full,
    "bok2024.gradient_step": lambda v: {"bound": 1 - v["eta"] * v["mu"]},
    "bok2024.linear_extragradient_step": lambda v: {"bound": sqrt(1 - v["eta"] * v["mu"])},
    "bok2024.proportional_steps": lambda v: bok_saddle(v["eta_w"], v["mu"], v["L"]),
    "bok2024.regularised_saddle_step": lambda v: {"bound": math.hypot(1 - v["eta"] * v["mu"], v["eta"] * v["ell"])},
    "bok2024.saddle_step": lambda v: bok_saddle(v["eta"], v["mu"], v["L"]),
    "bok2024.unequal_noise": bok_unequal,
    "dong2022.advantage": lambda v: {"bound": 1 - 2 * (1 - v["delta"]) / (1 + exp(v["epsilon"]))},
    "dong2022.group": lambda v: {"bound": v["delta"] * sum(exp(i * v["epsilon"]) for i in range(v["k"]))},
    "dong2022.guess": lambda v: {"bound": v["delta"] + exp(v["epsilon"]) / v["N"]},
    "koskela2024.negative_binomial": koskela_binomial,
    "koskela2024.poisson": lambda v: {
        "bound": v["delta_1"] * v["mean"],
        "epsilon": v["e_1"] + v["delta_0"] * v["mean"],
    },
    "xu2026.theorem_1": rgda_empirical,
    "xu2026.theorem_2": rgda_population,
    "xu2026.theorem_3": rgda_empirical,
    "yang2022.theorem_1": yang_1,
    "yang2022.theorem_1_existential": yang_1_open,
    "yang2022.theorem_2a": yang_2a,
    "yang2022.theorem_2b": yang_2b,
    "yang2022.theorem_3": yang_3,
    "yang2022.theorem_4": yang_4,
    "yang2022.theorem_5": yang_5,
    "zhang2022.corollary_b_6": zhang_b_6,
    "zhang2022.table_2_accelerated_svrg": table(lambda n, r: max(n, n * r)),
    "zhang2022.table_2_catalyst": table(lambda n, r: max(n * r, n**1.25)),
    "zhang2022.table_2_extragradient": table(lambda n, r: max(n**1.5 * r, n**2)),
    "zhang2022.table_2_jin": table(lambda n, r: max(n, n * r)),
    "zhang2022.table_2_svrg": table(lambda n, r: max(n, n * r**2)),
    "zhang2022.theorem_3_3": zhang_3_3,
    "zhang2022.theorem_3_4": zhang_3_4,
    "zhang2022.theorem_4_3": zhang_4_3,
    "zhang2022.theorem_4_5": zhang_4_5,
    "zhang2025.theorem_1": clip_1,
    "zhang2025.theorem_1_existential": clip_1_open,
    "zhang2025.theorem_2": clip_2,
    "zhang2025.theorem_3": least(0.5),
    "zhang2025.theorem_4": least(1.5),
    "zhang2025.theorem_5": private_5,
    "zhang2025.theorem_5_existential": private_5_open,
    "zhang2025.theorem_6": private_6,
}

# Three settings, each in every theorem's region but for ``NARROW``; every letter that some theorem asks for.
SETTINGS: tuple[Values, ...] = (
    {"n": 10_000, "d": 50, "epsilon": 0.5, "delta": 1e-9, "T": 100, "m": 200, "R": 30, "t": 7, "k": 3, "r": 0.3,
     "L": 1.5, "M": 2.0, "F_0": 0.7, "mu": 0.4, "mu_x": 0.5, "mu_y": 0.9, "ell": 1.3, "rho": 0.6, "kappa": 2.5,
     "l": 1.2, "e": 1e-3, "D": 1.7, "D_w": 0.8, "D_v": 2.1, "G_w": 1.9, "G_v": 0.6, "c": 0.7, "C_0": 1.1, "C_1": 2.3,
     "C_2": 0.9, "C_v": 3.1, "C_u": 0.2, "B": 1.4, "Lambda": 0.6, "Delta_Phi": 2.2, "beta": 1.6, "delta_1": 0.05,
     "c_1": 60.0, "c_2": 7.0, "c_3": 5.0, "c_4": 60.0, "c_5": 3.0, "c_6": 2.0, "c_7": 11.0, "sigma_w": 0.3,
     "sigma_v": 0.8},
    {"n": 2_000, "d": 7, "epsilon": 0.9, "delta": 1e-7, "T": 3, "m": 1500, "R": 500, "t": 1, "k": 10, "r": 40.0,
     "L": 3.0, "M": 1.1, "F_0": 2.9, "mu": 2.5, "mu_x": 2.0, "mu_y": 1.1, "ell": 7.0, "rho": 2.9, "kappa": 1.1,
     "l": 2.6, "e": 0.2, "D": 0.4, "D_w": 3.0, "D_v": 0.2, "G_w": 0.1, "G_v": 4.0, "c": 2.0, "C_0": 0.5, "C_1": 0.3,
     "C_2": 1.9, "C_v": 0.4, "C_u": 1.2, "B": 0.3, "Lambda": 5.0, "Delta_Phi": 0.4, "beta": 0.2, "delta_1": 0.4,
     "c_1": 9.0, "c_2": 49.0, "c_3": 48.0, "c_4": 9.0, "c_5": 0.5, "c_6": 6.0, "c_7": 0.1, "sigma_w": 5.0,
     "sigma_v": 0.1},
    {"n": 123_457, "d": 40_000, "epsilon": 0.1, "delta": 3e-12, "T": 40_000, "m": 3_000, "R": 12, "t": 900, "k": 16,
     "r": 2.0, "L": 0.2, "M": 0.9, "F_0": 5.0, "mu": 0.05, "mu_x": 0.01, "mu_y": 0.02, "ell": 0.3, "rho": 0.1,
     "kappa": 30.0, "l": 0.06, "e": 1e-9, "D": 12.0, "D_w": 1.0, "D_v": 1.0, "G_w": 1.0, "G_v": 1.0, "c": 1.0,
     "C_0": 9.0, "C_1": 1.0, "C_2": 1.0, "C_v": 1.0, "C_u": 1.0, "B": 10.0, "Lambda": 0.1, "Delta_Phi": 30.0,
     "beta": 3.0, "delta_1": 0.001, "c_1": 1e7, "c_2": 1.0, "c_3": 2.0, "c_4": 1.0, "c_5": 1.0, "c_6": 2.0, "c_7": 3.0,
     "sigma_w": 0.01, "sigma_v": 1.5},
)  # fmt: skip


STEPS: Values = {"c": 0.93, "s": 0.7, "sigma": 2.5, "m": 60, "T": 100, "E": 7, "l": 3, "eta": 0.11, "eta_w": 0.07,
                 "mu": 0.5, "L": 1.5, "ell": 1.2}  # fmt: skip
RUNS: Values = {"e_1": 0.8, "e_2": 0.3, "delta_1": 1e-6, "delta_2": 0.01, "delta_0": 0.2, "shape": 1.5, "gamma": 0.05,
                "mean": 12.0, "N": 30}  # fmt: skip
NARROW: Values = {"d": 4}  # Theorem 6 of zhang2025 has no room for more dimensions in the last setting
WIDE: Values = {"n": 10**8, "d": 1, "epsilon": 1.0, "delta": 1e-17}  # where 1/sqrt n outweighs what privacy costs


@pytest.mark.parametrize("setting", range(3))
@pytest.mark.parametrize("id", BY_HAND)
def test_formulas_are_the_papers(id: str, setting: int) -> None:
    further = {"bok2024": STEPS, "dong2022": RUNS, "koskela2024": RUNS}  # whose regions the other settings miss
    contracts = further.get(id.partition(".")[0], {})
    compare(id, SETTINGS[setting] | contracts | (NARROW if (id, setting) == ("zhang2025.theorem_6", 2) else {}))


@pytest.mark.parametrize("id", ["zhang2022.theorem_3_4", "zhang2022.theorem_4_5", "zhang2022.corollary_b_6"])
def test_formulas_are_the_papers_where_privacy_costs_little(id: str) -> None:
    compare(id, SETTINGS[0] | WIDE)


def compare(id: str, setting: Values) -> None:
    """Every number that the theorem gives at these values, against those written out again."""
    thm = registry.theorem(id)
    letters = {str(parameter.symbol): parameter.default for parameter in thm.parameters}
    values = {name: setting[name] for name in letters if name in setting}
    assert all(letters[name] is not None for name in letters.keys() - values.keys()), "a letter without a value"
    expected = BY_HAND[id](values)
    found: Values = {}
    if thm.schedule_formulas:
        found |= thm.schedule(**values)
    if thm.noise_formulas:
        found |= thm.noise(**values)
    if thm.rate is not None or thm.bound_formula is not None:
        constant = {} if thm.bound_formula is not None else {"constant": ORDER}
        found["bound"] = thm.bound(**values, **constant)
    assert found == pytest.approx(expected, rel=1e-12)
    assert all(math.isfinite(value) and value > 0 for value in found.values())


def test_every_theorem_is_written_out_again() -> None:
    assert list(BY_HAND) == [thm.id for thm in registry.theorems()]


def test_a_lower_bound_is_at_most_its_constant() -> None:
    """Theorem 4 at n = 100, d = 50: the order before the minimum is 10.73."""
    sizes = {"n": 100, "d": 50, "epsilon": 1.0, "delta": 1e-4}
    assert 50**1.5 * sqrt(log(1e4)) / 100 == pytest.approx(10.73, abs=5e-3)
    assert registry.theorem("zhang2025.theorem_4").bound(**sizes, constant=1.0) == 1
    assert registry.theorem("zhang2025.theorem_3").bound(**sizes | {"d": 10**5}, constant=0.25) == 0.25
