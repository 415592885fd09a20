"""A step of Opacus: what ``PrivacyEngine.make_private`` returns, as a training step to audit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dpcheck.audits.step_parts import TrainingStep
from dpcheck.errors import require


def training_step(model: Any, optimizer: Any, loader: Any, loss: Callable[[Any, Any], Any]) -> TrainingStep:
    """Describe a step of Opacus for :func:`dpcheck.audit_training_step`.

    Parameters
    ----------
    model : GradSampleModule
        As ``make_private`` returns it; its weights stay as they are, and its layers of dropout are switched off while a
        gradient is taken.
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

    Raises
    ------
    InputError
        For an optimizer that adapts its clip: each step then has another claim.
    """
    import torch

    adaptive = hasattr(optimizer, "target_unclipped_quantile")
    require(not adaptive, "optimizer", "keep its clip from step to step", f"adaptive {type(optimizer).__name__}")
    device = optimizer.params[0].device
    # torch.manual_seed writes a stack trace in each call, for accelerators that may begin later: a third of an audit
    seed = torch.default_generator.manual_seed if device.type == "cpu" else torch.manual_seed

    def release(_: Any, batch: Any, rng: np.random.Generator) -> Any:
        with torch.random.fork_rng(), _without_dropout(model):
            seed(int(rng.integers(2**62)))  # what the model draws beside the noise
            generator, optimizer.generator = optimizer.generator, torch.Generator(device)
            optimizer.generator.manual_seed(int(rng.integers(2**62)))
            try:
                _forget(model, optimizer)
                loss(model, batch).backward()
                optimizer.pre_step()
                return np.concatenate([p.grad.detach().cpu().numpy().ravel() for p in optimizer.params])
            finally:
                optimizer.generator = generator
                _forget(model, optimizer)

    divisor = float(optimizer.expected_batch_size or 1) if optimizer.loss_reduction == "mean" else 1.0
    noise = optimizer.noise_multiplier * optimizer.max_grad_norm / divisor
    poisson = type(loader.batch_sampler).__name__ == "UniformWithReplacementSampler"
    sampler = _any_size(loader.batch_sampler) if poisson else loader.batch_sampler
    return TrainingStep(release, sampler, float(optimizer.max_grad_norm), float(noise), divisor)


def _any_size(sampler: Any) -> Callable[[int, np.random.Generator], Iterator[Any]]:
    import torch

    def draw(population: int, rng: np.random.Generator) -> Iterator[Any]:
        generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
        kept = {"num_samples": population, "sample_rate": sampler.sample_rate, "generator": generator}
        while True:
            yield from type(sampler)(**kept)

    return draw


@contextmanager
def _without_dropout(model: Any) -> Iterator[None]:
    """Switch off layers of dropout, as the gradient of a record would depend on its place in the minibatch."""
    from torch.nn.modules.dropout import _DropoutNd

    layers = [layer for layer in model.modules() if isinstance(layer, _DropoutNd) and layer.training]
    for layer in layers:
        layer.training = False
    try:
        yield
    finally:
        for layer in layers:
            layer.training = True


def _forget(model: Any, optimizer: Any) -> None:
    """Clear what a minibatch leaves behind: Opacus keeps activations until a backward pass that may never come."""
    optimizer._is_last_step_skipped = False
    optimizer.zero_grad()
    for layer in model.modules():
        for name in ("activations", "max_batch_len"):
            layer.__dict__.pop(name, None)
    for parameter in model.parameters():
        parameter.__dict__.pop("_current_grad_sample", None)
        if hasattr(parameter, "_forward_counter"):
            parameter._forward_counter = 0
