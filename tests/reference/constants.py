"""The constants that problems declare, the projections onto their domains, and where the runs of every algorithm stay.

Schedules, clipping norms and sensitivities are made from Lipschitz constants, moduli and smoothness: one that is too
small breaks the guarantee of a correct algorithm. All of this is exact or a search with a fixed stream, so that
verdicts are the same for every seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np

from dpcheck.algorithms.kernels.jit import Play
from dpcheck.algorithms.kernels.tape import At
from dpcheck.algorithms.problem import ball, with_record
from dpcheck.algorithms.run import new_tape, perform
from dpcheck.audits.constants import audit_constants
from dpcheck.catalogue.zhang2022.output_perturbation import FIELDS, Phased
from dpcheck.problems import example
from dpcheck.solvers import algorithm, configure
from reference.constant_search import misprojected, outside, search

# where the algorithm's own example has no ends, or its steps do not take it there
ROOMS: dict[str, tuple[str, dict[str, Any]]] = {"dp_rgda": ("quartic", {"eta": 1.0})}
# numbers of a problem that are public
PUBLIC = (
    "lipschitz_w", "lipschitz_v", "smoothness", "convexity", "concavity", "ascent_limit", "hessian_lipschitz",
    "domain_w", "domain_v", "params",
)  # fmt: skip
LOUDER = 1e3  # noise that takes a run to the ends of its domain


def wrong(problem: Any) -> Iterator[str]:
    """Yield a sentence for each constant that some point or record exceeds, or that depends on the records."""
    for each in search(problem):
        if each.exceeded:
            yield str(each)
    neighbour = with_record(problem, 0, problem.records[1])
    for each in audit_constants(
        lambda data: {name: getattr(data, name) for name in PUBLIC}, problem, [neighbour]
    ).differences:
        yield f"{each.name} depends on the records: {each.on_data} becomes {each.on_neighbour}"
    yield from filter(None, [misprojected(problem)])


def stays(name: str) -> tuple[float, set[str]]:
    """Return how far the algorithm's iterates and outputs get outside the domains, with noise that drives them out.

    The same runs in domains without ends show which blocks would leave theirs.
    """
    chosen = algorithm(name)
    problem_name, options = ROOMS.get(name, (chosen.example, {}))
    problem, worst, free = example(problem_name), 0.0, set[str]()
    for variant in chosen.variants:
        solver = loud(configure(name, problem, epsilon=1.0, delta=1e-5, variant=variant, **{**chosen.tiny, **options}))
        worst = max(worst, *_left(solver, problem).values())
        free |= {block for block, off in _left(solver, problem, endless=True).items() if off > 0}
    return worst, free


def _left(solver: Any, problem: Any, *, endless: bool = False) -> dict[str, float]:
    """Return how far w and v get outside their domains in one run, which is told of domains without ends if
    ``endless``.
    """
    d, domains = problem.dim_w, [problem.domain_w, problem.domain_v]
    tape = new_tape(problem, (0, 0, 0), at=range(solver.iterations(problem)))
    play, out = Play(solver.packed(problem), np.random.default_rng(0), tape), np.empty((1, d + problem.dim_v))
    data, *functions = solver.parts(problem)
    if endless:
        whole = [ball(size, np.inf) if size else np.empty((0, 4)) for size in (d, problem.dim_v)]
        data = data._replace(domain_w=whole[0], domain_v=whole[1])
    perform(solver.kernel, (data, *functions), play, out)
    found = {"w": 0.0, "v": 0.0}
    for point in (*tape.path[: tape.cursor[At.MARKS]], *out):
        for block, part, domain in (("w", point[:d], domains[0]), ("v", point[d:], domains[1])):
            found[block] = max(found[block], outside(part, domain))
    return found


def loud(solver: Any) -> Any:
    """Return the algorithm with noise that takes it to the ends of any bounded domain."""
    if isinstance(solver, Phased):
        table = solver.phases.copy()
        table[:, [FIELDS.index("sigma_w"), FIELDS.index("sigma_v")]] *= LOUDER
        return replace(solver, phases=table)
    noise = [each.name for each in fields(solver) if each.name.startswith("sigma")]
    return replace(solver, **{each: LOUDER * getattr(solver, each) for each in noise})
