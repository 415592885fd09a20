"""Output perturbation in plain NumPy, with exact empirical solutions in place of a base solver.

The gradients of the problems here are affine, so a solution in the interior solves a linear system; one on the
boundary is iterated to 1e-15.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from dpcheck.algorithms.problem import Array, Problem
from reference.replay import Replay

_SLACK = 1 + 1e-6


def output_perturbation(
    replay: Replay, *, listed: PhaseList, epsilon: float, delta: float, energy: float | None = None,
    quiet: bool = False,
) -> None:  # fmt: skip
    """Follow an algorithm of Zhang et al. 2022; the output is what its phases released last.

    energy : how accurate the base solver was asked to be, where it is not the theorem's;  quiet : no noise
    """
    points = _followed(replay, listed(replay.problem, epsilon, delta), energy, quiet)
    replay.end([points[-1]], "the parts released last")


def nispp_phases(replay: Replay, *, epsilon: float, delta: float, energy: float | None = None,
                 quiet: bool = False) -> None:  # fmt: skip
    """Follow NISPP; the output is the mean of what its phases released."""
    first = replay.s.phases[0]
    size, lam, sigma = int(first[1] - first[0]), float(first[3]), 0.0
    sampled = replay.s.sampling == "with_replacement"
    count = len(replay.s.phases) if sampled else 0
    drawn = [replay.minibatch(size, "with_replacement", role="of a phase") for _ in range(count)]
    if not quiet:
        sigma = float(replay.history.noise[0, 0]) / np.sqrt(lam)  # the accountant's, which no formula gives
    points = _followed(replay, nispp(replay.problem, size, lam, sigma, drawn), energy, quiet)
    replay.end([np.mean(points, axis=0)], "the average of the phases")


def _followed(replay: Replay, phases: list[Phase], energy: float | None, quiet: bool) -> list[Array]:
    """Go through the phases; return the released point after each, unreleased parts as they were."""
    d = replay.d
    centre, output, points = replay.start, replay.start, list[Array]()
    for k, phase in enumerate(phases):
        replay.step = k
        replay.iterate(output, "point released")
        if k == 0 or phase.fresh:
            centre = replay.start
        exact, inside = solution(replay, phase, centre)
        replay.interior[inside] += 1
        allowed = phase.energy if energy is None else energy
        centre, used = centre.copy(), 0.0
        for part, theirs, ours, modulus, released, back in _released(replay, phase, exact, quiet):
            apart = modulus * float(np.sum((theirs - ours) ** 2))
            used += apart
            by = float(np.sqrt(max(used - allowed, 0.0)))
            told = (
                f"the {part} that phase {k + 1} solved for differs from the exact one by "
                f"{np.linalg.norm(theirs - ours):.3g}, more than its accuracy allows"
            )
            by = by if used > allowed * _SLACK + 1e-20 else 0.0
            replay.differences.note("solutions", by, told, allowed=0.0)
            centre = back(centre, released)
        centre = replay.onto(centre)
        output = output.copy()
        for part in phase.released:
            block = slice(0, d) if part == "w" else slice(d, None)
            output[block] = centre[block]
        points.append(output)
    return points


def _released(replay: Replay, phase: Phase, exact: Array, quiet: bool) -> Iterator[tuple[Any, ...]]:
    """Yield for each private quantity its name, the run's, the exact one, its modulus, what was released, how to put
    it back.
    """
    d, size = replay.d, len(exact)
    if phase.joint:
        scale = np.repeat(np.sqrt(np.array(phase.moduli, float)), [d, size - d])
        sigma = 0.0 if quiet else phase.released["w"] * float(np.sqrt(phase.moduli[0]))
        theirs, released = replay.solved(size, sigma, "(w, v)")
        yield "(w, v)", theirs, scale * exact, 1.0, released / scale, lambda x, new: np.asarray(new)
        return
    for part, sigma in phase.released.items():
        block = slice(0, d) if part == "w" else slice(d, size)
        theirs, released = replay.solved(exact[block].size, 0.0 if quiet else sigma, part)

        def back(x: Array, new: Array, block: slice = block) -> Array:
            x = x.copy()
            x[block] = new
            return x

        yield part, theirs, exact[block], phase.moduli["wv".index(part)], released, back


def affine(replay: Replay, phase: Phase, centre: Array) -> tuple[Array, Array]:
    """Return M, b with M z + b = (grad_w, -grad_v) of the phase's objective at z = (w, v)."""
    d, size = replay.d, len(centre)
    around = np.zeros(size)
    for part, block in (("w", slice(0, d)), ("v", slice(d, size))):
        if part in phase.centred:
            around[block] = centre[block]
    weight = np.repeat(np.array(phase.regulariser, float), [d, size - d])

    def operator(z: Array) -> Array:
        each = [replay.gradient(record, z[:d], z[d:]) for record in replay.problem.records[phase.records]]
        mean_w, mean_v = np.mean([g[0] for g in each], axis=0), np.mean([g[1] for g in each], axis=0)
        return np.concatenate([mean_w, -mean_v]) + weight * (z - around)

    b = operator(np.zeros(size))
    return np.stack([operator(e) - b for e in np.eye(size)], axis=1), b


