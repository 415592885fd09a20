"""Recursive gradients, an inner ascent and an escape from strict saddles: the loop of DP-RGDA.

Where each record is used once, the sums of all differences so far have their noise along a binary tree. The node that
increment j = 1, 2, ... closes is the sum of the last 2^i of them, where 2^i divides j and 2^{i+1} does not. The
increments 1 to j are the nodes of the binary digits of j, so their sum holds at most log2(j) + 1 noises; and an
increment is in at most log2(m) + 1 of the nodes that m increments close (Dwork, Naor, Pitassi and Rothblum 2010; Chan,
Shi and Song 2011).
"""

from typing import NamedTuple

import numpy as np

from dpcheck.algorithms.kernels.jit import Indices, Matrix, Place, Vector, kernel, named
from dpcheck.algorithms.kernels.parts import Draw, clip_factor, copy, norm, project, scale
from dpcheck.algorithms.kernels.tape import At, Outcome, mark, release, sample
from dpcheck.catalogue.xu2026.spider_kernels import distance


@kernel("int64(int64)")
def levels(increments):  # type: ignore[no-untyped-def]
    """Return the most nodes that one of so many increments is in; a sum of them is made of no more."""
    count = 0
    while increments > 0:
        increments //= 2
        count += 1
    return count


@kernel("int64(int64, vector, matrix, matrix)")
def close(j, increment, clean, nodes):  # type: ignore[no-untyped-def]
    """Bring increment ``j``; return the level of the node that it closes, whose sum is that row of ``nodes``.

    clean, nodes : (levels, d), the open nodes without noise, and the closed ones, which the caller makes private
    """
    level = 0
    while j % 2 == 0:
        j //= 2
        level += 1
    for i in range(increment.size):
        total = increment[i]
        for below in range(level):
            total += clean[below, i]
        clean[level, i] = nodes[level, i] = total
    return level


@kernel("void(int64, matrix, vector, vector)")
def add_prefix(j, nodes, base, out):  # type: ignore[no-untyped-def]
    """Write base plus the sum of increments 1 to ``j`` to ``out``."""
    for i in range(out.size):
        out[i] = base[i]
    level = 0
    while j > 0:
        if j % 2 == 1:
            for i in range(out.size):
                out[i] += nodes[level, i]
        j //= 2
        level += 1


@kernel("void(vector, int64, float64, int64)")
def clip_mean(g, d, bound, repaired):  # type: ignore[no-untyped-def]
    """Clip both blocks of a minibatch mean as printed; repaired, leave them, since the records were clipped."""
    if repaired == 0:
        scale(g[:d], clip_factor(g[:d], bound))
        scale(g[d:], clip_factor(g[d:], bound))


@kernel("void(vector, int64, float64, float64, stream, tape)")
def release_both(g, d, sigma, sensitivity, rng, tape):  # type: ignore[no-untyped-def]
    """Release both blocks, each of this sensitivity."""
    release(g[:d], sigma, sensitivity, rng, tape)
    release(g[d:], sigma, sensitivity, rng, tape)


@kernel("void(int64, indices, stream, indices, tape)")
def sample_rest(used_up, deck, rng, out, tape):  # type: ignore[no-untyped-def]
    """Draw a minibatch without replacement from all records but the first ``used_up`` of the deck."""
    sample(Draw.WITHOUT_REPLACEMENT, deck.size - used_up, out.size, deck[used_up:], rng, out, tape)


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


