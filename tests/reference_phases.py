"""Output perturbation in plain NumPy, with exact empirical solutions in place of a base solver.

Zhang, Thekumparampil, Oh, He 2022: Algorithms 1 to 5 and Appendix B.4, every parameter computed anew from
the list of algorithms; and NISPP. The gradients of the problems here are affine, so a solution in the
interior solves a linear system; one on the boundary is iterated to 1e-13.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from reference import bilinear_gradient, project, quadratic_gradient

NOTHING = np.zeros(0)
GRADIENTS = {
    "bilinear": bilinear_gradient,
    "quadratic": quadratic_gradient,
    "linear": lambda problem, z, w, v: (z, NOTHING),
    "mean_estimation": lambda problem, z, w, v: (problem.mu * (w - z), NOTHING),
    "product": lambda problem, z, w, v: (z * v[0], np.array([z @ w]) - problem.mu * v),
    "product_mirror": lambda problem, z, w, v: (problem.mu * w - z @ v, -z * w[0]),
}


class Phase(NamedTuple):
    """Solve on these records with r_w/2 |w - c_w|^2 - r_v/2 |v - c_v|^2 added, to this energy.

    centred : which parts have the last release as their centre; the centre of the other is 0
    moduli : strong convexity and concavity, of f and the regularisers together
    released : part -> standard deviation;  joint : one Gaussian for (sqrt(mu_w) w, sqrt(mu_v) v)
    """

    records: slice
    regulariser: tuple
    centred: str
    moduli: tuple
    energy: float
    released: dict
    joint: bool = False


def split(n):
    """K = floor(log2 n) blocks of floor(n/K) records."""
    K = math.floor(math.log2(n) + 1e-12)
    size = n // K
    return [slice(k * size, k * size + size) for k in range(K)], size


def constants(problem):
    """n, L, D of f."""
    D = max(float(domain[0, 3]) for domain in (problem.domain_w, problem.domain_v) if len(domain))
    return len(problem.records), math.hypot(problem.lipschitz_w, problem.lipschitz_v), D


def algorithm_1(problem, eps, delta):
    n, L, _ = constants(problem)
    mu = problem.convexity
    sigma = 4 * L * math.sqrt(2 * math.log(2.5 / delta)) / (mu * n * eps)
    return [Phase(slice(0, n), (0, 0), "", (mu, 0), mu * (L / (mu * n)) ** 2, {"w": sigma})]


def algorithm_2(problem, eps, delta):
    n, L, D = constants(problem)
    noise = 14 * math.log2(n) * math.sqrt(problem.dim_w * math.log(2.5 / delta)) / (n * eps)
    mu, (blocks, nb) = (L / D) * max(1 / math.sqrt(n), noise), split(n)
    phases = []
    for k, block in enumerate(blocks, 1):
        mu_k = mu * 2**k
        sigma = 4 * L * math.sqrt(2 * math.log(2.5 / delta)) / (mu_k * nb * eps)
        phases.append(Phase(block, (mu_k, 0), "w", (mu_k, 0), mu_k * (L / (mu_k * nb)) ** 2, {"w": sigma}))
    return phases


def algorithm_3(problem, eps, delta, *, tight=False):
    n, L, _ = constants(problem)
    moduli = problem.convexity, problem.concavity
    mu = min(moduli)
    factor, log = (4, math.log(2.5 / delta)) if tight else (8, math.log(5 / delta))
    released = {
        part: factor * L / (n * eps) * math.sqrt(2 * log / (modulus * mu))
        for part, modulus in zip("wv", moduli, strict=True)
    }
    return [Phase(slice(0, n), (0, 0), "", moduli, L**2 / (mu * n**2), released, tight)]


def algorithm_3_tight(problem, eps, delta):
    return algorithm_3(problem, eps, delta, tight=True)


def phased(problem, eps, delta, part):
    """Algorithm 4 (w) or 5 (v)."""
    n, L, D = constants(problem)
    d = max(problem.dim_w, problem.dim_v)
    noise = 13 * math.log2(n) * math.sqrt(d * math.log(5 / delta)) / (n * eps)
    mu, (blocks, nb) = (L / D) * max(2 / math.sqrt(n), noise), split(n)
    phases = []
    for k, block in enumerate(blocks, 1):
        mu_k = mu * 2**k
        sigma = 8 * L / (nb * eps) * math.sqrt(2 * math.log(5 / delta) / (mu_k * mu))
        both = (mu_k, mu) if part == "w" else (mu, mu_k)
        phases.append(Phase(block, both, part, both, L**2 / (mu * nb**2), {part: sigma}))
    return phases


def algorithm_4(problem, eps, delta):
    return phased(problem, eps, delta, "w")


def algorithm_5(problem, eps, delta):
    return phased(problem, eps, delta, "v")


def algorithms_4_and_5(problem, eps, delta):
    return algorithm_4(problem, eps, delta) + algorithm_5(problem, eps, delta)


def one_sided(problem, eps, delta, part):
    """Appendix B.4: f is strongly curved in the other part by itself."""
    n, L, D = constants(problem)
    d, curved = (problem.dim_w, problem.concavity) if part == "w" else (problem.dim_v, problem.convexity)
    noise = 4 * math.log2(n) * math.sqrt(d * math.log(2.5 / delta)) / (n * eps)
    mu, (blocks, nb) = 3 * (L / D) * max(1 / math.sqrt(n), noise), split(n)
    phases = []
    for k, block in enumerate(blocks, 1):
        mu_k = mu * 2**k
        least = min(mu_k, curved)
        sigma = 4 * L / (nb * eps) * math.sqrt(2 * math.log(2.5 / delta) / (mu_k * least))
        regulariser, moduli = ((mu_k, 0), (mu_k, curved)) if part == "w" else ((0, mu_k), (curved, mu_k))
        phases.append(Phase(block, regulariser, part, moduli, L**2 / (nb**2 * least), {part: sigma}))
    return phases


def convex_strongly_concave(problem, eps, delta):
    return one_sided(problem, eps, delta, "w")


def strongly_convex_concave(problem, eps, delta):
    return one_sided(problem, eps, delta, "v")


def nispp(problem, batch, lam, sigma, drawn=()):
    """u_{k+1} solves VI(F_{B_k} + lam (. - w_k)) to L/(lam B); w_{k+1} = u_{k+1} + N(sigma).

    drawn : the minibatches, a row each, or nothing for one pass over the records
    """
    n, L, _ = constants(problem)
    energy = lam * (L / (lam * batch)) ** 2
    passed = [slice(k * batch, (k + 1) * batch) for k in range(n // batch)]
    return [
        Phase(records, (lam, lam), "wv", (lam, lam), energy, {"w": sigma, "v": sigma}, True)
        for records in (drawn if len(drawn) else passed)
    ]


def affine(problem, phase, centre):
    """M, b with M z + b = (grad_w, -grad_v) of the phase's objective at z = (w, v)."""
    gradient, d, size = GRADIENTS[problem.name], problem.dim_w, problem.dim_w + problem.dim_v
    around = np.concatenate(
        [
            centre[:d] if "w" in phase.centred else np.zeros(d),
            centre[d:] if "v" in phase.centred else np.zeros(size - d),
        ]
    )
    weight = np.repeat(np.array(phase.regulariser, float), [d, size - d])

    def operator(z):
        each = [gradient(problem, record, z[:d], z[d:]) for record in problem.records[phase.records]]
        mean_w, mean_v = np.mean([g[0] for g in each], axis=0), np.mean([g[1] for g in each], axis=0)
        return np.concatenate([mean_w, -mean_v]) + weight * (z - around)

    b = operator(np.zeros(size))
    return np.stack([operator(e) - b for e in np.eye(size)], axis=1), b


