"""Zhang et al. 2022: output perturbation around any base solver, for minimisation and for saddle points.

Games of these algorithms: their losses are linear where the schedule has a curvature of its own, so that solutions are
known. The declared sensitivity of a solution is twice what the exact one may move by: the other half is room for the
base solver's error, of which a pair can use a quarter. Near its start a base solver may stay there; of the minimisers
at 1/2 and at 5/2 units L/(mu n) from the start it then returns 0 and 5/2, where 4 units are declared.

The canary has its slope in the block that is released, or in the other where both are. A coupled one has slopes in
both blocks and moves each through the other; where there are phases, it is the first record of the second phase.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dpcheck.algorithms.problem import Array, Problem
from dpcheck.algorithms.promises import breaches
from dpcheck.algorithms.schedule import Schedule

if TYPE_CHECKING:
    from dpcheck.checks.games import Entry, WorstCase

# Assumptions of the paper's theorems that no run can answer, with what it would have to know.
UNKNOWN = {
    "interior": "where the solutions lie",
    "records": "where the records come from",
}


def answers(problem: Problem, schedule: Schedule, side: str = "wv") -> tuple[dict[str, float], dict[str, str]]:
    """Answer what all theorems of the paper ask for: their letters, and their conditions.

    The solver's accuracy is certified and sure, where the paper has it with a probability; what is released is
    projected.  side : the blocks that are to start at 0
    """
    L = math.hypot(problem.lipschitz_w, problem.lipschitz_v)
    values = schedule.letters | {"L": L, "ell": problem.smoothness}
    broken = breaches(problem, side)
    conditions = {
        "f": " and ".join(filter(None, (broken["Lipschitz"], broken["smooth"], broken["convex-concave"]))),
        "bounded": broken["start"], "solver": "", "released": "",
    }  # fmt: skip
    return values, conditions


ROOM = "half of the declared sensitivity is room for the base solver's error"
ONE_BLOCK = f"{ROOM}; the bound on one block of a saddle point is met where the other is curved as much"
BOTH_BLOCKS = f"{ROOM}, and the canary's slope is shared by both blocks"
# The exact solution's share: half, less what a domain takes of the Lipschitz constant, or what curvature is unequal.
# In a coupled game it depends on what earlier phases released, so that no least share holds on every path.
_LEAST = {ROOM: 0.5, ONE_BLOCK: 0.3, BOTH_BLOCKS: 0.0}
SLOPE = math.sqrt(0.5)  # in either block, of a slope of length 1
_WORDS = {"v": "canary in v", "coupled": "canary in w and v", "later": "canary in the second phase"}


def game_of_a_solution(
    name: str, problem: WorstCase, roles: Sequence[Array], remark: str, *, variant: str = "as_printed", part: str = "",
    settings: Mapping[str, Any] = MappingProxyType({}), place: int = 0,
) -> Entry:  # fmt: skip
    """Return a game that releases solutions, with the share of the declared sensitivity that its remark leaves.

    part : where the canary is, of a game beside the variant's first; its transcript alone is audited
    """
    from dpcheck.checks.games import WHOLE, entry

    beside: dict[str, Any] = {}
    if part:
        words = f"{variant.replace('_', ' ')}, {_WORDS[part]}"
        beside = {"label": f"{variant}.{part}", "words": words, "brief": True}
    return entry(
        name, variant, problem, roles, WHOLE, dict(settings), remark=remark, least_share=_LEAST[remark], place=place,
        **beside,
    )  # fmt: skip


def near(size: int, a: float = 0.0, **slopes: float) -> tuple[Array, Array, Array]:
    """Return slopes of norm at most 1 that put the solution of ``size`` records where the head of this file says; all
    couple by ``a``.
    """
    from dpcheck.checks.games import record

    others = (1.5 - 1e-6) / (size - 1)  # a little nearer than 1/2, as numbers are rounded

    def scaled(factor: float) -> Array:
        return record(**{block: factor * slope for block, slope in slopes.items()}, a=a)

    return scaled(-1.0), scaled(1.0), scaled(others)
