"""Runs of networks as Zhang et al. 2025 train them: temporal-difference learning, and a generative network.

A plan of temporal-difference learning, on trajectories of gymnasium (``pip install 'dpcheck[reinforcement]'``), names
``environment``, ``n`` transitions under uniformly random actions, ``algorithm`` and ``epsilon``. The loss is the
mean-squared projected Bellman error at the output, Eq. (67). A plan of the Wasserstein generative network names ``n``
images of MNIST; its settings have a stated share of the iterations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcheck import datasets
from dpcheck.accounting import certify
from dpcheck.algorithms.run import measured
from dpcheck.experiments.experiment import CERTIFIED, EPSILON, Plan
from dpcheck.problems.td_mlp import TDMLP
from dpcheck.problems.wgan import WGAN
from dpcheck.running.executor import one_blas_thread
from dpcheck.solvers import configure

_SCORED = 500  # images on which the estimate is read off


def measure_td(plan: Plan, noise: str, seed: int) -> dict[str, float]:
    """Return the loss at the output of one run, and the epsilon that its noise is certified at."""
    problem = TDMLP.from_gymnasium(
        plan["environment"], plan["n"], seed=seed, scale=plan["scale"], radius=plan["radius"]
    )
    variants: dict[str, Any] = {"variant": "as_printed"} if noise != CERTIFIED and plan["algorithm"] != "dptd" else {}
    with one_blas_thread():
        solver = configure(
            plan["algorithm"], problem, epsilon=plan["epsilon"], delta=plan["delta"], **plan["settings"], **variants
        )
        run = solver.run(problem, seed=seed)
        loss = measured(problem, np.concatenate([run.x, run.y])).get("primal", float("nan"))
    return {"loss": loss, EPSILON: certify(solver.events(problem), delta=plan["delta"]).epsilon}


def measure_wgan(plan: Plan, noise: str, seed: int) -> dict[str, float]:
    """Return the Wasserstein estimate at the output of one run, and the epsilon that its noise is certified at."""
    images = datasets.load("mnist").X[: plan["n"]]
    problem = WGAN.from_images(images, seed=seed)
    variants: dict[str, Any] = {} if noise == CERTIFIED else {"variant": "as_printed"}
    with one_blas_thread():
        solver = configure(
            plan["algorithm"], problem, epsilon=plan["epsilon"], delta=plan["delta"], **plan["settings"], **variants
        )
        run = solver.run(problem, seed=seed)
        values = [problem.value(problem.params, record, run.x, run.y) for record in problem.records[:_SCORED]]
        penalty = problem.penalty * float(run.y @ run.y)
    epsilon = certify(solver.events(problem), delta=plan["delta"]).epsilon
    return {"Wasserstein estimate": float(np.mean(values)) + penalty, EPSILON: epsilon}
