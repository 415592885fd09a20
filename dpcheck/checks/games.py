"""Games between two neighbouring data sets: what a run of an algorithm tells about which of them it saw."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from dpcheck.accounting.last_iterate import why_not
from dpcheck.algorithms.kernels.jit import Play, kernel
from dpcheck.algorithms.kernels.tape import Mode
from dpcheck.algorithms.kernels.transcripts import Others, Replay, Scheme, paths, transcripts
from dpcheck.algorithms.problem import Array, Defaults, Problem, ball, data_of, with_record
from dpcheck.algorithms.run import SCHEMES, History, new_tape
from dpcheck.algorithms.solver import Solver
from dpcheck.checks.subject import MINIBATCHES, Part
from dpcheck.events import Event, Repeated
from dpcheck.events import Scheme as Drawing
from dpcheck.solvers import configure


@kernel("gradient")
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Compute the partial gradients of one record (b, c, p, q, a); v may be empty."""
    slope = record[0] / np.sqrt(w.size)
    for i in range(w.size):
        out_w[i] = slope + (params[0] + record[2]) * w[i]
        slope = -slope
        if i < v.size:
            out_w[i] += record[4] * v[i]
    if v.size > 0:
        slope = record[1] / np.sqrt(v.size)
        for i in range(v.size):
            out_v[i] = slope - (params[1] + record[3]) * v[i]
            slope = -slope
            if i < w.size:
                out_v[i] += record[4] * w[i]


@kernel("value")
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """Return f of one record."""
    total, slope = 0.0, record[0] / np.sqrt(w.size)
    for i in range(w.size):
        total += slope * w[i] + 0.5 * (params[0] + record[2]) * w[i] * w[i]
        slope = -slope
        if i < v.size:
            total += record[4] * w[i] * v[i]
    if v.size > 0:
        slope = record[1] / np.sqrt(v.size)
        for i in range(v.size):
            total += slope * v[i] - 0.5 * (params[1] + record[3]) * v[i] * v[i]
            slope = -slope
    return total


@dataclass(frozen=True, eq=False)
class WorstCase(Defaults):
    """A game whose records do as much harm as an algorithm's analysis allows.

    Record (b, c, p, q, a), constants (mu_w, mu_v), directions e of length 1 with entries of one size and changing sign:

        f(w, v) = b <e_w, w> + c <e_v, v> + a <w, v> + (mu_w + p)/2 |w|^2 - (mu_v + q)/2 |v|^2,  |w| <= R_w, |v| <= R_v,

    where <w, v> is over the coordinates that both have. The gradients are b e_w + a v + (mu_w + p) w and
    c e_v + a w - (mu_v + q) v. Two records of opposite sign whose linear parts are beyond the clipping norm have
    gradients as far apart as clipping allows, everywhere; where their curvatures p, q and coupling a are large, so have
    the differences of their gradients between two points.

    No direction is an axis: clipping each coordinate by itself lets a gradient through that is sqrt(d) times as long,
    noise on one coordinate alone leaves the others bare, and one random number for all coordinates cancels along e,
    whose entries add up to 0 in an even number of dimensions.

    records : (n, 5) float64;  convexity, concavity : mu_w, mu_v;  radius_w, radius_v : R_w, R_v
    dim_w, dim_v : sizes of the blocks; dim_v is 0 where w is all
    lipschitz_w, lipschitz_v, smoothness, hessian_lipschitz : the constants that an algorithm is told. Where it
    clips, privacy must not rest on them; where it does not, they have to be true.
    """

    records: Array
    lipschitz_w: float = 1.0
    lipschitz_v: float = 1.0
    smoothness: float = 1.0
    convexity: float = 0.0
    concavity: float = 0.0
    hessian_lipschitz: float = 1.0
    radius_w: float = 1.0
    radius_v: float = 1.0
    dim_v: int = 2
    dim_w: int = 2
    name: str = "worst_case"

    gradient: ClassVar[Callable[..., Any]] = staticmethod(gradient)
    value: ClassVar[Callable[..., Any]] = staticmethod(value)

    @property
    def params(self) -> Array:
        """(mu_w, mu_v)."""
        return np.array([self.convexity, self.concavity], float)

    @property
    def domain_w(self) -> Array:
        """The ball of radius R_w."""
        return ball(self.dim_w, self.radius_w)

    @property
    def domain_v(self) -> Array:
        """The ball of radius R_v, or nothing."""
        return ball(self.dim_v, self.radius_v) if self.dim_v else np.empty((0, 4))


