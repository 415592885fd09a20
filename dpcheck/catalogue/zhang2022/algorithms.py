"""The seven algorithms of Zhang, Thekumparampil, Oh, He, NeurIPS 2022, as schedules of phases.

For minimisation, Algorithm 1 (strongly convex, Theorem 3.3) and Algorithm 2 (convex, phased, Theorem 3.4). For saddle
points, Algorithm 3 (strongly convex-strongly concave, Theorem 4.3) with its joint variant, Algorithms 4 and 5
(convex-concave, phased, Theorem 4.5), apart and together, and their forms for one strongly curved side (Appendix B.4,
Corollary B.6). See ``output_perturbation`` for what carries the phases out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from dpcheck.algorithms.problem import Problem
from dpcheck.algorithms.promises import Promise, breaches
from dpcheck.algorithms.schedule import Schedule, Sizes
from dpcheck.catalogue.zhang2022 import SLOPE, game_of_a_solution
from dpcheck.catalogue.zhang2022.output_perturbation import OutputPerturbation, Phase, phase, radius_of
from dpcheck.errors import require, require_positive

if TYPE_CHECKING:
    from dpcheck.checks.games import Entry


def answers(problem: Problem, schedule: Schedule, side: str = "wv") -> tuple[dict[str, float], dict[str, str]]:
    """Answer for all theorems' letters and conditions; accuracy is certified, and what is released is projected.

    side : the blocks that are to start at 0
    """
    L = math.hypot(problem.lipschitz_w, problem.lipschitz_v)
    values = schedule.letters | {"L": L, "ell": problem.smoothness}
    broken = breaches(problem, side)
    conditions = {
        "f": " and ".join(filter(None, (broken["Lipschitz"], broken["smooth"], broken["convex-concave"]))),
        "bounded": broken["start"], "solver": "", "released": "",
    }  # fmt: skip
    return values, conditions


def blocks(n: int) -> list[tuple[int, int]]:
    """Return K = floor(log2 n) blocks of floor(n/K) records."""
    K = n.bit_length() - 1
    require(K >= 1, "n", "be at least 2", n)
    return [(k * (n // K), (k + 1) * (n // K)) for k in range(K)]


def gaussian_factor(share: float, delta: float, epsilon: float) -> float:
    """Return sqrt(2 log(share/delta))/epsilon, the noise multiplier that the paper's proofs take."""
    require_positive(epsilon, "epsilon")
    return math.sqrt(2 * math.log(share / delta)) / epsilon


def require_modulus(value: float, name: str, problem: Problem) -> None:
    """Require strong convexity or concavity."""
    require(value > 0, "problem", f"be strongly {name}", problem.name)


class StronglyConvex(OutputPerturbation):
    """Algorithm 1: minimise, then add noise."""

    name = "output_perturbation"
    source = "Algorithm 1, Theorem 3.3"
    example = "mean_estimation"
    minimisation = True

    @classmethod
    def schedule(cls, problem: Problem, sizes: Sizes, L: float) -> list[Phase]:
        """Plan one phase on all records, to within L/(mu n)."""
        n, mu = sizes.n, problem.convexity
        require_modulus(mu, "convex in w", problem)
        sensitivity = 4 * L / (mu * n)  # (6): twice the stability 2L/(mu n), for the solver's errors
        sigma = sensitivity * gaussian_factor(2.5, sizes.delta, sizes.epsilon)
        return [phase((0, n), mu_w=mu, energy=L**2 / (mu * n**2), sigma_w=sigma, sensitivity_w=sensitivity)]

    def promises(self, problem: Problem, schedule: Schedule) -> Iterator[Promise]:
        """Answer for Theorem 3.3."""
        values, conditions = answers(problem, schedule)
        yield Promise("zhang2022.theorem_3_3", "Theorem 3.3", values | {"mu": problem.convexity}, conditions)

    @classmethod
    def games(cls) -> Iterator[Entry]:
        """Yield a game in a ball of radius 3/n, which costs that share of the Lipschitz constant."""
        from dpcheck.checks.games import blank

        n = 40
        constants: dict[str, Any] = {"convexity": 1.0, "radius_w": 3 / n, "lipschitz_w": 1 + 3 / n}
        problem = blank(n, **constants, lipschitz_v=0.0, dim_v=0)
        yield game_of_a_solution(cls.name, problem, n, "all", {"b": 1.0})


