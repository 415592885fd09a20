"""The constants that problems declare, the projections onto their domains, and where the runs of every algorithm stay.

Schedules, clipping norms and sensitivities are made from Lipschitz constants, moduli and smoothness: one that is too
small breaks the guarantee of a correct algorithm. All of this is exact or a search with a fixed stream, so that
verdicts are the same for every seed.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from dpcheck.algorithms.kernels.jit import Play
from dpcheck.algorithms.kernels.tape import MARKS
from dpcheck.algorithms.problem import ball, with_record
from dpcheck.algorithms.run import new_tape, perform
from dpcheck.audits.constants import audit_constants
from dpcheck.catalogue.zhang2022.output_perturbation import FIELDS, Phased
from dpcheck.checks.place import place_of
from dpcheck.problems import example
from dpcheck.report.findings import Finding
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
LOOSE = 4.0  # a constant this many times what the search found is mentioned


def of_problem(name: str, chosen: str, problem: Any) -> Finding:
    """Say whether some point or record exceeds a declared constant, and whether a constant depends on the records."""
    found = tuple(search(problem))
    exceeded = [each for each in found if each.exceeded]
    neighbour = with_record(problem, 0, problem.records[1])
    depends = audit_constants(
        lambda data: {each: getattr(data, each) for each in PUBLIC}, problem, [neighbour]
    ).differences
    projection = misprojected(problem)
    if exceeded:
        worst = exceeded[0]
        side = "larger" if worst.at_most else "smaller"
        reason = f"A {side} value than the declared {worst.name} = {worst.declared:.6g} was found: {worst.value:.6g}."
    elif depends:
        reason = f"{depends[0].name} depends on the records: {depends[0].on_data} becomes {depends[0].on_neighbour}."
    elif projection:
        reason = f"The projection is wrong: {projection}."
    else:
        reason = f"Nothing found exceeds {', '.join(map(str, found)) or 'any constant, as none is finite'}."
        loose = [each.name for each in found if each.at_most and each.declared > LOOSE * each.value > 0]
        reason += f" The search came nowhere near {' and '.join(loose)}, which may be larger than needed." * bool(loose)
    return Finding(
        f"{name}.constants.{chosen}", "sensitivity", f"constants and projections of the problem {chosen}",
        "violated" if exceeded or depends or projection else "consistent", reason,
        evidence={each.name: {"declared": each.declared, "found": each.value} for each in found},
        place=place_of(type(problem).gradient),
    )  # fmt: skip


def _public(problem: Any) -> dict[str, Any]:
    return {each: getattr(problem, each) for each in PUBLIC}


def stays(name: str) -> Finding:
    """Say whether the algorithm's iterates and outputs stay within the domains, with noise that drives them out.

    The same runs in domains without ends show which blocks would leave theirs.
    """
    chosen = algorithm(name)
    problem_name, options = ROOMS.get(name, (chosen.example, {}))
    problem, worst, free = example(problem_name), 0.0, set[str]()
    for variant in chosen.variants:
        solver = loud(configure(name, problem, epsilon=1.0, delta=1e-5, variant=variant, **{**chosen.tiny, **options}))
        worst = max(worst, *_left(solver, problem).values())
        free |= {block for block, off in _left(solver, problem, endless=True).items() if off > 0}
    verdict = "violated" if worst > 1e-9 else "consistent" if free else "inconclusive"
    reason = {
        "violated": f"A run on {problem.name} leaves its domain by {worst:.4g}.",
        "consistent": f"Runs on {problem.name} stay in the domains; {' and '.join(sorted(free))} would leave theirs.",
        "inconclusive": f"No run on {problem.name} comes to an end of its domain, so that nothing is shown.",
    }[verdict]
    return Finding(f"{name}.domain", "feasibility", "iterates and outputs lie in the domain", verdict, reason)


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
    for point in (*tape.path[: tape.cursor[MARKS]], *out):
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
