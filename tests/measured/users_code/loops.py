"""Training loops in NumPy, declared as ``dpcheck.Algorithm``."""

from __future__ import annotations

from typing import Any

import numpy as np
from case import check, planted

from dpcheck.events import Gaussian, Laplace, Repeated, Sampled

N, WIDTH, STEPS, BATCH = 20, 3, 8, 5
DATA = np.random.default_rng(1).normal(size=(N, WIDTH))
FAR = [np.array([50.0, 0, 0]), np.array([-50.0, 0, 0]), np.array([0.0, 30, 30])]
ALL: dict[str, Any] = {
    "kind": "NumPy loop", "data": DATA, "replacements": FAR, "start": np.zeros(WIDTH), "steps": STEPS,
    "events": Repeated(Gaussian(6.0), STEPS),
}  # fmt: skip
SIGMA = 12.0  # of the sum, of which replacing a record moves two clips
POISSON = ALL | {"events": Repeated(Sampled((Gaussian(1.5),), "poisson", N, BATCH), STEPS)}
FIXED = ALL | {"events": Repeated(Sampled((Gaussian(1.5),), "without_replacement", N, BATCH), STEPS)}


def clipped(rows, norm=1.0):
    return rows * np.minimum(1, norm / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))


def poisson(data, rng):
    return rng.random(N) < BATCH / N


def descend(w, g):
    return w - 0.1 * g


UPDATED = ALL | {"update": descend}


@planted(check, **ALL)
def sgd(w, data, rng):
    g = clipped(w - data).sum(0) + rng.normal(scale=SIGMA, size=WIDTH)
    return w - 0.1 * g / N


@planted(check, "clip", **ALL)
def sgd_clips_the_mean(w, data, rng):
    g = (w - data).mean(0)
    g /= max(1, np.linalg.norm(g))  # fault
    return w - 0.1 * (g + rng.normal(scale=SIGMA / N, size=WIDTH))


@planted(check, "clip", **ALL)
def sgd_clips_coordinates(w, data, rng):
    g = np.clip(w - data, -1, 1).sum(0)  # fault: the norm is up to sqrt(3)
    return w - 0.1 * (g + rng.normal(scale=SIGMA, size=WIDTH)) / N


@planted(check, "noise multiplier [\\d.]+ and", **ALL)
def sgd_noise_divided_twice(w, data, rng):
    g = clipped(w - data).mean(0)
    noise = rng.normal(scale=SIGMA / N, size=WIDTH) / np.sqrt(N)  # fault
    return w - 0.1 * (g + noise)


@planted(check, "noise multiplier [\\d.]+ and", **ALL)
def sgd_noise_on_each_record(w, data, rng):
    g = clipped(w - data)
    g = g + rng.normal(scale=SIGMA / N, size=g.shape)  # fault: the sum has sqrt(N) / N of what it needs
    return w - 0.1 * g.mean(0)


@planted(check, "noise multiplier [\\d.]+ and", **ALL | {"start": np.zeros(WIDTH + 1)})
def sgd_noise_decays(w, data, rng):
    w, t = w[:WIDTH], w[WIDTH]
    g = clipped(w - data).sum(0) + rng.normal(scale=SIGMA * 0.9**t, size=WIDTH)  # fault: accounted as constant
    return np.append(w - 0.1 * g / N, t + 1)


@planted(check, "nothing is drawn from rng", **ALL)
def sgd_same_seed_each_step(w, data, rng):
    noise = np.random.default_rng(0).normal(scale=SIGMA, size=WIDTH)  # fault
    return w - 0.1 * (clipped(w - data).sum(0) + noise) / N


@planted(check, "decides by the data", **ALL)
def sgd_no_noise_near_the_optimum(w, data, rng):
    g = clipped(w - data).sum(0)
    if np.linalg.norm(g) > 1:  # fault
        g = g + rng.normal(scale=SIGMA, size=WIDTH)
    return w - 0.1 * g / N


@planted(check, "records of earlier steps", **ALL | {"make": lambda ball: ball().step, "name": "heavy_ball"})
class MomentumOfRawGradients:
    def __init__(self):
        self.m = np.zeros(WIDTH)

    def step(self, w, data, rng):
        self.m = 0.9 * self.m + clipped(w - data).sum(0)  # fault
        return w - 0.1 * (self.m + rng.normal(scale=SIGMA, size=WIDTH)) / N


def heavy_ball(state, g):
    w, m = state
    m = 0.9 * m + g
    return w - 0.1 * m / N, m


@planted(check, **ALL | {"start": (np.zeros(WIDTH), np.zeros(WIDTH)), "update": heavy_ball})
def momentum(state, data, rng):
    return clipped(state[0] - data).sum(0) + rng.normal(scale=SIGMA, size=WIDTH)


def adam_update(state, g):
    w, m, v, t = state
    m, v, t = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g**2, t + 1
    return w - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.99**t)) + 1e-8), m, v, t


