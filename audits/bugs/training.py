"""Bugs in the loops around private gradients: batches, steps, workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpcheck.audits.bugs.bug import Bug, Rng, Tester
from dpcheck.events import Gaussian, Sampled

# Gradients are numbers in [-1, 1]; noise is this much of what one record changes.
RATE, MULTIPLIER = 0.25, 1.0


def _batch_sum(gradients: Any, rng: Rng, size: int, d: int) -> Any:
    """Return the noisy sum over a Poisson batch, the same gradient in each of d coordinates: (size, d)."""
    total = (rng.random((size, len(gradients))) < RATE) @ np.asarray(gradients)
    return (total[:, None] + MULTIPLIER * np.sqrt(d) * rng.standard_normal((size, d))) / np.sqrt(d)


def _divided_by_a_floor(gradients: Any, rng: Rng, size: int) -> Any:
    return _batch_sum(gradients, rng, size, 20) / int(RATE * len(gradients))


def _divided_by_a_constant(gradients: Any, rng: Rng, size: int) -> Any:
    return _batch_sum(gradients, rng, size, 20) / 4


DIVIDED_BY_A_FLOOR = Bug(
    "The expected batch size is computed from the private number of records, and rounded down",
    "meta-pytorch/opacus issues 571 and 819",
    "Where one record makes int(rate * n) jump, the noise of all coordinates has another scale on the two "
    "datasets, and in high dimension they are told apart at once. With many records the jump is small; with few "
    "it is a factor. The divisor is fixed before the data are seen.",
    _divided_by_a_floor, _divided_by_a_constant,
    Tester(
        "privacy", [0.0] * 16, [0.0] * 15, delta=1e-5,
        claim=Sampled((Gaussian(MULTIPLIER),), "poisson", 16, 4, "add_or_remove_one"),
    ),
)  # fmt: skip


def _gradients_kept(batches: Any, rng: Rng, size: int) -> Any:
    kept, releases = np.zeros(()), []
    for batch in batches:
        kept = kept + np.sum(batch)
        releases.append(kept + 2 * MULTIPLIER * rng.standard_normal(size))
    return np.column_stack(releases)


def _gradients_zeroed(batches: Any, rng: Rng, size: int) -> Any:
    return np.column_stack([np.sum(batch) + 2 * MULTIPLIER * rng.standard_normal(size) for batch in batches])


GRADIENTS_KEPT = Bug(
    "Gradients are accumulated from step to step",
    "meta-pytorch/opacus pull request 203 discusses it (a step without zero_grad)",
    "Batches are disjoint, so each record should be charged once. The buffer of clipped gradients is not emptied, "
    "and the second release contains the first batch again, with noise for one. The buffer is emptied after each "
    "release.",
    _gradients_kept, _gradients_zeroed,
    Tester("privacy", [[1.0], [0.0]], [[-1.0], [0.0]], claim=Gaussian(MULTIPLIER), delta=1e-5),
)  # fmt: skip


def _step_along_the_raw_gradient(oracle: Callable[..., Any], rng: Rng) -> Any:
    x, released = np.zeros(3), []
    for _ in range(5):
        gradient = oracle(x)
        released.append(gradient + rng.normal(scale=MULTIPLIER, size=3))
        x = x - 0.5 * gradient
    return np.concatenate(released)


def _step_along_the_release(oracle: Callable[..., Any], rng: Rng) -> Any:
    x, released = np.zeros(3), []
    for _ in range(5):
        released.append(oracle(x) + rng.normal(scale=MULTIPLIER, size=3))
        x = x - 0.5 * released[-1]
    return np.concatenate(released)


def _output_where_the_loss_is_least(oracle: Callable[..., Any], rng: Rng) -> Any:
    x, best, least = np.zeros(3), np.zeros(3), float("inf")
    for _ in range(20):
        gradient = oracle(x)
        if np.linalg.norm(gradient) < least:
            best, least = x, float(np.linalg.norm(gradient))
        x = x - 0.5 * (gradient + rng.normal(scale=MULTIPLIER, size=3))
    return best


def _output_the_last(oracle: Callable[..., Any], rng: Rng) -> Any:
    x = np.zeros(3)
    for _ in range(20):
        x = x - 0.5 * (oracle(x) + rng.normal(scale=MULTIPLIER, size=3))
    return x


def _quadratic(x: Any) -> Any:
    return x - np.array([1.0, 2.0, 3.0])


STEP_ALONG_THE_RAW_GRADIENT = Bug(
    "The noisy gradient is published, the raw one is stepped along",
    "folklore",
    "Every release has its noise and the accountant sees all of them. But the point at which the next gradient is "
    "taken depends on the exact one, and so do all later releases; composition covers only what depends on "
    "releases. The step uses what was released.",
    _step_along_the_raw_gradient, _step_along_the_release, Tester("evaluation_points", _quadratic),
)  # fmt: skip


OUTPUT_WHERE_THE_LOSS_IS_LEAST = Bug(
    "The best iterate by a measure on the raw data",
    "folklore",
    "All iterates are private together, and the one returned is chosen by the exact gradient norm. The choice is "
    "one more look at the data, for which nothing is charged. The last iterate, an average or a random one needs "
    "no look.",
    _output_where_the_loss_is_least, _output_the_last, Tester("evaluation_points", _quadratic),
)  # fmt: skip


WORKERS = 4


def _scale_divided_among_workers(gradients: Any, rng: Rng, size: int) -> Any:
    parts = 2 * MULTIPLIER / WORKERS * rng.standard_normal((size, WORKERS))
    return np.sum(gradients) + parts.sum(1)


def _variance_divided_among_workers(gradients: Any, rng: Rng, size: int) -> Any:
    parts = 2 * MULTIPLIER / np.sqrt(WORKERS) * rng.standard_normal((size, WORKERS))
    return np.sum(gradients) + parts.sum(1)


SCALE_DIVIDED_AMONG_WORKERS = Bug(
    "Each of k workers adds noise of scale sigma/k",
    "google-deepmind/optax issue 148 discusses it",
    "Standard deviations of independent noises do not add up, variances do. The sum of k noises of scale sigma/k "
    "has scale sigma/sqrt(k), so a larger cluster is less private. Each worker adds sigma/sqrt(k), or one adds "
    "all.",
    _scale_divided_among_workers, _variance_divided_among_workers,
    Tester("privacy", [1.0, 0], [-1.0, 0], claim=Gaussian(MULTIPLIER), delta=1e-5),
)  # fmt: skip
