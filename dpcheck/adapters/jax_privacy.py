"""A step of jax_privacy: a clipped gradient, a minibatch strategy and a noise transformation, as a plan holds them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcheck.audits.step_parts import TrainingStep


def training_step(
    gradient: Any, strategy: Any, noise: Any, params: Any, *, stddev: float, divisor: float = 1.0
) -> TrainingStep:
    """Describe a step of jax_privacy for :func:`dpcheck.audit_training_step`.

    Parameters
    ----------
    gradient : BoundedSensitivityCallable
        ``(params, batch) -> pytree``, as ``plan.clipped_grad(loss)`` or ``clipping.clipped_grad(loss, ...)`` returns.
    strategy : BatchSelectionStrategy
        As ``plan.batch_selection_strategy``.
    noise : optax.GradientTransformation
        As ``plan.noise_addition_transform``; its state's random key is drawn anew for each call, so that noise which
        is correlated over steps is audited at its first step.
    params : pytree
        Where the gradient is taken.
    stddev : float
        Standard deviation of the noise in each coordinate, > 0.
    divisor : float
        By which the gradient's sum is divided (``normalize_by``), > 0.

    Returns
    -------
    TrainingStep
        The step, its clip read from ``gradient``.
    """
    import jax

    def fresh(leaf: Any, number: int) -> Any:
        typed = hasattr(leaf, "dtype") and jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        return jax.random.key(number) if typed else leaf

    noisy = jax.jit(lambda total, state: noise.update(total, state)[0])
    summed = jax.jit(lambda at, batch: gradient(at, batch))

    def release(at: Any, batch: Any, rng: np.random.Generator) -> Any:
        number = int(rng.integers(2**31))
        state = jax.tree.map(lambda leaf: fresh(leaf, number), noise.init(at))
        found = noisy(summed(at, jax.numpy.asarray(batch, jax.numpy.float32)), state)
        return np.concatenate([np.asarray(leaf).ravel() for leaf in jax.tree.leaves(found)])

    def sampler(population: int, rng: np.random.Generator) -> Any:
        return strategy.batch_iterator(population, rng)

    return TrainingStep(release, sampler, float(gradient.l2_norm_bound) * divisor, stddev, divisor, params)
