"""DP-RGDA in plain NumPy, written from the paper's Algorithms 2 and 3 alone: the slow second route."""

from __future__ import annotations

import numpy as np
from reference import project
from reference_minimax import Data


class Tree:
    """Sums of all increments so far from private sums of blocks of 1, 2, 4, ... of them."""

    def __init__(self, base):
        self.base, self.increments, self.blocks = base, [], {}

    def add(self, increment, release):
        """The base plus all increments."""
        self.increments.append(increment)
        stop = len(self.increments)
        size = max(2**i for i in range(stop) if stop % 2**i == 0)  # of the block that ends here
        self.blocks[stop - size, stop] = release(sum(self.increments[stop - size :]))
        total, start = self.base, 0
        while start < stop:
            size = max(2**i for i in range(stop) if start + 2**i <= stop)
            total = total + self.blocks[start, start + size]
            start += size
        return total


def dp_rgda(solver, problem, history, perturbed):
    """Xu et al. 2026; ``repaired`` as the list of algorithms has it.

    perturbed : (t, x) -> the point to which x_t was moved at random

    The paper returns x alone; y is the one that the updater found at the same x.
    """
    data = Data(problem, history)

    def averaged(vectors, bound, size):
        """The print clips the mean of a minibatch, the repair each record's part of it."""
        if solver.repaired:
            return data.mean_clipped(vectors, bound, size)
        return data.clip(sum(vectors) / size, bound)

    def gradients(x, y):
        batch = data.sample()
        return [averaged(data.each(batch, x, y, block), solver.C_v, solver.S1) for block in (0, 1)]

    def differences(x, y, x_last, y_last):
        batch, both = data.sample(), []
        for block in (0, 1):
            pairs = zip(data.each(batch, x, y, block), data.each(batch, x_last, y_last, block), strict=True)
            both.append(averaged([new - old for new, old in pairs], solver.C_u, solver.S2))
        return both

    trees = {}

    def release_difference(g):
        return data.release(g, solver.sigma_u, 2 * solver.C_u / solver.S2)

    def updater(x, x_before, y, v, u, refresh):
        """Algorithm 3."""
        x_last, y_last = x_before, y  # line 3: x_{t,-1} and y_{t,-1}
        if solver.once and not refresh:
            x_last, y_last = trees["last"]
        if refresh:  # lines 5 to 8
            v, u = (data.release(g, solver.sigma_v, 2 * solver.C_v / solver.S1) for g in gradients(x, y))
            trees["v"], trees["u"] = Tree(v), Tree(u)
            if solver.repaired:
                x_last = x
        ys, vs, us = [y], [], []
        for k in range(solver.K):  # lines 12 to 17
            moves = None if solver.once and refresh and k == 0 else differences(x, ys[k], x_last, y_last)
            if moves is None:
                pass
            elif solver.once:
                v, u = (trees[name].add(g, release_difference) for name, g in zip("vu", moves, strict=True))
            else:
                move_v, move_u = (release_difference(g) for g in moves)
                v, u = v + move_v, u + move_u
            vs.append(v)
            us.append(u)
            ys.append(project(ys[k] + solver.lam * u, problem.domain_v))
            x_last, y_last = trees["last"] = x, ys[k]
        mappings = [np.linalg.norm(ys[k] - ys[k + 1]) / solver.lam for k in range(solver.K)]
        first = 1 if solver.repaired else 0
        s = first + int(np.argmin(mappings[first:]))  # line 18
        return ys[s], vs[s], us[s]

    x, y = np.split(problem.start, [problem.dim_w])
    x_before, v, u, anchor = x, None, None, problem.start  # before any perturbation the print has no anchor
    escaping = perturbed_last = False
    path, speeds = [], []
    m = count = perturbations = 0
    for t in range(solver.steps):  # Algorithm 2
        path.append(np.concatenate([x, y]))
        refresh = t % solver.period == 0 or (solver.repaired and perturbed_last)
        y, v, u = updater(x, x_before, y, v, u, refresh)
        x_before, perturbed_last = x, False
        speed = np.linalg.norm(v)
        if not escaping:  # lines 4 to 10
            if speed >= solver.alpha:
                x = x - solver.eta / speed * v
            elif solver.repaired and perturbations == solver.escapes:  # no more are paid for
                return data.replay(path, [np.concatenate([x, y])], "uncertified")
            else:
                anchor, m, escaping, count, speeds = np.concatenate([x, y]), t, True, 0, []
                x, perturbed_last = perturbed(t, x), True
                perturbations += 1
        else:  # lines 11 to 20
            speeds.append(speed)  # |v_j|, j = m + 1, ..., t
            movement = sum(solver.eta_H**2 * each**2 for each in speeds)
            if movement > (t - m) * solver.D_bar:
                eta_t = np.sqrt((t - m) * solver.D_bar / sum(each**2 for each in speeds))
                x, escaping = x - eta_t * v, False
            else:
                x, count = x - solver.eta_H * v, count + 1
                if count == solver.t_thres:
                    return data.replay(path, [anchor], "certified")
    return data.replay(path, [np.concatenate([x, y]) if solver.repaired else anchor], "uncertified")
