"""A round of PrivateDiff with scores that its inner ascent computes once, beside one with whole gradients, in one run.

    pytest -n 0 -s [--keep-tables] tests/benchmarks/bench_ascent.py

AUC of a 784-256-128 perceptron on 60,000 records, minibatches of 2,048, T2 = 3, as in Table 1 of Zhang et al. 2025.
Repaired, the ascent passes all records three times. Seconds are those of the processor, on one core: other programs
lengthen them far less than those of the clock. Read the ratios.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dpcheck.algorithms.kernels import gradients
from dpcheck.problems.auc_mlp import AUCMLP
from dpcheck.solvers import configure

N, WIDTH, HIDDEN, ROUNDS = 60_000, 784, (256, 128), 3
GIVEN = {"rounds": ROUNDS - 1, "restart": 2, "inner": 3, "batch": 2048, "eta_x": 0.2, "eta_y": 0.2}
CLIPS = {"C0": 1.0, "C1": 1.0, "C2": 1.0, "C3": 1.0}
LEAST = {"as_printed": 1.0, "repaired": 3.0}  # times faster


@pytest.fixture(scope="module")
def problems():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, WIDTH))
    X /= 1.0001 * np.linalg.norm(X, axis=1, keepdims=True)
    kept = AUCMLP.from_data(X, np.where(np.arange(N) % 2, 1.0, -1.0), positive_share=0.5, hidden=HIDDEN, radius=100.0)
    whole = replace(kept)
    object.__setattr__(whole, "ascent", gradients.ascent)
    return {"whole gradients": whole, "kept scores": kept}


def test_kept_scores_shorten_a_round(problems, keep):
    found = []
    for variant, least in LEAST.items():
        printed = {"sensitivity_y": 1e-4} if variant == "as_printed" else {}
        outputs = []
        for name, problem in problems.items():
            solver = configure(
                "privatediff", problem, epsilon=1.0, delta=1e-5, variant=variant, **GIVEN, **CLIPS, **printed
            )
            replace(solver, rounds=0).run(problem)  # compiles
            started = time.process_time()
            outputs.append(solver.run(problem, seed=1).x)
            found.append((variant, name, (time.process_time() - started) / ROUNDS))
        np.testing.assert_allclose(*outputs, rtol=0, atol=1e-10)
        assert found[-2][-1] > least * found[-1][-1]
    keep("inner_ascent", pd.DataFrame(found, columns=["variant", "ascent", "seconds a round"]))