class PhasedConvex(OutputPerturbation):
    """Algorithm 2: phases of growing regularisation about the point released last."""

    name = "phased_output_perturbation"
    source = "Algorithm 2, Theorem 3.4"
    example = "linear"
    minimisation = True
    tiny: ClassVar[dict[str, Any]] = {}

    @classmethod
    def schedule(cls, problem: Problem, sizes: Sizes, L: float) -> list[Phase]:
        """Take mu_k = mu 2^k with mu = (L/D) max{1/sqrt n, 14 log2(n) sqrt(d log(2.5/delta))/(n epsilon)}."""
        n, D = sizes.n, radius_of(problem.domain_w, "w")
        share = math.sqrt(sizes.d * math.log(2.5 / sizes.delta)) / (n * sizes.epsilon)
        mu = L / D * max(1 / math.sqrt(n), 14 * math.log2(n) * share)
        factor, rows = gaussian_factor(2.5, sizes.delta, sizes.epsilon), []
        for k, block in enumerate(blocks(n), 1):
            mu_k, size = mu * 2**k, block[1] - block[0]
            sensitivity = 4 * L / (mu_k * size)
            rows.append(
                phase(
                    block, r_w=mu_k, mu_w=mu_k, energy=L**2 / (mu_k * size**2),
                    sigma_w=sensitivity * factor, sensitivity_w=sensitivity,
                )
            )  # fmt: skip
        return rows

    def promises(self, problem: Problem, schedule: Schedule) -> Iterator[Promise]:
        """Answer for Theorem 3.4."""
        values, conditions = answers(problem, schedule)
        del values["ell"]
        values |= {"D": radius_of(problem.domain_w, "w"), "k": len(self.phases)}
        yield Promise("zhang2022.theorem_3_4", "Theorem 3.4", values, conditions)

    @classmethod
    def games(cls) -> Iterator[Entry]:
        """Yield games of phases on three records each."""
        from dpcheck.checks.games import blank

        n, size = 9, blocks(9)[0][1]
        problem = blank(n, smoothness=0.0, lipschitz_v=0.0, dim_v=0)
        yield game_of_a_solution(cls.name, problem, size, "all", {"b": 1.0})
        yield game_of_a_solution(cls.name, problem, size, "all", {"b": 1.0}, place=size, part="later")


_MODULUS = {"w": "convexity", "v": "concavity"}
_SLOPE = {"w": "b", "v": "c"}  # the field of a game's record


class _InOnePhase(OutputPerturbation):
    """Algorithm 3, with its noise in either way: what it promises, and where that is tried."""

    example = "quadratic"

    def promises(self, problem: Problem, schedule: Schedule) -> Iterator[Promise]:
        """Answer for Theorem 4.3."""
        values, conditions = answers(problem, schedule)
        values |= {"mu_x": problem.convexity, "mu_y": problem.concavity}
        yield Promise("zhang2022.theorem_4_3", "Theorem 4.3", values, conditions)

    @classmethod
    def games(cls) -> Iterator[Entry]:
        """Yield games in a ball of radius 3/n, which costs that share of the Lipschitz constant."""
        from dpcheck.checks.games import blank

        n = 40
        for side, other, slope in (("w", "v", "b"), ("v", "w", "c")):
            constants = {
                "convexity": 1.0, "concavity": 1.0, f"radius_{side}": 3 / n, f"lipschitz_{side}": 1 + 3 / n,
                f"radius_{other}": 1e-6, f"lipschitz_{other}": 1e-6,
            }  # fmt: skip
            problem, part = blank(n, **constants), "" if side == "w" else "v"
            yield game_of_a_solution(cls.name, problem, n, "one block", {slope: 1.0}, part=part)
        a, radius = 0.25, 2.5 / n
        constants = dict.fromkeys(("lipschitz_w", "lipschitz_v"), SLOPE + (1 + a) * radius)
        constants |= {"convexity": 1.0, "concavity": 1.0, "smoothness": math.hypot(1, a)}
        problem = blank(n, **constants, radius_w=radius, radius_v=radius)
        yield game_of_a_solution(cls.name, problem, n, "both blocks", {"b": SLOPE, "c": SLOPE}, a=a, part="coupled")


class Saddle(_InOnePhase):
    """Algorithm 3: solve, then add noise to w and to v, at (epsilon/2, delta/2) each."""

    name = "minimax_output_perturbation"
    source = "Algorithm 3, Theorem 4.3"

    @classmethod
    def schedule(cls, problem: Problem, sizes: Sizes, L: float) -> list[Phase]:
        """Plan one phase with sigma_w = (8 L/(n epsilon)) sqrt(2 log(5/delta)/(mu_w mu)), and with mu_v for v."""
        row, sensitivity = _whole(problem, sizes, L)
        factor = 2 * gaussian_factor(5, sizes.delta, sizes.epsilon)
        for part in ("w", "v"):
            row[f"sensitivity_{part}"] = sensitivity / math.sqrt(row[f"mu_{part}"])
            row[f"sigma_{part}"] = row[f"sensitivity_{part}"] * factor
        return [row]