def record(b: float = 0.0, c: float = 0.0, p: float = 0.0, q: float = 0.0, a: float = 0.0) -> Array:
    """Return the record (b, c, p, q, a)."""
    return np.array([b, c, p, q, a], float)


@dataclass(frozen=True, eq=False)
class Game:
    """An algorithm on ``data`` and its neighbour. Under Poisson sampling the others' gradient must vanish."""

    solver: Solver
    data: Any
    roles: Array  # (3, k) the canary, the record that replaces it, and the record that all others equal
    pattern: tuple[int, ...]  # after each draw 1 for a release that reads it, 0 for one of all records
    place: int = 0  # which record is the canary

    @classmethod
    def of(
        cls, solver: Solver, problem: Problem, roles: Sequence[Array], pattern: tuple[int, ...], place: int = 0
    ) -> Game:
        """Make a game with as many records as ``problem`` has."""
        canary, _, others = roles
        records = np.repeat(others[None], len(problem.records), axis=0)
        records[place] = canary
        return cls(solver, _with(problem, records), np.array(roles), pattern, place)

    @property
    def neighbour(self) -> Problem:
        """The canary replaced."""
        neighbour: Problem = with_record(self.data, self.place, self.roles[1])
        return neighbour

    @property
    def _sets(self) -> tuple[Any, ...]:
        """Data, neighbour, and a set for each role that every record has."""
        n = len(self.data.records)
        return (self.data, self.neighbour, *(_with(self.data, np.repeat(role[None], n, axis=0)) for role in self.roles))

    @property
    def _scheme(self) -> Drawing:
        """The scheme of its minibatches; an algorithm that draws none has none."""
        chosen = getattr(self.solver, "sampling", "without_replacement")
        return chosen if chosen in SCHEMES else "without_replacement"

    @property
    def _fixed(self) -> Any:
        """The algorithm with minibatches of a fixed size."""
        solver: Any = self.solver
        same = self._scheme == "without_replacement"
        return solver if same else replace(solver, sampling="without_replacement")

    @property
    def relation(self) -> tuple[str, str]:
        """How the two data sets differ, and a sentence where that is not in one record."""
        ours, theirs = self.data.records, self.neighbour.records
        if ours.shape != theirs.shape:
            return "add_or_remove_one", ""
        changed = int(np.any(ours != theirs, axis=1).sum())
        return "replace_one", "" if changed == 1 else f"the game's two data sets differ in {changed} records"

    def drawn(self, look: int) -> list[NDArray[np.int64]]:
        """Return the record numbers of the minibatches of some recorded runs, others at each look."""
        solver: Any = self.solver
        rows: list[NDArray[np.int64]] = []
        for seed in range(look * RUNS, (look + 1) * RUNS):
            if len(rows) < MINIBATCHES:
                rows += [row[row >= 0] for row in solver.run(self.data, seed=seed, record=True).history.drawn]
        return rows[:MINIBATCHES]

    def scores(self, problem: Problem, rng: np.random.Generator, size: int) -> Array:
        """Return exact log-likelihood ratios of ``size`` transcripts, save of a private choice that ends a run."""
        solver, fixed, sets = self.solver, self._fixed, self._sets
        numbers = solver.packed(problem)._replace(counts=fixed.packed(problem).counts)
        tape = new_tape(problem, solver.rows(problem), mode=Mode.RECORD)
        tapes = [
            new_tape(problem, fixed.rows(problem), mode=Mode.REPLAY)._replace(released=tape.released) for _ in sets
        ]
        needed = np.repeat([0 in self.pattern, 1 in self.pattern], (2, 3)).astype(np.int64)
        for k, variation in enumerate(sets):
            if (k < 2 or self._scheme != "poisson") and np.array_equal(problem.records, variation.records):
                tapes[k], needed[k] = tape, 0  # the run is its own replay on the data that it saw
            for j in range(k):
                if needed[k] and needed[j] and np.array_equal(sets[j].records, variation.records):
                    tapes[k], needed[k] = tapes[j], 0
        ours, theirs, canary, replaced, background = (
            Replay(data_of(variation), copy.deepcopy(rng), fed, int(wanted))
            for variation, fed, wanted in zip(sets, tapes, needed, strict=True)
        )
        others = Others(numbers, (ours, theirs, canary, replaced, background))
        scores, scheme = np.empty(size), Scheme(SCHEMES[self._scheme], len(problem.records))
        play = Play(solver.packed(problem), rng, tape)
        transcripts(solver.kernel, solver.parts(problem), play, others, np.array(self.pattern), scheme, scores)
        return scores

    def shares(self, seed: int) -> tuple[Array, History, NDArray[np.bool_]]:
        """Return the shares of their sensitivity by which the canary moves a run's releases, the run, which stay 0."""
        solver = self._fixed
        history = solver.run(self.data, seed=seed, record=True).history
        clean = [solver.replay(dataset, history, seed=seed).clean[: len(history.clean)] for dataset in self._sets]
        _, theirs, canary, replaced, _ = clean
        shares = np.zeros(len(history.clean))
        for row, declared in enumerate(history.noise[:, 1]):
            group, place = divmod(row, len(self.pattern))
            if self.pattern[place] and group < len(history.drawn):
                moved = (canary[row] - replaced[row]) / int((history.drawn[group] >= 0).sum())
            else:  # reads all records, as does a private choice after the last minibatch
                moved = history.clean[row] - theirs[row]
            shares[row] = np.linalg.norm(moved) / declared if declared > 0 else 0.0
        return shares, history, ~np.any(clean, axis=(0, 2))

    def outputs(self, problem: Problem, rng: np.random.Generator, size: int) -> Array:
        """Return the final outputs of ``size`` runs : (size, d_w + d_v)."""
        return self.solver.outputs(problem, rng, size)

    def paths(self, problem: Problem, rng: np.random.Generator, size: int) -> Array:
        """Return all iterates and the output of ``size`` runs, one after the other : (size, (T + 1) (d_w + d_v))."""
        solver = self.solver
        tape = new_tape(problem, (0, 0, 0), at=range(solver.iterations(problem)), mode=Mode.COUNT)
        outputs = np.empty((size, tape.path.size + problem.dim_w + problem.dim_v))
        paths(solver.kernel, solver.parts(problem), Play(solver.packed(problem), rng, tape), outputs)
        return outputs


