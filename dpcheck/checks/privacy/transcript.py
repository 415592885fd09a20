"""Games between two neighbouring data sets: what a run of an algorithm tells about which of them it saw."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.algorithms.kernels.jit import Others, Play, Replay, Scheme
from dpcheck.algorithms.kernels.tape import COUNT, RECORD, REPLAY
from dpcheck.algorithms.kernels.transcripts import paths, transcripts
from dpcheck.algorithms.packing import SCHEMES
from dpcheck.algorithms.problem import Array, Problem, data_of, with_record
from dpcheck.algorithms.run import History
from dpcheck.algorithms.solver import Solver
from dpcheck.algorithms.tapes import new_tape
from dpcheck.events import Scheme as Drawing


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
