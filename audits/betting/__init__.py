"""The wealth won by betting against a claim, and against all claims of a grid at once.

A round is one fresh output x on the data (law P) and one fresh output y on the neighbour (law Q). A bet is a pair of
functions, fixed before the round, which multiplies the wealth by ``e(x) f(y)``:

``e = alpha + a - e^epsilon b``,  ``f = beta - e^epsilon a + b``,  all divided by ``1 + delta (A + B) / 2``,

with ``alpha + beta = 2``, ``0 <= a <= A`` and ``0 <= b <= B``, so small that e and f are positive.

Null hypothesis: (P, Q) is (epsilon, delta)-private in both directions. Then ``E_P[a] <= e^epsilon E_Q[a] + delta A``,
since a / A is a test, and likewise for b. Before the division ``E_P[e] + E_Q[f] <= 2 + delta (A + B)``. Since x and y
are independent, ``E[e(x) f(y)]`` is at most the square of half of that, and after the division at most 1. The wealth is
a nonnegative supermartingale that starts at 1, so the probability that it ever reaches 1 / level is at most ``level``,
whenever one looks [1].

If P and Q have densities p and q, the bet that grows fastest is their likelihood ratio against the nearest private
pair, ``e = p / p0`` and ``f = q / q0`` [2]. It has this form: a and b are nonzero where one law exceeds e^epsilon times
the other, and the caps A and B limit what delta costs.

Each round bets on one fresh output of each dataset, with bets made from earlier rounds alone (:mod:`.predictor`). A
value of epsilon below the smallest that the mechanism keeps at this delta is a false claim; all others are true. Claims
are rejected in ascending order, each once its wealth, and the wealth against every smaller one, has reached the goal. A
true claim is therefore rejected only after the smallest true one of the grid. The wealth against that one bounds the
error of the whole sequence of limits, so that no correction for the grid is needed.

[1] J. Ville, "Etude critique de la notion de collectif", Gauthier-Villars 1939.
[2] P. Grunwald, R. de Heide and W. Koolen, "Safe testing", JRSS B 86 (2024), 1091-1128.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.arrays import Floats
from dpcheck.audits.betting.predictor import Predictor
from dpcheck.audits.output_sets import OutputSet
from dpcheck.audits.running import Chunk
from dpcheck.audits.running.encoder import Layout
from dpcheck.compiled import njit
from dpcheck.errors import require

# Values tried for log(alpha / beta) / epsilon, densest near 0; number of caps tried, each half of the one before.
_TILTS = np.array([-0.64, -0.36, -0.16, -0.04, 0, 0.04, 0.16, 0.36, 0.64])
_CAPS = 7
# Beyond this epsilon no number of rounds could win anything.
_LARGEST = 300.0


def stakes(share: Floats, mass: Floats, epsilons: Floats, delta: float = 0.0) -> tuple[Floats, Floats]:
    """Return the logarithms (m, J) of e and f on J bins against m claims; share and mass (J,) may be any guesses."""
    known = np.minimum(epsilons, _LARGEST)[:, None, None]
    ratio = np.exp(known)
    tilt = np.exp(known * _TILTS[:, None])  # all arrays: (claims, tilts, bins)
    alpha, beta = 2 * tilt / (1 + tilt), 2 / (1 + tilt)
    # The maximisers of share log e + (1 - share) log f; one of them is always 0.
    a = np.maximum(share * beta / ratio - (1 - share) * alpha, 0)
    b = np.maximum((1 - share) * alpha / ratio - share * beta, 0)
    cost: float | Floats = 0.0
    if delta > 0:
        a = _capped(a, share, mass, alpha, beta, ratio, delta)
        b = _capped(b, 1 - share, mass, beta, alpha, ratio, delta)
        cost = np.log1p(delta * (a.max(axis=2, keepdims=True) + b.max(axis=2, keepdims=True)) / 2)
    e = np.log(alpha + a - ratio * b) - cost
    f = np.log(beta - ratio * a + b) - cost
    best = np.argmax((mass * (share * e + (1 - share) * f)).sum(axis=2), axis=1)
    claims = np.arange(len(best))
    played = (epsilons <= _LARGEST)[:, None]
    return e[claims, best] * played, f[claims, best] * played


def _capped(a: Floats, share: Floats, mass: Floats, alpha: Floats, beta: Floats, ratio: Floats, delta: float) -> Floats:
    """Return ``min(a, A)`` for the cap A, of each claim and tilt, whose bet grows fastest after paying ``delta A``."""
    top = a.max(axis=2, keepdims=True)
    best, result = np.full(top.shape, -np.inf), a
    for level in (*0.5 ** np.arange(_CAPS), 0.0):
        cut = np.minimum(a, level * top)
        gains = share * np.log(alpha + cut) + (1 - share) * np.log(beta - ratio * cut)
        growth = (mass * gains).sum(axis=2, keepdims=True) - delta * level * top
        result = np.where(growth > best, cut, result)
        best = np.maximum(growth, best)
    return result


Places = NDArray[np.int64]

# The first rounds, which are only learned from.
FIRST = 10
# Numbers of claims on the grid: up to the claim, and from there to twice the claim (from a claim of 0, to 0.1).
_GRID = (20, 10)
# Bins of the predicted chance: so many equally full, and as many equally wide in the log-odds.
_BINS = 20
# Numbers that are kept of each dataset for learning, and those that a saved audit keeps.
_KEPT = 20_000_000
_SAVED = 5_000


@dataclass(frozen=True)
class Standing:
    """What is known after a chunk of runs.

    Attributes
    ----------
    trials : int
        Runs on each dataset so far.
    log_wealth : float
        Natural logarithm of the wealth against the claim.
    epsilon_lower : float
        Lower confidence bound on epsilon (natural log).
    """

    trials: int
    log_wealth: float
    epsilon_lower: float


@dataclass(frozen=True, eq=False)
class State:
    """What a sequential audit needs to go on.

    Attributes
    ----------
    epsilons : ndarray, (m,)
        The claims on the grid (natural log).
    log_wealth, peak : ndarray, (m,)
        Natural logarithm of the wealth against each claim, now and at most so far.
    chunks : int
        Chunks run so far.
    success : dict of str to float
        How well the parts of the :class:`~.predictor.Predictor` have done.
    fitted_on : int
        Runs that the predictor was fitted on.
    outputs : tuple of ndarray
        Outputs (n, width) on data and on neighbour that are learned from.
    first : str
        Digest of the first chunk, by which the mechanism is known again.
    """

    epsilons: Floats
    log_wealth: Floats
    peak: Floats
    chunks: int
    success: dict[str, float]
    fitted_on: int
    outputs: tuple[Floats, Floats]
    first: str

    def to_dict(self) -> dict[str, Any]:
        """Return the state ready for JSON, with the last of the outputs where there are many."""
        width = self.outputs[0].shape[1]
        kept = kept_runs(width)
        return {name: getattr(self, name).tolist() for name in ("epsilons", "log_wealth", "peak")} | {
            "chunks": self.chunks,
            "success": dict(self.success),
            "fitted_on": self.fitted_on if len(self.outputs[0]) <= kept else 0,
            "width": width,
            "outputs": [base64.b64encode(v[-kept:].astype("<f8").tobytes()).decode() for v in self.outputs],
            "first": self.first,
        }


def kept_runs(width: int) -> int:
    """Return how many runs' outputs of this width a saved audit keeps at most."""
    return max(FIRST, _SAVED // width)


def digest(a: Floats, b: Floats) -> str:
    """Return a digest of the outputs on both datasets."""
    return hashlib.sha256(a.tobytes() + b.tobytes()).hexdigest()


class Wealth:
    """An audit under way: the wealth against each claim, and the bets on the rounds to come."""

    def __init__(self, epsilon: float, delta: float, alpha: float, layout: Layout) -> None:
        below, above = _GRID
        step = (epsilon or 0.1) / above
        self._epsilons = np.append(
            np.linspace(0, epsilon, below + 1) if epsilon else 0.0, epsilon + step * np.arange(1, above + 1)
        )
        self._claimed = int(np.flatnonzero(self._epsilons == epsilon)[0])
        self._delta, self._goal = float(delta), -math.log(alpha)
        width = self.width = layout.width
        self.layout = layout
        self._room = max(FIRST, _KEPT // width)
        self._predictor = Predictor(width, width - layout.numbers)
        self._log_wealth, self._peak = np.zeros(self._epsilons.size), np.zeros(self._epsilons.size)
        self._outputs = (np.empty((0, width)), np.empty((0, width)))
        self.looks: list[Standing] = []
        self.trials = self.chunks = 0
        self.first = ""

    @property
    def violated(self) -> bool:
        """Whether the claim is rejected."""
        return self._rejected() > self._claimed

    @property
    def could_violate(self) -> bool:
        """Whether the rounds so far would have been enough for outputs that never overlap."""
        e, f = stakes(np.array([1 - 1e-12, 1e-12]), np.ones(2), self._epsilons[[self._claimed]], self._delta)
        return bool((self.trials - FIRST) * (e[0, 0] + f[0, 1]) >= self._goal)

    def witness(self) -> OutputSet:
        """Return the output set that reveals most."""
        return self._predictor.witness(*self._outputs, float(self._epsilons[self._claimed]), self._delta)

    def rows(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, Floats]]:
        """Yield the chunks whose outputs are kept, from the first on; none where an earlier audit's are missing."""
        done = [0, 0]
        complete = len(self._outputs[0]) == min(self.trials, self._room)
        for chunk in chunks if complete else ():
            rows = self._outputs[chunk.side][done[chunk.side] : done[chunk.side] + chunk.size]
            if not rows.size:
                return
            done[chunk.side] += chunk.size
            yield chunk, rows

    @property
    def state(self) -> State:
        """Everything needed to go on, except the looks."""
        return State(
            self._epsilons, self._log_wealth.copy(), self._peak.copy(), self.chunks, dict(self._predictor.success),
            self._predictor.fitted_on, self._outputs, self.first
        )  # fmt: skip

    def _rejected(self) -> int:
        """Return how many of the claims, from the smallest on, are rejected."""
        return int(np.argmin(np.append(self._peak >= self._goal, False)))

    def restore(self, state: State, trials: int, looks: Iterable[Standing]) -> None:
        """Continue where an earlier audit ended."""
        require(np.array_equal(state.epsilons, self._epsilons), "earlier", "bet against the same claims", "others")
        self._log_wealth, self._peak = state.log_wealth.copy(), state.peak.copy()
        self._outputs, self.first = state.outputs, state.first
        if state.outputs[0].shape[1] > self.width:
            self.width = state.outputs[0].shape[1]
            self._predictor = Predictor(self.width, self.width - self.layout.numbers)
        self.trials, self.chunks = trials, state.chunks
        self.looks = list(looks)
        self._predictor.restore(state.success, state.fitted_on, *state.outputs)
        self._bet()

    def play(self, x: Floats, y: Floats) -> None:
        """Bet on fresh outputs x on the data and y on the neighbour, up to the decision; then learn from them."""
        if self.chunks == 0:
            self.first = digest(x, y)
        rounds, leaves = len(x), None
        wide = max(self.width, x.shape[1], y.shape[1])  # wider once codes came
        if self.trials:
            known = (self.layout.fitted(v, self.width) for v in (x, y))
            leaves = self._predictor.leaves(next(known)), self._predictor.leaves(next(known))
            ours, theirs = (self._bins(self._predictor.chances(places)) for places in leaves)
            rounds = _settle(self._stakes, ours, theirs, self._log_wealth, self._peak, self._goal, self._claimed)
        self.trials += rounds
        self.chunks += 1
        if len(self._outputs[0]) < self._room:
            a, b = (
                np.concatenate([self.layout.fitted(v, wide), self.layout.fitted(w[:rounds], wide)])[: self._room]
                for v, w in zip(self._outputs, (x, y), strict=True)
            )
            self._outputs = a, b
            if leaves is not None and not self.violated:
                self._predictor.judge(*leaves)
            if wide > self.width:  # the bets that follow see the codes too
                self.width, leaves, self.first = wide, None, digest(a[:FIRST], b[:FIRST])
                self._predictor = Predictor(wide, wide - self.layout.numbers, self._predictor.success)
            if not self.violated:
                self._predictor.learn(a, b, leaves)
                self._bet()
        rejected = self._rejected()
        lower = float(self._epsilons[rejected - 1]) if rejected else 0.0
        self.looks.append(Standing(self.trials, float(self._log_wealth[self._claimed]), lower))

    def _bet(self) -> None:
        """Place the bets on the coming rounds: a factor for each bin of the predicted chance."""
        chances = np.concatenate([self._predictor.chances(leaves) for leaves in self._predictor.recent])
        odds = np.log(chances / (1 - chances))
        full = np.quantile(odds, np.linspace(0, 1, _BINS + 1)[1:-1])
        self._cuts = np.unique(np.append(full, np.linspace(odds.min(), odds.max(), _BINS + 1)[1:-1]))
        bins = self._bins(chances)
        counts = np.bincount(bins, minlength=self._cuts.size + 1)
        # A bin that is empty so far has the chance 1/2, on which nothing is bet.
        share = np.where(counts, np.bincount(bins, chances, counts.size) / np.maximum(counts, 1), 0.5)
        mass = 2 * counts / odds.size
        # A claim that was rejected needs no more evidence.
        self._stakes = np.zeros((2, share.size, self._epsilons.size))
        left = self._peak < self._goal
        for stake, factors in zip(self._stakes, stakes(share, mass, self._epsilons[left], self._delta), strict=True):
            stake[:, left] = factors.T

    def _bins(self, chances: Floats) -> Places:
        return np.searchsorted(self._cuts, np.log(chances / (1 - chances)), side="right")


@njit("int64(float64[:, :, ::1], int64[::1], int64[::1], float64[::1], float64[::1], float64, int64)", nogil=True)
def _settle(stakes: Floats, x: Places, y: Places, log_wealth: Floats, peak: Floats, goal: float, claimed: int) -> int:
    """Add the stakes (2, J, m) of bins x and y (n,) round by round; return the rounds until the claim is rejected."""
    for i in range(x.size):
        for k in range(peak.size):
            log_wealth[k] += stakes[0, x[i], k] + stakes[1, y[i], k]
            peak[k] = max(peak[k], log_wealth[k])
        if peak[: claimed + 1].min() >= goal:
            return i + 1
    return int(x.size)
