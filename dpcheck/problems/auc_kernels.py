"""What a record of the AUC problems brings once its score h is known, whatever the score is made of.

params : s+, s-, s0;  w : what makes the score, then a and b;  label : above 0 for the positive class
"""

from __future__ import annotations

from numba import types

from dpcheck.kernels.jit import VECTOR, kernel

_FLOAT = types.float64
_SIDE = types.UniTuple(_FLOAT, 3)  # type: ignore[no-untyped-call]


@kernel(_SIDE(VECTOR, VECTOR, _FLOAT))
def side(params, w, label):  # type: ignore[no-untyped-def]
    """Return the weight of the record's class, the centre of its scores, and its sign."""
    d = w.size - 2
    if label > 0:
        return params[0], w[d], -1.0
    return params[1], w[d + 1], 1.0


@kernel(_FLOAT(VECTOR, VECTOR, VECTOR, _FLOAT, _FLOAT))
def value_at(params, w, v, h, label):  # type: ignore[no-untyped-def]
    """Return f of a record with this score."""
    weight, centre, sign = side(params, w, label)
    return weight * ((h - centre) * (h - centre) + 2.0 * sign * (1.0 + v[0]) * h) - params[2] * v[0] * v[0]


@kernel(_FLOAT(VECTOR, VECTOR, VECTOR, _FLOAT, _FLOAT, VECTOR, VECTOR))
def slope_at(params, w, v, h, label, out_w, out_v):  # type: ignore[no-untyped-def]
    """Return df/dh, and fill the partial gradients in a, b and v."""
    weight, centre, sign = side(params, w, label)
    d, pull = w.size - 2, 2.0 * weight * (centre - h)
    out_w[d] = pull if sign < 0 else 0.0
    out_w[d + 1] = pull if sign > 0 else 0.0
    out_v[0] = 2.0 * (sign * weight * h - params[2] * v[0])
    return 2.0 * weight * (h - centre + sign * (1.0 + v[0]))
