"""Many runs of any algorithm on one stream."""

from __future__ import annotations

from numba import types

from dpcheck.algorithms.kernels.jit import MATRIX, PARTS, PLAY, RUN, kernel
from dpcheck.algorithms.kernels.named import Objective


@kernel(types.void(RUN, PARTS, PLAY, MATRIX))
def trials(run, parts, play, outputs):  # type: ignore[no-untyped-def]
    """Run once for each row of ``outputs`` (runs, d_w + d_v)."""
    for trial in range(outputs.shape[0]):
        run(Objective(*parts), play.numbers, play.rng, outputs[trial], play.tape)
