"""The law of an output that is a query plus fixed combinations of noise, and the epsilon of two such laws.

With the noise silenced the output is the query. With one unit of one draw and silence elsewhere it is the query plus a
column of the mixing matrix. The identity ``output = query + mixing @ noise`` is verified at five further settings of
all draws, up to forty times their usual size in either direction. That it holds in between is ASSUMED; the rest is
computed. The outputs on two datasets then have two laws in closed form, and the epsilon between them is a lower bound
on the mechanism's. If the mechanism also draws something else, such as a sample, all of this is conditional on that
draw, and bounds nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from dpcheck import accounting, events
from dpcheck.arrays import Floats
from dpcheck.audits.running.recorder import Recorder

# Each number drawn costs a run of the mechanism.
MOST_DRAWS = 512
# Relative sizes: the rounding of one operation, the rounding of a long sum, and the least difference that matters.
_UNIT = 1e-15
_ROUNDING = 1e-11
_SIGNIFICANT = 1e-6
_SINGLE = (2.0**-22, 1e-5, 1e-4)  # the same, where the outputs are in single precision
_LAWS = {"gaussian": stats.norm, "laplace": stats.laplace}
_CELLS = 4000
_MOST_SHIFTED, _ITERATIONS, _STEP, _CLOSE = 64, 20, 1e-5, 1e-9  # of Newton's method, whose room is relative


@dataclass(frozen=True, eq=False)
class Response:
    """An output ``query + mixing @ noise``: query (k,), mixing (k, m), noise independent and standard of ``law``.

    given : other methods drawn from, whose values were held fixed; the law is conditional on them
    precision : relative rounding of one operation and of a long sum, and the least difference that matters
    """

    query: Floats
    mixing: Floats
    law: str
    given: tuple[str, ...] = ()
    precision: tuple[float, float, float] = (_UNIT, _ROUNDING, _SIGNIFICANT)


@dataclass(frozen=True)
class Implied:
    """The epsilon at which a pair of output laws in closed form is private.

    Attributes
    ----------
    epsilon : float
        Epsilon (natural log) that the two laws need at ``delta``.
    delta : float
        In [0, 1).
    exact : bool
        False where ``epsilon`` is only a lower bound.
    reason : str
        How it was found, in words.
    """

    epsilon: float
    delta: float
    exact: bool
    reason: str


def respond(run: Callable[[Recorder], Floats], seed: int, *, single: bool = False) -> Response | str:
    """Return how the output depends on the noise; or, in words, why it is not ``query + mixing @ noise``.

    run : returns the output of the mechanism with this generator, numbers (k,)
    single : whether an output that is in single precision, or has noise of libraries that draw in it, is taken for one
    """
    recorder = Recorder(seed)
    value = run(recorder)
    single &= any(draw.source in ("torch", "jax.random") for draw in recorder.draws) or bool(
        (value == value.astype(np.float32)).all() and (value != np.round(value)).any()
    )
    precision = unit, rounding, significant = _SINGLE if single else (_UNIT, _ROUNDING, _SIGNIFICANT)
    given = tuple(sorted({draw.method for draw in recorder.draws if not draw.law}))
    laws = {draw.law for draw in recorder.draws if draw.law}
    if recorder.bypassed:
        return "some draws are not recorded"
    if not laws:
        return f"it draws {'from ' + ', '.join(given) if given else 'nothing from rng'}"
    if len(laws) > 1:
        return f"it mixes noise of several laws, {' and '.join(sorted(laws))}"
    m = recorder.standard.size
    if m > MOST_DRAWS:
        return f"it draws {m} numbers, more than {MOST_DRAWS}"

    def output(standard: Floats) -> Floats | None:
        again = Recorder(seed, standard=standard)
        result = run(again)
        return result if again.standard.size == m else None

    query = output(np.zeros(m))
    columns = [output(unit) for unit in np.eye(m)]
    if query is None or any(column is None or column.shape != query.shape for column in columns):
        return "what it draws, or its output's shape, depends on the noise"
    mixing = np.array([column - query for column in columns if column is not None]).T
    signs = np.where(recorder.standard < 0, -1.0, 1.0)  # a recorded draw may be close to 0
    for standard in (recorder.standard, *(size * signs for size in (3.0, -3.0, 40.0, -40.0))):
        predicted, seen = query + mixing @ standard, output(standard)
        room = unit * np.abs(query) * (1 + np.abs(standard).sum()) + rounding * np.abs(mixing) @ np.abs(standard)
        if seen is None or seen.shape != query.shape or (np.abs(seen - predicted) > room).any():
            return "its output is not the query plus fixed multiples of the noise"
    noise = np.linalg.norm(mixing, axis=1)
    if (unit * np.abs(query) > significant * noise)[noise > 0].any():
        return "its noise is lost in the rounding of its output"
    return Response(query, mixing, laws.pop(), given, precision)


def implied(first: Response, second: Response, delta: float) -> Implied | str:
    """Return the epsilon between the laws of two outputs, the larger of both directions; or why it is unknown."""
    if first.law != second.law or first.query.shape != second.query.shape:
        return "the outputs on the two datasets are of different kinds"
    shift, size = first.query - second.query, np.abs(first.query) + np.abs(second.query)
    unit, rounding, significant = max(first.precision, second.precision)
    noisy = first.mixing.any(1) & second.mixing.any(1)
    shift = np.where(np.abs(shift) > np.where(noisy, unit, rounding) * size, shift, 0.0)
    same = _covariance_gap(first, second) <= significant
    if not shift.any() and same:
        return Implied(0.0, delta, True, "the two outputs have the same law")
    for response in (first, second):
        if _sticks_out(shift, response.mixing, rounding * size):
            return Implied(math.inf, delta, True, "the datasets move the output in a direction without noise")
    if first.law == "gaussian":
        return _gaussian(first, second, shift, same, delta)
    if first.law == "laplace" and (scales := _separate(first)) is not None and _separate(second) is not None:
        return _laplace(second, shift, scales, same, delta)
    return f"no closed form for {first.law} noise mixed like this"


def moved(first: Response, second: Response) -> float | str:
    """Return how far the query moves in units of its noise, as a noise multiplier counts them; or why that is unknown.

    The distance is in l2 for Gaussian noise and in l1 for Laplace noise. It is infinite if the query moves in a
    direction that has no noise.
    """
    if first.law != second.law or first.query.shape != second.query.shape:
        return "the outputs on the two datasets are of different kinds"
    shift, size = first.query - second.query, np.abs(first.query) + np.abs(second.query)
    shift = np.where(np.abs(shift) > _ROUNDING * size, shift, 0.0)
    if _covariance_gap(first, second) > _SIGNIFICANT:
        return "the noise itself changes with a record"
    if _sticks_out(shift, first.mixing, _ROUNDING * size):
        return math.inf
    if first.law == "gaussian":
        return float(np.linalg.norm(np.linalg.lstsq(first.mixing, shift, rcond=None)[0]))
    if first.law == "laplace" and (scales := _separate(first)) is not None:
        return float(np.abs(shift[scales > 0] / scales[scales > 0]).sum())
    return f"the noise is {first.law}, mixed"


@dataclass(frozen=True)
class Shift:
    """A fixed shift of the noise that makes two outputs the same: its length, as a noise multiplier counts it."""

    distance: float
    law: str


def transported(one: Callable[[Recorder], Floats], other: Callable[[Recorder], Floats], seed: int) -> Shift | str:
    """Return by how much noise must be shifted for ``other`` to return what ``one`` does; or why that is unknown.

    Where the same shift serves whatever the noise is, and no two noises give the same output, the two outputs are told
    apart as well as the noise and the shifted noise are. The first is verified at three settings of the noise, the
    second next to them; both are ASSUMED elsewhere.

    one, other : return the output (k,) for a generator;  seed : of its draws
    """
    recorder = Recorder(seed)
    one(recorder)
    laws, m = {draw.law for draw in recorder.draws if draw.law}, recorder.standard.size
    if len(laws) != 1 or recorder.bypassed or not 0 < m <= _MOST_SHIFTED or not laws <= _LAWS.keys():
        return f"its noise is not at most {_MOST_SHIFTED} Gaussian or Laplace numbers"
    settings = [recorder.standard, *np.random.default_rng(seed).normal(scale=1.5, size=(2, m))]
    shifts = []
    for standard in settings:
        reached = _solved(lambda drawn: other(Recorder(seed, standard=drawn)), one(Recorder(seed, standard=standard)),
                          standard)  # fmt: skip
        if reached is None:
            return "no noise makes it the same on both data sets"
        shifts.append(reached - standard)
    if np.ptp(shifts, axis=0).max() > _SIGNIFICANT * max(1.0, float(np.abs(shifts).max())):
        return "the noise that makes it the same on both data sets is not a fixed shift away"
    (law,) = laws
    return Shift(float(np.linalg.norm(shifts[0], 2 if law == "gaussian" else 1)), law)


def _solved(output: Callable[[Floats], Floats], wanted: Floats, start: Floats) -> Floats | None:
    """Return the one noise (m,) near ``start`` that gives what is ``wanted``, by Newton's method; None without one."""
    noise = start.copy()
    for _ in range(_ITERATIONS):
        value = output(noise)
        if value.shape != wanted.shape or not np.isfinite(value).all():
            return None
        slopes = np.array([output(noise + step) - value for step in _STEP * np.eye(noise.size)]).T / _STEP
        if not np.isfinite(slopes).all() or np.linalg.matrix_rank(slopes, tol=_SIGNIFICANT * np.abs(slopes).max()) < (
            noise.size
        ):
            return None
        room = _CLOSE * (np.abs(wanted) + np.abs(slopes).sum(axis=1))
        if (np.abs(wanted - value) <= room).all():
            return noise
        noise = noise + np.linalg.lstsq(slopes, wanted - value, rcond=None)[0]
    return None


