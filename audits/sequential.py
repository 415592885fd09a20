"""Sequential audit: runs until the evidence against a claim is in, and can be continued later.

Null hypothesis: for every output set E, ``P(E) <= e^epsilon Q(E) + delta`` in both directions, P and
Q being the laws of the outputs on the two datasets. Round by round one fresh output of each is bet
on, with bets made from earlier rounds alone (:mod:`.predictor`, :mod:`.betting`). Against a
mechanism that keeps its claim the wealth ever reaches ``1 / (1 - confidence)`` with probability at
most ``1 - confidence``, however often one looks, stops or goes on.

The lower limit on epsilon comes from such a wealth against each value of a fixed grid. The values
below the smallest epsilon that the mechanism keeps at this delta are false claims; all others are
true. Claims are given up in ascending order, each once its wealth and all below have reached the
bound, so that a true claim is given up only after the smallest true one on the grid: that single
wealth bounds the error of the whole sequence of limits, and no correction for the grid is due.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits.betting import stakes
from dpcheck.audits.predictor import Predictor
from dpcheck.audits.runs import Pool, Runner
from dpcheck.audits.sampling_plan import Chunk
from dpcheck.audits.witness import Event
from dpcheck.errors import require, require_confidence, require_count, require_delta, require_epsilon

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

# Rounds that are only learned from. Later bets stand for a chunk, 5 to 10 % of the rounds before it.
_FIRST = 10
# Values of epsilon on the grid: up to the claim, and from there to twice the claim (a claim of 0: to 0.1).
_GRID = (20, 10)
# Bins of the predicted chance: so many equally full, so many equally wide in the log-odds.
_BINS = 20
# Past runs a dataset, the latest, that tell how full the bins are.
_RECENT = 20_000
# Numbers a dataset kept for learning, and those a saved audit keeps.
_KEPT = 20_000_000
_SAVED = 5_000


@dataclass(frozen=True)
class Look:
    """Where the audit stood after ``trials`` runs a dataset."""

    trials: int
    log_wealth: float
    epsilon_lower: float


@dataclass(frozen=True, eq=False)
class _State:
    """What an audit needs to go on.

    log_wealth, peak : (grid,), now and at most so far; chunks : run so far; fitted_on : runs the scores know
    outputs : on data and neighbour, each (n, width), those that are learned from
    first : digest of the first chunk, by which the mechanism is known again
    """

    log_wealth: Floats
    peak: Floats
    chunks: int
    success: dict[str, float]
    fitted_on: int
    outputs: tuple[Floats, Floats]
    first: str

    def to_dict(self) -> dict[str, Any]:
        width = self.outputs[0].shape[1]
        kept = max(_FIRST, _SAVED // width)
        return {
            "log_wealth": self.log_wealth.tolist(),
            "peak": self.peak.tolist(),
            "chunks": self.chunks,
            "success": dict(self.success),
            "fitted_on": self.fitted_on if len(self.outputs[0]) <= kept else 0,
            "width": width,
            "outputs": [base64.b64encode(v[-kept:].astype("<f8").tobytes()).decode() for v in self.outputs],
            "first": self.first,
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> _State:
        a, b = (
            np.frombuffer(base64.b64decode(v), "<f8").astype(np.float64).reshape(-1, saved["width"])
            for v in saved["outputs"]
        )
        return cls(
            np.array(saved["log_wealth"]), np.array(saved["peak"]), saved["chunks"], dict(saved["success"]),
            saved["fitted_on"], (a, b), saved["first"],
        )  # fmt: skip


@dataclass(frozen=True)
class SequentialAudit:
    """What was claimed, what was run, and what it showed; enough to go on from.

    verdict : "violated" if the claim was given up; "inconclusive" if these trials could not have
        shown a violation even with outputs that never overlap; else "consistent", which says that
        none was found, not that there is none
    epsilon_lower : the largest epsilon of the grid that was given up, 0.0 if none was: with this
        confidence the mechanism keeps no smaller one at this delta, whenever one looks
    trials : runs on each dataset up to the decision
    log_wealth : natural logarithm of the wealth against the claim at the end. Its exponential is an
        e-value: those of independent audits of one claim may be multiplied
    event : the output set that shows most, chosen on one half of the runs, with its counts in the
        other; it illustrates, the wealth is the evidence
    """

    verdict: str
    epsilon_lower: float
    trials: int
    log_wealth: float
    event: Event
    epsilon: float
    delta: float
    confidence: float
    seed: int
    version: str
    looks: tuple[Look, ...] = field(repr=False)
    state: _State = field(repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON; ``earlier`` of :func:`audit_sequential` takes it back."""
        plain = (
            "verdict",
            "epsilon_lower",
            "trials",
            "log_wealth",
            "epsilon",
            "delta",
            "confidence",
            "seed",
            "version",
        )
        return {name: getattr(self, name) for name in plain} | {
            "event": self.event.to_dict(),
            "looks": [asdict(look) for look in self.looks],
            "state": self.state.to_dict(),
        }

    def to_frame(self) -> pd.DataFrame:
        """One row a look: trials, log_wealth, epsilon_lower."""
        import pandas as pd

        return pd.DataFrame(asdict(look) for look in self.looks)


