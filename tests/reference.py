"""DP-SGDA in plain NumPy, written from the paper's pseudo-code alone: the slow second route."""

from __future__ import annotations

import numpy as np


def project(x, domain):
    x = x.copy()
    for start, stop, kind, radius in domain:
        part = x[int(start) : int(stop)]
        if kind == 0:
            norm = np.linalg.norm(part)
            x[int(start) : int(stop)] = part * min(1.0, radius / norm) if norm > 0 else part
        else:
            x[int(start) : int(stop)] = np.clip(part, -radius, radius)
    return x


def clip(g, bound):
    norm = np.linalg.norm(g)
    return g if norm <= bound else g * (bound / norm)


def auc_gradient(problem, record, w, v):
    s_plus, s_minus, s_zero = problem.params
    x, y = record[:-1], record[-1]
    theta, a, b = w[:-2], w[-2], w[-1]
    h = theta @ x
    if y > 0:
        g_theta = 2 * s_plus * (h - a) * x - 2 * (1 + v[0]) * s_plus * x
        g_w = np.concatenate([g_theta, [2 * s_plus * (a - h), 0.0]])
        g_v = -2 * s_plus * h - 2 * s_zero * v[0]
    else:
        g_theta = 2 * s_minus * (h - b) * x + 2 * (1 + v[0]) * s_minus * x
        g_w = np.concatenate([g_theta, [0.0, 2 * s_minus * (b - h)]])
        g_v = 2 * s_minus * h - 2 * s_zero * v[0]
    return g_w, np.array([g_v])


def bilinear_gradient(problem, record, w, v):
    b, c = np.split(record, 2)
    return problem.coupling * v + b, problem.coupling * w - c


def quadratic_gradient(problem, record, w, v):
    b, c = np.split(record, 2)
    return (
        problem.mu_x * w + problem.coupling * v + b,
        problem.coupling * w - problem.mu_y * v - c,
    )


GRADIENTS = {"auc": auc_gradient, "bilinear": bilinear_gradient, "quadratic": quadratic_gradient}


def dp_sgda(solver, problem, drawn, noise_w, noise_v):
    """Replay a run: minibatches ``drawn`` (-1 pads) and noise (T, d) given, everything else anew."""
    gradient = GRADIENTS[problem.name]
    w, v = np.zeros(problem.dim_w), np.zeros(problem.dim_v)
    path = []
    for t in range(solver.steps):
        path.append(np.concatenate([w, v]))
        sum_w, sum_v = np.zeros_like(w), np.zeros_like(v)
        for i in drawn[t][drawn[t] >= 0]:
            g_w, g_v = gradient(problem, problem.records[i], w, v)
            sum_w += clip(g_w, solver.clip_w)
            sum_v += clip(g_v, solver.clip_v)
        step_w = sum_w / solver.batch + noise_w[t]
        step_v = sum_v / solver.batch + noise_v[t]
        w, v = (
            project(w - solver.eta_w[t] * step_w, problem.domain_w),
            project(v + solver.eta_v[t] * step_v, problem.domain_v),
        )
    path = np.array(path)
    return path, path.mean(0) if solver.output == "average" else path[-1]
