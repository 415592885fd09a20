"""Reference implementations of the papers' algorithms, one a file, and the door to them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dpcheck.errors import require

if TYPE_CHECKING:
    from dpcheck.problems.problem import Problem
    from dpcheck.solvers.dp_sgda import DPSGDA
    from dpcheck.solvers.run import Run

ALGORITHMS = {
    "dp_sgda": ("dpcheck.solvers.dp_sgda", "DPSGDA"),
}


def algorithm(name: str) -> type[DPSGDA]:
    """Algorithm registered under ``name``; :class:`InputError` lists the names otherwise."""
    require(name in ALGORITHMS, "algorithm", f"be one of {', '.join(ALGORITHMS)}", name)
    module, attribute = ALGORITHMS[name]
    found: type[DPSGDA] = getattr(importlib.import_module(module), attribute)
    return found


def solve(
    name: str, problem: Problem, *, epsilon: float, delta: float, seed: int = 0,
    variant: str = "repaired", record: bool = False, **overrides: Any,
) -> Run:  # fmt: skip
    """Run algorithm ``name`` on ``problem`` at (epsilon, delta), replace-one neighbours, natural log.

    variant : "as_printed" follows the paper to the letter, "repaired" mends what cannot stand
    record : keep every minibatch, gradient and iterate in ``run.history``
    overrides : parameters in place of the theorem's schedule (see the algorithm's class)

    Returns a run with ``x, y`` (the paper's w, v), ``history``, ``events`` (what :func:`certify`
    reads) and ``notes`` (each assumption of the theorem that these parameters break).
    """
    configured = algorithm(name).configure(problem, epsilon=epsilon, delta=delta, variant=variant, **overrides)
    return configured.run(problem, seed=seed, record=record)
