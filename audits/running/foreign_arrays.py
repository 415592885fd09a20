"""Arrays of torch and JAX as NumPy's, and back: neither library is imported unless it made the value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def as_numpy(value: Any) -> tuple[NDArray[Any], Callable[[Any], Any]] | None:
    """Return what a tensor holds, and what makes a tensor of its kind of an array; None for anything else.

    bfloat16, a type that NumPy has not, comes as float32. What is made of an array is a copy of it.
    """
    library = type(value).__module__.partition(".")[0]
    if library == "torch":
        import torch

        if isinstance(value, torch.Tensor):
            kept = {"dtype": value.dtype, "device": value.device}
            here = value.detach().cpu()
            here = here.float() if here.dtype is torch.bfloat16 else here
            return here.numpy(), lambda array: torch.tensor(array, **kept)
    if library == "jaxlib":
        import jax

        if isinstance(value, jax.Array):
            kind = value.dtype
            there = value.astype("float32") if kind.name == "bfloat16" else value
            return np.asarray(there), lambda array: jax.numpy.asarray(array, dtype=kind)
    return None
