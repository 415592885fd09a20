"""What a run gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcheck.problems.problem import Array

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpcheck.events import Event


@dataclass(frozen=True, eq=False)
class History:
    """A recorded run of T steps; gradients and iterates are (T, d_w + d_v), w first.

    drawn : (T, capacity) int64, record numbers of each minibatch, padded with -1
    clean, released : minibatch gradients before and after noise
    path : the iterates at which they were taken
    """

    drawn: NDArray[np.int64]
    clean: Array
    released: Array
    path: Array


@dataclass(frozen=True, eq=False)
class Run:
    """Output of one run: ``x`` (d_w,), ``y`` (d_v,), what it released, what it broke."""

    x: Array
    y: Array
    events: tuple[Event, ...]
    notes: tuple[str, ...] = ()
    history: History | None = None
