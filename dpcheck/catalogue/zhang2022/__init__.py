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
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from dpcheck.checks.games import Entry, WorstCase

# Assumptions of the paper's theorems that no run can answer, with what it would have to know.
UNKNOWN = {
    "interior": "where the solutions lie",
    "records": "where the records come from",
}


_ROOM = "half of the declared sensitivity is room for the base solver's error"
# What a game releases of its solution: the remark on it, and the exact solution's share of the declared sensitivity,
# which is half, less what a domain takes of the Lipschitz constant, or what curvature is unequal. In a coupled game it
# depends on what earlier phases released, so that no least share holds on every path.
_RELEASED = {
    "all": (_ROOM, 0.5),
    "one block": (f"{_ROOM}; the bound on one block of a saddle point is met where the other is curved as much", 0.3),
    "both blocks": (f"{_ROOM}, and the canary's slope is shared by both blocks", 0.0),
}
SLOPE = math.sqrt(0.5)  # in either block, of a slope of length 1
_WORDS = {"v": "canary in v", "coupled": "canary in w and v", "later": "canary in the second phase"}


def game_of_a_solution(
    name: str, problem: WorstCase, size: int, released: Literal["all", "one block", "both blocks"],
    slopes: Mapping[str, float], *, a: float = 0.0, variant: str = "as_printed", part: str = "",
    settings: Mapping[str, Any] = MappingProxyType({}), place: int = 0,
) -> Entry:  # fmt: skip
    """Return a game that releases solutions on ``size`` records that couple by ``a``, as the head of this file says.

    slopes : of the canary, of norm at most 1
    part : where the canary is, of a game beside the variant's first; its transcript alone is audited
    """
    from dpcheck.checks.games import WHOLE, entry, record

    others = (1.5 - 1e-6) / (size - 1)  # a little nearer than 1/2, as numbers are rounded
    roles = [record(**{block: factor * slope for block, slope in slopes.items()}, a=a) for factor in (-1, 1, others)]
    beside: dict[str, Any] = {}
    if part:
        words = f"{variant.replace('_', ' ')}, {_WORDS[part]}"
        beside = {"label": f"{variant}.{part}", "words": words, "brief": True}
    remark, least_share = _RELEASED[released]
    return entry(
        name, variant, problem, roles, WHOLE, dict(settings), remark=remark, least_share=least_share, place=place,
        **beside,
    )  # fmt: skip