class Room(NamedTuple):
    """The parts of an estimate, and the room that it is made in.

    deck, big, small : all records, room for the minibatches of a refresh and of a difference
    point, old, best : (x, y) where the ascent is, where gradients were taken last, where its step was shortest
    last_x, ahead : x of the estimate before, and the next y
    vu, best_vu, g : the estimate, that of ``best``, and room for a difference
    clip_v, clip_u : the clipping norms of both blocks
    clean, nodes, base : the tree's nodes without and with noise, and the refresh that they are added to
    spent : how many records are in a minibatch already, and how many differences are in the tree
    """

    deck: Indices
    big: Indices
    small: Indices
    point: Vector
    old: Vector
    best: Vector
    last_x: Vector
    ahead: Vector
    vu: Vector
    best_vu: Vector
    g: Vector
    clip_v: Vector
    clip_u: Vector
    clean: Matrix
    nodes: Matrix
    base: Vector
    spent: Indices


USED_UP, GROWN = range(2)  # the entries of ``spent``


@kernel("Room(data, numbers)")
def room_for(data, numbers):  # type: ignore[no-untyped-def]
    """Make room for estimates that begin at the start."""
    reals, counts = named(Reals, numbers.reals), named(Counts, numbers.counts)
    repaired, start, d, size = counts.repaired, data.start, data.dim_w, data.start.size
    clip_v, clip_u = np.full(2, reals.C_v), np.full(2, reals.C_u)
    if not repaired:
        clip_v[0] = clip_v[1] = clip_u[0] = clip_u[1] = np.inf
    height = levels(min(counts.period, counts.steps) * counts.K - 1) if counts.once else 0
    return Room(
        np.arange(data.records.shape[0]), np.empty(counts.S1, np.int64), np.empty(counts.S2, np.int64),
        start.copy(), start.copy(), start.copy(), start[:d].copy(), start[d:].copy(),
        np.zeros(size), np.zeros(size), np.empty(size), clip_v, clip_u,
        np.zeros((height, size)), np.zeros((height, size)), np.zeros(size), np.zeros(2, np.int64),
    )  # fmt: skip


@kernel("void(objective, vector, numbers, Room, stream, tape)")
def start_anew(objective, z, numbers, room, rng, tape):  # type: ignore[no-untyped-def]
    """Take gradients at z on a large minibatch: Algorithm 3, lines 4 to 8."""
    reals, counts = named(Reals, numbers.reals), named(Counts, numbers.counts)
    S1, C_v, d, vu, spent = counts.S1, reals.C_v, objective.data.dim_w, room.vu, room.spent
    sample_rest(spent[USED_UP], room.deck, rng, room.big, tape)
    objective.mean(objective.gradient, objective.data, room.big, S1, z, room.clip_v, vu)
    clip_mean(vu, d, C_v, counts.repaired)
    release_both(vu, d, reals.sigma_v, 2 * C_v / S1, rng, tape)
    copy(vu, room.base)
    spent[GROWN] = 0
    if counts.once:
        spent[USED_UP] += S1


@kernel("void(objective, numbers, Room, stream, tape)")
def follow(objective, numbers, room, rng, tape):  # type: ignore[no-untyped-def]
    """Bring the estimate from ``old`` to ``point`` by a difference, as a node of the tree where there is one."""
    reals, counts, data = named(Reals, numbers.reals), named(Counts, numbers.counts), objective.data
    S2, C_u, once, d = counts.S2, reals.C_u, counts.once, data.dim_w
    small, vu, g, nodes, spent = room.small, room.vu, room.g, room.nodes, room.spent
    sample_rest(spent[USED_UP], room.deck, rng, small, tape)
    new, old = Place(small, room.point), Place(small, room.old)
    objective.difference(objective.gradient, data, new, old, S2, room.clip_u, g)
    if once:
        spent[USED_UP] += S2
        spent[GROWN] += 1
        level = close(spent[GROWN], g, room.clean, nodes)
        release_both(nodes[level], d, reals.sigma_u, 2 * C_u / S2, rng, tape)
        add_prefix(spent[GROWN], nodes, room.base, vu)
    else:
        clip_mean(g, d, C_u, counts.repaired)
        release_both(g, d, reals.sigma_u, 2 * C_u / S2, rng, tape)
        for i in range(g.size):
            vu[i] += g[i]


