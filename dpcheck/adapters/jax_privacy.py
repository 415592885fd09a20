"""A step of jax_privacy: a clipped gradient, a minibatch strategy and a noise transformation, as a plan holds them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcheck.audits.step_parts import TrainingStep
from dpcheck.errors import require

_STEPS_BACK = 4  # whose noise may change that of a step


def training_step(
    gradient: Any, strategy: Any, noise: Any, params: Any, *, stddev: float, divisor: float = 1.0, padding: Any = None,
    multiple: int = 1,
) -> TrainingStep:  # fmt: skip
    """Describe a step of jax_privacy for :func:`dpcheck.audit_training_step`.

    Parameters
    ----------
    gradient : BoundedSensitivityCallable
        ``(params, batch) -> pytree``, as ``plan.clipped_grad(loss)`` or ``clipping.clipped_grad(loss, ...)`` returns.
        ``batch`` is an array, or of records that are tuples or dictionaries one of arrays; whole numbers stay such.
    strategy : BatchSelectionStrategy
        As ``plan.batch_selection_strategy``.
    noise : optax.GradientTransformation
        As ``plan.noise_addition_transform``; its state's random key is drawn anew for each call. Noise that depends on
        that of steps before is recognised; it is audited at its first step, and nothing is certified.
    params : pytree
        Where the gradient is taken.
    stddev : float
        Standard deviation of the noise in each coordinate, > 0.
    divisor : float
        By which the gradient's sum is divided (``normalize_by``), > 0.
    padding : record, optional
        Any public record, which stands in where a minibatch is empty or no multiple, and is masked by jax_privacy's
        ``is_padding_example``. By default zeros; a list of records needs it.
    multiple : int
        Minibatches are padded to a multiple of it, such as ``microbatch_size``; >= 1.

    Returns
    -------
    TrainingStep
        The step, its clip read from ``gradient``.
    """
    import jax

    def renewed(state: Any, number: int) -> Any:
        return jax.tree.map(lambda leaf: _fresh(leaf, number), state)

    noisy = jax.jit(noise.update)

    def clipped(at: Any, rows: Any, padded: Any) -> Any:
        found = gradient(at, rows, is_padding_example=padded)
        return found[0] if gradient.has_aux else found

    summed, first = jax.jit(clipped), noise.init(params)

    def release(at: Any, batch: Any, rng: np.random.Generator) -> Any:
        rows, padded = _padded(batch, padding, multiple)
        total = summed(at, rows, padded)
        found = noisy(total, renewed(first, int(rng.integers(2**31))))[0]
        return np.concatenate([np.asarray(leaf).ravel() for leaf in jax.tree.leaves(found)])

    def correlated() -> bool:
        """Whether the noise of a step changes with what was drawn for those before, its random key being the same."""
        nothing = jax.tree.map(jax.numpy.zeros_like, params)
        state = renewed(first, 0)
        for number in range(1, _STEPS_BACK):
            state = renewed(noisy(nothing, state)[1], number)
            pairs = zip(
                *(jax.tree.leaves(noisy(nothing, each)[0]) for each in (state, renewed(first, number))), strict=True
            )
            if not all(np.array_equal(one, other) for one, other in pairs):
                return True
        return False

    def sampler(population: int, rng: np.random.Generator) -> Any:
        return strategy.batch_iterator(population, rng)

    clip = float(gradient.l2_norm_bound) * divisor
    return TrainingStep(release, sampler, clip, stddev, divisor, params, correlated=correlated())


def _fresh(leaf: Any, number: int) -> Any:
    """Return another random key in place of one, of the same kind; all else stays."""
    import jax

    if not hasattr(leaf, "dtype"):
        return leaf
    if jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return jax.random.key(number)
    return jax.random.PRNGKey(number) if leaf.dtype == np.uint32 and leaf.shape == (2,) else leaf


def _padded(batch: Any, padding: Any, multiple: int) -> tuple[Any, Any]:
    """Return a minibatch as arrays, filled up with padding, and which records are padding."""
    import jax

    missing = -len(batch) % multiple if len(batch) else multiple
    if missing and padding is None:
        known = isinstance(batch, np.ndarray)
        require(known, "padding", "be given where records are a list: a minibatch may be empty", padding)
        padding = np.zeros(batch.shape[1:], batch.dtype)
    records = [*batch, *[padding] * missing]
    rows = jax.tree.map(lambda *leaves: jax.numpy.asarray(np.stack(leaves)), *records)
    return rows, jax.numpy.arange(len(records)) >= len(batch)
