"""Projection and clipping in plain NumPy, written from their definitions and not from the kernels."""

from __future__ import annotations

import numpy as np

from dpcheck.algorithms.problem import Array

# The kinds of a domain's blocks, as ``Problem`` numbers them.
_BALL, _BOX, _SIMPLEX = 0, 1, 2


def project(x: Array, domain: Array) -> Array:
    """Return the nearest point to ``x`` of a product of blocks, rows (start, stop, kind, radius)."""
    x = np.array(x, dtype=float)
    for start, stop, kind, radius in domain:
        block = slice(int(start), int(stop))
        part = x[block]
        if kind == _BALL:
            norm = float(np.linalg.norm(part))
            x[block] = part * min(1.0, radius / norm) if norm > 0 else part
        elif kind == _BOX:
            x[block] = np.clip(part, -radius, radius)
        elif kind == _SIMPLEX:
            x[block] = _onto_simplex(part, float(radius))
        else:
            raise ValueError(f"kind must be 0, 1 or 2, got {kind}")
    return x


def _onto_simplex(x: Array, total: float) -> Array:
    """Return max(x - tau, 0) with the tau at which the entries have this sum, found among the sorted entries."""
    falling = np.sort(x)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, x.size + 1)
    tau = excess[np.flatnonzero(falling > excess)[-1]]
    return np.asarray(np.maximum(x - tau, 0.0))


def clip(g: Array, bound: float) -> Array:
    """Return ``g``, shortened to norm ``bound`` where it is longer."""
    norm = float(np.linalg.norm(g))
    return g if norm <= bound else g * (bound / norm)
