"""A step of jax_privacy: a clipped gradient, a minibatch strategy and a noise transformation, as a plan holds them."""

from __future__ import annotations

from collections.abc import Callable
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

    Raises
    ------
    InputError
        For noise that is the same in each step, and noise whose random key is not in its state.
    """
    import jax

    def renewed(state: Any, number: int) -> Any:
        leaves, structure = jax.tree.flatten(state)
        return structure.unflatten([_fresh(leaf, [number, place]) for place, leaf in enumerate(leaves)])

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
                *(jax.tree.leaves(noisy(nothing, given)[0]) for given in (state, renewed(first, number))), strict=True
            )
            if not all(np.array_equal(one, other) for one, other in pairs):
                return True
        return False

    _require_fresh(noisy, first, renewed, jax.tree.map(jax.numpy.zeros_like, params))

    def sampler(population: int, rng: np.random.Generator) -> Any:
        return strategy.batch_iterator(population, rng)

    clip = float(gradient.l2_norm_bound) * divisor
    return TrainingStep(release, sampler, clip, stddev, divisor, params, correlated=correlated())


def _require_fresh(noisy: Any, first: Any, renewed: Callable[[Any, int], Any], nothing: Any) -> None:
    """Require noise that is another in each step, and that another random key in its state changes."""

    def drawn(state: Any) -> list[Any]:
        return [np.asarray(leaf) for leaf in jax.tree.leaves(noisy(nothing, state)[0])]

    import jax

    once = drawn(first)
    again = all(map(np.array_equal, once, drawn(noisy(nothing, first)[1])))
    require(not again, "noise", "be drawn afresh in each step: split its random key", "the same noise twice")
    stuck = all(map(np.array_equal, drawn(renewed(first, 1)), drawn(renewed(first, 2))))
    require(not stuck, "noise", "keep its random key in its state, where the audit draws it anew", "no key there")


def _fresh(leaf: Any, numbers: list[int]) -> Any:
    """Return another random key in place of one, of the same kind; all else stays."""
    import jax

    if not hasattr(leaf, "dtype"):
        return leaf
    key = jax.random.fold_in(jax.random.key(numbers[0]), numbers[1])
    if jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return key
    return jax.random.key_data(key) if leaf.dtype == np.uint32 and leaf.shape == (2,) else leaf


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