def _gaussian(first: Response, second: Response, shift: Floats, same: bool, delta: float) -> Implied | str:
    if same:
        units = np.linalg.lstsq(first.mixing, shift, rcond=None)[0]
        mu = float(np.linalg.norm(units))
        epsilon = accounting.certify(events.Gaussian(1 / mu), delta).epsilon if delta > 0 else math.inf
        never = "" if delta > 0 else ", which no epsilon covers at delta 0"
        return Implied(epsilon, delta, True, f"Gaussian noise, the query moves by {mu:.6g} standard deviations{never}")
    if delta == 0:
        return Implied(math.inf, delta, True, "Gaussian noise of two covariances: the likelihood ratio is unbounded")
    # By post-processing, the laws along one direction are no easier to tell apart than the whole laws.
    both = [response.mixing @ response.mixing.T for response in (first, second)]
    directions = [*np.eye(shift.size), *np.linalg.eigh(both[0] - both[1])[1].T]
    if shift.any():
        directions.append(np.linalg.pinv(both[0] + both[1]) @ shift)
    epsilon = max(
        _apart("gaussian", float(v @ shift), math.sqrt(max(v @ both[0] @ v, 0)), math.sqrt(max(v @ both[1] @ v, 0)),
               delta)
        for v in directions
    )  # fmt: skip
    return Implied(epsilon, delta, False, "Gaussian noise of two covariances, seen along the best direction tried")