def onto(problem, z):
    d = problem.dim_w
    return np.concatenate([project(z[:d], problem.domain_w), project(z[d:], problem.domain_v)])


def solution(problem, phase, centre):
    """The saddle of the phase's objective over the domains, and whether it is in their interior."""
    M, b = affine(problem, phase, centre)
    z = np.linalg.solve(M, -b)
    if np.array_equal(onto(problem, z), z):
        return z, True
    if np.array_equal(M, M[0, 0] * np.eye(len(M))):  # a ball about z, met by the domain at the point nearest to z
        return onto(problem, z), False
    eta = 0.5 / np.linalg.norm(M, 2)
    z = onto(problem, z)
    for _ in range(100_000):  # extragradient
        half = onto(problem, z - eta * (M @ z + b))
        new = onto(problem, z - eta * (M @ half + b))
        if np.linalg.norm(new - z) <= 1e-15 * max(1.0, np.linalg.norm(z)):
            break
        z = new
    return z, False


class PhaseResult(NamedTuple):
    """Exact solution and the released point (w, v) after one phase, unreleased parts as they were."""

    exact: np.ndarray
    interior: bool
    point: np.ndarray


def replay(problem, phases, released, starts=(0,)):
    """Follow the recorded ``released`` rows through the phases.

    starts : the phases that begin from the start again, parts already released staying for the output
    """
    d, rows = problem.dim_w, iter(released)
    results, output = [], problem.start.copy()
    point = output.copy()
    for k, phase in enumerate(phases):
        if k in starts:
            point = problem.start.copy()
        exact, interior = solution(problem, phase, point)
        point = point.copy()
        if phase.joint:
            scale = np.repeat(np.sqrt(np.array(phase.moduli, float)), [d, problem.dim_v])
            point = next(rows) / scale
        else:
            for part in phase.released:
                block = slice(0, d) if part == "w" else slice(d, None)
                point[block] = next(rows)[: point[block].size]
        point = onto(problem, point)
        for part in phase.released:
            block = slice(0, d) if part == "w" else slice(d, None)
            output[block] = point[block]
        results.append(PhaseResult(exact, interior, output.copy()))
    assert next(rows, None) is None
    return results