def _with(problem: Any, records: Array) -> Any:
    return replace(problem, records=np.ascontiguousarray(records))


EPSILON, DELTA = 1.0, 1e-5
# Each audit's confidence and trials. A run of the check has some 200 audits; an audit of a mechanism that keeps its
# claim says "violated" with probability at most 1 - CONFIDENCE, so that any of them does with at most 2e-4.
CONFIDENCE = 1 - 1e-6
RUNS = 40  # whose minibatches are looked at, at most
LEARNED = 20_000  # of iterates and outputs, whose scores are learned, or a fifth of the transcripts where that is more
# Small, as a certificate holds for every n; three of four records are drawn at a time, which leaves the law of a
# transcript close to its certificate, and spread evenly enough for runs to show.
STEPS, RECORDS, BATCH = 20, 4, 3

# Patterns: a minibatch has two releases, or one; or all releases depend on the records without further chance.
BOTH, ONE, WHOLE = (1, 1), (1,), (0,)

RADIUS = 1e4  # of domains to whose ends no run comes near; resting there, it would tell nothing
FAR: dict[str, Any] = {"radius_w": RADIUS, "radius_v": RADIUS}

LOUD = record(b=4 * RADIUS, c=4 * RADIUS)  # a gradient beyond the clipping norm 1 all over, also with curvature 1
CLIPS: dict[str, Any] = {"clip_w": 1.0, "clip_v": 1.0}
PAIR = (LOUD, -LOUD, -LOUD)


