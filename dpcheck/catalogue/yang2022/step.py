"""A step of DP-SGDA: the sensitivity of its gradients, and what the algorithm as published leaks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dpcheck.algorithms.problem import Array, Problem
from dpcheck.algorithms.run import History
from dpcheck.audits.sensitivity import audit_sensitivity
from dpcheck.catalogue.yang2022.dp_sgda import DPSGDA
from dpcheck.checks.context import Context
from dpcheck.problems.auc import AUC
from dpcheck.problems.bilinear import Bilinear
from dpcheck.report.findings import Finding


def step(context: Context) -> Iterator[Finding]:
    """Yield what records do to gradients: exchanged ones on a small game with active clipping, and labels of others."""
    rng = np.random.default_rng(context.stream(4))
    yield from _sensitivity(Bilinear.sample(100, 2, rng, bound=3.0, radius=0.2))
    yield from _class_counts(rng)


def _first_gradient(solver: DPSGDA, problem: Problem) -> History:
    """Run the first step on a minibatch of all records, without noise."""
    one = replace(
        solver, eta_w=solver.eta_w[:1], eta_v=solver.eta_v[:1], sigma_w=0.0, sigma_v=0.0,
        batch=len(problem.records), sampling="without_replacement",
    )  # fmt: skip
    return one.run(problem, seed=0, record=True).history.paired()


def _sensitivity(game: Bilinear) -> Iterator[Finding]:
    """Exchange records beyond the clipping norm: the mean must move by 2C/m, and no more."""
    n, d = 10, game.dim_w
    solver = DPSGDA(np.ones(1), np.ones(1), 0.0, 0.0, n, clip_w=1.0, clip_v=1.0)
    basis = np.hstack([np.eye(d), np.eye(d)])
    for name, part in (("w", slice(0, d)), ("v", slice(d, 2 * d))):

        def gradient(records: Array, part: slice = part) -> Array:
            return np.asarray(_first_gradient(solver, replace(game, records=records)).clean[0, part])

        audit = audit_sensitivity(
            gradient, game.records[:n], [*(3.0 * basis), *(-3.0 * basis), 0 * basis[0]], claimed=2.0 / n,
        )  # fmt: skip
        yield Finding(
            f"dp_sgda.sensitivity_{name}", "sensitivity",
            f"minibatch gradient in {name}, one record exchanged", audit.verdict,
            f"moves by at most {audit.sensitivity * n:.4g} C/m, declared 2 C/m", evidence=audit.to_dict(),
        )  # fmt: skip


def _class_counts(rng: np.random.Generator) -> Iterator[Finding]:
    """Check whether the gradient of a record in Algorithm 2 depends on who else is in the data.

    The record at hand stays; another one changes its label. With weights counted on the private
    data, as printed, its gradient moves: a release that no noise covers.
    """
    X = rng.normal(size=(20, 3))
    X /= 2 * np.linalg.norm(X, axis=1, keepdims=True)
    labels = np.where(np.arange(20) % 4, -1.0, 1.0)
    for variant, share in (("as_printed", None), ("repaired", 0.25)):

        def gradient(y: Array, share: float | None = share) -> Array:
            problem = AUC.from_data(X, y, positive_share=share)
            alone = replace(problem, records=problem.records[:1])
            one = DPSGDA(np.ones(1), np.ones(1), 0.0, 0.0, 1)
            return np.asarray(_first_gradient(one, alone).clean[0])

        # only records after the first may change, so the first one's own gradient should not
        audit = audit_sensitivity(
            lambda rest: gradient(np.concatenate([labels[:1], [-1.0], rest])), labels[2:], [1.0, -1.0],
            claimed=0.0,
        )  # fmt: skip
        reason = (
            "does not move"
            if audit.sensitivity == 0
            else f"moves by {audit.sensitivity:.3g} when another record changes its label: n+ and n- are "
            "read off the private data and no noise covers them"
        )
        yield Finding(
            f"dp_sgda.{variant}.class_counts", "sensitivity",
            f"{variant.replace('_', ' ')} AUC: gradient of a record while another one changes",
            audit.verdict, f"the gradient {reason}", evidence=audit.to_dict(),
        )  # fmt: skip
