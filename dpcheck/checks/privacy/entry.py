"""Games between two neighbouring data sets: what a run of an algorithm tells about which of them it saw.

An entry is one variant of an algorithm in a game, as its record makes it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.algorithms.kernels.jit import Play
from dpcheck.algorithms.kernels.tape import COUNT, RECORD, REPLAY
from dpcheck.algorithms.kernels.transcripts import Others, Replay, Scheme, paths, transcripts
from dpcheck.algorithms.problem import Array, Problem, data_of, with_record
from dpcheck.algorithms.run import SCHEMES, History, new_tape
from dpcheck.algorithms.solver import Solver
from dpcheck.checks.privacy.worst_case import WorstCase, record
from dpcheck.events import Event
from dpcheck.events import Scheme as Drawing
from dpcheck.solvers import configure


@dataclass(frozen=True, eq=False)
class Game:
    """An algorithm on ``data``, one of whose records is the canary, and on its neighbour, where that is replaced.

    roles : (3, k) the canary, the record that replaces it, and the record that all others equal
    pattern : what follows each draw of a minibatch: 1 for a release that reads it, 0 for one of all records;
        zeros alone where releases depend on the records, on earlier releases and on chance that is given away
    place : which record is the canary
    Under Poisson sampling, where the number of the others varies, their gradient must vanish.
    """

    solver: Solver
    data: Any
    roles: Array
    pattern: tuple[int, ...]
    place: int = 0

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

    def scores(self, problem: Problem, rng: np.random.Generator, size: int) -> Array:
        """Return log-likelihood ratios, data over neighbour, of ``size`` whole noisy transcripts of runs on
        ``problem``.

        Exact, except that a private choice which ends a run is not looked at. The noise is what the run says it is.
        """
        solver, fixed, sets = self.solver, self._fixed, self._sets
        numbers = solver.packed(problem)._replace(counts=fixed.packed(problem).counts)
        tape = new_tape(problem, solver.rows(problem), mode=RECORD)
        tapes = [new_tape(problem, fixed.rows(problem), mode=REPLAY)._replace(released=tape.released) for _ in sets]
        needed = np.repeat([0 in self.pattern, 1 in self.pattern], (2, 3)).astype(np.int64)
        for k, each in enumerate(sets):
            if (k < 2 or self._scheme != "poisson") and np.array_equal(problem.records, each.records):
                tapes[k], needed[k] = tape, 0  # the run is its own replay on the data that it saw
            for j in range(k):
                if needed[k] and needed[j] and np.array_equal(sets[j].records, each.records):
                    tapes[k], needed[k] = tapes[j], 0
        ours, theirs, canary, replaced, background = (
            Replay(data_of(each), copy.deepcopy(rng), fed, int(wanted))
            for each, fed, wanted in zip(sets, tapes, needed, strict=True)
        )
        others = Others(numbers, (ours, theirs, canary, replaced, background))
        scores, scheme = np.empty(size), Scheme(SCHEMES[self._scheme], len(problem.records))
        play = Play(solver.packed(problem), rng, tape)
        transcripts(solver.kernel, solver.parts(problem), play, others, np.array(self.pattern), scheme, scores)
        return scores

    def reached(self, seed: int) -> Array:
        """Return the share of its declared sensitivity by which the canary moves each release of one run :
        (releases,).
        """
        return self.shares(seed)[0]

    def shares(self, seed: int) -> tuple[Array, History, NDArray[np.bool_]]:
        """Return what :meth:`reached` does, the run, and which releases are 0 on every data set, (releases,)."""
        solver = self._fixed
        history = solver.run(self.data, seed=seed, record=True).history
        clean = [solver.replay(each, history, seed=seed).clean[: len(history.clean)] for each in self._sets]
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
        tape = new_tape(problem, (0, 0, 0), at=range(solver.iterations(problem)), mode=COUNT)
        outputs = np.empty((size, tape.path.size + problem.dim_w + problem.dim_v))
        paths(solver.kernel, solver.parts(problem), Play(solver.packed(problem), rng, tape), outputs)
        return outputs


def _with(problem: Any, records: Array) -> Any:
    return replace(problem, records=np.ascontiguousarray(records))


EPSILON, DELTA = 1.0, 1e-5
# Each audit's confidence and trials. A run of the check has some 200 audits; an audit of a mechanism that keeps its
# claim says "violated" with probability at most 1 - CONFIDENCE, so that any of them does with at most 2e-4.
CONFIDENCE = 1 - 1e-6
# What is far off is found in the first thousand runs; more of them bring the bound of what holds nearer to its claim.
TRIALS, TRIALS_FULL = 30_000, 1_000_000
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
QUIET = (LOUD, -LOUD, 0 * LOUD)


@dataclass(frozen=True, eq=False)
class Entry:
    """label, words : of the variant, in ids and in sentences

    events : what a run releases at most, with true sensitivities where the algorithm understates them
    remark : why the pair does not reach what is certified, where it cannot
    epsilon, delta : what the algorithm itself promises
    least_share : of its declared sensitivity, by which the canary moves every release that it can move
    still : how many releases of a run are 0 whatever the records are
    brief : only the transcript is audited, as iterates and outputs are of another entry of the variant
    least : trials of the audits of iterates and of outputs, at least, where fewer do not settle them
    """

    label: str
    words: str
    game: Game
    events: tuple[Event, ...]
    remark: str = ""
    epsilon: float = EPSILON
    delta: float = DELTA
    least_share: float = 0.95
    still: int = 0
    brief: bool = False
    least: int = 0


def entry(
    name: str, variant: str, problem: WorstCase, roles: Sequence[Array], pattern: tuple[int, ...],
    settings: dict[str, Any], *, label: str = "", words: str = "", remark: str = "",
    events: Callable[[Any], tuple[Event, ...]] | None = None, place: int = 0, **fields: Any,
) -> Entry:  # fmt: skip
    """Return the entry of algorithm ``name`` at (EPSILON, DELTA) with these ``settings``, its schedule made for
    ``problem``.

    events : of the configured algorithm, its own where it states them rightly
    fields : further ones of the entry
    """
    solver = configure(name, problem, epsilon=EPSILON, delta=DELTA, variant=variant, **settings)
    game = Game.of(solver, problem, roles, pattern, place)
    released = solver.events(game.data) if events is None else events(solver)
    share = type(solver).promised
    claim = {"epsilon": share * EPSILON, "delta": share * DELTA}
    return Entry(label or variant, words or variant.replace("_", " "), game, released, remark, **claim | fields)


def blank(n: int = RECORDS, **constants: Any) -> WorstCase:
    """Return n records without gradients, by which a schedule is made."""
    return WorstCase(np.zeros((n, 5)), **constants)
