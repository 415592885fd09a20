"""What privacy costs on real data: the AUC of DP-SGDA on Adult, beside the non-private one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dpcheck import datasets
from dpcheck.accounting import certify
from dpcheck.algorithms.problem import Array
from dpcheck.catalogue.yang2022.dp_sgda import DPSGDA
from dpcheck.checks.context import Context
from dpcheck.problems.auc import AUC, auc_score
from dpcheck.report.findings import Finding

# The weights' class share p is a public round figure: it must not be read off the private data,
# and a share that is a little off only weighs the two classes a little off.
ADULT_POSITIVE_SHARE = 0.25
EPSILON, STEPS, RADIUS = 1.0, 1000, 4.0


def utility(context: Context, tables: dict[str, list[dict[str, Any]]]) -> Iterator[Finding]:
    """Test AUC of each variant with its certificate, of the loop without noise, of the closed form."""
    adult = datasets.load("a9a")
    assert adult.X_test is not None and adult.y_test is not None
    delta = len(adult.X) ** -2.0  # the largest that Remark 1 allows
    repaired = AUC.from_data(adult.X, adult.y, positive_share=ADULT_POSITIVE_SHARE, radius=RADIUS)
    printed = AUC.from_data(adult.X, adult.y, radius=RADIUS)
    solver = DPSGDA.configure(repaired, epsilon=EPSILON, delta=delta, steps=STEPS, eta=1.0, clip_w=1.0, clip_v=1.0)
    # the printed weights 1/n+, 1/n- make gradients smaller by about n p (1 - p); the step makes up
    counted = DPSGDA.configure(
        printed, epsilon=EPSILON, delta=delta, steps=STEPS, eta=1.0 / max(printed.params), variant="as_printed"
    )
    runs = {
        "without privacy, closed form": None,
        "without noise": (replace(solver, sigma_w=0.0, sigma_v=0.0), repaired),
        "repaired, clipped at 1": (solver, repaired),
        "as printed": (counted, printed),
    }
    rows: list[dict[str, Any]] = []
    for done, (name, pair) in enumerate(runs.items()):
        context.progress(done, len(runs))
        certified = None if pair is None else certify(pair[0].events(pair[1]), delta=delta).epsilon
        models = [repaired.optimum()] if pair is None else _trained(context, *pair)
        scores = [auc_score(adult.X_test @ model, adult.y_test) for model in models]
        rows.append(
            {
                "model": name, "AUC": float(np.mean(scores)), "spread": float(np.std(scores)),
                "runs": len(scores), "certified": certified, "claimed": EPSILON if certified else None,
            }
        )  # fmt: skip
    tables["Test AUC on Adult (a9a)"] = rows
    best, mended = rows[0]["AUC"], rows[2]
    enough = mended["certified"] <= EPSILON
    yield Finding(
        "dp_sgda.adult.utility", "utility",
        f"Adult, n = {len(adult.X)}, epsilon = {EPSILON:g}, delta = 1/n^2: test AUC of the repaired variant",
        "consistent" if enough else "violated",
        f"AUC {mended['AUC']:.4f} against {best:.4f} without privacy; the noise is certified at "
        f"epsilon {mended['certified']:.4f}{'' if enough else f', above the claimed {EPSILON:g}'}",
        certified=mended["certified"], claimed=EPSILON, evidence={"table": rows, "delta": delta},
    )  # fmt: skip
    real = rows[3]["certified"]
    yield Finding(
        "dp_sgda.adult.as_printed", "privacy",
        "as printed on Adult, with replacement: noise of Remark 1, class counts taken as public",
        "consistent" if real <= EPSILON else "violated",
        f"AUC {rows[3]['AUC']:.4f}; minibatches of {counted.batch} with replacement"
        + ("" if real <= EPSILON else f"; the noise is certified at epsilon {real:.4f}, above the claimed {EPSILON:g}"),
        certified=real, claimed=EPSILON, evidence={"notes": list(counted.notes)},
    )  # fmt: skip


def _trained(context: Context, solver: DPSGDA, problem: AUC) -> list[Array]:
    """Return the weights (d,) of independent runs."""
    seeds = [context.stream(10, k) for k in range(20 if context.full else 5)]
    return [solver.run(problem, seed=seed).x[:-2] for seed in seeds]