ADAM = ALL | {"start": (np.zeros(WIDTH), np.zeros(WIDTH), np.zeros(WIDTH), 0)}


@planted(check, **ADAM | {"update": adam_update})
def adam(state, data, rng):
    return clipped(state[0] - data).sum(0) + rng.normal(scale=SIGMA, size=WIDTH)


@planted(check, "the same in 30 runs", **ADAM)
def adam_second_moment_of_raw_gradients(state, data, rng):
    w, m, v, t = state
    raw = clipped(w - data).sum(0)
    g = raw + rng.normal(scale=SIGMA, size=WIDTH)
    m, v, t = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * raw**2, t + 1  # fault
    return w - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.99**t)) + 1e-8), m, v, t


@planted(check, "records of earlier steps", **ALL | {"start": {"w": np.zeros(WIDTH), "v": np.zeros(WIDTH)},
                                                     "update": lambda s, w: s | {"w": w}})  # fmt: skip
def adagrad_of_raw_gradients_in_place(state, data, rng):
    raw = clipped(state["w"] - data).sum(0)
    state["v"] += raw**2  # fault
    g = raw + rng.normal(scale=SIGMA, size=WIDTH)
    return state["w"] - 0.1 * g / np.sqrt(state["v"] + 1)


HISTORY: list[Any] = []


@planted(check, "keeps in HISTORY", **ALL)
def ema_of_unreleased_weights(w, data, rng):
    exact = w - 0.1 * clipped(w - data).sum(0) / N
    HISTORY.append(exact)  # fault
    average = np.mean(HISTORY[-3:], axis=0)
    return average + rng.normal(scale=0.1 * SIGMA / N, size=WIDTH)


@planted(check, "keeps in residual", **UPDATED | {"steps": STEPS})
def error_feedback(w, data, rng, residual={"r": np.zeros(WIDTH)}):  # noqa: B006, B008
    g = w - data
    kept = clipped(g).sum(0)
    out = kept + 0.1 * clipped(residual["r"][None])[0] + rng.normal(scale=SIGMA, size=WIDTH)
    residual["r"] = g.sum(0) - kept  # fault
    return out / N


@planted(check, "decides by the data", **ALL)
def early_stopping_on_private_loss(w, data, rng):
    new = w - 0.1 * (clipped(w - data).sum(0) + rng.normal(scale=SIGMA, size=WIDTH)) / N
    if ((new - data) ** 2).mean() > ((w - data) ** 2).mean():  # fault
        return w
    return new


@planted(check, "noise itself changes|reads the data after", **ALL)
def rate_by_private_loss(w, data, rng):
    rate = 0.1 if ((w - data) ** 2).mean() > 20 else 0.01  # fault
    return w - rate * (clipped(w - data).sum(0) + rng.normal(scale=SIGMA, size=WIDTH)) / N


@planted(check, "nothing bounds", **ALL)
def starts_at_the_mean(w, data, rng):
    if not w.any():
        w = data.mean(0)  # fault
    return w - 0.1 * (clipped(w - data).sum(0) + rng.normal(scale=SIGMA, size=WIDTH)) / N


@planted(check, "lets one record change", **ALL)
def features_scaled_by_private_spread(w, data, rng):
    data = (data - data.mean(0)) / (data.std(0) + 1e-6)  # fault
    return w - 0.1 * (clipped(w - data).sum(0) + rng.normal(scale=SIGMA, size=WIDTH)) / N


@planted(check, "noise itself changes|clip", **ALL)
def clips_to_the_median_norm(w, data, rng):
    g = w - data
    norm = np.median(np.linalg.norm(g, axis=1))  # fault
    return w - 0.1 * (clipped(g, norm).sum(0) + norm * rng.normal(scale=SIGMA, size=WIDTH)) / N


@planted(
    check,
    "mean size",
    **POISSON | {"sampler": lambda data, rng: rng.random(len(data)) < 2 * BATCH / N},  # fault
)
def sgd_sampled_at_twice_the_rate(w, data, rng):
    chosen = rng.random(len(data)) < 2 * BATCH / N
    g = clipped(w - data[chosen]).sum(0) + rng.normal(scale=1.5, size=WIDTH)
    return w - 0.1 * g / BATCH


@planted(check, **POISSON | {"sampler": poisson})
def sgd_poisson(w, data, rng):
    chosen = rng.random(len(data)) < BATCH / N
    g = clipped(w - data[chosen]).sum(0) + rng.normal(scale=1.5, size=WIDTH)
    return w - 0.1 * g / BATCH


@planted(check, "divi|own size|number of records", **POISSON | {"sampler": poisson})
def sgd_divides_by_the_drawn_size(w, data, rng):
    chosen = rng.random(len(data)) < BATCH / N
    g = clipped(w - data[chosen]).sum(0) / max(1, chosen.sum())  # fault
    return w - 0.1 * (g + rng.normal(scale=1.5 / BATCH, size=WIDTH))


