"""DP-RGDA in plain NumPy, written from Xu et al. 2026, Algorithms 2 and 3."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpcheck.algorithms.problem import Array
from dpcheck.checks.inside.replay import Index, Replay

Release = Callable[[Array], Array]


class Tree:
    """Sums of all increments so far from private sums of blocks of 1, 2, 4, ... of them."""

    def __init__(self, base: Array) -> None:
        self.base, self.increments = base, list[Array]()
        self.blocks: dict[tuple[int, int], Array] = {}

    def add(self, increment: Array, release: Release) -> Array:
        """Return the base plus all increments."""
        self.increments.append(increment)
        stop = len(self.increments)
        size = max(2**i for i in range(stop) if stop % 2**i == 0)  # of the block that ends here
        block = np.sum(self.increments[stop - size :], axis=0)
        self.blocks[stop - size, stop] = release(block)
        total, start = self.base, 0
        while start < stop:
            size = max(2**i for i in range(stop) if start + 2**i <= stop)
            total = total + self.blocks[start, start + size]
            start += size
        return total


def dp_rgda(replay: Replay) -> None:
    """Follow both algorithms; ``repaired`` as ``dpcheck.catalogue.xu2026.dp_rgda`` has it.

    The paper returns x alone; y is the one that the updater found at the same x. The point to which x_t was moved at
    random is taken from the run.
    """
    _Run(replay).follow()


class _Run:
    def __init__(self, replay: Replay) -> None:
        self.replay, self.s, self.d = replay, replay.s, replay.d
        self.left = set(range(replay.n))
        self.trees: dict[str, Tree] = {}
        self.last_asked = replay.start
        self.v, self.u = np.zeros(self.d), np.zeros(len(replay.start) - self.d)

    def batch(self, size: int, role: str) -> Index:
        """Return a minibatch; where each record is used once, from those that are left."""
        once, fresh = self.s.once, len(self.left) == self.replay.n
        found = self.replay.minibatch(
            size, role=role if not once or fresh else "of the rest", among=self.left if once else None
        )
        if once:
            self.left -= set(found.tolist())
        return found

    def release(self, g: Array, sigma: float, sensitivity: float, words: str) -> Array:
        """Compare a release: as published the mean of a minibatch is clipped, repaired each record's part of it."""
        return self.replay.release(g, sigma, sensitivity, words)

    def renewed(self, point: Array) -> tuple[Array, Array]:
        """Return the released gradients of a refresh."""
        s, replay = self.s, self.replay
        batch, found = self.batch(s.S1, "of a refresh"), []
        for block in "wv":
            g = replay.mean(batch, point, block, s.C_v, s.S1, together=not s.repaired)
            found.append(self.release(g, s.sigma_v, 2 * s.C_v / s.S1, f"gradient in {block}"))
        return found[0], found[1]

    def moved(self, point: Array, before: Array) -> tuple[Array, Array]:
        """Return v and u, brought from ``before`` to ``point`` by a released difference."""
        s, replay = self.s, self.replay
        batch, found = self.batch(s.S2, "of a difference"), []
        for block, name, value in (("w", "v", self.v), ("v", "u", self.u)):

            def released(g: Array, block: str = block) -> Array:
                return self.release(g, s.sigma_u, 2 * s.C_u / s.S2, f"gradient difference in {block}")

            g = replay.mean_difference((batch, point), (batch, before), block, s.C_u, s.S2, together=not s.repaired)
            found.append(self.trees[name].add(g, released) if s.once else value + released(g))
        return found[0], found[1]

    def updater(self, x: Array, x_before: Array, y: Array, refresh: bool) -> Array:
        """Follow Algorithm 3: return y, with v and u at it."""
        s, K = self.s, self.s.K
        last = self.last_asked if s.once and not refresh else np.concatenate([x_before, y])  # line 3
        if refresh:  # lines 5 to 8
            self.v, self.u = self.renewed(np.concatenate([x, y]))
            self.trees = {"v": Tree(self.v), "u": Tree(self.u)}
            if s.repaired:
                last = np.concatenate([x, y])
        ys, vs, us = [y], list[Array](), list[Array]()
        for k in range(K):  # lines 12 to 17
            here = np.concatenate([x, ys[k]])
            if not (s.once and refresh and k == 0):
                self.v, self.u = self.moved(here, last)
            vs.append(self.v)
            us.append(self.u)
            ys.append(self.replay.project(ys[k] + s.lam * self.u, "v"))
            last = self.last_asked = here
        mappings = [float(np.linalg.norm(ys[k] - ys[k + 1])) / s.lam for k in range(K)]
        first = 1 if s.repaired else 0
        best = first + int(np.argmin(mappings[first:]))  # line 18
        self.v, self.u = vs[best], us[best]
        return ys[best]

    def follow(self) -> None:
        """Follow Algorithm 2."""
        replay, s, d = self.replay, self.s, self.d
        point = replay.start
        x_before = point[:d]
        anchor = point  # before any perturbation the published algorithm has no anchor
        escaping = perturbed_last = False
        speeds: list[float] = []
        m = count = perturbations = 0
        for t in range(s.steps):
            replay.step = t
            point = replay.iterate(point)
            x, y = point[:d], point[d:]
            refresh = t % s.period == 0 or bool(s.repaired and perturbed_last)
            y = self.updater(x, x_before, y, refresh)
            x_before, perturbed_last = x, False
            speed = float(np.linalg.norm(self.v))
            if not escaping:  # lines 4 to 10
                if speed >= s.alpha:
                    x = x - s.eta / speed * self.v
                elif s.repaired and perturbations == s.escapes:  # no more are paid for
                    replay.end([np.concatenate([x, y])], "the point at which no perturbation was left", "uncertified")
                    return
                else:
                    anchor, m, escaping, count, speeds = np.concatenate([x, y]), t, True, 0, []
                    x, perturbed_last = replay.perturbed(x, s.r, returned=bool(s.repaired)), True
                    perturbations += 1
            else:  # lines 11 to 20
                speeds.append(speed)  # |v_j|, j = m + 1, ..., t
                movement = sum(s.eta_H**2 * each**2 for each in speeds)
                if movement > (t - m) * s.D_bar:
                    eta_t = np.sqrt((t - m) * s.D_bar / sum(each**2 for each in speeds))
                    x, escaping = x - eta_t * self.v, False
                else:
                    x, count = x - s.eta_H * self.v, count + 1
                    if count == s.t_thres:
                        replay.end([anchor], "the anchor of the escape", "certified")
                        return
            point = replay.onto(np.concatenate([x, y]))
        last = point if s.repaired else anchor
        replay.end([last], "the last point" if s.repaired else "the last anchor", "uncertified")
