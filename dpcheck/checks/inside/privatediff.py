"""PrivateDiff in plain NumPy, written from Zhang et al. 2025, Algorithms 3 and 4."""

from __future__ import annotations

import numpy as np

from dpcheck.algorithms.problem import Array
from dpcheck.checks.inside.replay import Replay


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
            replay.forget()
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
