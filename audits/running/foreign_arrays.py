"""Arrays of torch and JAX as NumPy's, and back: neither library is imported unless it made the value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def as_numpy(value: Any) -> tuple[NDArray[Any], Callable[[Any], Any]] | None:
    """Return what a tensor holds, and what makes a tensor of its kind of an array; None for anything else.

    bfloat16, a type that NumPy has not, comes as float32. What is made of an array is a copy of it, of the value's own
    type unless that would cut fractions off.
    """
    library = type(value).__module__.partition(".")[0]
    if library == "torch":
        import torch

        if isinstance(value, torch.Tensor):
            tensor, there = value.detach().cpu(), value.device
            here = (tensor.float() if tensor.dtype is torch.bfloat16 else tensor).numpy()
            return here, lambda array: torch.tensor(
                array, dtype=value.dtype if _fits(array, here) else None, device=there
            )
    if library == "jaxlib":
        import jax

        if isinstance(value, jax.Array):
            here = np.asarray(value.astype("float32") if value.dtype.name == "bfloat16" else value)
            return here, lambda array: jax.numpy.asarray(array, dtype=value.dtype if _fits(array, here) else None)
    return None


def _fits(array: Any, original: NDArray[Any]) -> bool:
    return bool(np.asarray(array).dtype.kind == original.dtype.kind)
