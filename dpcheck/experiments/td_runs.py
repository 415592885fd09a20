"""Runs of temporal-difference learning on trajectories of gymnasium (``pip install 'dpcheck[reinforcement]'``).

A plan names ``environment``, ``n`` transitions under uniformly random actions, ``algorithm`` and ``epsilon``. The loss
is the mean-squared projected Bellman error at the output, Eq. (67) of Zhang et al. 2025.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcheck.accounting import certify
from dpcheck.algorithms.run import measured
from dpcheck.experiments.experiment import CERTIFIED, EPSILON, Plan
from dpcheck.problems.td_mlp import TDMLP
from dpcheck.running.streams import one_blas_thread
from dpcheck.solvers import configure


def measure(plan: Plan, noise: str, seed: int) -> dict[str, float]:
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
