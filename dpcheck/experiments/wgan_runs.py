"""Runs of a Wasserstein generative network on MNIST, shortened to ``iterations`` on ``n`` images."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcheck import datasets
from dpcheck.accounting import certify
from dpcheck.experiments.experiment import CERTIFIED, EPSILON, Plan
from dpcheck.problems.wgan import WGAN
from dpcheck.running.streams import one_blas_thread
from dpcheck.solvers import configure

_SCORED = 500  # images on which the estimate is read off


def measure(plan: Plan, noise: str, seed: int) -> dict[str, float]:
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
