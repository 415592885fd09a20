"""What a record of the catalogue still lacks, one sentence a gap."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from dpcheck.algorithms.registry import algorithm
from dpcheck.algorithms.solver import Solver
from dpcheck.errors import InputError
from dpcheck.problems import example

MARK = "MISSING"  # what the generator of records writes where something is to be filled in


def gaps(name: str) -> list[str]:
    """Return what the record of an algorithm lacks.

    Parameters
    ----------
    name : str
        The algorithm.

    Returns
    -------
    list of str
        Nothing where the record is complete.
    """
    chosen = algorithm(name)
    return [*_marks(chosen), *_words(chosen), *_numbers(chosen), *_games(chosen)]


def _marks(chosen: type[Solver]) -> Iterator[str]:
    for number, line in enumerate(inspect.getsource(inspect.getmodule(chosen) or chosen).splitlines(), 1):
        if MARK in line:
            yield f"line {number}: {line[line.index(MARK) :].strip()}"


def _words(chosen: type[Solver]) -> Iterator[str]:
    folder = chosen.__module__.split(".")[-2]
    if chosen.paper != folder:
        yield f"paper: it is in the folder {folder} and says {chosen.paper}"
    if not chosen.source:
        yield "source: the place in the paper, such as 'Algorithm 1, Theorem 2'"
    if not chosen.__doc__:
        yield "the docstring of the class"


def _numbers(chosen: type[Solver]) -> Iterator[str]:
    """Configure and run each variant on the example, and hold what it released against what it declares."""
    problem = example(chosen.example)
    for variant in chosen.variants:
        try:
            known = chosen.schedule_of(variant, chosen.tiny).options
            yield from (f"tiny: {option} is no option of {variant}" for option in chosen.tiny if option not in known)
            solver = chosen.configure(problem, epsilon=0.5, delta=1e-6, variant=variant, **chosen.tiny)
            run = solver.run(problem, seed=0, record=True)
        except (InputError, NotImplementedError, TypeError, KeyError) as error:
            yield f"{variant}: {error}"
            continue
        released, declared = len(run.history.released), solver.rows(problem)[0]
        if released > declared:
            yield f"events: a run of {variant} makes {released} releases and declares {declared}"
        schedule = chosen.scheduled(problem, epsilon=0.5, delta=1e-6, variant=variant, **chosen.tiny)
        if not tuple(solver.promises(problem, schedule)) and not chosen.reconstructed:
            yield f"promises: {variant} names no theorem, and reconstructed does not say where its numbers come from"


def _games(chosen: type[Solver]) -> Iterator[str]:
    labels = {entry.label for entry in chosen.games()}
    for variant in chosen.variants:
        if not any(label.partition(".")[0] == variant for label in labels):
            yield f"games: none for {variant}; without one its privacy is not audited"
