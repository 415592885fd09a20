"""A step of Opacus: what ``PrivacyEngine.make_private`` returns, as a training step to audit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dpcheck.audits.step_parts import TrainingStep


def training_step(model: Any, optimizer: Any, loader: Any, loss: Callable[[Any, Any], Any]) -> TrainingStep:
    """Describe a step of Opacus for :func:`dpcheck.audit_training_step`.

    Parameters
    ----------
    model : GradSampleModule
        As ``make_private`` returns it; its weights stay as they are.
    optimizer : DPOptimizer
        As ``make_private`` returns it, with one noise multiplier and one norm for all parameters.
    loader : DataLoader
        As ``make_private`` returns it. Opacus' Poisson sampler is asked for data of any size; the minibatches of any
        other are taken as they come, epoch after epoch.
    loss : callable
        ``(model, batch) -> tensor``, the loss that the loop calls ``backward`` on; ``batch`` holds records as handed
        to :func:`dpcheck.audit_training_step`.

    Returns
    -------
    TrainingStep
        The step, its clip, noise and divisor read from the optimizer.
    """
    import torch

    def release(_: Any, batch: Any, rng: np.random.Generator) -> Any:
        optimizer.zero_grad()
        optimizer.generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
        loss(model, batch).backward()
        optimizer.pre_step()
        found = np.concatenate([p.grad.detach().numpy().ravel() for p in optimizer.params])
        optimizer.zero_grad()
        return found

    divisor = float(optimizer.expected_batch_size or 1) if optimizer.loss_reduction == "mean" else 1.0
    noise = optimizer.noise_multiplier * optimizer.max_grad_norm / divisor
    sampler = _any_size(loader.batch_sampler) if _is_poisson(loader) else _Epochs(loader.batch_sampler)
    return TrainingStep(release, sampler, float(optimizer.max_grad_norm), float(noise), divisor)


def _is_poisson(loader: Any) -> bool:
    return type(loader.batch_sampler).__name__ == "UniformWithReplacementSampler"


def _any_size(sampler: Any) -> Callable[[int, np.random.Generator], Iterator[Any]]:
    import torch

    def draw(population: int, rng: np.random.Generator) -> Iterator[Any]:
        generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
        kept = {"num_samples": population, "sample_rate": sampler.sample_rate, "generator": generator}
        while True:
            yield from type(sampler)(**kept)

    return draw


class _Epochs:
    """Minibatches of a loader, epoch after epoch."""

    def __init__(self, batches: Any) -> None:
        self._batches = batches

    def __iter__(self) -> Iterator[Any]:
        while True:
            yield from self._batches