class SaddleJoint(_InOnePhase):
    """Algorithm 3 with one Gaussian for (sqrt(mu_w) w, sqrt(mu_v) v).

    Not in the paper: its inequality (12) bounds the joint move, so that epsilon and delta need not be split.
    """

    name = "minimax_output_perturbation_joint"
    source = "Algorithm 3 with one joint Gaussian, by inequality (12)"

    @classmethod
    def schedule(cls, problem: Problem, sizes: Sizes, L: float) -> list[Phase]:
        """Plan one phase with sigma_w = (4 L/(n epsilon)) sqrt(2 log(2.5/delta)/(mu_w mu)), and with mu_v for v."""
        row, sensitivity = _whole(problem, sizes, L)
        sigma = sensitivity * gaussian_factor(2.5, sizes.delta, sizes.epsilon)
        for part in ("w", "v"):
            row |= {f"sigma_{part}": sigma, f"sensitivity_{part}": sensitivity}
        return [row | {"joint": 1.0}]


class _InPhases(OutputPerturbation):
    """An algorithm of phases that release the parts in ``released``, and where its promise is tried."""

    released: ClassVar[tuple[Literal["w", "v"], ...]]
    curved: ClassVar[bool] = False  # whether the part that is not released is strongly curved by itself

    @classmethod
    def games(cls) -> Iterator[Entry]:
        """Yield games of phases on three records each."""
        from dpcheck.checks.games import blank

        n, size = 9, blocks(9)[0][1]
        for side in cls.released:
            other = _other(side)
            constants: dict[str, Any] = {"smoothness": 0.0, f"lipschitz_{other}": 0.0}
            if cls.curved:
                constants = {_MODULUS[other]: 1.0, f"radius_{side}": 100.0, f"radius_{other}": 1e-6}
                constants |= {f"lipschitz_{other}": 1e-6}
            problem, part = blank(n, **constants), "" if side == cls.released[0] else side
            yield game_of_a_solution(cls.name, problem, size, "one block", {_SLOPE[side]: 1.0}, part=part)
        a = 0.05
        constants = {"smoothness": a, "lipschitz_w": SLOPE + a, "lipschitz_v": SLOPE + a}
        if cls.curved:
            (side,) = cls.released
            other, a = _other(side), 0.001
            constants = {_MODULUS[other]: 1.0, f"radius_{side}": 100.0, f"radius_{other}": 0.1, "smoothness": 1 + a}
            constants |= {f"lipschitz_{side}": SLOPE + 0.1 * a, f"lipschitz_{other}": SLOPE + 0.1 + 100 * a}
        yield game_of_a_solution(
            cls.name, blank(n, **constants), size, "both blocks", {"b": SLOPE, "c": SLOPE}, a=a, place=size,
            part="coupled",
        )  # fmt: skip


class _ConvexConcave(_InPhases):
    """Algorithms 4 and 5, apart or one after the other."""

    example = "bilinear"

    def promises(self, problem: Problem, schedule: Schedule) -> Iterator[Promise]:
        """Answer for Theorem 4.5; one after the other Algorithms 4 and 5 have twice as many phases."""
        values, conditions = answers(problem, schedule)
        del values["ell"]
        radius = max(radius_of(problem.domain_w, "w"), radius_of(problem.domain_v, "v"))
        phases = len(self.phases) // len(self.released)
        yield Promise("zhang2022.theorem_4_5", "Theorem 4.5", values | {"D": radius, "k": phases}, conditions)


class Half(_ConvexConcave):
    """Algorithm 4 (part w) or 5 (part v), (epsilon/2, delta/2)."""

    promised = 0.5

    @classmethod
    def schedule(cls, problem: Problem, sizes: Sizes, L: float) -> list[Phase]:
        """Add mu_k/2 |x - x_{k-1}|^2 on the part x, mu_k = mu 2^k, and mu/2 |.|^2 on the other; noise on x."""
        n, (part,) = sizes.n, cls.released
        D = max(radius_of(problem.domain_w, "w"), radius_of(problem.domain_v, "v"))
        share = math.sqrt(sizes.d * math.log(5 / sizes.delta)) / (n * sizes.epsilon)
        mu = L / D * max(2 / math.sqrt(n), 13 * math.log2(n) * share)
        factor, rows = 2 * gaussian_factor(5, sizes.delta, sizes.epsilon), []
        for k, block in enumerate(blocks(n), 1):
            mu_k, size = mu * 2**k, block[1] - block[0]
            row = phase(block, energy=L**2 / (mu * size**2))
            for side in ("w", "v"):
                row[f"r_{side}"] = row[f"mu_{side}"] = mu_k if side == part else mu
            row[f"sensitivity_{part}"] = 4 * L / (size * math.sqrt(mu_k * mu))
            row[f"sigma_{part}"] = row[f"sensitivity_{part}"] * factor
            rows.append(row)
        return rows


