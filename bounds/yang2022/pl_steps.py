"""Steps of Algorithm 1 without noise on small instances of the PL case, in rational arithmetic.

F = q w + p w^2/2 + c w v - rho v^2/2 with |v| <= 1, and w real, or in [0, 1] if ``walled``. In every
instance R_S has its minimum 0 at w = 0, since q = 0, or q > 0 and ``walled``.
"""

from __future__ import annotations

from fractions import Fraction


def primal_error(
    q: Fraction, p: Fraction, c: Fraction, rho: Fraction, walled: int,
    w: Fraction, v: Fraction, eta_w: Fraction, eta_v: Fraction,
) -> Fraction:  # fmt: skip
    """Return R_S - min R_S after one step from (w, v); with steps 0, before it."""
    w, _ = _step(q, p, c, rho, walled, w, v, eta_w, eta_v)
    best = _maximiser(c, rho, w)
    return q * w + p * w * w / 2 + c * w * best - rho * best * best / 2


def dual_error(
    q: Fraction, p: Fraction, c: Fraction, rho: Fraction, walled: int,
    w: Fraction, v: Fraction, eta_w: Fraction, eta_v: Fraction,
) -> Fraction:  # fmt: skip
    """Return |v(w) - v|^2 after one step from (w, v); with steps 0, before it."""
    w, v = _step(q, p, c, rho, walled, w, v, eta_w, eta_v)
    return (_maximiser(c, rho, w) - v) ** 2


def stuck_excess(steps: int) -> Fraction:
    """Return R_S - min R_S of F = u^2/2 - v^2/2, u = y + 2 + x/2 - x^2, |x| <= 1, 0 <= y <= 1, from x = 1, y = v = 0.

    The steps are 2/(t + 10). min u = 1/2, at x = -1, y = 0.
    """
    x, y = Fraction(1), Fraction(0)
    for t in range(1, steps + 1):
        u, step = y + 2 + x / 2 - x * x, Fraction(2, t + 10)
        x, y = _between(-1, x - step * u * (Fraction(1, 2) - 2 * x), 1), _between(0, y - step * u, 1)
    return (y + 2 + x / 2 - x * x) ** 2 / 2 - Fraction(1, 8)


def apart(x: Fraction, y: Fraction) -> Fraction:
    """Return |pi_S'(pi_S(w)) - pi_S'(w')|^2 for one step eta_w = 1 from 0 on f = (<z, w> - 1)^2/2, n = 1.

    The record of S is (1, 0), that of S' the unit vector (x, y). The step goes to w = (1, 0) and w' = (x, y),
    which solve <z, w> = 1 each for its own record.
    """
    short = 1 - x
    return (1 + short * x - x) ** 2 + (short * y - y) ** 2


def _step(
    q: Fraction, p: Fraction, c: Fraction, rho: Fraction, walled: int,
    w: Fraction, v: Fraction, eta_w: Fraction, eta_v: Fraction,
) -> tuple[Fraction, Fraction]:  # fmt: skip
    w, v = w - eta_w * (q + p * w + c * v), _between(-1, v + eta_v * (c * w - rho * v), 1)
    return (_between(0, w, 1) if walled else Fraction(w)), v


def _maximiser(c: Fraction, rho: Fraction, w: Fraction) -> Fraction:
    return _between(-1, c * w / rho, 1)


def _between(low: int, value: Fraction, high: int) -> Fraction:
    return max(Fraction(low), min(Fraction(high), Fraction(value)))
