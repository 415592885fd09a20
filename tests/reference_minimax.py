"""PrivateDiff, NSEG and DPTD in plain NumPy, written from the papers' pseudo-code alone: the slow second route.

Each takes the minibatches and the noise of a recorded run, computes everything else anew, and gives the
private quantities in order of release, the iterates, and the output (all candidates where it is drawn).
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
from reference import auc_gradient, bilinear_gradient, clip, project, quadratic_gradient


def cosine_gradient(problem, z, w, v):
    """f = sum_i a cos w_i + v_i (b sin w_i + z_i) - mu v_i^2/2."""
    a, b, mu = problem.amplitude, problem.coupling, problem.mu_y
    return -a * np.sin(w) + b * v * np.cos(w), b * np.sin(w) + z - mu * v


def quartic_gradient(problem, z, w, v):
    """f = w_1^4/4 - (c/2) w_1^2 + 1/2 sum_{i>=2} w_i^2 + <v, b w + z> - mu/2 |v|^2."""
    own = w.copy()
    own[0] = w[0] ** 3 - problem.curvature * w[0]
    return own + problem.coupling * v, problem.coupling * w + z - problem.mu_y * v


def of_the_kernel(problem, z, w, v):
    """Of perceptrons, one record at a time; ``test_mlp`` holds the kernel to plain NumPy and to differences."""
    g_w, g_v = np.empty_like(w), np.empty_like(v)
    problem.gradient(problem.params, z, w, v, g_w, g_v)
    return g_w, g_v


GRADIENTS = {
    "auc": auc_gradient, "bilinear": bilinear_gradient, "quadratic": quadratic_gradient,
    "cosine": cosine_gradient, "quartic": quartic_gradient,
    "auc_mlp": of_the_kernel, "td_mlp": of_the_kernel, "wgan": of_the_kernel,
}  # fmt: skip


class Replay(NamedTuple):
    """What a reference gives.

    clean : vectors, as long as their block;  noise : its standard deviation and the sensitivity it is for
    path, outputs : rows (w, v)
    clipped : how many vectors met their threshold (True) and how many did not (False)
    ending : how the run ended, where there are several ways
    """

    clean: list
    noise: np.ndarray
    path: np.ndarray
    outputs: np.ndarray
    clipped: Counter
    ending: str = "finished"


class Data:
    """A run's inputs: per-record gradients, the recorded minibatches and noise; and what it released."""

    def __init__(self, problem, history):
        self.problem, self.gradient = problem, GRADIENTS[problem.name]
        self.drawn = iter([row[row >= 0] for row in history.drawn])
        self.drawn_noise = iter(history.released - history.clean)
        self.clean, self.noise, self.clipped = [], [], Counter()

    def sample(self):
        return next(self.drawn)

    def each(self, index, w, v, block):
        """Gradients of these records in w (block 0) or v (block 1)."""
        return [self.gradient(self.problem, self.problem.records[i], w, v)[block] for i in index]

    def clip(self, g, bound):
        self.clipped[bool(np.linalg.norm(g) > bound)] += 1
        return clip(g, bound)

    def mean_clipped(self, vectors, bound, batch):
        return sum(self.clip(g, bound) for g in vectors) / batch

    def release(self, g, sigma, sensitivity):
        self.clean.append(g.copy())
        self.noise.append((sigma, sensitivity))
        return g + next(self.drawn_noise)[: g.size]

    def replay(self, path, outputs, ending="finished"):
        assert next(self.drawn, None) is None  # the run drew and released no more than its pseudo-code does
        assert next(self.drawn_noise, None) is None
        return Replay(self.clean, np.array(self.noise), np.array(path), np.array(outputs), self.clipped, ending)


def privatediff(solver, problem, history, *, to_the_letter=False):
    """Zhang et al. 2025, Algorithms 3 and 4; ``repaired`` as the list of algorithms has it.

    to_the_letter : the print takes x from the whole space and leaves the noised maximiser where the noise put
        it; otherwise both are projected onto the problem's domains, which costs no privacy
    """
    data = Data(problem, history)

    def onto(x, domain):
        return x if to_the_letter else project(x, domain)

    everyone = range(len(problem.records))
    x, y_tilde = np.split(problem.start, [problem.dim_w])
    x_old = y_old = z_old = v_tilde = None
    path = []
    for r in range(solver.rounds + 1):
        path.append(np.concatenate([x, y_tilde]))
        z = data.sample()  # line 2
        y = y_tilde  # line 3
        for eta in solver.eta_y:  # line 4: Algorithm 4
            batch = everyone if solver.repaired else data.sample()
            ascent = data.mean_clipped(data.each(batch, x, y, 1), solver.C0, len(batch))
            y = project(y + eta * ascent, problem.domain_v)
        if solver.repaired:  # released before it is used
            y = onto(
                data.release(y, solver.sigma_y, 2 * solver.C0 / (problem.concavity * len(everyone))), problem.domain_v
            )
        if r % solver.restart == 0:  # lines 5 and 6
            C, sigma = solver.C1, solver.sigma_1
            d = data.mean_clipped(data.each(z, x, y, 0), C, solver.batch)
            v_tilde = np.zeros(problem.dim_w)
        else:  # line 7, where y_r is what line 3 made of it
            C, sigma = solver.C2 * np.linalg.norm(x - x_old) + solver.C3, solver.sigma_2
            if solver.repaired:
                C = min(C, 2 * solver.C1)
            before = data.each(z if solver.repaired else z_old, x_old, y_old, 0)
            pairs = zip(data.each(z, x, y, 0), before, strict=True)
            d = data.mean_clipped([new - old for new, old in pairs], C, solver.batch)
        x_old, z_old = x, z
        v_tilde = v_tilde + data.release(d, sigma * C, 2 * C / solver.batch)  # line 8
        x = onto(x - solver.eta_x * v_tilde, problem.domain_w)  # line 9
        if not solver.repaired:  # line 10, with the sensitivity of Lemma 9
            y = onto(data.release(y, solver.sigma_y, solver.sensitivity_y), problem.domain_v)
        y_tilde = y
        # the difference subtracts, as printed, y_r of the next round, ytilde_{r+1}; repaired, the released
        # maximiser, which is the same point
        y_old = y_tilde
    return data.replay(path, path[1:])  # line 12: uniform on r = 1, ..., R