def audit_sequential(
    mechanism: Callable[..., Any],
    data: Any,
    neighbour: Any,
    *,
    epsilon: float,
    delta: float = 0.0,
    most: int = 1_000_000,
    confidence: float = 0.95,
    seed: int = 0,
    jobs: int | None = None,
    vectorized: bool = False,
    earlier: SequentialAudit | Mapping[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SequentialAudit:
    """Test the claim that ``mechanism`` is (epsilon, delta)-private until it is refuted or ``most`` runs are done.

    mechanism : ``(dataset, rng) -> number or array``, drawing all its randomness from ``rng``, a
        :class:`numpy.random.Generator`; with ``vectorized`` ``(dataset, rng, size) -> array`` of
        shape (size,) or (size, ...), ``size`` independent outputs
    data, neighbour : whatever the mechanism takes; the same to every call, never copied or changed
    epsilon, delta : the claim; epsilon >= 0 (natural log), delta in [0, 1)
    most : runs on each dataset at most, those of ``earlier`` included; more than 10
    confidence : that a true claim is never called violated, and of ``epsilon_lower``, one-sided
    jobs : processes, or threads where ``vectorized``; the result is the same for any number
    earlier : an audit of the same claim, mechanism, datasets and seed, or its ``to_dict()``, to go
        on with; the error of both together is that of one
    progress : called with (runs done, runs at most) over both datasets

    Outputs may be infinite, not NaN. Raises :class:`~dpcheck.errors.InputError` for wrong arguments
    and for a mechanism that raises, returns no numbers, changes shape or has other randomness.
    """
    require(callable(mechanism), "mechanism", "be callable", type(mechanism).__name__)
    require_epsilon(epsilon)
    require_delta(delta)
    require_confidence(confidence)
    require_count(seed, "seed", least=0)
    jobs = 1 if jobs is None else jobs
    require_count(jobs, "jobs")
    before = earlier.to_dict() | {"state": earlier.state} if isinstance(earlier, SequentialAudit) else earlier
    claim = {"epsilon": float(epsilon), "delta": float(delta), "confidence": float(confidence), "seed": seed}
    if before is not None:
        same = {name: before[name] for name in claim}
        require(same == claim, "earlier", f"be an audit with {claim}", same)
        require(before["verdict"] != "violated", "earlier", "have left the claim standing", before["verdict"])
    done = before["trials"] if before is not None else 0
    require_count(most, "most", least=max(done, _FIRST) + 1)

    runner = Runner(mechanism, (data, neighbour), vectorized, seed)
    width = runner.probe()
    audit = _Audit(epsilon, delta, 1 - confidence, width)
    if before is not None:
        state = before["state"]
        audit.restore(state if isinstance(state, _State) else _State.from_dict(state), done, before["looks"])
        again = _digest(*(runner(Chunk(side, 0, _FIRST)) for side in (0, 1)))
        require(again == audit.first, "mechanism", "give the outputs that the earlier audit began with", "others")
    with Pool(runner, jobs) as pool:
        pairs = pool.map(_chunks(audit.trials, most, audit.chunks))
        for _, x in pairs:
            chunk, y = next(pairs)
            require(x.shape == y.shape == (chunk.size, width), "mechanism", "return outputs of one shape", y.shape)
            audit.play(x, y)
            if progress is not None:
                progress(2 * audit.trials, 2 * most)
            if audit.violated:
                break
    return audit.result(confidence, seed)


def _chunks(done: int, most: int, number: int) -> Iterator[Chunk]:
    """Chunks from round ``done`` on, both datasets in turn."""
    while done < most:
        size = min(_size(done), most - done)
        for side in (0, 1):
            yield Chunk(side, number, size)
        number, done = number + 1, done + size


def _size(done: int) -> int:
    """Runs in the chunk that begins after ``done``: a tenth of 1, 2 or 5 times a power of ten."""
    power = 10 ** (len(str(done)) - 1)
    return max(_FIRST, next(m for m in (5, 2, 1) if done >= m * power) * power // 10) if done else _FIRST


def _digest(a: Floats, b: Floats) -> str:
    return hashlib.sha256(a.tobytes() + b.tobytes()).hexdigest()


class _Audit:
    """One audit under way: wealth against each epsilon of the grid, and what the next bets are made from."""

    def __init__(self, epsilon: float, delta: float, alpha: float, width: int) -> None:
        below, above = _GRID
        step = (epsilon or 0.1) / above
        self._grid = np.append(
            np.linspace(0, epsilon, below + 1) if epsilon else 0.0, epsilon + step * np.arange(1, above + 1)
        )
        self._claimed = int(np.flatnonzero(self._grid == epsilon)[0])
        self._delta, self._goal = float(delta), -math.log(alpha)
        self._room = max(_FIRST, _KEPT // width)
        self._predictor = Predictor(width)
        self._log_wealth, self._peak = np.zeros(self._grid.size), np.zeros(self._grid.size)
        self._outputs = (np.empty((0, width)), np.empty((0, width)))
        self._looks: list[Look] = []
        self.trials = self.chunks = 0
        self.first = ""

    @property
    def violated(self) -> bool:
        return self._given_up() > self._claimed

    def _given_up(self) -> int:
        """How many of the grid's claims, from the smallest on, are given up."""
        return int(np.argmin(np.append(self._peak >= self._goal, False)))

    def restore(self, state: _State, trials: int, looks: Any) -> None:
        """Go on where an earlier audit ended."""
        self._log_wealth, self._peak = state.log_wealth.copy(), state.peak.copy()
        self._outputs, self.first = state.outputs, state.first
        self.trials, self.chunks = trials, state.chunks
        self._looks = [look if isinstance(look, Look) else Look(**look) for look in looks]
        self._predictor.restore(state.success, state.fitted_on, *state.outputs)
        self._bet()

    def play(self, x: Floats, y: Floats) -> None:
        """Bet on fresh outputs x on the data and y on the neighbour, up to the decision; then learn from them."""
        if self.chunks == 0:
            self.first = _digest(x, y)
        rounds = len(x)
        if self.trials:
            rounds = self._win(x, y)
        self.trials += rounds
        self.chunks += 1
        if not self.violated and len(self._outputs[0]) < self._room:
            self._predictor.judge(x, y)
            a, b = (np.concatenate([v, w])[: self._room] for v, w in zip(self._outputs, (x, y), strict=True))
            self._outputs = a, b
            self._predictor.learn(a, b)
            self._bet()
        given_up = self._given_up()
        lower = float(self._grid[given_up - 1]) if given_up else 0.0
        self._looks.append(Look(self.trials, float(self._log_wealth[self._claimed]), lower))

    def _bet(self) -> None:
        """Place the bets on the rounds to come: factors for each bin of the predicted chance."""
        chances = np.concatenate([self._predictor(v[-_RECENT:]) for v in self._outputs])
        odds = np.log(chances / (1 - chances))
        full = np.quantile(odds, np.linspace(0, 1, _BINS + 1)[1:-1])
        self._cuts = np.unique(np.append(full, np.linspace(odds.min(), odds.max(), _BINS + 1)[1:-1]))
        bins = np.searchsorted(self._cuts, odds, side="right")
        counts = np.bincount(bins, minlength=self._cuts.size + 1)
        # A bin that is empty now has the chance of even odds, on which nobody bets.
        share = np.where(counts, np.bincount(bins, chances, counts.size) / np.maximum(counts, 1), 0.5)
        mass = 2 * counts / odds.size
        # What was given up needs no more evidence.
        self._stakes = np.zeros((2, self._grid.size, share.size))
        left = self._peak < self._goal
        self._stakes[:, left] = stakes(share, mass, self._grid[left], self._delta)

    def _win(self, x: Floats, y: Floats) -> int:
        """Settle the bets; the rounds it took, fewer than all where the claim was given up."""
        path = np.repeat(self._log_wealth[:, None], len(x), axis=1)
        for outputs, factors in zip((x, y), self._stakes, strict=True):
            chances = self._predictor(outputs)
            bins = np.searchsorted(self._cuts, np.log(chances / (1 - chances)), side="right")
            path += np.cumsum(factors[:, bins], axis=1)
        peaks = np.maximum(self._peak[:, None], np.maximum.accumulate(path, axis=1))
        over = np.flatnonzero((peaks[: self._claimed + 1] >= self._goal).all(axis=0))
        last = int(over[0]) if over.size else len(x) - 1
        self._log_wealth, self._peak = path[:, last], peaks[:, last]
        return last + 1

    def result(self, confidence: float, seed: int) -> SequentialAudit:
        """The audit as it stands."""
        import dpcheck

        epsilon, delta = float(self._grid[self._claimed]), self._delta
        if self.violated:
            verdict = "violated"
        else:
            apart = stakes(np.array([1 - 1e-12, 1e-12]), np.ones(2), self._grid[[self._claimed]], delta)
            possible = (self.trials - _FIRST) * (apart[0][0, 0] + apart[1][0, 1])
            verdict = "consistent" if possible >= self._goal else "inconclusive"
        state = _State(
            self._log_wealth, self._peak, self.chunks, dict(self._predictor.success), self._predictor.fitted_on,
            self._outputs, self.first,
        )  # fmt: skip
        return SequentialAudit(
            verdict, self._looks[-1].epsilon_lower, self.trials, self._looks[-1].log_wealth,
            self._predictor.witness(*self._outputs, epsilon, delta), epsilon, delta, confidence, seed,
            dpcheck.__version__, tuple(self._looks), state,
        )  # fmt: skip
