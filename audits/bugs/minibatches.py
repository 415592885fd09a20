"""Bugs in how minibatches are drawn, against how they are accounted."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcheck.audits.bugs.bug import Bug, Rng, Tester
from dpcheck.events import Gaussian, Repeated, Sampled

DELTA = 1e-5


STEPS = 8


def _shuffled(gradients: Any, rng: Rng, size: int) -> Any:
    order = rng.permuted(np.tile(gradients, (size, 1)), axis=1)
    return order + 0.8 * rng.standard_normal((size, STEPS))


def _drawn_afresh(gradients: Any, rng: Rng, size: int) -> Any:
    taken = rng.random((size, STEPS, len(gradients))) < 1 / STEPS
    return taken @ np.asarray(gradients) + 0.8 * rng.standard_normal((size, STEPS))


EPOCH = Repeated(Sampled((Gaussian(0.4),), "poisson", STEPS, 1, "replace_one"), STEPS)


SHUFFLED = Bug(
    "Batches from one shuffle, accounted as Poisson samples",
    "meta-pytorch/opacus issue 80; lxuechen/private-transformers issue 7; Chua et al., How private are DP-SGD "
    "implementations? (ICML 2024)",
    "After a shuffle each record is in exactly one batch of the epoch; under Poisson sampling it is in none with "
    "probability 1/e. At small noise that chance is most of the privacy that is claimed. Either batches are drawn "
    "afresh, or the accounting claims no amplification.",
    _shuffled, _drawn_afresh, Tester("privacy", [1.0] + [-1.0] * 7, [-1.0] * 8, claim=EPOCH, delta=1e-5),
)  # fmt: skip


def _epochs(population: int, batch: int, steps: int, rng: Rng) -> Any:
    per_epoch = population // batch
    rows = [rng.permutation(population).reshape(per_epoch, batch) for _ in range(-(-steps // per_epoch))]
    return np.concatenate(rows)[:steps]


def _poisson(population: int, batch: int, steps: int, rng: Rng) -> Any:
    return np.where(rng.random((steps, population)) < batch / population, np.arange(population), -1)


EPOCHS_FOR_POISSON = Bug(
    "A data loader of epochs under a Poisson accountant",
    "google-deepmind/jax_privacy pull request 272; meta-pytorch/opacus pull request 128",
    "The same bug seen from inside: all batches have one size, and every record appears once an epoch. The loader "
    "is the framework's default and the accountant's assumption is in its documentation. A look at the drawn "
    "batches decides it.",
    _epochs, _poisson, Tester("sampling", "poisson", 20, 5, 20),
)  # fmt: skip


def _drawn_with_replacement(population: int, batch: int, steps: int, rng: Rng) -> Any:
    return rng.integers(0, population, (steps, batch))


def _drawn_without_replacement(population: int, batch: int, steps: int, rng: Rng) -> Any:
    return np.argsort(rng.random((steps, population)), axis=1)[:, :batch]


DRAWN_WITH_REPLACEMENT = Bug(
    "Minibatches drawn with replacement, accounted as without",
    "folklore",
    "A random index is drawn for each place of the minibatch, so that a record may be there twice, and moves the "
    "mean twice. The bound for sampling without replacement excludes that. The indices are a prefix of a random "
    "permutation, or the other bound is used.",
    _drawn_with_replacement, _drawn_without_replacement, Tester("sampling", "without_replacement", 20, 5, 20),
)  # fmt: skip


def _resumed(population: int, batch: int, steps: int, rng: Rng) -> Any:
    order = int(rng.integers(2**32))
    before = _poisson(population, batch, steps // 2, np.random.default_rng(order))
    after = _poisson(population, batch, steps - steps // 2, np.random.default_rng(order))  # from the last checkpoint
    return np.concatenate([before, after])


RESUMED_FROM_THE_SEED = Bug(
    "After a restart the same minibatches are drawn again",
    "folklore",
    "A checkpoint holds the weights and the optimiser, and not the state of the sampler. Training goes on with the "
    "seed it began with, so that every minibatch comes twice, while the accountant composes samples that are "
    "independent. The state of the generator belongs into the checkpoint.",
    _resumed, _poisson, Tester("sampling", "poisson", 100, 10, 40),
)  # fmt: skip


def _rare_first(population: int, batch: int, steps: int, rng: Rng) -> Any:
    rare = population // 4
    rates = np.full(population, batch / (2 * (population - rare)))
    rates[:rare] = batch / (2 * rare)  # half of a minibatch from either class
    return np.where(rng.random((steps, population)) < rates, np.arange(population), -1)


BALANCED_CLASSES = Bug(
    "Minibatches balanced by class, accounted at the average rate",
    "folklore",
    "A sampler that shows both classes equally often takes the records of the rare one more often than the rate "
    "that is accounted. Their privacy is the worst, and those whom it concerns are the few. The largest rate of "
    "any record is what the accountant needs.",
    _rare_first, _poisson, Tester("sampling", "poisson", 100, 10, 40),
)  # fmt: skip


RATE = 0.1


def _nothing_sampled(gradient: float, rng: Rng, size: int) -> Any:
    return gradient + rng.standard_normal(size)


def _sampled(gradient: float, rng: Rng, size: int) -> Any:
    return gradient * (rng.random(size) < RATE) + rng.standard_normal(size)


NOTHING_SAMPLED = Bug(
    "Amplification by sampling is claimed, and every record used",
    "folklore; google-deepmind/jax_privacy pull request 272 warns where the data path does not sample",
    "The sampling rate is a number handed to the accountant, while the batches come from elsewhere. If the record "
    "is in the batch for certain, the amplification of a rate of 1/10 is not there. Rate and batches have to come "
    "from one place.",
    _nothing_sampled, _sampled,
    Tester("privacy", 1.0, 0.0, claim=Sampled((Gaussian(1.0),), "poisson", 100, 10, "add_or_remove_one"), delta=DELTA),
)  # fmt: skip


RELEASES = 8
SAMPLES = Repeated(Sampled((Gaussian(1.0),), "poisson", 100, 10, "add_or_remove_one"), RELEASES)


def _one_sample_for_all(gradient: float, rng: Rng, size: int) -> Any:
    taken = rng.random((size, 1)) < RATE
    return gradient * taken + rng.standard_normal((size, RELEASES))


def _a_sample_for_each(gradient: float, rng: Rng, size: int) -> Any:
    taken = rng.random((size, RELEASES)) < RATE
    return gradient * taken + rng.standard_normal((size, RELEASES))


ONE_SAMPLE_FOR_ALL = Bug(
    "One sample is drawn, and all queries amplified by it",
    "folklore",
    "A sample of a tenth is drawn once, and every query on it accounted as amplified. Who is in the sample is in "
    "it for all queries, and meets their whole composition without amplification. Amplification by composition "
    "needs a fresh sample for each query; one sample amplifies the composition once.",
    _one_sample_for_all, _a_sample_for_each, Tester("privacy", 1.0, 0.0, claim=SAMPLES, delta=DELTA),
)  # fmt: skip