@planted(
    check,
    "divi|size|number of records|noise",
    **POISSON | {"sampler": lambda data, rng: rng.random(len(data)) < BATCH / N},
)
def sgd_noise_by_private_n(w, data, rng):
    chosen = rng.random(len(data)) < BATCH / N
    g = clipped(w - data[chosen]).sum(0) + rng.normal(scale=1.5, size=WIDTH)
    return w - g / len(data)  # fault


@planted(check, **FIXED)
def sgd_without_replacement(w, data, rng):
    g = clipped(w - data[rng.choice(N, BATCH, replace=False)]).sum(0) + rng.normal(scale=3.0, size=WIDTH)
    return w - 0.1 * g / BATCH


@planted(check, "holds a record twice", **FIXED)
def sgd_with_replacement(w, data, rng):
    chosen = rng.integers(N, size=BATCH)  # fault
    g = clipped(w - data[chosen]).sum(0) + rng.normal(scale=3.0, size=WIDTH)
    return w - 0.1 * g / BATCH


@planted(check, "noise multiplier [\\d.]+ and", **FIXED)
def sgd_noise_for_removal_only(w, data, rng):
    batch = data[rng.choice(N, BATCH, replace=False)]
    g = clipped(w - batch).sum(0) + rng.normal(scale=1.5, size=WIDTH)  # fault: replacing a record moves 2
    return w - 0.1 * g / BATCH


@planted(check, "drawn more often", **FIXED)
def sgd_prefers_large_gradients(w, data, rng):
    norms = np.linalg.norm(w - data, axis=1)
    chosen = rng.choice(N, BATCH, replace=False, p=norms / norms.sum())  # fault
    g = clipped(w - data[chosen]).sum(0) + rng.normal(scale=3.0, size=WIDTH)
    return w - 0.1 * g / BATCH


@planted(check, "clip", **ALL)
def layers_clipped_apart(w, data, rng):
    g = w - data
    first, second = clipped(g[:, :1]), clipped(g[:, 1:])  # fault: two norms of 1
    g = np.hstack([first, second]).sum(0) + rng.normal(scale=SIGMA, size=WIDTH)
    return w - 0.1 * g / N


@planted(check, **ALL)
def layers_clipped_to_a_share(w, data, rng):
    g = w - data
    g = np.hstack([clipped(g[:, :1], 0.6), clipped(g[:, 1:], 0.8)]).sum(0) + rng.normal(scale=SIGMA, size=WIDTH)
    return w - 0.1 * g / N


@planted(check, "clip", **ALL)
def accumulates_clipped_microbatches(w, data, rng):
    total = np.zeros(WIDTH)
    for part in np.array_split(data, 4):
        g = (w - part).sum(0)
        total += 4 * g / max(1, np.linalg.norm(g))  # fault
    return w - 0.1 * (total + rng.normal(scale=SIGMA, size=WIDTH)) / N


@planted(check, **ALL)
def accumulates(w, data, rng):
    total = np.zeros(WIDTH)
    for part in np.array_split(data, 4):
        total += clipped(w - part).sum(0)
    return w - 0.1 * (total + rng.normal(scale=SIGMA, size=WIDTH)) / N


@planted(check, "norm|clip", **ALL | {"delta": 0.0, "events": Repeated(Laplace(8.0), STEPS)})
def laplace_for_an_l2_clip(w, data, rng):
    g = clipped(w - data).sum(0)
    return w - 0.1 * (g + rng.laplace(scale=16.0, size=WIDTH)) / N  # fault: the l1 norm is up to sqrt(3)


@planted(check, **ALL | {"delta": 0.0, "events": Repeated(Laplace(8.0), STEPS)})
def laplace(w, data, rng):
    g = w - data
    g = (g / np.maximum(1, np.abs(g).sum(1, keepdims=True))).sum(0)
    return w - 0.1 * (g + rng.laplace(scale=16.0, size=WIDTH)) / N


@planted(check, "reads the data after the noise", whole=True, kind="NumPy loop", epsilon=1.0, data=DATA,
         replacements=FAR)  # fmt: skip
def returns_the_best_iterate(data, rng):
    w, best = np.zeros(WIDTH), None
    for _ in range(STEPS):
        w = w - 0.1 * (clipped(w - data).sum(0) + rng.normal(scale=2 * SIGMA, size=WIDTH)) / N
        loss = ((w - data) ** 2).mean()
        best = (loss, w) if best is None or loss < best[0] else best
    return np.append(best[1], best[0])  # fault: the exact loss is returned with it


@planted(check, **ALL)
def rounds_after_the_noise(w, data, rng):
    g = clipped(w - data).sum(0) + rng.normal(scale=SIGMA, size=WIDTH)
    return np.round(w - 0.1 * g / N, 6)


@planted(check, **ALL)
def projects_and_decays(w, data, rng):
    g = clipped(w - data).sum(0) + rng.normal(scale=SIGMA, size=WIDTH)
    w = 0.99 * w - 0.1 * g / N
    return w / max(1, np.linalg.norm(w))
