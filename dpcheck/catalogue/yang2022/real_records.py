"""DP-SGDA on real records, one of them exchanged: what the released model tells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dpcheck import datasets
from dpcheck.accounting import certify
from dpcheck.algorithms.problem import Array, Problem, with_record
from dpcheck.audits.neighbours import farthest_pair
from dpcheck.catalogue.yang2022.dp_sgda import DPSGDA
from dpcheck.checks.context import Context
from dpcheck.checks.games import DELTA, EPSILON
from dpcheck.checks.sandwich import audit, finding
from dpcheck.checks.subject import Part
from dpcheck.problems.auc import AUC
from dpcheck.report.findings import Finding

# The weights' class share p is a public round figure: it must not be read off the private data,
# and a share that is a little off only weighs the two classes a little off.
ADULT_POSITIVE_SHARE = 0.25

STEPS = 100


def gradients_at(problem: Problem, solver: DPSGDA, points: Array) -> Array:
    """Return clipped gradients of every record at every point, in noise units : (n, points, d_w + d_v)."""
    d = problem.dim_w
    found = np.empty((len(problem.records), len(points), d + problem.dim_v))
    for record, row in zip(problem.arranged, found, strict=True):
        for x, g in zip(points, row, strict=True):
            problem.gradient(problem.params, record, x[:d].copy(), x[d:].copy(), g[:d], g[d:])
    for part, clip, sigma in (
        (found[..., :d], solver.clip_w, solver.sigma_w),
        (found[..., d:], solver.clip_v, solver.sigma_v),
    ):
        norm = np.linalg.norm(part, axis=-1, keepdims=True)
        part *= np.minimum(1.0, clip / np.maximum(norm, 1e-300)) / sigma
    return found


def real_data(context: Context) -> Iterator[Finding]:
    """Audit the released model of DP-SGDA for AUC on real records, one of them exchanged.

    The pair is searched among the real records and their mirror images, each with both labels, by
    the distance of their clipped gradients along a run without noise; the audit's runs are fresh.
    """
    adult = datasets.load("a9a")
    rng = np.random.default_rng(context.stream(6))
    rows = rng.choice(len(adult.X), 200, replace=False)
    problem = AUC.from_data(adult.X[rows], adult.y[rows], positive_share=ADULT_POSITIVE_SHARE)
    solver = DPSGDA.configure(problem, epsilon=EPSILON, delta=DELTA, steps=STEPS, eta=0.05, clip_w=1.0, clip_v=1.0)
    quiet = replace(solver, sigma_w=0.0, sigma_v=0.0).run(problem, at=range(0, STEPS, STEPS // 5)).history
    X = np.vstack([problem.records[:, :-1], -problem.records[:, :-1]])
    candidates = np.vstack([np.column_stack([X, np.full(len(X), y)]) for y in (1.0, -1.0)])
    units = gradients_at(replace(problem, records=candidates), solver, quiet.path)
    canary, other, distance = farthest_pair(units)
    ours, neighbour = (with_record(problem, 0, candidates[k]) for k in (canary, other))
    # the direction in which the models move, from runs on all records without noise
    whole = replace(solver, sigma_w=0.0, sigma_v=0.0, batch=len(rows))
    moves = [whole.run(p) for p in (ours, neighbour)]
    direction = np.concatenate([moves[0].x - moves[1].x, moves[0].y - moves[1].y])
    direction /= np.linalg.norm(direction)

    def along(problem: AUC, rng: np.random.Generator, size: int) -> Array:
        return np.asarray(solver.outputs(problem, rng, size) @ direction)

    subject = "repaired, AUC on 200 records of Adult: final output only"
    part = Part("output", subject, along, 200_000 if context.full else 10_000, ((7,),))
    audited = audit(context, along, (ours, neighbour), part.trials, 7)
    yield finding(
        "dp_sgda.repaired.adult.output", part, audited, certify(solver.events(ours), delta=DELTA),
        {"canary": candidates[canary].tolist(), "replaced by": candidates[other].tolist(),
         "distance in noise units": distance / solver.batch},
    )  # fmt: skip