def _laplace(second: Response, shift: Floats, scales: Floats, same: bool, delta: float) -> Implied | str:
    if same:
        moved = np.abs(shift[shift != 0] / scales[shift != 0])
        words = f"Laplace noise, the query moves by {moved.sum():.6g} scales"
        if delta == 0 or moved.size == 1:
            multiplier = 1 / float(moved.sum())
            return Implied(accounting.certify(events.Laplace(multiplier), delta).epsilon, delta, True, words)
    elif delta == 0:
        return Implied(math.inf, delta, True, "Laplace noise of two scales: the likelihood ratio is unbounded")
    other = np.abs(second.mixing).sum(1)
    epsilon = max(_apart("laplace", s, a, b, delta) for s, a, b in zip(shift, scales, other, strict=True))
    return Implied(epsilon, delta, False, "Laplace noise, seen in the best single coordinate")


def _sticks_out(shift: Floats, mixing: Floats, rounding: Floats) -> bool:
    """Say whether ``shift`` lies outside what the noise can reach, by more than ``rounding``."""
    size = np.linalg.norm(mixing, axis=1)
    noisy = size > 0
    if shift[~noisy].any():
        return True
    moved, rows = shift[noisy] / size[noisy], mixing[noisy] / size[noisy, None]
    if not moved.any():
        return False
    rest = moved - rows @ np.linalg.lstsq(rows, moved, rcond=_SIGNIFICANT)[0]
    room = max(_SIGNIFICANT * np.linalg.norm(moved), np.linalg.norm(rounding[noisy] / size[noisy]))
    return bool(np.linalg.norm(rest) > room)


def _separate(response: Response) -> Floats | None:
    """Return the scales (k,) if every output has one draw of its own; else None."""
    used = response.mixing != 0
    alone = (used.sum(1) == 1).all() and (used.sum(0) <= 1).all()
    return np.abs(response.mixing).sum(1) if alone else None


def _covariance_gap(first: Response, second: Response) -> float:
    """Return the largest difference of the covariances, each entry in units of its coordinates' spreads."""
    a, b = (response.mixing @ response.mixing.T for response in (first, second))
    spread = np.sqrt(np.maximum(np.diag(a), np.diag(b)))
    spread = np.where(spread > 0, spread, 1.0)
    return float(np.abs((a - b) / np.outer(spread, spread)).max())


def _apart(law: str, shift: float, first: float, second: float, delta: float) -> float:
    """Return a lower bound on the epsilon between the laws at ``shift`` and 0 of these scales, at delta > 0.

    The event is a union of cells, so the bound holds however they are cut.
    """
    if min(first, second) == 0:
        return math.inf if shift or max(first, second) > 0 else 0.0
    laws = [_LAWS[law](shift, first), _LAWS[law](0.0, second)]
    tail = min(delta, 0.01) / 1e3
    low, high = (f(law.ppf(q) for law in laws) for f, q in ((min, tail), (max, 1 - tail)))
    edges = np.concatenate([[-np.inf], np.linspace(low, high, _CELLS), [np.inf]])
    p, q = (_cells(law, edges) for law in laws)
    return max(_least_epsilon(p, q, delta), _least_epsilon(q, p, delta))


def _cells(law: Any, edges: Floats) -> Floats:
    """Return the probability of each cell, from the tail that keeps its digits."""
    right = edges[:-1] > law.mean()
    return np.asarray(np.where(right, -np.diff(law.sf(edges)), np.diff(law.cdf(edges))))


def _least_epsilon(p: Floats, q: Floats, delta: float) -> float:
    """Return the least epsilon >= 0 with ``sum max(p - e^epsilon q, 0) <= delta``."""
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(-np.where(p > 0, p / q, 0.0))
    p_sum, q_sum = np.cumsum(p[order]), np.cumsum(q[order])
    gain = np.where(p_sum > delta, p_sum - delta, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        best = np.nanmax(np.where(gain > 0, np.log(gain) - np.log(q_sum), -np.inf))
    return max(0.0, float(best))
