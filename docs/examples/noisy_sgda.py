"""A private optimiser in plain NumPy, declared for ``dpcheck check docs/examples/noisy_sgda.py``.

Records are vectors a; the loss of one is the game f(w, v; a) = a.w + w.v - |v|^2/2 on two balls, so that the best w is
minus the mean of the records. A step draws a minibatch, clips each record's gradient, adds Gaussian noise to the mean.
"""

import numpy as np

import dpcheck
from dpcheck.events import Gaussian, Repeated, Sampled

D, N, STEPS = 2, 12, 10
CLIP, STEP, RADIUS = 1.0, 0.2, 2.0
MULTIPLIER = 4.4  # noise over sensitivity: 10 steps on a third of the records are certified at epsilon 0.985


def step(state, data, rng):
    """What one step releases: the noisy mean gradient in w and v."""
    w, v = state
    batch = len(data) // 3
    drawn = data[rng.choice(len(data), batch, replace=False)]
    gradients = np.hstack([drawn + v, np.broadcast_to(w - v, drawn.shape)])
    gradients /= np.maximum(1, np.linalg.norm(gradients, axis=1, keepdims=True) / CLIP)
    sigma = MULTIPLIER * 2 * CLIP / batch  # one record moves the mean of clipped gradients by 2 CLIP / batch
    return gradients.mean(axis=0) + rng.normal(scale=sigma, size=2 * D)


def update(state, released):
    """The next iterates, from what was released alone: a descent and an ascent step, projected."""
    w, v = state[0] - STEP * released[:D], state[1] + STEP * released[D:]
    return w / max(1, np.linalg.norm(w) / RADIUS), v / max(1, np.linalg.norm(v) / RADIUS)


def gap(rng, n):
    """The primal gap max_v f(w, v) - min max f = |w + mean|^2 / 2 after 40 steps on n records."""
    data = rng.uniform(-0.4, 0.4, size=(n, D))
    state = (np.zeros(D), np.zeros(D))
    for _ in range(40):
        state = update(state, step(state, data, rng))
    return np.sum((state[0] + data.mean(axis=0)) ** 2) / 2


ALGORITHM = dpcheck.Algorithm(
    name="noisy_sgda",
    epsilon=1.0,
    delta=1e-5,
    data=np.random.default_rng(0).uniform(-0.7, 0.7, size=(N, D)),
    replacements=[np.array(record) for record in ([1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0])],
    step=step,
    update=update,
    start=(np.zeros(D), np.zeros(D)),
    steps=STEPS,
    events=Repeated(Sampled((Gaussian(MULTIPLIER),), "without_replacement", N, N // 3), STEPS),
    rate=dpcheck.RateClaim(measure=gap, grid={"n": (480, 960, 1920, 3840)}, claimed={"n": -1.0}, seeds=60),
)
