"""The single loops in plain NumPy, from the papers' pseudo-code: DP-SGDA with and without clipping, NSEG, DPTD."""

from __future__ import annotations

import numpy as np

from dpcheck.algorithms.problem import Array
from dpcheck.checks.inside.replay import Replay


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
    x, path, causes = replay.start, [], dict[str, Array]()
    for t in range(s.steps):
        replay.step = t
        x = replay.iterate(x, causes=causes)
        path.append(x)
        batch = replay.minibatch(s.batch, s.sampling)  # line 4
        mean_w = replay.mean(batch, x, "w", s.clip_w, s.batch)  # line 5
        g_w = replay.release(mean_w, s.sigma_w, 2 * G_w / s.batch, "gradient in w")
        mean_v = replay.mean(batch, x, "v", s.clip_v, s.batch)
        g_v = replay.release(mean_v, s.sigma_v, 2 * G_v / s.batch, "gradient in v")

        def moved(g_w: Array, g_v: Array, x: Array = x, eta_w: float = s.eta_w[t], eta_v: float = s.eta_v[t]) -> Array:
            return np.concatenate([x[:d] - eta_w * g_w, x[d:] + eta_v * g_v])

        causes = {
            "it goes up in w": replay.nearest(moved(-g_w, g_v)),
            "it goes down in v": replay.nearest(moved(g_w, -g_v)),
            "it moves by the gradients without their noise": replay.nearest(moved(mean_w, mean_v)),
            "it does not move": x,
        }
        x = replay.onto(moved(g_w, g_v))  # lines 6 and 7
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

        def both(x: Array) -> Array:
            return np.concatenate([replay.mean(batch, x, block, s.clip_w if block == "w" else s.clip_v, s.batch)
                                   for block in "wv"])  # fmt: skip

        clean = both(at)
        causes = {"taken where the step began": both(u)} if half == "second" else {}
        replay.forget()
        g = replay.release(
            clean, s.sigma, 2 * float(np.hypot(G_w, G_v)) / s.batch, f"gradient of the {half} half step", causes
        )
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