def solution(replay: Replay, phase: Phase, centre: Array) -> tuple[Array, bool]:
    """Return the saddle of the phase's objective over the domains, and whether it is in their interior."""
    M, b = affine(replay, phase, centre)
    z: Array = np.linalg.solve(M, -b).astype(float)
    if np.array_equal(replay.nearest(z), z):
        return z, True
    if np.array_equal(M, M[0, 0] * np.eye(len(M))):  # a ball about z, met by the domain at the point nearest to z
        return replay.nearest(z), False
    eta = 0.5 / float(np.linalg.norm(M, 2))
    z = replay.nearest(z)
    for _ in range(100_000):  # extragradient
        half = replay.nearest(z - eta * (M @ z + b))
        new = replay.nearest(z - eta * (M @ half + b))
        if np.linalg.norm(new - z) <= 1e-15 * max(1.0, float(np.linalg.norm(z))):
            break
        z = new
    return z, False


# The phases of the output-perturbation algorithms, every number computed anew from the papers.
#
# Zhang, Thekumparampil, Oh, He 2022: Algorithms 1 to 5 and Appendix B.4; and NISPP (Boob and Guzman 2024).


@dataclass(frozen=True)
class Phase:
    """Solve on these records with r_w/2 |w - c_w|^2 - r_v/2 |v - c_v|^2 added, to this energy.

    centred : which parts have the last release as their centre; the centre of the other is 0
    moduli : strong convexity and concavity, of f and the regularisers together
    released : part -> standard deviation;  joint : one Gaussian for (sqrt(mu_w) w, sqrt(mu_v) v)
    fresh : whether it begins from the start again, as the first phase of an algorithm
    """

    records: Any
    regulariser: tuple[float, float]
    centred: str
    moduli: tuple[float, float]
    energy: float
    released: dict[str, float] = field(default_factory=dict)
    joint: bool = False
    fresh: bool = False


PhaseList = Callable[[Problem, float, float], list[Phase]]


def split(n: int) -> tuple[list[slice], int]:
    """Return K = floor(log2 n) blocks of floor(n/K) records."""
    K = math.floor(math.log2(n) + 1e-12)
    size = n // K
    return [slice(k * size, k * size + size) for k in range(K)], size


def constants(problem: Problem) -> tuple[int, float, float]:
    """Return n, L, D of f."""
    D = max(float(domain[0, 3]) for domain in (problem.domain_w, problem.domain_v) if len(domain))
    return len(problem.records), math.hypot(problem.lipschitz_w, problem.lipschitz_v), D


def algorithm_1(problem: Problem, eps: float, delta: float) -> list[Phase]:
    """Return the phase of a strongly convex problem: minimise, add noise."""
    n, L, _ = constants(problem)
    mu = problem.convexity
    sigma = 4 * L * math.sqrt(2 * math.log(2.5 / delta)) / (mu * n * eps)
    return [Phase(slice(0, n), (0, 0), "", (mu, 0), mu * (L / (mu * n)) ** 2, {"w": sigma})]


def algorithm_2(problem: Problem, eps: float, delta: float) -> list[Phase]:
    """Return the phases of a convex problem, with growing regularisation about the point released last."""
    n, L, D = constants(problem)
    noise = 14 * math.log2(n) * math.sqrt(problem.dim_w * math.log(2.5 / delta)) / (n * eps)
    mu, (blocks, nb) = (L / D) * max(1 / math.sqrt(n), noise), split(n)
    phases = []
    for k, block in enumerate(blocks, 1):
        mu_k = mu * 2**k
        sigma = 4 * L * math.sqrt(2 * math.log(2.5 / delta)) / (mu_k * nb * eps)
        phases.append(Phase(block, (mu_k, 0), "w", (mu_k, 0), mu_k * (L / (mu_k * nb)) ** 2, {"w": sigma}))
    return phases


