"""Many runs of any algorithm on one stream."""

from __future__ import annotations

from numba import types

from dpcheck.kernels.jit import (
    BASE,
    DATA,
    DIFFERENCE,
    GRADIENT,
    INDICES,
    MATRIX,
    MEAN,
    PHASED,
    RUN,
    STREAM,
    TAPE,
    VECTOR,
    kernel,
)


@kernel(types.void(RUN, GRADIENT, MEAN, DIFFERENCE, DATA, VECTOR, INDICES, MATRIX, STREAM, MATRIX, TAPE))
def trials(run, gradient, mean, difference, data, reals, counts, steps, rng, outputs, tape):  # type: ignore[no-untyped-def]
    """Run once for each row of ``outputs`` (runs, d_w + d_v)."""
    for trial in range(outputs.shape[0]):
        run(gradient, mean, difference, data, reals, counts, steps, rng, outputs[trial], tape)


@kernel(types.void(PHASED, BASE, GRADIENT, DATA, VECTOR, INDICES, MATRIX, STREAM, MATRIX, TAPE))
def phased_trials(run, base, gradient, data, reals, counts, steps, rng, outputs, tape):  # type: ignore[no-untyped-def]
    """Run an algorithm that calls a base solver once for each row of ``outputs`` (runs, d_w + d_v)."""
    for trial in range(outputs.shape[0]):
        run(base, gradient, data, reals, counts, steps, rng, outputs[trial], tape)
