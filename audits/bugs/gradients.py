"""Bugs in clipped gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcheck.audits.bugs.bug import Bug, Rng, Tester
from dpcheck.events import Gaussian

# Gradients of records, one a row, clipped to this norm.
BOUND = 1.0
GRADIENTS = np.random.default_rng(0).standard_normal((16, 4))
MULTIPLIER = 1.0


def _clip(rows: Any, bound: float = BOUND) -> Any:
    norms = np.linalg.norm(rows, axis=-1, keepdims=True)
    return rows * np.minimum(1, bound / np.maximum(norms, 1e-12))


def _mean_clipped(batch: Any) -> Any:
    return _clip(batch.mean(0))


def _mean_of_clipped(batch: Any) -> Any:
    return _clip(np.nan_to_num(batch, posinf=0, neginf=0)).mean(0)


MEAN_CLIPPED = Bug(
    "The mean of the gradients is clipped, not each of them",
    "Tramer et al., Debugging differential privacy (2022): sensitivity of a mean wrong by the batch's size; "
    "tensorflow/privacy issue 81 warns of it",
    "Clipping the batch's mean bounds the mean and not what one record does to it. A single large gradient turns "
    "the whole mean round, while the noise is for a share of 1/n. Each gradient is clipped before any are added "
    "up.",
    _mean_clipped, _mean_of_clipped, Tester("clipping", GRADIENTS, BOUND, "size"),
)  # fmt: skip


def _layers_clipped_apart(batch: Any) -> Any:
    batch = np.nan_to_num(batch, posinf=0, neginf=0)
    return np.hstack([_clip(batch[:, :2]), _clip(batch[:, 2:])]).sum(0)


def _sum_of_clipped(batch: Any) -> Any:
    return _clip(np.nan_to_num(batch, posinf=0, neginf=0)).sum(0)


LAYERS_CLIPPED_APART = Bug(
    "Each layer is clipped to C, and the noise made for C",
    "fedbiomed/fedbiomed issue 1443 (clipping by parameter and not by global norm)",
    "Clipped by itself, each of k layers may have norm C, and all together C sqrt(k). The noise is made for C, so "
    "deep models lose more. The norm is taken over all parameters, or the layers have bounds whose squares add up "
    "to C^2.",
    _layers_clipped_apart, _sum_of_clipped, Tester("clipping", GRADIENTS, BOUND),
)  # fmt: skip


def _normalised_over_the_batch(batch: Any) -> Any:
    batch = np.nan_to_num(batch, posinf=0, neginf=0)
    spread = batch.std(0) if len(batch) else 1.0
    centre = batch.mean(0) if len(batch) else 0.0
    return _clip((batch - centre) / (spread + 1e-5)).sum(0)


def _normalised_alone(batch: Any) -> Any:
    batch = np.nan_to_num(batch, posinf=0, neginf=0)
    centre, spread = batch.mean(1, keepdims=True), batch.std(1, keepdims=True)
    return _clip((batch - centre) / (spread + 1e-5)).sum(0)


NORMALISED_OVER_THE_BATCH = Bug(
    "Batch normalisation before the gradients are clipped",
    "meta-pytorch/opacus issue 319 (BatchNorm refused, being incompatible)",
    "With statistics of the batch inside the model, each record's gradient depends on all the others. Clipping "
    "them one by one no longer bounds what one record changes: it moves every term of the sum. Normalisation "
    "within a record, such as group or layer normalisation, keeps them apart.",
    _normalised_over_the_batch, _normalised_alone, Tester("clipping", GRADIENTS, BOUND),
)  # fmt: skip


def _coefficients(batch: Any) -> Any:
    return np.minimum(1, BOUND / np.maximum(np.linalg.norm(batch, axis=1), 1e-12))


def _losses_in_a_column(batch: Any) -> Any:
    batch = np.nan_to_num(batch, posinf=0, neginf=0)
    losses = np.ones((len(batch), 1))  # in units of each one's own
    weights = _coefficients(batch) * losses  # a row a loss, a column a coefficient
    return weights.sum(1) @ batch


def _losses_in_a_row(batch: Any) -> Any:
    batch = np.nan_to_num(batch, posinf=0, neginf=0)
    losses = np.ones(len(batch))
    weights = _coefficients(batch) * losses
    return weights @ batch


LOSSES_IN_A_COLUMN = Bug(
    "Losses of shape (n, 1) are multiplied by clipping coefficients of shape (n,)",
    "meta-pytorch/opacus pull request 668 (ghost clipping, DPTensorFastGradientClipping.backward), so in 1.6.0",
    "Ghost clipping weighs each record's loss with a coefficient and takes one gradient of the sum. A mean squared "
    "error of outputs (n, 1) gives losses (n, 1); times (n,) that is a table of every loss with every coefficient, "
    "and no gradient is clipped. Losses and coefficients have one shape.",
    _losses_in_a_column, _losses_in_a_row, Tester("clipping", GRADIENTS, BOUND),
)  # fmt: skip


EXPECTED = 8.0


def _divided_by_its_size(batch: Any) -> Any:
    return _clip(np.nan_to_num(batch, posinf=0, neginf=0)).sum(0) / max(len(batch), 1)


def _divided_by_the_expected_size(batch: Any) -> Any:
    return _clip(np.nan_to_num(batch, posinf=0, neginf=0)).sum(0) / EXPECTED


DIVIDED_BY_ITS_SIZE = Bug(
    "The sum over a Poisson batch is divided by the size it happens to have",
    "meta-pytorch/opacus issue 420 asks for it",
    "The size of a Poisson batch depends on who is in it. Dividing by it makes all other terms move when one "
    "record comes, and the noise, divided along, has a scale that tells the size. The divisor is the expected "
    "size, a constant.",
    _divided_by_its_size, _divided_by_the_expected_size, Tester("clipping", GRADIENTS, BOUND, EXPECTED),
)  # fmt: skip


def _bound_not_passed_on(batch: Any) -> Any:
    return _clip(np.nan_to_num(batch, posinf=0, neginf=0), bound=10.0).sum(0)


BOUND_NOT_PASSED_ON = Bug(
    "The clipping norm that was asked for is not passed on",
    "meta-pytorch/opacus pull request 664 (fast gradient clipping)",
    "The engine takes a clipping norm, computes its noise from it, and clips with another. Training looks "
    "healthy, the accountant is right about a different program, and records with large gradients pay. A test "
    "that feeds one huge record, and looks at the norm, sees it.",
    _bound_not_passed_on, _sum_of_clipped, Tester("clipping", GRADIENTS, BOUND),
)  # fmt: skip


def _weights_clipped(gradients: Any, rng: Rng, size: int) -> Any:
    noise = rng.normal(scale=MULTIPLIER * 2 * BOUND, size=size)
    return np.clip(0.0 - 0.1 * (np.sum(gradients) + noise), -1, 1)


def _gradients_clipped(gradients: Any, rng: Rng, size: int) -> Any:
    noise = rng.normal(scale=MULTIPLIER * 2 * BOUND, size=size)
    return np.clip(0.0 - 0.1 * (np.clip(gradients, -BOUND, BOUND).sum() + noise), -1, 1)


WEIGHTS_CLIPPED = Bug(
    "The weights are clipped and the gradients not",
    "civisanalytics/dpwgan issue 2",
    "Clipping weights keeps a Wasserstein critic Lipschitz, and was taken for the clipping that privacy needs. "
    "The sum of gradients has no bound, so no noise is enough for an outlier. Gradients are clipped, and the "
    "weights as well if the model wants it.",
    _weights_clipped, _gradients_clipped,
    Tester("privacy", [4.0, 0], [-4.0, 0], claim=Gaussian(MULTIPLIER), delta=1e-5),
)  # fmt: skip


def _in_pairs(gradients: Any, noise: float, rng: Rng, size: int) -> Any:
    """Clip the means of two gradients each, and add them up."""
    pairs = [np.mean(gradients[i : i + 2]) for i in range(0, len(gradients), 2)]
    return np.clip(pairs, -BOUND, BOUND).sum() + rng.normal(scale=noise, size=size)


def _noise_for_a_record(gradients: Any, rng: Rng, size: int) -> Any:
    return _in_pairs(gradients, MULTIPLIER * BOUND, rng, size)


def _noise_for_a_pair(gradients: Any, rng: Rng, size: int) -> Any:
    return _in_pairs(gradients, MULTIPLIER * 2 * BOUND, rng, size)


NOISE_FOR_A_RECORD = Bug(
    "Means over microbatches are clipped, with noise for single records",
    "tensorflow/privacy issue 620 (doubling of sensitivity with microbatches)",
    "One record more or less changes the mean of its microbatch, which may turn from C to -C: the sum moves by 2 "
    "C and not by C. Accounted as clipping by record, the noise is half of what it should be. Without "
    "microbatches the bound is C again.",
    _noise_for_a_record, _noise_for_a_pair,
    Tester("privacy", [1.0, -3.0], [1.0], claim=Gaussian(MULTIPLIER), delta=1e-5),
)  # fmt: skip


def _bound_from_the_batch(gradients: Any, rng: Rng, size: int) -> Any:
    bound = np.median(np.abs(gradients))
    return np.clip(gradients, -bound, bound).sum() + rng.normal(scale=MULTIPLIER * 2 * bound, size=size)


def _bound_given(gradients: Any, rng: Rng, size: int) -> Any:
    return np.clip(gradients, -BOUND, BOUND).sum() + rng.normal(scale=MULTIPLIER * 2 * BOUND, size=size)


BOUND_FROM_THE_BATCH = Bug(
    "The clipping norm is the median norm of the batch",
    "as in google-parfait/tensorflow-federated pull request 1080 (quantile estimation not accounted)",
    "An adaptive norm is useful, and a function of the data. Taken from the raw norms it sets the scale of the "
    "noise, from which it can be read; one record at the median moves it to the next. The quantile is estimated "
    "with noise, and that noise accounted.",
    _bound_from_the_batch, _bound_given,
    Tester("privacy", [1.0, -1, 1, 4, -4], [1.0, -1, 4, 4, -4], claim=Gaussian(MULTIPLIER), delta=1e-5),
)  # fmt: skip