def bounds(solver, problem):
    """The norm that a clipped gradient may have, in w and in v."""
    return min(problem.lipschitz_w, solver.clip_w), min(problem.lipschitz_v, solver.clip_v)


def nseg(solver, problem, history):
    """Boob and Guzman's single loop: w_t = P(u_t - g (F_B1(u_t) + xi1)), u_{t+1} = P(u_t - g (F_B2(w_t) + xi2))."""
    data, d = Data(problem, history), problem.dim_w
    G_w, G_v = bounds(solver, problem)

    def step(u, at):
        """P(u - eta (F_B(at) + noise)), F = (grad_w, -grad_v); the release is of (grad_w, grad_v)."""
        batch = data.sample()
        g_w, g_v = np.zeros(d), np.zeros(problem.dim_v)
        if len(batch):  # a Poisson minibatch may be empty
            g_w = data.mean_clipped(data.each(batch, at[:d], at[d:], 0), solver.clip_w, solver.batch)
            g_v = data.mean_clipped(data.each(batch, at[:d], at[d:], 1), solver.clip_v, solver.batch)
        g = data.release(np.concatenate([g_w, g_v]), solver.sigma, 2 * np.hypot(G_w, G_v) / solver.batch)
        w, v = u[:d] - solver.eta * g[:d], u[d:] + solver.eta * g[d:]
        return np.concatenate([project(w, problem.domain_w), project(v, problem.domain_v)])

    u, path = problem.start, []
    for _ in range(solver.steps):
        path.append(step(u, u))
        u = step(u, path[-1])
    return data.replay(path, [np.mean(path, axis=0)])


def dptd(solver, problem, history):
    """Zhao et al. 2023, reconstructed: the step, then the renewal of the averages."""
    data = Data(problem, history)
    theta, omega = np.split(problem.start, [problem.dim_w])
    p, q = np.zeros_like(theta), np.zeros_like(omega)
    G_w, G_v = bounds(solver, problem)
    path = []

    def moved(nu):
        toward_theta = project(theta - solver.chi * p, problem.domain_w)
        toward_omega = project(omega + solver.eta * q, problem.domain_v)
        return theta + nu * (toward_theta - theta), omega + nu * (toward_omega - omega)

    for nu, sigma_p, sigma_q in zip(solver.nu, solver.sigma_w, solver.sigma_v, strict=True):
        path.append(np.concatenate([theta, omega]))
        theta, omega = moved(nu)
        batch = data.sample()
        g_theta = data.mean_clipped(data.each(batch, theta, omega, 0), solver.clip_w, solver.batch)
        g_omega = data.mean_clipped(data.each(batch, theta, omega, 1), solver.clip_v, solver.batch)
        to_p, to_q = solver.alpha * nu, solver.beta * nu
        p = (1 - to_p) * p + data.release(to_p * g_theta, sigma_p, to_p * 2 * G_w / solver.batch)
        q = (1 - to_q) * q + data.release(to_q * g_omega, sigma_q, to_q * 2 * G_v / solver.batch)
    return data.replay(path, [np.concatenate([theta, omega])])


def dp_sgda_clipped(solver, problem, history):
    """Zhang et al. 2025, Algorithm 1: both updates from the same (x_t, y_t), a uniform iterate put out.

    The print counts t = 0, ..., T; here T iterates x_0, ..., x_{T-1} are candidates, as for Yang et al.
    """
    data = Data(problem, history)
    x, y = np.split(problem.start, [problem.dim_w])
    G_w, G_v = bounds(solver, problem)
    path = []
    for eta_x, eta_y in zip(solver.eta_w, solver.eta_v, strict=True):
        path.append(np.concatenate([x, y]))
        batch = data.sample()  # line 2
        g_x = data.mean_clipped(data.each(batch, x, y, 0), solver.clip_w, solver.batch)
        g_y = data.mean_clipped(data.each(batch, x, y, 1), solver.clip_v, solver.batch)
        g_x = data.release(g_x, solver.sigma_w, 2 * G_w / solver.batch)  # line 3
        g_y = data.release(g_y, solver.sigma_v, 2 * G_v / solver.batch)
        x = project(x - eta_x * g_x, problem.domain_w)  # line 4, where X is the whole space
        y = project(y + eta_y * g_y, problem.domain_v)  # line 5
    return data.replay(path, path)