class PhasedPrimal(Half):
    """Algorithm 4: the primal half, (epsilon/2, delta/2)."""

    name = "phased_primal"
    source = "Algorithm 4, Theorem 4.5"
    released = ("w",)


class PhasedDual(Half):
    """Algorithm 5: the dual half, (epsilon/2, delta/2)."""

    name = "phased_dual"
    source = "Algorithm 5, Theorem 4.5"
    released = ("v",)


class PhasedSaddle(_ConvexConcave):
    """Algorithms 4 and 5 one after the other: (w, v) at (epsilon, delta)."""

    name = "phased_minimax_output_perturbation"
    source = "Algorithms 4 and 5, Theorem 4.5"
    released = ("w", "v")

    @classmethod
    def schedule(cls, problem: Problem, sizes: Sizes, L: float) -> list[Phase]:
        """Plan Algorithm 4, then Algorithm 5 from the start."""
        primal, dual = (half.schedule(problem, sizes, L) for half in (PhasedPrimal, PhasedDual))
        dual[0]["fresh"] = 1
        return [*primal, *dual]


class OneSided(_InPhases):
    """Algorithm 4 or 5 that regularises one part alone (D, d: its own); the other is strongly curved by itself."""

    curved = True

    @classmethod
    def schedule(cls, problem: Problem, sizes: Sizes, L: float) -> list[Phase]:
        """Take mu = 3 (L/D) max{1/sqrt n, 4 log2(n) sqrt(d log(2.5/delta))/(n epsilon)} and mu_k = mu 2^k."""
        n, (part,) = sizes.n, cls.released
        curved, name, domain, d, other = (
            (problem.concavity, "concave in v", problem.domain_w, problem.dim_w, "v")
            if part == "w"
            else (problem.convexity, "convex in w", problem.domain_v, problem.dim_v, "w")
        )
        require_modulus(curved, name, problem)
        share = math.sqrt(d * math.log(2.5 / sizes.delta)) / (n * sizes.epsilon)
        mu = 3 * L / radius_of(domain, part) * max(1 / math.sqrt(n), 4 * math.log2(n) * share)
        factor, rows = gaussian_factor(2.5, sizes.delta, sizes.epsilon), []
        for k, block in enumerate(blocks(n), 1):
            mu_k, size = mu * 2**k, block[1] - block[0]
            least = min(mu_k, curved)
            row = phase(block, energy=L**2 / (size**2 * least))
            row |= {f"r_{part}": mu_k, f"mu_{part}": mu_k, f"mu_{other}": curved}
            row[f"sensitivity_{part}"] = 4 * L / (size * math.sqrt(mu_k * least))
            row[f"sigma_{part}"] = row[f"sensitivity_{part}"] * factor
            rows.append(row)
        return rows

    def promises(self, problem: Problem, schedule: Schedule) -> Iterator[Promise]:
        """Answer for Corollary B.6 of Appendix B.4 where w is released, and for its mirror image where v is."""
        (part,) = self.released
        values, conditions = answers(problem, schedule, part)
        del values["ell"]
        dimension, modulus = getattr(problem, f"dim_{part}"), getattr(problem, _MODULUS[_other(part)])
        radius = radius_of(getattr(problem, f"domain_{part}"), part)
        values |= {"d": dimension, "D": radius, "mu_y": modulus, "k": len(self.phases)}
        label = "Corollary B.6" if part == "w" else "Corollary B.6, mirrored,"
        yield Promise("zhang2022.corollary_b_6", label, values, conditions)


class PhasedConvexStronglyConcave(OneSided):
    """Algorithm 4 without regularising v, for f strongly concave in v; releases w at (epsilon, delta)."""

    name = "phased_convex_strongly_concave"
    source = "Appendix B.4, Corollary B.6"
    example = "product"
    released = ("w",)


class PhasedStronglyConvexConcave(OneSided):
    """Algorithm 5 without regularising w, for f strongly convex in w; releases v at (epsilon, delta)."""

    name = "phased_strongly_convex_concave"
    source = "Appendix B.4, the mirror image of Corollary B.6"
    example = "product_mirror"
    released = ("v",)


def _whole(problem: Problem, sizes: Sizes, L: float) -> tuple[Phase, float]:
    """The one phase of Algorithm 3, and the sensitivity 4L/(n sqrt(mu)) of its weighted solution."""
    for modulus, name in ((problem.convexity, "convex in w"), (problem.concavity, "concave in v")):
        require_modulus(modulus, name, problem)
    n, mu = sizes.n, min(problem.convexity, problem.concavity)
    row = phase((0, n), mu_w=problem.convexity, mu_v=problem.concavity, energy=L**2 / (mu * n**2))
    return row, 4 * L / (n * math.sqrt(mu))


def _other(part: str) -> str:
    return "v" if part == "w" else "w"
