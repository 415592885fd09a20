"""Write the record of a new algorithm, and its test: ``python tests/new_record.py PAPER NAME``.

Both fail until they are filled in; each failure names what is missing. The record that is written is a private gradient
descent ascent, which runs: it is the loop, the noise and the words that are to be replaced.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dpcheck.algorithms.registry import records
from dpcheck.errors import InputError, require
from dpcheck.running.files import write_text

ROOT = Path(__file__).resolve().parent.parent

_PAPER = '''"""MISSING: the paper in one line, as {paper}."""

# Assumptions of the paper's theorems that no run can answer, with what it would have to know.
UNKNOWN: dict[str, str] = {{}}
'''

_RECORD = '''"""MISSING: what {name} is, in one line.

MISSING: authors, title, venue and year; which algorithm and theorem of it this is; what is reconstructed, and how.

Neighbours replace one record, log is natural.

========  ==============================================  ===================================
          as_printed                                      repaired
========  ==============================================  ===================================
noise     MISSING: the published formula                  the least that the accountant
                                                          certifies
========  ==============================================  ===================================
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from dpcheck.algorithms.kernels.jit import Numbers, kernel, named
from dpcheck.algorithms.kernels.parts import Draw, copy, project
from dpcheck.algorithms.kernels.tape import mark, release, sample
from dpcheck.algorithms.layout import pairs
from dpcheck.algorithms.problem import Problem
from dpcheck.algorithms.promises import Promise
from dpcheck.algorithms.run import fill, pack
from dpcheck.algorithms.schedule import (
    Schedule,
    fixed,
    gaussian,
    level,
    moves,
    norm,
    number,
    positive,
    records,
    smoothness_for_eta,
    whole,
)
from dpcheck.algorithms.solver import Solver
from dpcheck.errors import require
from dpcheck.events import Event, Repeated, Sampled

if TYPE_CHECKING:
    from dpcheck.checks.games import Entry


class {title}Printed(Schedule):
    """MISSING: the theorem whose numbers these are.

    Attributes
    ----------
    steps : int
        MISSING: T, and what it is by default.
    batch : int
        MISSING: minibatch m, and what it is by default.
    eta : float
        MISSING: step size > 0, and what it is by default.
    clip_w, clip_v : float
        Clipping norms (l2) of one record's gradients, > 0, inf where the problem is Lipschitz.

    References
    ----------
    MISSING: authors, title, venue, year, place.
    """

    def require(self) -> None:
        require(math.isfinite(sum(self.bounds)), "problem", "be Lipschitz, or clipped", self.problem.name)

    @number(whole)
    def steps(self) -> int:
        return self.sizes.n  # MISSING: self.published("{paper}.theorem_1", "T") where the theorem has a T

    @number(records)
    def batch(self) -> int:
        return 1  # MISSING: self.published("{paper}.theorem_1", "m", T=self.steps) where the theorem has an m

    @number(positive)
    def eta(self) -> float:
        return 1 / (smoothness_for_eta(self.problem) * math.sqrt(self.steps))  # MISSING: the step

    clip_w, clip_v = fixed(math.inf, norm), fixed(math.inf, norm)

    @cached_property
    def noise(self) -> list[float]:
        """sigma_w and sigma_v."""
        n, epsilon, delta = self.sizes.n, self.sizes.epsilon, self.sizes.delta
        factor = math.sqrt(self.steps * math.log(1 / delta)) / (n * epsilon)  # MISSING: the published noise
        return [G * factor for G in self.bounds]

    sigma_w = level(0, "Standard deviation of the noise on the mean gradient in w.")
    sigma_v = level(1, "Standard deviation of the noise on the mean gradient in v.")


class {title}Repaired({title}Printed):
    """The same, with the least noise that the accountant certifies."""

    repaired = True

    @cached_property
    def noise(self) -> list[float]:
        return self.certified_noise(self.bounds, "without_replacement", self.batch, self.steps)


class Reals(NamedTuple):
    """Step size, noise, sensitivities and clipping norms."""

    eta: float
    sigma_w: float
    sigma_v: float
    sensitivity_w: float
    sensitivity_v: float
    clip_w: float
    clip_v: float


class Counts(NamedTuple):
    """T and the minibatch."""

    steps: int
    batch: int


@kernel("run")
def run(objective, numbers, rng, out, tape):  # type: ignore[no-untyped-def]
    """MISSING: the loop, with the paper's line numbers; ``out`` receives what the algorithm returns."""
    data = objective.data
    reals, counts = named(Reals, numbers.reals), named(Counts, numbers.counts)
    n, size, d = data.records.shape[0], data.start.size, data.dim_w
    x, g, clip = data.start.copy(), np.empty(size), np.array([reals.clip_w, reals.clip_v])
    deck, index = np.arange(n), np.empty(counts.batch, np.int64)
    for t in range(counts.steps):
        if mark(t, x, tape):
            return
        sample(Draw.WITHOUT_REPLACEMENT, n, counts.batch, deck, rng, index, tape)
        objective.mean(objective.gradient, data, index, counts.batch, x, clip, g)
        release(g[:d], reals.sigma_w, reals.sensitivity_w, rng, tape)
        release(g[d:], reals.sigma_v, reals.sensitivity_v, rng, tape)
        for i in range(size):
            x[i] += -reals.eta * g[i] if i < d else reals.eta * g[i]
        project(x[:d], data.domain_w)
        project(x[d:], data.domain_v)
    copy(x, out)


