"""The SPIDER algorithms in plain NumPy, written from their pseudo-code.

What a run draws besides minibatches and noise is taken from what it recorded: the noise near saddles from the next
iterate, the private choice at the end from its release.
"""

from __future__ import annotations

import numpy as np

from dpcheck.algorithms.problem import Array
from reference.derivatives import clip
from reference.replay import Replay

_NOTHING: Array = np.zeros(0)


class Estimate:
    """The recursive estimate of the gradient, one private release an iterate."""

    def __init__(self, replay: Replay) -> None:
        self.replay, self.value, self.old = replay, np.zeros(replay.d), replay.start

    def at(self, w: Array, refresh: bool) -> Array:
        """Return it at ``w``: made anew, or brought there from the iterate before."""
        replay, s = self.replay, self.replay.s
        if refresh:
            batch = replay.minibatch(s.b1, role="of a refresh")
            g = replay.mean(batch, w, "w", s.L0, s.b1)
            self.value = replay.release(g, s.sigma_1 * s.L0, 2 * s.L0 / s.b1, "gradient")
        else:
            batch = replay.minibatch(s.b2, role="of a difference")
            distance = float(np.linalg.norm(w - self.old))
            bound = min(s.Ls * distance, 2 * s.L0) if distance > 0 else 0.0
            g = replay.mean_difference((batch, w), (batch, self.old), "w", bound, s.b2)
            noise = s.sigma_2 * bound
            self.value = self.value + replay.release(g, noise, 2 * bound / s.b2, "gradient difference")
        self.old = w
        return self.value

    def step(self, w: Array, v: Array) -> Array:
        """Return the next iterate."""
        return self.replay.onto(w - self.replay.s.eta * v)


class Drift:
    """Sum of |w_i - w_{i-1}|^2 since the last refresh, and the refreshes that are left."""

    def __init__(self, replay: Replay) -> None:
        self.kappa, self.left = replay.s.kappa, replay.s.refreshes
        self.sum, self.last = 0.0, _NOTHING

    def asks(self, w: Array, besides: bool = False) -> bool | None:
        """Return whether there is a refresh at ``w``; None where the budget does not hold it."""
        first = self.last.size == 0
        self.sum += 0.0 if first else float(np.sum((w - self.last) ** 2))
        self.last = w
        if not (first or besides or self.sum >= self.kappa):
            return False
        if self.left == 0:
            return None
        self.left -= 1
        self.sum = 0.0
        return True


def dp_spider(replay: Replay) -> None:
    """Follow Algorithm 1 of Arora et al. 2023: a refresh every q steps, a uniform one of w_1, ..., w_T returned."""
    estimate, w, path = Estimate(replay), replay.start, []
    for t in range(replay.s.steps):
        replay.step = t
        w = replay.iterate(w)
        path.append(w)
        w = estimate.step(w, estimate.at(w, t % replay.s.period == 0))
    replay.end([*path[1:], w], "every iterate from the first step on")


def ada_dp_spider(replay: Replay) -> None:
    """Follow Algorithms 1 and 2 of Tao et al. 2025: refreshed by drift, with rounds of an escape from one anchor."""
    s, estimate, drift, w = replay.s, Estimate(replay), Drift(replay), replay.start
    anchor: Array | None = None
    tried: list[int] = []  # the rounds from the anchor: steps of each
    for t in range(s.steps):
        replay.step = t
        w = replay.iterate(w)
        refresh = drift.asks(w)
        if refresh is None:
            break
        v = estimate.at(w, refresh)
        if anchor is None and np.linalg.norm(v) <= 3 * s.chi:
            anchor, tried = w, [0]
        w = estimate.step(w, v)
        if anchor is None:
            continue
        tried[-1] += 1
        if np.linalg.norm(w - anchor) >= s.R:
            anchor = None
        elif tried[-1] == s.Gamma:
            if len(tried) == s.Q:
                replay.end([anchor], "the anchor of the escape", "certified")
                return
            w = anchor
            tried.append(0)
    replay.end([w], "the last iterate", "uncertified")


def sto_spider(replay: Replay) -> None:
    """Follow Algorithm 1 of Liu et al. 2023 and its selection: noise near saddles, then a private choice among all
    iterates.
    """
    s, estimate, drift, w = replay.s, Estimate(replay), Drift(replay), replay.start
    seen: list[Array] = []
    v, frozen = np.full(replay.d, np.inf), 0
    for t in range(s.steps):
        replay.step = t
        w = replay.iterate(w)
        near = frozen <= 0 and bool(np.linalg.norm(v) <= s.gamma)
        refresh = drift.asks(w, near)
        if refresh is None:
            break
        v = estimate.at(w, refresh)
        frozen = s.Gamma if near else frozen - 1
        if near:
            v = estimate.value = v + s.r * replay.shaken(w, v, s.eta, s.r, returned=_last_is_returned(replay, t))
        w = estimate.step(w, v)
        seen.append(w)
    _select(replay, seen)


def _select(replay: Replay, seen: list[Array]) -> None:
    """Select by AboveThreshold (Dwork and Roth 2014, Algorithm 1): without noise the first score >= 0, with it any."""
    s = replay.s
    chosen, theirs = replay.selected(s.sigma_select, seen)
    shown = chosen if chosen >= 0 else len(seen) - 1
    score = second_order_score(replay, seen[shown])
    replay.differences.note(
        "gradients", abs(theirs - score) / max(1.0, abs(score)),
        f"the score of the iterate after step {shown + 1} differs from its formula by {abs(theirs - score):.3g}",
        allowed=1e-5,
    )  # fmt: skip
    if s.sigma_select == 0:
        scores = [second_order_score(replay, w) for w in seen]
        first = next((t for t, each in enumerate(scores) if each >= 0), -1)
        told = f"the selection without noise takes iterate {chosen + 1}, where {first + 1} is the first that passes"
        replay.differences.note("output", float(chosen != first), told)
    out = seen[shown]
    replay.end([out], "the selected iterate", "certified" if chosen >= 0 else "uncertified")


def _last_is_returned(replay: Replay, t: int) -> bool:
    """Say whether the run chose the iterate that step ``t`` makes, or none, for which it returns the last."""
    return int(replay.history.released[-1, 0]) in (-1, t)


def second_order_score(replay: Replay, w: Array) -> float:
    """Return min((alpha - |grad|)/D1, (lambda_min + sqrt(rho alpha))/D2), everything clipped per record."""
    s, n, d, h = replay.s, replay.n, len(w), 1e-4
    everyone = np.arange(n)

    def gradients(x: Array) -> list[Array]:
        return replay.each(everyone, x, "w")

    def clipped(parts: list[Array], bound: float) -> Array:
        return np.asarray(np.mean([clip(g, bound) for g in parts], axis=0))

    slope = clipped(gradients(w), s.L0)
    columns = []
    for e in np.eye(d):
        pairs = zip(gradients(w + h * e), gradients(w - h * e), strict=True)
        columns.append(clipped([(ahead - behind) / (2 * h) for ahead, behind in pairs], s.Ls))
    hessian = np.array(columns)
    least = float(np.linalg.eigvalsh((hessian + hessian.T) / 2)[0])
    D1, D2 = 2 * s.L0 / n, 2 * s.Ls * np.sqrt(d) / n
    return float(min((s.alpha - np.linalg.norm(slope)) / D1, (least + s.curvature) / D2))
