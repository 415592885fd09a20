"""Private stochastic gradient descent ascent: the loop, many runs of it, and its likelihood ratio."""

from __future__ import annotations

import numpy as np
from numba import types

from dpcheck.kernels.jit import GRADIENT, INDEX_MATRIX, MATRIX, STREAM, VECTOR, kernel
from dpcheck.kernels.parts import POISSON, add_noise, clip_factor, draw, project

# The fields of one configuration, in the order in which every kernel below takes them:
# start, eta (2, T), sigma (2,), clip (2,), scheme, batch, domain_w, domain_v
_SETTING = (VECTOR, MATRIX, VECTOR, VECTOR, types.int64, types.int64, MATRIX, MATRIX)
_MATRICES = (INDEX_MATRIX, MATRIX, MATRIX, MATRIX)


@kernel(types.void(GRADIENT, VECTOR, MATRIX, types.int64, *_SETTING, types.boolean, STREAM, VECTOR, *_MATRICES))
def sgda(  # type: ignore[no-untyped-def]
    gradient, params, records, dim_w,
    start, eta, sigma, clip, scheme, batch, domain_w, domain_v,
    average, rng, out, drawn, clean, released, path,
):  # fmt: skip
    """Yang et al. 2022, Algorithm 1, with per-record clipping (infinite bounds switch it off).

    ``out`` receives (w, v): the average of iterates 1..T, or the T-th, as printed. The last four
    arrays have T rows to be filled with the records drawn (-1 pads), the minibatch gradients before
    and after noise, and the iterates; one with no rows stays empty and costs nothing.
    """
    n, steps, size = records.shape[0], eta.shape[1], start.size
    x, g, one = start.copy(), np.empty(size), np.empty(size)
    w, v, g_w, g_v, one_w, one_v = x[:dim_w], x[dim_w:], g[:dim_w], g[dim_w:], one[:dim_w], one[dim_w:]
    deck = np.arange(n)
    index = np.empty(n if scheme == POISSON else batch, np.int64)
    out[:] = 0.0
    for t in range(steps):
        if average:
            for i in range(size):
                out[i] += x[i] / steps
        count = draw(scheme, n, batch, deck, rng, index)  # line 4
        g[:] = 0.0
        for j in range(count):
            gradient(params, records[index[j]], w, v, one_w, one_v)
            scale = clip_factor(one_w, clip[0]) / batch
            for i in range(dim_w):
                g_w[i] += scale * one_w[i]
            scale = clip_factor(one_v, clip[1]) / batch
            for i in range(size - dim_w):
                g_v[i] += scale * one_v[i]
        if drawn.shape[0] > 0:
            drawn[t, :] = -1
            drawn[t, :count] = index[:count]
        if path.shape[0] > 0:
            path[t] = x
        if clean.shape[0] > 0:
            clean[t] = g
        add_noise(g_w, sigma[0], rng)  # line 5
        add_noise(g_v, sigma[1], rng)
        if released.shape[0] > 0:
            released[t] = g
        if t == steps - 1 and not average:
            out[:] = x
        for i in range(dim_w):
            w[i] -= eta[0, t] * g_w[i]
        for i in range(size - dim_w):
            v[i] += eta[1, t] * g_v[i]
        project(w, domain_w)  # line 6
        project(v, domain_v)  # line 7


@kernel(types.void(GRADIENT, VECTOR, MATRIX, types.int64, *_SETTING, types.boolean, STREAM, MATRIX))
def sgda_outputs(  # type: ignore[no-untyped-def]
    gradient, params, records, dim_w,
    start, eta, sigma, clip, scheme, batch, domain_w, domain_v,
    average, rng, outputs,
):  # fmt: skip
    """One run a row of ``outputs``, all on one stream."""
    drawn, empty = np.empty((0, 0), np.int64), np.empty((0, 0))
    for trial in range(outputs.shape[0]):
        sgda(
            gradient, params, records, dim_w,
            start, eta, sigma, clip, scheme, batch, domain_w, domain_v,
            average, rng, outputs[trial], drawn, empty, empty, empty,
        )  # fmt: skip


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


@kernel(types.void(GRADIENT, VECTOR, MATRIX, types.int64, *_SETTING, STREAM, MATRIX, VECTOR, VECTOR, VECTOR))
def sgda_transcripts(  # type: ignore[no-untyped-def]
    gradient, params, records, dim_w,
    start, eta, sigma, clip, scheme, batch, domain_w, domain_v,
    rng, roles, copies, claimed_sigma, scores,
):  # fmt: skip
    """Run, then score the transcript under the claimed noise; one run an entry of ``scores``."""
    drawn, empty = np.empty((0, 0), np.int64), np.empty((0, 0))
    out, released = np.empty(start.size), np.empty((eta.shape[1], start.size))
    for trial in range(scores.size):
        sgda(
            gradient, params, records, dim_w,
            start, eta, sigma, clip, scheme, batch, domain_w, domain_v,
            False, rng, out, drawn, empty, released, empty,
        )  # fmt: skip
        scores[trial] = transcript_llr(
            gradient, params, dim_w,
            start, eta, claimed_sigma, clip, scheme, batch, domain_w, domain_v,
            roles, copies, released,
        )  # fmt: skip
