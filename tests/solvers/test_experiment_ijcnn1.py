"""AUC on ijcnn1 against Table 2 of Yang et al. 2022: linear scores, delta = 1e-6, five splits of 80 and 20.

    DPCHECK_DATA=... pytest -n 0 -s -m experiment tests/solvers/test_experiment_ijcnn1.py [--keep-tables]

Their settings for ijcnn1 are minibatches of 64, 15 epochs and domains of radius 10 (Table 4). Here the share of
positives is a public 0.1, rows x are x/2 (their norm is at most 2), gradients are clipped and the noise is what
the accountant certifies.
"""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest

from dpcheck import certify, datasets
from dpcheck.problems.auc import AUC, auc_score
from dpcheck.solvers import configure

pytestmark = [
    pytest.mark.experiment,
    pytest.mark.skipif("DPCHECK_DATA" not in os.environ, reason="the data set is not bundled"),
]

TRAIN, DELTA, EPOCHS = 39_992, 1e-6, 15
PRINTED = {  # Table 2, per cent
    0.1: {"nseg": 90.106, "dp_sgda": 91.110}, 0.5: {"nseg": 90.346, "dp_sgda": 91.357},
    1.0: {"nseg": 90.355, "dp_sgda": 91.371}, 5.0: {"nseg": 90.363, "dp_sgda": 91.383},
    10.0: {"nseg": 90.363, "dp_sgda": 91.386},
}  # fmt: skip


def score(algorithm, data, epsilon, seed):
    order = np.random.default_rng(seed).permutation(len(data.X))
    train, test = order[:TRAIN], order[TRAIN:]
    problem = AUC.from_data(data.X[train] / 2, data.y[train], positive_share=0.1, radius=10.0)
    steps = EPOCHS * TRAIN // 64
    settings = {"steps": steps, "batch": 64} if algorithm == "dp_sgda" else {"steps": steps // 2, "batch": 64}
    solver = configure(algorithm, problem, epsilon=epsilon, delta=DELTA, eta=0.1, clip_w=1.0, clip_v=0.5, **settings)
    assert certify(solver.events(problem), delta=DELTA).epsilon <= epsilon
    run = solver.run(problem, seed=seed)
    return 100 * auc_score(data.X[test] @ run.x[:-2], data.y[test])


def test_table_2(keep):
    """At epsilon >= 0.5 no worse than the table by more than one point.

    At epsilon = 0.1 noise that is certified at the table's settings costs more than ten points: the table's noise,
    scaled by a gradient norm read off a run without noise (claim Y46), is not covered by its accounting.
    """
    data = datasets.load("ijcnn1")
    rows = []
    for epsilon, printed in PRINTED.items():
        for algorithm, table in printed.items():
            scores = [score(algorithm, data, epsilon, seed) for seed in range(5)]
            rows.append(
                {"epsilon": epsilon, "algorithm": algorithm, "AUC": np.mean(scores), "spread": np.std(scores),
                 "Table 2": table}
            )  # fmt: skip
    frame = pd.DataFrame(rows)
    frame["difference"] = frame["AUC"] - frame["Table 2"]
    keep("ijcnn1_auc", frame)
    reachable = frame[frame["epsilon"] >= 0.5]
    assert (reachable["difference"] >= -1.0).all()
    assert (frame[frame["epsilon"] < 0.5]["difference"] < -1.0).all()
