"""Loops and steps in torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from case import check, planted, step

from dpcheck.events import Gaussian, Repeated

N, BATCH, WIDTH, STEPS = 32, 8, 3, 8
RECORDS = np.random.default_rng(4).normal(scale=2, size=(N, WIDTH + 1))


def poisson(n, rng):
    while True:
        yield np.flatnonzero(rng.random(n) < BATCH / N)


STEP: dict[str, Any] = {
    "kind": "torch", "records": RECORDS, "sampler": poisson, "clip": 1.0, "noise": 1.2 / BATCH, "divisor": BATCH,
    "params": None, "batch": BATCH, "steps": 100, "epsilon": 30.0, "delta": 1e-5, "trials": 400,
}  # fmt: skip
LOOP: dict[str, Any] = {
    "kind": "torch", "data": RECORDS, "replacements": [np.full(WIDTH + 1, 40.0), np.full(WIDTH + 1, -40.0)],
    "start": np.zeros(WIDTH + 1), "steps": STEPS, "events": Repeated(Gaussian(6.0), STEPS),
}  # fmt: skip
torch.manual_seed(0)
torch.set_num_threads(1)
MODEL = torch.nn.Linear(WIDTH, 1).double()
NORMED = torch.nn.Sequential(torch.nn.BatchNorm1d(WIDTH, track_running_stats=False), torch.nn.Linear(WIDTH, 1)).double()


def gradient_of(model, rows):
    """The gradient of the summed squared error of rows (x, y)."""
    model.zero_grad()
    rows = torch.as_tensor(np.atleast_2d(rows))
    ((model(rows[:, :-1])[:, 0] - rows[:, -1]) ** 2).sum().backward()
    return torch.cat([p.grad.ravel() for p in model.parameters()])


def clip(g, norm=1.0):
    return g * min(1.0, norm / (float(g.norm()) + 1e-12))


def loss(w, row):
    return (row[:-1] @ w[:-1] + w[-1] - row[-1]) ** 2


each_gradient = torch.func.vmap(torch.func.grad(loss), (None, 0))


def total(batch, norm=1.0):
    """The sum of the gradients of all rows at the model's weights, each clipped."""
    w = torch.cat([p.detach().ravel() for p in MODEL.parameters()])
    rows = torch.as_tensor(np.asarray(batch, float).reshape(-1, WIDTH + 1))
    g = each_gradient(w, rows) if len(rows) else rows
    return (g * torch.clamp(norm / (g.norm(dim=1, keepdim=True) + 1e-12), max=1.0)).sum(0)


def noise(rng, width=WIDTH + 1):
    torch.manual_seed(int(rng.integers(2**62)))
    return 1.2 * torch.randn(width, dtype=torch.float64)


@planted(step, **STEP)
def torch_step(_, batch, rng):
    return (total(batch) + noise(rng)) / BATCH


@planted(step, "violated: clipping:", **STEP)
def torch_clip_grad_norm_of_the_minibatch(_, batch, rng):
    g = gradient_of(MODEL, batch) if len(batch) else torch.zeros(WIDTH + 1)
    torch.nn.utils.clip_grad_norm_(MODEL.parameters(), 1.0)  # fault
    g = torch.cat([p.grad.ravel() for p in MODEL.parameters()]) if len(batch) else g
    return g + noise(rng) / BATCH


@planted(step, "violated: noise:", **STEP)
def torch_bias_without_noise(_, batch, rng):
    drawn = noise(rng)
    drawn[-1] = 0  # fault
    return (total(batch) + drawn) / BATCH


@planted(step, "violated: clipping:", **STEP | {"params": None})
def torch_batch_norm(_, batch, rng):
    if len(batch) < 2:
        return noise(rng, 10) / BATCH
    rows = []
    for k in range(len(batch)):
        NORMED.zero_grad()
        x = torch.as_tensor(batch)
        ((NORMED(x[:, :-1])[k, 0] - x[k, -1]) ** 2).backward()  # fault: row k sees the others
        rows.append(clip(torch.cat([p.grad.ravel() for p in NORMED.parameters()])))
    return (sum(rows) + noise(rng, 10)) / BATCH


@planted(step, "violated: clipping:|keeps", **STEP)
def torch_gradients_not_zeroed(_, batch, rng):
    for row in batch:
        x = torch.as_tensor(row[None])
        ((MODEL(x[:, :-1])[:, 0] - x[:, -1]) ** 2).sum().backward()  # fault: those before are still there
    g = torch.cat([p.grad.ravel() for p in MODEL.parameters()]) if len(batch) else torch.zeros(WIDTH + 1)
    MODEL.zero_grad()
    return (clip(g, float(max(1, len(batch)))) + noise(rng)) / BATCH


@planted(check, **LOOP)
def torch_loop(w, data, rng):
    g = total(data - 0 * w).numpy() + rng.normal(scale=12.0, size=WIDTH + 1)
    return w - 0.1 * g / N


@planted(check, "nothing is drawn from rng", **LOOP)
def torch_loop_manual_seed(w, data, rng):
    torch.manual_seed(42)  # fault
    g = total(data) + 12.0 * torch.randn(WIDTH + 1, dtype=torch.float64)
    return w - 0.1 * g.numpy() / N


KEPT = {"m": np.zeros(WIDTH + 1)}


@planted(check, "keeps in KEPT|records of earlier steps", **LOOP)
def torch_loop_momentum_buffer(w, data, rng):
    KEPT["m"] = 0.9 * KEPT["m"] + total(data).numpy()  # fault
    return w - 0.1 * (KEPT["m"] + rng.normal(scale=12.0, size=WIDTH + 1)) / N


@planted(check, "clip", **LOOP)
def torch_loop_clips_twice_the_norm(w, data, rng):
    g = total(data, 2.0).numpy()  # fault
    return w - 0.1 * (g + rng.normal(scale=12.0, size=WIDTH + 1)) / N
