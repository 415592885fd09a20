"""False alarms of clean training steps on the libraries themselves: five configurations of each, in float32.

Null: the step as claimed. The level of an audit is 5e-5, and 3e-6 more for single coordinates of the noise: 1,000
audits of one library give at most .053 alarms on average, so that none is due. The 1.8 million simulations that
minibatches are compared with at that level take some minutes; they are made once and shared, which leaves the expected
number of alarms as it is.

    CLEAN_REPEATS=200 pytest -n 0 -s -m experiment --keep-tables tests/audits/test_clean_libraries.py

Each configuration writes its row of ``tests/measured/clean_libraries.csv`` when it is finished: one takes 7 to 60
minutes of a core, and ``two layers`` of Opacus took 103.
"""

from __future__ import annotations

import os
import time
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import tables

from dpcheck import audit_training_step
from dpcheck.audits import noise, sampling

REPEATS = int(os.environ.get("CLEAN_REPEATS", "200"))
LEVEL = 5e-5
N, BATCH = 32, 8
CLAIM = {"batch": BATCH, "steps": 2, "epsilon": 300.0, "delta": 1e-5, "trials": 200, "confidence": 1 - LEVEL}
ROWS = np.random.default_rng(0).normal(size=(N, 3)).astype(np.float32)
PICTURES = np.random.default_rng(1).random((N, 1, 6, 6), np.float32)
TOKENS = np.random.default_rng(2).integers(0, 9, (N, 4))
CONFIGURATIONS = ("linear", "two layers", "convolution", "embedding", "large clip")


TABLE, COLUMNS = "clean_libraries", ("library", "configuration", "audits", "violated", "inconclusive", "CPU seconds")
KEPT = {}


@pytest.fixture
def shared_simulations(monkeypatch):
    simulate = sampling._null

    def once(rng, *described):
        if described not in KEPT:
            KEPT[described] = simulate(rng, *described)
        return KEPT[described]

    monkeypatch.setattr(sampling, "_null", once)
    monkeypatch.setattr(noise, "_MOST", 2_000_000)  # simulations, which end early where no test can reject


def opacus_step(name):
    torch, opacus = pytest.importorskip("torch"), pytest.importorskip("opacus")
    from dpcheck.adapters.opacus import training_step

    torch.manual_seed(0)
    nn = torch.nn
    records, model = {
        "linear": (ROWS, nn.Linear(3, 1)),
        "two layers": (ROWS, nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Dropout(0.5), nn.Linear(5, 1))),
        "convolution": (PICTURES, nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32, 2))),
        "embedding": (TOKENS, nn.Sequential(nn.Embedding(9, 3), nn.Flatten(), nn.Linear(12, 1))),
        "large clip": (ROWS, nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 1))),
    }[name]
    made = opacus.PrivacyEngine().make_private(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
        data_loader=torch.utils.data.DataLoader(
            torch.utils.data.TensorDataset(torch.as_tensor(records)), batch_size=BATCH
        ),
        noise_multiplier=1.0, max_grad_norm=100.0 if name == "large clip" else 1.0,
    )  # fmt: skip
    times = 100.0 if name == "large clip" else 1.0  # a layer of norms bounds the gradients: so the clip is reached
    return training_step(*made, lambda model, batch: times * model(torch.as_tensor(batch)).square().mean()), records


def jax_privacy_step(name):
    jax, execution_plan = pytest.importorskip("jax"), pytest.importorskip("jax_privacy.experimental.execution_plan")
    from dpcheck.adapters.jax_privacy import training_step

    draw = np.random.default_rng(3)

    def weights(*shape):
        return draw.normal(size=shape).astype(np.float32)

    def convolved(w, row):
        return (jax.numpy.tanh(jax.scipy.signal.convolve(row[0], w[0], mode="valid")) * w[1]).sum()

    records, loss, params = {
        "linear": (ROWS, lambda w, row: (row @ w - 1) ** 2, weights(3)),
        "two layers": (ROWS, lambda w, row: jax.numpy.tanh(row @ w[0]) @ w[1], (weights(3, 5), weights(5))),
        "convolution": (PICTURES, convolved, (weights(3, 3), weights(4, 4))),
        "embedding": (TOKENS, lambda w, row: (w[row] ** 2).sum(), weights(9, 3)),
        "large clip": (ROWS, lambda w, row: (row @ w) ** 2, weights(3)),
    }[name]
    clip = 100.0 if name == "large clip" else 1.0
    plan = execution_plan.BandMFExecutionPlanConfig.default(
        num_bands=1, iterations=400, epsilon=None, delta=None, noise_multiplier=1.0, sampling_prob=BATCH / N,
        l2_clip_norm=clip, rescale_to_unit_norm=False, noise_seed=0,
    ).plan  # fmt: skip
    gradient = plan.clipped_grad(loss, keep_batch_dim=False)
    made = (gradient, plan.batch_selection_strategy, plan.noise_addition_transform, params)
    return training_step(*made, stddev=clip, multiple=16), records


def kept_rows():
    return tables.read(TABLE) if (tables.FOLDER / f"{TABLE}.csv").exists() else pd.DataFrame(columns=COLUMNS)


@pytest.mark.experiment
@pytest.mark.filterwarnings("ignore")  # as the libraries work
@pytest.mark.parametrize("name", CONFIGURATIONS)
@pytest.mark.parametrize("made", [opacus_step, jax_privacy_step])
def test_no_false_alarm_on_clean_configurations(made, name, shared_simulations, keep):
    start, words = time.process_time(), Counter()
    step, records = made(name)
    for seed in range(REPEATS):
        audit = audit_training_step(step, records, **CLAIM, seed=seed)
        words[audit.verdict] += 1
        if audit.verdict != "consistent":
            print(f"\nseed {seed}: {audit}")
    seconds = round(time.process_time() - start)
    row = made.__name__.removesuffix("_step"), name, REPEATS, words["violated"], words["inconclusive"], seconds
    found = pd.concat([kept_rows(), pd.DataFrame([row], columns=COLUMNS)])
    keep(TABLE, found.drop_duplicates(list(COLUMNS[:2]), keep="last"))
    assert words["violated"] == 0


def test_no_kept_configuration_was_called_violated():
    kept = kept_rows()
    measured = sorted((library, name) for library in ("jax_privacy", "opacus") for name in CONFIGURATIONS)
    assert sorted(zip(kept["library"], kept["configuration"], strict=True)) == measured
    assert (kept["audits"] == 200).all() and (kept["violated"] == 0).all() and (kept["inconclusive"] == 0).all()