def algorithm_3(problem: Problem, eps: float, delta: float, *, tight: bool = False) -> list[Phase]:
    """Return the phase of a strongly convex-strongly concave problem; tight : one Gaussian for both parts."""
    n, L, _ = constants(problem)
    moduli = problem.convexity, problem.concavity
    mu = min(moduli)
    factor, log = (4, math.log(2.5 / delta)) if tight else (8, math.log(5 / delta))
    released = {
        part: factor * L / (n * eps) * math.sqrt(2 * log / (modulus * mu))
        for part, modulus in zip("wv", moduli, strict=True)
    }
    return [Phase(slice(0, n), (0, 0), "", moduli, L**2 / (mu * n**2), released, tight)]


algorithm_3_tight = partial(algorithm_3, tight=True)  # by its inequality (12)


def _phased(problem: Problem, eps: float, delta: float, part: str) -> list[Phase]:
    """Return the phases of Algorithm 4 (w) or 5 (v)."""
    n, L, D = constants(problem)
    d = max(problem.dim_w, problem.dim_v)
    noise = 13 * math.log2(n) * math.sqrt(d * math.log(5 / delta)) / (n * eps)
    mu, (blocks, nb) = (L / D) * max(2 / math.sqrt(n), noise), split(n)
    phases = []
    for k, block in enumerate(blocks, 1):
        mu_k = mu * 2**k
        sigma = 8 * L / (nb * eps) * math.sqrt(2 * math.log(5 / delta) / (mu_k * mu))
        both = (mu_k, mu) if part == "w" else (mu, mu_k)
        phases.append(Phase(block, both, part, both, L**2 / (mu * nb**2), {part: sigma}, fresh=k == 1))
    return phases


algorithm_4, algorithm_5 = partial(_phased, part="w"), partial(_phased, part="v")


def algorithms_4_and_5(problem: Problem, eps: float, delta: float) -> list[Phase]:
    """Return the phases of one after those of the other."""
    return algorithm_4(problem, eps, delta) + algorithm_5(problem, eps, delta)


def _one_sided(problem: Problem, eps: float, delta: float, part: str) -> list[Phase]:
    """Return the phases of Appendix B.4: f is strongly curved in the other part by itself."""
    n, L, D = constants(problem)
    d, curved = (problem.dim_w, problem.concavity) if part == "w" else (problem.dim_v, problem.convexity)
    noise = 4 * math.log2(n) * math.sqrt(d * math.log(2.5 / delta)) / (n * eps)
    mu, (blocks, nb) = 3 * (L / D) * max(1 / math.sqrt(n), noise), split(n)
    phases = []
    for k, block in enumerate(blocks, 1):
        mu_k = mu * 2**k
        least = min(mu_k, curved)
        sigma = 4 * L / (nb * eps) * math.sqrt(2 * math.log(2.5 / delta) / (mu_k * least))
        regulariser, moduli = ((mu_k, 0.0), (mu_k, curved)) if part == "w" else ((0.0, mu_k), (curved, mu_k))
        phases.append(Phase(block, regulariser, part, moduli, L**2 / (nb**2 * least), {part: sigma}))
    return phases


convex_strongly_concave = partial(_one_sided, part="w")  # Corollary B.6
strongly_convex_concave = partial(_one_sided, part="v")  # its mirror image


def nispp(problem: Problem, batch: int, lam: float, sigma: float, drawn: Sequence[Any] = ()) -> list[Phase]:
    """Return the phases: u_{k+1} solves VI(F_{B_k} + lam (. - w_k)) to L/(lam B); w_{k+1} = u_{k+1} + N(sigma).

    drawn : the minibatches, a row each, or nothing for one pass over the records
    """
    n, L, _ = constants(problem)
    energy = lam * (L / (lam * batch)) ** 2
    passed = [slice(k * batch, (k + 1) * batch) for k in range(n // batch)]
    return [
        Phase(records, (lam, lam), "wv", (lam, lam), energy, {"w": sigma, "v": sigma}, True)
        for records in (drawn if len(drawn) else passed)
    ]
