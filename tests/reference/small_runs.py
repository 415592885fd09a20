"""The small runs of every algorithm that are followed step by step, a few for each variant.

They are chosen so that projections, clipping, refreshes, escapes and several phases all happen within a few steps;
where one problem cannot do that, there are two. A new algorithm needs a function of a ``Replay`` and an entry in
``CASES``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np

from dpcheck.algorithms.problem import Problem
from dpcheck.algorithms.solver import Solver
from dpcheck.catalogue.zhang2022.output_perturbation import FIELDS
from dpcheck.checks.games import WorstCase
from dpcheck.problems import example
from dpcheck.problems.auc import AUC
from dpcheck.problems.bilinear import Bilinear
from dpcheck.problems.cosine import Cosine
from dpcheck.problems.double_well import DoubleWell
from dpcheck.problems.linear import Linear
from dpcheck.problems.mean_estimation import MeanEstimation
from dpcheck.problems.product import Product
from dpcheck.problems.product_mirror import ProductMirror
from dpcheck.problems.quadratic import Quadratic
from dpcheck.problems.quartic import Quartic
from dpcheck.problems.sensing import Sensing
from dpcheck.solvers import algorithm, configure
from reference import phases
from reference.descent import descent_ascent, dp_rgda, dptd, nseg, privatediff
from reference.replay import Replay, replayed
from reference.spider import ada_dp_spider, dp_spider, sto_spider

PRIVACY: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-3}
Follow = Callable[..., None]


@dataclass(frozen=True, eq=False)
class Case:
    """One configuration, run with noise on several seeds and without noise once.

    label : of the variant, in ids;  follow : the algorithm in plain NumPy;  options : of ``follow``
    asked : the numbers that the solver was configured with, from which the algorithm is followed
    chosen : the numbers of iterates among which the output is uniform, or nothing
    schemes : the scheme and the size of minibatches that are drawn from all records
    first_only : whether only the first minibatch of a run is
    free : whether no domain is near, so that perturbations are seen as they are drawn
    noiseless : options of ``follow`` for the run without noise, or None where there is no such run
    """

    label: str
    solver: Solver
    problem: Problem
    follow: Follow
    options: dict[str, Any] = field(default_factory=dict)
    asked: dict[str, Any] = field(default_factory=dict)
    chosen: Sequence[int] = ()
    schemes: tuple[tuple[str, int], ...] = ()
    first_only: bool = False
    free: bool = False
    seeds: int = 2
    noiseless: dict[str, Any] | None = field(default_factory=dict)

    def replays(self, seeds: int | None = None) -> Iterator[Replay]:
        """Follow the recorded runs."""
        for seed in range(self.seeds if seeds is None else seeds):
            run = self.solver.run(self.problem, seed=seed, record=True)
            yield replayed(run, self.follow, asked=self.asked, **self.options)
        if seeds is None and self.noiseless is not None:
            run = self.solver.quiet().run(self.problem, seed=0, record=True)
            yield replayed(run, self.follow, asked=self.asked, **self.options | self.noiseless)


_CLIPS: dict[str, Any] = {"clip_w": 0.8, "clip_v": 0.6}


def dp_sgda() -> Iterator[Case]:
    """Yield cases of every sampling; the average as by default, the last and a uniform iterate; falling steps from a
    start off 0.
    """
    for label, variant, sampling in (
        ("as_printed", "as_printed", "with_replacement"),
        ("repaired", "repaired", "without_replacement"),
        ("repaired.poisson", "repaired", "poisson"),
    ):
        for name, output in (
            ("bilinear", "average"), ("product", "average"), ("quadratic", "last"), ("auc", "uniform"),
        ):  # fmt: skip
            settings = _CLIPS | {"steps": 9, "batch": 4, "eta": 0.2, "output": output, "sampling": sampling}
            solver: Any = configure("dp_sgda", problem(name), **PRIVACY, variant=variant, **settings)
            if name == "product":
                falling = np.arange(1, 10) ** -0.5
                solver = replace(solver, eta_w=0.3 * falling, eta_v=0.2 * falling)
            chosen = range(9) if output == "uniform" else ()
            yield Case(
                label, solver, problem(name), descent_ascent, asked=settings, chosen=chosen, schemes=((sampling, 4),)
            )


def dp_sgda_clipped() -> Iterator[Case]:
    """Yield cases that return a uniform iterate."""
    for variant in algorithm("dp_sgda_clipped").variants:
        for name in ("quadratic", "cosine", "auc"):
            settings = _CLIPS | {"steps": 9, "batch": 5, "eta_w": 0.3, "eta_v": 0.2}
            solver = configure("dp_sgda_clipped", problem(name), **PRIVACY, variant=variant, **settings)
            schemes = (("without_replacement", 5),)
            yield Case(variant, solver, problem(name), descent_ascent, asked=settings, chosen=range(9), schemes=schemes)


def nseg_cases() -> Iterator[Case]:
    """Yield cases of every sampling."""
    for sampling in ("without_replacement", "with_replacement", "poisson"):
        for name in ("bilinear", "cosine"):
            settings = _CLIPS | {"steps": 9, "batch": 3, "eta": 0.2, "sampling": sampling}
            solver = configure("nseg", problem(name), **PRIVACY, **settings)
            yield Case(f"repaired.{sampling}", solver, problem(name), nseg, asked=settings, schemes=((sampling, 3),))


def dptd_cases() -> Iterator[Case]:
    """Yield cases of large steps, so that the boxes bind."""
    for variant in algorithm("dptd").variants:
        for name in ("quadratic", "cosine"):
            settings = _CLIPS | {"steps": 9, "batch": 4, "chi": 1.8, "eta": 1.2, "alpha": 3.0, "beta": 2.5}
            solver = configure("dptd", problem(name), **PRIVACY, variant=variant, **settings)
            yield Case(variant, solver, problem(name), dptd, asked=settings,
                       schemes=(("without_replacement", 4),))  # fmt: skip


def privatediff_cases() -> Iterator[Case]:
    """Yield cases of two restarts; a threshold of differences below and beyond its cap."""
    for variant in algorithm("privatediff").variants:
        for name, C3 in (("quadratic", 0.002), ("cosine", 0.2), ("auc", 0.02)):
            settings: dict[str, Any] = {
                "rounds": 7, "restart": 3, "inner": 4, "batch": 6, "eta_x": 0.02, "C1": 0.05, "C2": 0.5, "C3": C3,
            }  # fmt: skip
            if variant == "as_printed":
                settings["C0"] = 1.0
            solver = configure("privatediff", problem(name), **PRIVACY, variant=variant, **settings)
            schemes = (("without_replacement", 6),)
            yield Case(variant, solver, problem(name), privatediff, asked=settings, chosen=range(1, 8), schemes=schemes)


_SPIDER: dict[str, Any] = {
    "b1": 20, "b2": 6, "eta": 0.1, "L0": 0.6, "Ls": 0.9, "sigma_1": 0.1, "sigma_2": 0.3,
}  # fmt: skip
_ESTIMATES = (("without_replacement", 20), ("without_replacement", 6))


def _spider(
    name: str, follow: Follow, places: Sequence[str] = ("double_well", "sensing"), **settings: Any
) -> Iterator[Case]:
    for variant in algorithm(name).variants:
        for place in places:
            solver: Any = algorithm(name)(**_SPIDER | settings)
            if variant == "as_printed":  # the variants differ in the noise alone
                solver = replace(solver, sigma_1=0.05, sigma_2=0.1)
            chosen = range(1, settings["steps"] + 1) if name == "dp_spider" else ()
            yield Case(variant, solver, problem(place), follow, chosen=chosen, schemes=_ESTIMATES, seeds=4,
                       free=place in ("sensing", "wide double_well"))  # fmt: skip


def dp_spider_cases() -> Iterator[Case]:
    """Yield cases with a bound on differences that grows with the distance, and its cap."""
    for places, Ls in ((("double_well", "sensing"), 0.9), (("double_well",), 90.0)):
        yield from _spider("dp_spider", dp_spider, places, steps=30, period=7, Ls=Ls)


def ada_dp_spider_cases() -> Iterator[Case]:
    """Yield cases of escapes that are left, that certify, and of a budget that is spent; long steps out of the well
    to the domain.
    """
    settings: dict[str, Any] = {"steps": 60, "refreshes": 12, "chi": 0.03, "R": 0.08, "Gamma": 4, "Q": 3}
    yield from _spider("ada_dp_spider", ada_dp_spider, kappa=1e-3, **settings)
    yield from _spider("ada_dp_spider", ada_dp_spider, ("double_well",), kappa=0.02, **settings | {"eta": 0.6})


def sto_spider_cases() -> Iterator[Case]:
    """Yield cases of noise near saddles, where no domain is near, and both ends of the selection; the domain's edge
    without noise.
    """
    settings = {
        "steps": 30, "refreshes": 9, "kappa": 4e-3, "Gamma": 6, "r": 0.15, "alpha": 0.15, "curvature": 0.3,
        "sigma_select": 0.3,
    }  # fmt: skip
    yield from _spider("sto_spider", sto_spider, ("wide double_well", "sensing"), gamma=0.2, **settings)
    yield from _spider("sto_spider", sto_spider, ("double_well",), gamma=1e-9, **settings)


_BRANCHES: tuple[dict[str, Any], ...] = (
    {"alpha": 0.02, "steps": 14, "t_thres": 30},  # descends
    {"alpha": 50.0, "steps": 14, "t_thres": 5},  # certifies
    {"alpha": 1.5, "steps": 24, "t_thres": 8, "D_bar": 1e-12},  # leaves the saddle again and again
)


def dp_rgda_cases() -> Iterator[Case]:
    """Yield cases of the three ways of Algorithm 2, as printed, repaired, and on the population with its tree."""
    for label, variant, K, name in (
        ("as_printed", "as_printed", 3, "cosine"), ("as_printed", "as_printed", 1, "quartic"),
        ("repaired", "repaired", 2, "cosine"), ("repaired", "repaired", 3, "quartic"),
        ("repaired.population", "repaired", 2, "wide cosine"),
    ):  # fmt: skip
        for branch in _BRANCHES:
            population = label == "repaired.population"
            settings = {
                "period": 4, "S1": 20, "S2": 4 if population else 7, "C_u": 0.15, "eta": 0.2, "escapes": 3, "K": K,
                "C_v": 0.4 if name == "quartic" else 1.1, "theorem": "2" if population else "1",
                "r": 0.25 if variant == "as_printed" else None,
            }  # fmt: skip
            solver = configure("dp_rgda", problem(name), epsilon=40.0, delta=1e-3, variant=variant, **settings | branch)
            schemes = (("without_replacement", 20), ("without_replacement", 7))[: 1 if population else 2]
            yield Case(label, solver, problem(name), dp_rgda, asked=settings | branch, schemes=schemes,
                       first_only=population, free="cosine" in name)  # fmt: skip


_PHASE_LISTS: dict[str, tuple[phases.PhaseList, str]] = {
    "output_perturbation": (phases.algorithm_1, "mean_estimation"),
    "phased_output_perturbation": (phases.algorithm_2, "linear"),
    "minimax_output_perturbation": (phases.algorithm_3, "wide quadratic"),
    "minimax_output_perturbation_joint": (phases.algorithm_3_tight, "tight quadratic"),
    "phased_primal": (phases.algorithm_4, "game"),
    "phased_dual": (phases.algorithm_5, "game"),
    "phased_minimax_output_perturbation": (phases.algorithms_4_and_5, "game"),
    "phased_convex_strongly_concave": (phases.convex_strongly_concave, "product"),
    "phased_strongly_convex_concave": (phases.strongly_convex_concave, "product_mirror"),
}
SHARP = 1e-16  # an accuracy that leaves little to the base solver


def output_cases(name: str) -> Iterator[Case]:
    """Yield runs at the accuracy that the theorem asks for, and sharper; epsilon leaves points inside the domain."""
    listed, place = _PHASE_LISTS[name]
    for eps in (0.1 if name == "output_perturbation" else 1.0, 100.0):
        options: dict[str, Any] = {"listed": listed, "epsilon": eps, "delta": 1e-4}
        solver = configure(name, problem(place), epsilon=eps, delta=1e-4)
        sharp, quiet = options | {"energy": SHARP}, {"quiet": True}
        yield Case("as_printed", sharpened(solver, SHARP), problem(place), phases.output_perturbation, sharp,
                   noiseless=quiet)  # fmt: skip
        yield Case("as_printed", solver, problem(place), phases.output_perturbation, options, seeds=6, noiseless=None)


def nispp_cases() -> Iterator[Case]:
    """Yield cases of both samplings; the phases' problems are made from the batches drawn."""
    for sampling in ("single_pass", "with_replacement"):
        solver = configure("nispp", problem("game"), **PRIVACY, batch=8, lam=0.6, sampling=sampling)
        schemes = (("with_replacement", 8),) if sampling == "with_replacement" else ()
        for each, options in ((solver, {}), (sharpened(solver, SHARP), {"energy": SHARP})):
            yield Case(f"repaired.{sampling}", each, problem("game"), phases.nispp_phases, PRIVACY | options,
                       schemes=schemes, seeds=1, noiseless={"quiet": True})  # fmt: skip


