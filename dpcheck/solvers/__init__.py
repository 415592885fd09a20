"""Reference implementations of the papers' algorithms, found by name in the folders of the catalogue."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcheck.algorithms.problem import Problem
from dpcheck.algorithms.registry import algorithm as algorithm
from dpcheck.algorithms.registry import records
from dpcheck.arguments import checked
from dpcheck.errors import InputError, one_line, require, require_count, require_seed

if TYPE_CHECKING:
    from dpcheck.algorithms.problem import Problem
    from dpcheck.algorithms.run import Run
    from dpcheck.algorithms.schedule import Schedule
    from dpcheck.algorithms.solver import Solver

# name -> module and class, of every record in the catalogue
ALGORITHMS: Mapping[str, str] = {name: f"{place.module}.{place.attribute}" for name, place in records().items()}


@checked
def configure(
    name: str, problem: Problem, *, epsilon: float, delta: float, variant: str | None = None, **overrides: Any
) -> Solver:
    """Set up an algorithm with its theorem's schedule for a problem, save the overrides.

    Parameters
    ----------
    name : str
        One of ``ALGORITHMS``.
    problem : Problem
        The objective with its n records; neighbours replace one record.
    epsilon, delta : float
        Claimed privacy: epsilon > 0 (natural log), delta in (0, 1).
    variant : {"as_printed", "repaired"}, optional
        ``"repaired"`` by default, where there is one.
    **overrides : object
        Numbers in place of the schedule's, as the algorithm's ``schedules`` describe them.

    Returns
    -------
    Solver
        The configuration; its ``notes`` name the assumptions that it breaks, and each override.

    Raises
    ------
    InputError
        For an unknown name or override, values outside their domain, and a problem that the algorithm is not made for.

    Examples
    --------
    >>> from dpcheck.problems import example
    >>> from dpcheck.solvers import configure
    >>> configure("dp_sgda", example("quadratic"), epsilon=1.0, delta=1e-5, steps=50, batch=10).batch
    10
    """
    from dpcheck.algorithms.schedule import require_length

    chosen = algorithm(name)
    require(hasattr(problem, "records"), "problem", "be a problem", type(problem).__name__)
    for option, value in overrides.items():
        if isinstance(value, int):
            require_length(value, option)
    variant = chosen.variants[-1] if variant is None else variant
    try:
        schedule = chosen.scheduled(problem, epsilon=epsilon, delta=delta, variant=variant, **overrides)
        configured = chosen.of(schedule)
        told = (*broken(configured, problem, schedule), *configured.notes, *schedule.departures())
    except MemoryError as error:
        raise InputError(f"the work must fit into memory: {one_line(error)}") from error
    except ArithmeticError as error:
        given = {"epsilon": epsilon, "delta": delta} | overrides
        values = ", ".join(f"{option} = {value}" for option, value in given.items())
        raise InputError(f"the schedule must have numbers within floating-point range, got {values}") from error
    return replace(configured, notes=told) if told else configured  # type: ignore[type-var]


@checked
def solve(
    name: str, problem: Problem | str | None = None, *, epsilon: float = 1.0, delta: float | None = None,
    seed: int = 0, variant: str | None = None, record: bool = False, at: Sequence[int] | int = 20,
    watch: Callable[[int, int], object] | None = None, **overrides: Any,
) -> Run:  # fmt: skip
    """Run an algorithm on a problem at (epsilon, delta).

    Parameters
    ----------
    name : str
        An algorithm's name; ``dpcheck list`` shows them.
    problem : Problem or str, optional
        The objective with its n records, or the name of an example; the algorithm's own example by default. Neighbours
        replace one record.
    epsilon : float
        Claimed epsilon > 0 (natural log).
    delta : float, optional
        Claimed delta in (0, 1); 1/n^2 by default.
    seed : int
        Seed of all randomness, >= 0.
    variant : {"as_printed", "repaired"}, optional
        ``"as_printed"`` follows the paper to the letter, ``"repaired"``, the default where there is one, mends what
        cannot stand.
    record : bool
        Whether to keep every minibatch, release and iterate in ``run.history``.
    at : sequence of int or int
        The iterations whose iterates are kept, or how many of them, spread evenly in log t.
    watch : callable, optional
        Called as ``watch(releases so far, releases in all)`` while the run goes on.
    **overrides : object
        Numbers in place of the theorem's schedule, as the algorithm's ``schedules`` describe them.

    Returns
    -------
    Run
        The output ``x, y`` (w and v of the paper) with ``history``, ``events`` and ``notes``. The notes name each
        assumption of the theorem that the problem or the parameters break, with its place (save what no run can know,
        ``UNKNOWN`` of its paper's folder), what the paper as published understates, each override, what is
        reconstructed, and a certificate above the claim.

    Raises
    ------
    InputError
        For unknown names, values outside their domain, and problems that the algorithm is not made for.

    References
    ----------
    The algorithm's paper and place: ``run.solver.paper`` and ``run.solver.source``.

    Examples
    --------
    >>> import dpcheck
    >>> run = dpcheck.solve("dp_sgda", "quadratic", epsilon=1.0, delta=1e-5, steps=50, seed=0)
    >>> run.x.shape, run.outcome
    ((3,), 'finished')
    >>> dpcheck.certify(run.events, delta=1e-5).epsilon <= 1.0
    True
    """
    require_seed(seed)
    if problem is None or isinstance(problem, str):
        from dpcheck.problems import example

        problem = example(problem or algorithm(name).example, seed=seed)
    require(hasattr(problem, "records"), "problem", "be a problem or the name of one", problem)
    if delta is None:
        delta = min(0.5, len(problem.records) ** -2.0)
    variant = algorithm(name).variants[-1] if variant is None else variant
    configured = configure(name, problem, epsilon=epsilon, delta=delta, variant=variant, **overrides)
    iterations = configured.iterations(problem)
    if isinstance(at, int):
        spread = np.geomspace(1, iterations, max(at, 1)).round().astype(int) - 1  # evenly in the logarithm
        at = sorted({*spread.tolist(), iterations - 1})
    require(isinstance(at, Sequence), "at", "be a whole number, or a list of iterations", at)
    for iteration in at:
        require_count(iteration, "at", least=0)
        require(iteration < iterations, "at", f"be below the number of iterations, {iterations}", iteration)
    run = configured.run(problem, seed=seed, record=record, at=None if record else at, watch=watch)
    if variant == "repaired" and overrides.get("private", True):
        return run  # its noise was calibrated to the claim
    return replace(run, notes=(*run.notes, *_above(run, epsilon, delta)))


def _above(run: Run, epsilon: float, delta: float) -> tuple[str, ...]:
    """Say that a run is certified above what it claims, where it is."""
    from dpcheck.accounting import certify

    certified = certify(run.events, delta=delta).epsilon
    if certified == math.inf:
        return ("no noise is added, so that no epsilon is certified",)
    note = f"the noise is certified at epsilon = {certified:.4g}, above the {epsilon:g} that is claimed"
    return (note,) if certified > epsilon else ()


def broken(solver: Solver, problem: Problem, schedule: Schedule) -> Iterator[str]:
    """Return a sentence for each assumption that the run breaks, once where two theorems share it."""
    mentioned = set()
    for promise in solver.promises(problem, schedule):
        for assumption, what in promise.broken():
            shared = (assumption.name if assumption.relation is None else assumption.sentence, what)
            if shared not in mentioned:
                mentioned.add(shared)
                yield f"{promise.label} assumes {assumption}; here {what}"
    yield from solver.unmet(problem)