@kernel("void(boolean, objective, numbers, Room, stream, tape)")
def ascend(refreshed, objective, numbers, room, rng, tape):  # type: ignore[no-untyped-def]
    """Move y by K steps and keep the shortest: Algorithm 3, lines 12 to 18."""
    reals, counts, data = named(Reals, numbers.reals), named(Counts, numbers.counts), objective.data
    repaired, once, d = counts.repaired, counts.once, data.dim_w
    point, ahead, vu = room.point, room.ahead, room.vu
    y, u, smallest = point[d:], vu[d:], np.inf
    for k in range(counts.K):
        if once and refreshed and k == 0:  # the difference from a point to itself
            copy(room.base, vu)
        else:
            follow(objective, numbers, room, rng, tape)
        copy(point, room.old)
        for i in range(ahead.size):
            ahead[i] = y[i] + reals.lam * u[i]
        project(ahead, data.domain_v)
        length = distance(ahead, y)  # of the gradient mapping
        if (k >= 1 or not repaired) and length < smallest:  # line 18
            smallest = length
            copy(point, room.best)
            copy(vu, room.best_vu)
        copy(ahead, y)


@kernel("void(boolean, objective, vector, numbers, Room, stream, tape)")
def estimate(refresh, objective, z, numbers, room, rng, tape):  # type: ignore[no-untyped-def]
    """Run Algorithm 3: the gradients v and u at x_t, and y, which z receives."""
    counts, d = named(Counts, numbers.counts), objective.data.dim_w
    copy(z, room.point)  # line 3
    if refresh or not counts.once:
        copy(z, room.old)
    if refresh:
        start_anew(objective, z, numbers, room, rng, tape)
    if not (counts.once or (refresh and counts.repaired)):
        copy(room.last_x, room.old[:d])
    ascend(refresh, objective, numbers, room, rng, tape)
    copy(z[:d], room.last_x)
    copy(room.best[d:], z[d:])
    copy(room.best_vu, room.vu)


@kernel("void(vector, float64, stream)")
def move_in_ball(x, radius, rng):  # type: ignore[no-untyped-def]
    """Add to ``x`` a point drawn uniformly from the ball of this radius about 0."""
    u, square = np.empty(x.size), 0.0
    for i in range(x.size):
        u[i] = rng.standard_normal()
        square += u[i] * u[i]
    scale = radius * rng.random() ** (1.0 / x.size) / np.sqrt(square)
    for i in range(x.size):
        x[i] += scale * u[i]


@kernel("run")
def rgda(objective, numbers, rng, out, tape):  # type: ignore[no-untyped-def]
    """Run Xu et al. 2026, Algorithm 2."""
    reals, counts, data = named(Reals, numbers.reals), named(Counts, numbers.counts), objective.data
    T, repaired, D_bar, d = counts.steps, counts.repaired, reals.D_bar, data.dim_w
    room, z, anchor = room_for(data, numbers), data.start.copy(), data.start.copy()
    x, v = z[:d], room.vu[:d]
    escaping, perturbed, used, anchored, steady, moved = False, False, 0, 0, 0, 0.0
    tape.cursor[At.OUTCOME], ended = Outcome.UNCERTIFIED, T
    for t in range(T):
        if mark(t, z, tape):
            return
        estimate(t % counts.period == 0 or (repaired > 0 and perturbed), objective, z, numbers, room, rng, tape)
        length, eta_t = norm(v), 0.0
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
                    tape.cursor[At.OUTCOME] = Outcome.CERTIFIED
                    break
        for i in range(d):
            x[i] -= eta_t * v[i]
        project(x, data.domain_w)
    if tape.cursor[At.OUTCOME] == Outcome.CERTIFIED or not repaired:  # line 19, and the published last line
        copy(anchor, out)
        ended = anchored
    else:
        copy(z, out)
    tape.cursor[At.RETURNED] = ended
