"""Recursive gradients, an inner ascent and an escape from strict saddles: the loop of DP-RGDA."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from dpcheck.kernels import tree
from dpcheck.kernels.jit import INDICES, RUN_SIGNATURE, STREAM, TAPE, VECTOR, kernel
from dpcheck.kernels.named import Place, named
from dpcheck.kernels.parts import WITHOUT_REPLACEMENT, clip_factor, copy, move_in_ball, norm, project, scale
from dpcheck.kernels.spider import distance
from dpcheck.kernels.tape import CERTIFIED, OUTCOME, RETURNED, UNCERTIFIED, mark, release, sample


@kernel(types.void(VECTOR, types.int64, types.float64, types.int64))
def clip_mean(g, d, bound, repaired):  # type: ignore[no-untyped-def]
    """Clip both blocks of a minibatch mean as printed; repaired, leave them, since the records were clipped."""
    if repaired == 0:
        scale(g[:d], clip_factor(g[:d], bound))
        scale(g[d:], clip_factor(g[d:], bound))


@kernel(types.void(VECTOR, types.int64, types.float64, types.float64, STREAM, TAPE))
def release_both(g, d, sigma, sensitivity, rng, tape):  # type: ignore[no-untyped-def]
    """Release both blocks, each of this sensitivity."""
    release(g[:d], sigma, sensitivity, rng, tape)
    release(g[d:], sigma, sensitivity, rng, tape)


@kernel(types.void(types.int64, INDICES, STREAM, INDICES, TAPE))
def sample_rest(used_up, deck, rng, out, tape):  # type: ignore[no-untyped-def]
    """Draw a minibatch without replacement from all records but the first ``used_up`` of the deck."""
    sample(WITHOUT_REPLACEMENT, deck.size - used_up, out.size, deck[used_up:], rng, out, tape)


class Reals(NamedTuple):
    """Accuracy, step sizes, perturbation and move of the escape, clipping norms and noise."""

    alpha: float
    eta: float
    eta_H: float
    lam: float
    r: float
    D_bar: float
    C_v: float
    C_u: float
    sigma_v: float
    sigma_u: float


class Counts(NamedTuple):
    """T, q, the minibatches, steps of an ascent and of an escape, perturbations at most, and which variant."""

    steps: int
    period: int
    S1: int
    S2: int
    K: int
    t_thres: int
    escapes: int
    repaired: int
    once: int  # each record is in one minibatch, and the noise of differences lies along a tree


@kernel(RUN_SIGNATURE)
def rgda(objective, numbers, rng, out, tape):  # type: ignore[no-untyped-def]
    """Run Xu et al. 2026, Algorithm 2, with Algorithm 3 written out in its place."""
    reals, counts, data = named(Reals, numbers.reals), named(Counts, numbers.counts), objective.data
    T, q, S1, S2, K = counts.steps, counts.period, counts.S1, counts.S2, counts.K
    repaired, once, C_v, C_u, D_bar = counts.repaired, counts.once, reals.C_v, reals.C_u, reals.D_bar
    domain_w, domain_v, start, d = data.domain_w, data.domain_v, data.start, data.dim_w
    gradient, n, size = objective.gradient, data.records.shape[0], start.size
    deck, big, small = np.arange(n), np.empty(S1, np.int64), np.empty(S2, np.int64)
    z, point, old, best, anchor = start.copy(), start.copy(), start.copy(), start.copy(), start.copy()  # each (x, y)
    x, y, last_x, ahead = z[:d], point[d:], start[:d].copy(), start[d:].copy()
    vu, best_vu, g, clip_v, clip_u = np.zeros(size), np.zeros(size), np.empty(size), np.full(2, C_v), np.full(2, C_u)
    v, u = vu[:d], vu[d:]
    height = tree.levels(min(q, T) * K - 1) if once else 0
    clean, nodes, base, grown, used_up = np.zeros((height, size)), np.zeros((height, size)), np.zeros(size), 0, 0
    if not repaired:
        clip_v[0] = clip_v[1] = clip_u[0] = clip_u[1] = np.inf
    escaping, perturbed, used, anchored, steady, moved = False, False, 0, 0, 0, 0.0
    tape.cursor[OUTCOME], ended = UNCERTIFIED, T
    for t in range(T):
        if mark(t, z, tape):
            return
        # Algorithm 3: v, u and y at x_t
        copy(z, point)  # line 3
        refresh = t % q == 0 or (repaired and perturbed)
        if refresh or not once:
            copy(z, old)
        if refresh:  # lines 4 to 8
            sample_rest(used_up, deck, rng, big, tape)
            objective.mean(gradient, data, big, S1, z, clip_v, vu)
            clip_mean(vu, d, C_v, repaired)
            release_both(vu, d, reals.sigma_v, 2 * C_v / S1, rng, tape)
            copy(vu, base)
            grown = 0
            if once:
                used_up += S1
        if not (once or (refresh and repaired)):
            copy(last_x, old[:d])
        smallest = np.inf
        for k in range(K):  # lines 12 to 17
            if once and refresh and k == 0:  # the difference from a point to itself
                copy(base, vu)
            else:
                sample_rest(used_up, deck, rng, small, tape)
                objective.difference(gradient, data, Place(small, point), Place(small, old), S2, clip_u, g)
                if once:
                    used_up += S2
                    grown += 1
                    level = tree.close(grown, g, clean, nodes)
                    release_both(nodes[level], d, reals.sigma_u, 2 * C_u / S2, rng, tape)
                    tree.add_prefix(grown, nodes, base, vu)
                else:
                    clip_mean(g, d, C_u, repaired)
                    release_both(g, d, reals.sigma_u, 2 * C_u / S2, rng, tape)
                    for i in range(size):
                        vu[i] += g[i]
            copy(point, old)
            for i in range(size - d):
                ahead[i] = y[i] + reals.lam * u[i]
            project(ahead, domain_v)
            length = distance(ahead, y)  # of the gradient mapping
            if (k >= 1 or not repaired) and length < smallest:  # line 18
                smallest = length
                copy(point, best)
                copy(vu, best_vu)
            copy(ahead, y)
        copy(x, last_x)
        copy(best[d:], z[d:])
        copy(best_vu, vu)
        length, eta_t = norm(v), 0.0
        # Algorithm 2
        perturbed = False
        if not escaping:
            if length >= reals.alpha:  # line 6
                eta_t = reals.eta / length
            else:  # lines 8 and 9
                if repaired and used == counts.escapes:
                    ended = t
                    break
                copy(z, anchor)
                escaping, perturbed, anchored, steady, moved = True, True, t, 0, 0.0
                used += 1
                move_in_ball(x, reals.r, rng)
        else:
            moved += reals.eta_H**2 * length**2  # line 12
            if moved > (t - anchored) * D_bar:  # lines 14 and 15
                eta_t = reals.eta_H * np.sqrt((t - anchored) * D_bar / moved)
                escaping = False
            else:  # lines 17 and 18
                eta_t = reals.eta_H
                steady += 1
                if steady == counts.t_thres:  # line 19
                    tape.cursor[OUTCOME] = CERTIFIED
                    break
        for i in range(d):
            x[i] -= eta_t * v[i]
        project(x, domain_w)
    if tape.cursor[OUTCOME] == CERTIFIED or not repaired:  # line 19, and the published last line
        copy(anchor, out)
        ended = anchored
    else:
        copy(z, out)
    tape.cursor[RETURNED] = ended
