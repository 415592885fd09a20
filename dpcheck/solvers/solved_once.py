"""One solution for many runs: what a base solver that draws nothing finds in a single phase is the same in each run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcheck.bases import BASES
from dpcheck.kernels.jit import BASE_SIGNATURE, kernel
from dpcheck.kernels.named import Numbers
from dpcheck.kernels.parts import copy

if TYPE_CHECKING:
    from dpcheck.problems.problem import Array, Problem
    from dpcheck.solvers.output_perturbation import Phased


@kernel(BASE_SIGNATURE)
def known(gradient, data, index, constants, centre, rng, z):  # type: ignore[no-untyped-def]
    """Stand in for a base solver whose solution is known, and comes in place of the problem's parameters."""
    copy(data.params, z)
    return index.size


def solved_once(
    solver: Phased, problem: Problem, parts: tuple[Any, ...], numbers: Numbers
) -> tuple[tuple[Any, ...], Numbers]:
    """Return parts and numbers for the runs of ``solver`` that give the same bits with one solution for all of them.

    Those given where the solution depends on chance, by the base solver, the minibatch or earlier noise.
    """
    from dpcheck.schedules.phases import FIELDS

    if len(solver.phases) > 1 or BASES[solver.base].draws or solver.sampling != "single_pass":
        return parts, numbers
    solution = _solution(solver, problem, FIELDS.index("joint"))
    if solution is None:
        return parts, numbers
    data, *functions, _ = parts
    shorter = numbers.steps.copy()
    shorter[:, [FIELDS.index("first"), FIELDS.index("last")]] = 0.0, 1.0  # no record is read again
    one = data._replace(params=solution, records=data.records[:1])
    return (one, *functions, known), numbers._replace(steps=shorter)


def _solution(solver: Phased, problem: Problem, joint: int) -> Array | None:
    """Return (w, v) before the noise of a recorded run; None where the run does not release each of them once."""
    apart = solver.phases.copy()
    apart[:, joint] = 0.0  # released together they are scaled; that changes no solution
    history = replace(solver, phases=apart).run(problem, record=True).history
    sizes = [size for size in (problem.dim_w, problem.dim_v) if size]
    if len(history.clean) != len(sizes):
        return None
    return np.concatenate([row[:size] for row, size in zip(history.clean, sizes, strict=True)])
