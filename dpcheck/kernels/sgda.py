"""Private stochastic gradient descent ascent: the loop, and the likelihood ratio of what it releases."""

from __future__ import annotations

import numpy as np
from numba import types

from dpcheck.kernels.jit import (
    DATA,
    DIFFERENCE,
    GRADIENT,
    INDICES,
    MATRIX,
    MEAN,
    RUN_SIGNATURE,
    STREAM,
    TAPE,
    VECTOR,
    kernel,
)
from dpcheck.kernels.parts import AVERAGE, POISSON, UNIFORM, below, clip_factor, project
from dpcheck.kernels.tape import mark, release, sample

# start, eta (2, T), sigma (2,), clip (2,), scheme, batch, domain_w, domain_v
_SETTING = (VECTOR, MATRIX, VECTOR, VECTOR, types.int64, types.int64, MATRIX, MATRIX)


@kernel(RUN_SIGNATURE)
def sgda(gradient, mean, difference, data, reals, counts, steps, rng, out, tape):  # type: ignore[no-untyped-def]
    """Yang et al. 2022, Algorithm 1, with per-record clipping (infinite bounds switch it off).

    reals : sigma_w, sigma_v, clip_w, clip_v, sensitivity_w, sensitivity_v
    counts : scheme, batch, output;  steps : (2, T) eta_w, eta_v
    ``out`` receives (w, v): the average of iterates 1..T, the T-th as printed, or a uniform one of them.
    """
    _, records, domain_w, domain_v, start, dim_w = data
    scheme, batch, output = counts
    n, size, T = records.shape[0], start.size, steps.shape[1]
    x, g = start.copy(), np.empty(size)
    w, v, g_w, g_v = x[:dim_w], x[dim_w:], g[:dim_w], g[dim_w:]
    deck, index = np.arange(n), np.empty(n if scheme == POISSON else batch, np.int64)
    chosen = below(T, rng) if output == UNIFORM else T - 1
    out[:] = 0.0
    for t in range(T):
        if output == AVERAGE:
            for i in range(size):
                out[i] += x[i] / T
        elif t == chosen:
            for i in range(size):
                out[i] = x[i]
        if mark(t, x, tape):
            return
        count = sample(scheme, n, batch, deck, rng, index, tape)  # line 4
        mean(gradient, data, index[:count], batch, x, reals[2:], g)
        release(g_w, reals[0], reals[4], rng, tape)  # line 5
        release(g_v, reals[1], reals[5], rng, tape)
        for i in range(dim_w):
            w[i] -= steps[0, t] * g_w[i]
        for i in range(size - dim_w):
            v[i] += steps[1, t] * g_v[i]
        project(w, domain_w)  # line 6
        project(v, domain_v)  # line 7


@kernel(types.float64(GRADIENT, VECTOR, types.int64, *_SETTING, MATRIX, VECTOR, MATRIX))
def transcript_llr(  # type: ignore[no-untyped-def]
    gradient, params, dim_w,
    start, eta, sigma, clip, scheme, batch, domain_w, domain_v,
    roles, copies, released,
):  # fmt: skip
    """Log-likelihood ratio of a run's released gradients: data with the canary over its neighbour.

    ``roles`` holds three records: the canary, the record that replaces it in the neighbour, and the
    background that every other record equals. ``copies[k]`` is the probability that the minibatch
    holds the canary k times. Given the past, a released gradient is then a mixture over k of
    Gaussians whose means lie on one line, so the ratio is exact (Poisson sampling leaves the number
    of background records random: there the background's gradient must be zero).
    """
    size = start.size
    x, one, grads = start.copy(), np.empty(size), np.zeros((3, size))
    w, v, one_w, one_v = x[:dim_w], x[dim_w:], one[:dim_w], one[dim_w:]
    log_copies = np.log(copies)
    sides = 1 if np.array_equal(roles[1], roles[2]) else 2  # the background tells nothing
    total = 0.0
    for t in range(released.shape[0]):
        for role in range(3):
            if (role == 1 and sides == 1) or (role == 2 and scheme == POISSON):
                continue
            gradient(params, roles[role], w, v, one_w, one_v)
            scale = clip_factor(one_w, clip[0])
            for i in range(dim_w):
                grads[role, i] = scale * one[i]
            scale = clip_factor(one_v, clip[1])
            for i in range(dim_w, size):
                grads[role, i] = scale * one[i]
        for side in range(sides):
            along, square = 0.0, 0.0
            for i in range(size):
                noise = sigma[0] if i < dim_w else sigma[1]
                shift = (grads[side, i] - grads[2, i]) / (batch * noise)
                along += shift * (released[t, i] - grads[2, i]) / noise
                square += shift * shift
            if square == 0.0:  # this record looks like the background
                continue
            largest = -np.inf
            for k in range(copies.size):
                largest = max(largest, log_copies[k] + k * along - 0.5 * k * k * square)
            mixture = 0.0
            for k in range(copies.size):
                mixture += np.exp(log_copies[k] + k * along - 0.5 * k * k * square - largest)
            log_ratio = largest + np.log(mixture)
            total += log_ratio if side == 0 else -log_ratio
        for i in range(dim_w):
            x[i] -= eta[0, t] * released[t, i]
        for i in range(dim_w, size):
            x[i] += eta[1, t] * released[t, i]
        project(w, domain_w)
        project(v, domain_v)
    return total


@kernel(
    types.void(
        GRADIENT, MEAN, DIFFERENCE, DATA, VECTOR, INDICES, MATRIX, STREAM, TAPE, MATRIX, VECTOR, VECTOR, VECTOR
    )
)  # fmt: skip
def sgda_transcripts(  # type: ignore[no-untyped-def]
    gradient, mean, difference, data, reals, counts, steps, rng, tape, roles, copies, claimed_sigma, scores,
):  # fmt: skip
    """Run, then score the transcript under the claimed noise; one run an entry of ``scores``.

    ``tape`` has room for one run.
    """
    params, _, domain_w, domain_v, start, dim_w = data
    cursor, _, _, rows, _, _, _ = tape
    T = steps.shape[1]
    out, released = np.empty(start.size), np.empty((T, start.size))
    for trial in range(scores.size):
        cursor[:3] = 0
        sgda(gradient, mean, difference, data, reals, counts, steps, rng, out, tape)
        for t in range(T):
            released[t, :dim_w] = rows[2 * t, :dim_w]
            released[t, dim_w:] = rows[2 * t + 1, : start.size - dim_w]
        scores[trial] = transcript_llr(
            gradient, params, dim_w,
            start, steps, claimed_sigma, reals[2:], counts[0], counts[1], domain_w, domain_v,
            roles, copies, released,
        )  # fmt: skip
