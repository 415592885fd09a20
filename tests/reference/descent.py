"""The single loops in plain NumPy, from the papers' pseudo-code: DP-SGDA with and without clipping, NSEG, DPTD."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpcheck.algorithms.problem import Array
from reference.replay import Index, Replay


def bounds(replay: Replay) -> tuple[float, float]:
    """Return the norm that a clipped gradient may have, in w and in v."""
    problem, s = replay.problem, replay.s
    return min(problem.lipschitz_w, s.clip_w), min(problem.lipschitz_v, s.clip_v)


def descent_ascent(replay: Replay) -> None:
    """Follow Algorithm 1 of Yang et al. 2022 and of Zhang et al. 2025: both updates from the same (w_t, v_t).

    The paper of the latter counts t = 0, ..., T; here x_0, ..., x_{T-1} are the T candidates for its output.
    """
    s, d = replay.s, replay.d
    G_w, G_v = bounds(replay)
    x, path = replay.start, []
    for t in range(s.steps):
        replay.step = t
        x = replay.iterate(x)
        path.append(x)
        batch = replay.minibatch(s.batch, s.sampling)  # line 4
        mean_w = replay.mean(batch, x, "w", s.clip_w, s.batch)  # line 5
        g_w = replay.release(mean_w, s.sigma_w, 2 * G_w / s.batch, "gradient in w")
        mean_v = replay.mean(batch, x, "v", s.clip_v, s.batch)
        g_v = replay.release(mean_v, s.sigma_v, 2 * G_v / s.batch, "gradient in v")
        x = replay.onto(np.concatenate([x[:d] - s.eta_w[t] * g_w, x[d:] + s.eta_v[t] * g_v]))  # lines 6 and 7
    if s.output == "average":
        replay.end([np.mean(path, axis=0)], "the average of the iterates")
    elif s.output == "last":
        replay.end([path[-1]], "the last iterate")
    else:
        replay.end(path, "every iterate")


def nseg(replay: Replay) -> None:
    """Follow Boob and Guzman's single loop: z_t = P(u_t - g (F_B1(u_t) + xi1)), u_{t+1} = P(u_t - g (F_B2(z_t) +
    xi2)).
    """
    s, d = replay.s, replay.d
    G_w, G_v = bounds(replay)

    def step(u: Array, at: Array, half: str) -> Array:
        """Return P(u - eta (F_B(at) + noise)), F = (grad_w, -grad_v); the release is of (grad_w, grad_v)."""
        batch = replay.minibatch(s.batch, s.sampling)
        clean = [replay.mean(batch, at, block, bound, s.batch) for block, bound in (("w", s.clip_w), ("v", s.clip_v))]
        sensitivity = 2 * float(np.hypot(G_w, G_v)) / s.batch
        g = replay.release(np.concatenate(clean), s.sigma, sensitivity, f"gradient of the {half} half step")
        return replay.onto(np.concatenate([u[:d] - s.eta * g[:d], u[d:] + s.eta * g[d:]]))

    u, path = replay.start, []
    for t in range(s.steps):
        replay.step = t
        path.append(replay.iterate(step(u, u, "first")))
        u = step(u, path[-1], "second")
    replay.end([np.mean(path, axis=0)], "the average of the iterates")


def dptd(replay: Replay) -> None:
    """Follow Zhao et al. 2023, reconstructed: the step, then the renewal of the averages."""
    s, d = replay.s, replay.d
    G_w, G_v = bounds(replay)
    x = replay.start
    p, q = np.zeros(d), np.zeros(len(x) - d)
    for t, (nu, sigma_p, sigma_q) in enumerate(zip(s.nu, s.sigma_w, s.sigma_v, strict=True)):
        replay.step = t
        x = replay.iterate(x)
        toward = replay.onto(np.concatenate([x[:d] - s.chi * p, x[d:] + s.eta * q]))
        x = x + nu * (toward - x)
        batch = replay.minibatch(s.batch)
        to_p, to_q = s.alpha * nu, s.beta * nu
        g_w = to_p * replay.mean(batch, x, "w", s.clip_w, s.batch)
        p = (1 - to_p) * p + replay.release(g_w, sigma_p, to_p * 2 * G_w / s.batch, "part of the average in w")
        g_v = to_q * replay.mean(batch, x, "v", s.clip_v, s.batch)
        q = (1 - to_q) * q + replay.release(g_v, sigma_q, to_q * 2 * G_v / s.batch, "part of the average in v")
    replay.end([x], "the last iterate")


# PrivateDiff in plain NumPy, written from Zhang et al. 2025, Algorithms 3 and 4.


def privatediff(replay: Replay, *, to_the_letter: bool = False) -> None:
    """Follow Algorithm 3; ``repaired`` as ``dpcheck.catalogue.zhang2025.privatediff`` has it.

    to_the_letter : the paper takes x from the whole space and leaves the noised maximiser where the noise put
        it; otherwise both are projected onto the problem's domains, which costs no privacy
    """
    s, d = replay.s, replay.d

    def onto(part: Array, block: str) -> Array:
        return part if to_the_letter else replay.project(part, block)

    everyone, inner = np.arange(replay.n), len(s.eta_y)
    point, old_z = replay.start, everyone[:0]
    old, old_printed = point, point
    v = np.zeros(d)
    path: list[Array] = []
    for r in range(s.rounds + 1):
        replay.step = r
        point = replay.iterate(point)
        path.append(point)
        x, y_before = point[:d], point[d:]
        z = replay.minibatch(s.batch, role="of a round")  # line 2
        y = y_before  # line 3
        for i in range(inner):  # line 4: Algorithm 4
            batch = everyone if s.repaired else replay.minibatch(s.batch, role="of the ascent")
            at = np.concatenate([x, y])
            y = replay.project(y + s.eta_y[i] * replay.mean(batch, at, "v", s.C0, len(batch)), "v")
        if s.repaired:  # released before it is used
            y = onto(replay.release(y, s.sigma_y, _moved(replay), "maximiser"), "v")
        at = np.concatenate([x, y])
        if r % s.restart == 0:  # lines 5 and 6
            C, sigma, what = s.C1, s.sigma_1, "gradient in w"
            g = replay.mean(z, at, "w", C, s.batch)
            v = np.zeros(d)
        else:  # line 7, where y_r is what line 3 made of it
            C, sigma, what = s.C2 * float(np.linalg.norm(x - old[:d])) + s.C3, s.sigma_2, "gradient difference in w"
            if s.repaired:
                C = min(C, 2 * s.C1)
            before = old if s.repaired else old_printed
            g = replay.mean_difference((z, at), (z if s.repaired else old_z, before), "w", C, s.batch)
        released = replay.release(g, sigma * C, 2 * C / s.batch, what)  # line 8
        v = v + released
        x_next = onto(x - s.eta_x * v, "w")  # line 9
        if not s.repaired:  # line 10, with the sensitivity of Lemma 9
            y = onto(replay.release(y, s.sigma_y, s.sensitivity_y, "maximiser"), "v")
        # The difference subtracts, as printed, y_r of the next round, ytilde_{r+1}; repaired, the released maximiser.
        old, old_z, old_printed = at, z, np.concatenate([x, y])
        point = np.concatenate([x_next, y])
    replay.end(path[1:], "every round's point")  # line 12: uniform on r = 1, ..., R


def _moved(replay: Replay) -> float:
    """Return how far one record moves the end of an ascent by full passes, as the repaired analysis has it."""
    s, problem = replay.s, replay.problem
    length = float(2 * s.C0 * np.sum(s.eta_y))
    if max(s.eta_y) <= problem.ascent_limit:
        return length / replay.n
    if problem.concavity > 0 and np.isfinite(problem.smoothness):
        return float(2 * s.C0 / (problem.concavity * replay.n))
    return length


# DP-RGDA in plain NumPy, written from Xu et al. 2026, Algorithms 2 and 3.


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