@dataclass(frozen=True, eq=False)
class Entry:
    """A variant of an algorithm in a game, as its record makes it."""

    label: str  # in ids
    words: str  # in sentences
    game: Game
    events: tuple[Event, ...]  # released at most, with true sensitivities where the algorithm understates them
    remark: str = ""  # why the pair does not reach what is certified, where it cannot
    epsilon: float = EPSILON  # that the algorithm itself promises
    delta: float = DELTA
    least_share: float = 0.95  # of its declared sensitivity, by which the canary moves every release that it can move
    still: int = 0  # how many releases of a run are 0 whatever the records are
    brief: bool = False  # only the transcript is audited, as iterates and outputs are of another entry of the variant
    least: int = 0  # trials of the audits of iterates and of outputs, at least, where fewer do not settle them
    # What is far off is found in the first thousand runs; more bring the bound of what holds nearer to its claim.
    budget: ClassVar[tuple[int, int]] = (30_000, 1_000_000)
    confidence: ClassVar[float] = CONFIDENCE
    vectorized: ClassVar[bool] = True
    place: ClassVar[None] = None

    @property
    def datasets(self) -> tuple[Any, Any]:
        """The game's data and its neighbour."""
        return self.game.data, self.game.neighbour

    @property
    def last(self) -> str:
        """Why nothing more is certified of the output alone than of all that is released."""
        if unknown := why_not(self.events):
            return unknown
        if any(isinstance(event, Repeated) for event in self.events):  # why_not leaves Poisson samples and all records
            return "an empty minibatch leaves an iterate where it is, so that no factor below 1 holds for every step"
        return "each record is read in one step, the last for some, after which no step contracts what it did"

    @property
    def evidence(self) -> dict[str, Any]:
        """The roles of the game's records."""
        canary, replaced, others = self.game.roles.tolist()
        return {"canary": canary, "replaced by": replaced, "others": others}

    def parts(self, label: str, trials: int) -> Iterator[Part]:
        """Yield the noisy transcript, scored by its likelihood ratio, all iterates, and the output."""
        key, game = crc32(label.encode()), self.game
        subject = f"{self.words}: whole noisy transcript"
        yield Part("transcript", subject, game.scores, trials, ((key, 1),), True, self.remark)
        if not self.brief:
            learned = max(min(trials, LEARNED), trials // 5, self.least)
            yield Part("iterates", f"{self.words}: all iterates", game.paths, learned, ((key, 2),))
            yield Part("output", f"{self.words}: final output only", game.outputs, learned, ((key, 3),))


def entry(
    name: str, variant: str, problem: WorstCase, roles: Sequence[Array], pattern: tuple[int, ...],
    settings: dict[str, Any], *, label: str = "", words: str = "", remark: str = "",
    events: Callable[[Any], tuple[Event, ...]] | None = None, place: int = 0, **fields: Any,
) -> Entry:  # fmt: skip
    """Return an entry of an algorithm at (EPSILON, DELTA); ``events`` replaces its own where they are not right."""
    solver = configure(name, problem, epsilon=EPSILON, delta=DELTA, variant=variant, **settings)
    game = Game.of(solver, problem, roles, pattern, place)
    released = solver.events(game.data) if events is None else events(solver)
    share = type(solver).promised
    claim = {"epsilon": share * EPSILON, "delta": share * DELTA}
    return Entry(label or variant, words or variant.replace("_", " "), game, released, remark, **claim | fields)


def blank(n: int = RECORDS, **constants: Any) -> WorstCase:
    """Return n records without gradients, by which a schedule is made."""
    return WorstCase(np.zeros((n, 5)), **constants)