def sharpened(solver: Any, energy: float) -> Any:
    """Return the same with the base solver held to this accuracy in every phase."""
    schedule = solver.phases.copy()
    schedule[:, FIELDS.index("energy")] = energy
    return replace(solver, phases=schedule)


CASES: dict[str, Callable[[], Iterator[Case]]] = {
    "ada_dp_spider": ada_dp_spider_cases,
    "dp_rgda": dp_rgda_cases,
    "dp_sgda": dp_sgda,
    "dp_sgda_clipped": dp_sgda_clipped,
    "dp_spider": dp_spider_cases,
    "dptd": dptd_cases,
    "nispp": nispp_cases,
    "nseg": nseg_cases,
    "privatediff": privatediff_cases,
    "sto_spider": sto_spider_cases,
    **{name: partial(output_cases, name) for name in _PHASE_LISTS},
}


# The small problems of the runs that are followed: their domains and clipping bind.


@cache
def problem(name: str, **constants: Any) -> Problem:
    """Return a small problem whose domains and clipping bind; its records are the same in every check."""
    rng = np.random.default_rng(sum(name.encode()))
    made: dict[str, Callable[[], Any]] = {
        "auc": _auc,
        "bilinear": lambda: Bilinear.sample(30, 3, rng, coupling=1.5, radius=0.4),
        "cosine": lambda: Cosine.sample(30, 2, rng),
        "quadratic": lambda: Quadratic.sample(30, 3, rng, mu_x=0.5, mu_y=2.0, radius=0.8),
        "quartic": lambda: Quartic.sample(30, 3, rng, radius=0.5),
        "double_well": lambda: DoubleWell.sample(30, 3, rng, descent=0.8, bound=0.7, radius=0.3),
        "sensing": lambda: Sensing.sample(30, 3, rng, rank=1, bound_a=0.9, bound_b=0.8, radius=2.0),
        "wide double_well": lambda: DoubleWell.sample(30, 3, rng, descent=0.8, bound=0.7, radius=1.3),
        "wide cosine": lambda: Cosine.sample(500, 2, rng),
        "mean_estimation": lambda: MeanEstimation.sample(50, 3, rng, mu=0.7),
        "linear": lambda: Linear.sample(50, 3, rng),
        "wide quadratic": lambda: Quadratic.sample(50, 3, rng, mu_x=0.5, mu_y=2.0, radius=2.0),
        "tight quadratic": lambda: Quadratic.sample(50, 3, rng, mu_x=3.0, mu_y=2.0, radius=0.05),
        "game": lambda: Bilinear.sample(50, 3, rng),
        "product": lambda: Product.sample(50, 3, rng, mu=1.5),
        "product_mirror": lambda: ProductMirror.sample(50, 3, rng, mu=1.5),
    }
    return made[name]()


def _auc() -> Problem:
    rng = np.random.default_rng(11)
    X = rng.normal(size=(30, 3))
    X /= np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
    labels = np.where(np.arange(30) % 3, -1.0, 1.0)
    found: Problem = AUC.from_data(X, labels, positive_share=0.3, radius=0.5)
    return found


def families(name: str) -> dict[str, Problem]:
    """Return the problems of an algorithm's small runs by name, and that of its games on records in general position.

    The examples are held to their values by themselves.
    """
    dim_v = 1 if example(algorithm(name).example).dim_v else 0
    rows = np.random.default_rng(5).normal(size=(8, 5))
    worst: Problem = WorstCase(rows, convexity=0.3, concavity=0.7, dim_v=dim_v)
    return {case.problem.name: case.problem for case in CASES[name]()} | {"worst_case": worst}