@dataclass(frozen=True, eq=False)
class {title}(Solver):
    """MISSING: {name} in one line; :meth:`configure` takes its numbers from the theorem.

    Parameters
    ----------
    steps : int
        Iterations T.
    batch : int
        Minibatch m.
    eta : float
        Step size.
    sigma_w, sigma_v : float
        Standard deviations of the noise.
    clip_w, clip_v : float
        Clipping norms (l2) of one record's gradients, inf for none.
    notes : tuple of str
        What a run should say about the configuration.
    """

    steps: int
    batch: int
    eta: float
    sigma_w: float
    sigma_v: float
    clip_w: float
    clip_v: float
    notes: tuple[str, ...] = ()

    name = "{name}"
    paper = "{paper}"
    source = "MISSING: the place in the paper, such as Algorithm 1, Theorem 2"
    reconstructed = "MISSING: what is filled in where no paper prints it in full; delete the line if there is nothing"
    example = "quadratic"
    differences = False  # whether the loop calls objective.difference
    layout = pairs  # MISSING: what each release is; dpcheck/algorithms/layout.py has functions to choose from
    tiny: ClassVar[dict[str, Any]] = {{"steps": 8}}
    kernel = staticmethod(run)
    schedules: ClassVar[dict[str, type[Schedule]]] = {{"as_printed": {title}Printed, "repaired": {title}Repaired}}

    def events(self, problem: Problem, iterations: int | None = None) -> tuple[Event, ...]:
        """MISSING: what a run releases at most, iteration by iteration."""
        in_w, in_v = moves(problem, (self.clip_w, self.clip_v), self.batch)
        pair = gaussian(self.sigma_w, in_w), gaussian(self.sigma_v, in_v)
        step = Sampled(pair, "without_replacement", len(problem.records), self.batch)
        return (Repeated(step, self.steps if iterations is None else iterations),)

    def packed(self, problem: Problem) -> Numbers:
        """Pack what :func:`run` reads."""
        n = len(problem.records)
        require(self.batch <= n, "batch", f"be at most the number of records, {{n}}", self.batch)
        in_w, in_v = moves(problem, (self.clip_w, self.clip_v), self.batch)
        return pack(fill(Reals, self, sensitivity_w=in_w, sensitivity_v=in_v), fill(Counts, self))

    def promises(self, problem: Problem, schedule: Schedule) -> Iterator[Promise]:
        """MISSING: the theorem's letters, and an answer to each of its assumptions that numbers cannot test.

        Delete the method where no theorem of the catalogue is about this algorithm.
        """
        yield from ()

    @classmethod
    def games(cls) -> Iterator[Entry]:
        """MISSING: a game of each variant; tests/checks/test_games.py says whether it is nearly what is certified."""
        from dpcheck.checks.games import BATCH, BOTH, CLIPS, FAR, PAIR, STEPS, blank, entry

        yield entry(cls.name, "repaired", blank(**FAR), PAIR, BOTH, CLIPS | {{"steps": STEPS, "batch": BATCH}})
        yield entry(cls.name, "as_printed", blank(**FAR), PAIR, BOTH, CLIPS | {{"steps": STEPS, "batch": BATCH}})
'''

_TEST = '''"""The record of {name}: what it lacks, and its loop once more in plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from records import gaps

from dpcheck.problems import example
from dpcheck.solvers import algorithm, configure

NAME = "{name}"


def test_nothing_is_missing():
    missing = gaps(NAME)
    assert not missing, "\\n".join(missing)


@pytest.mark.parametrize("variant", algorithm(NAME).variants)
def test_a_run_is_the_loop_in_numpy(variant):
    record = algorithm(NAME)
    problem = example(record.example)
    solver = configure(NAME, problem, epsilon=1.0, delta=1e-5, variant=variant, **record.tiny)
    run = solver.run(problem, seed=0, record=True)
    np.testing.assert_allclose(np.concatenate([run.x, run.y]), replayed(solver, problem, run.history), rtol=1e-12)


def replayed(solver, problem, history):
    """The output, from what was released: ``history.released``, a row a release."""
    raise NotImplementedError("MISSING: the loop in NumPy, without code of the record")
'''


def write(paper: str, name: str) -> tuple[Path, ...]:
    """Write a record into a paper's folder, made where there is none, and its test; return the files."""
    require(paper.isidentifier(), "paper", "be a name of a module, such as doe2027", paper)
    require(name.isidentifier() and name == name.lower(), "name", "be a name of a module in lower case", name)
    require(name not in records(), "name", "be new", name)
    folder = ROOT / "dpcheck" / "catalogue" / paper
    texts = {folder / f"{name}.py": _RECORD, ROOT / "tests" / "solvers" / f"test_{name}.py": _TEST}
    if not (folder / "__init__.py").exists():
        texts = {folder / "__init__.py": _PAPER} | texts
    for file in texts:
        require(not file.exists(), "name", f"be one without {file}", name)
    folder.mkdir(exist_ok=True)
    for file, text in texts.items():
        title = "".join(part.capitalize() for part in name.split("_"))
        write_text(file, text.format(paper=paper, name=name, title=title))
    return tuple(texts)


def main(arguments: list[str]) -> int:
    """Write what the command line names, and print the files."""
    try:
        require(len(arguments) == 2, "arguments", "be PAPER NAME", " ".join(arguments))
        files = write(*arguments)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    print(*files, sep="\n")
    print(f"then: pytest -n 0 {files[-1].relative_to(ROOT)} names what is missing", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
