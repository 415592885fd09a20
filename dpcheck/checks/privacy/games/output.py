"""Games for algorithms that solve a problem and release the solution.

Their losses are linear where the schedule has a curvature of its own, so that solutions are known. The declared
sensitivity of a solution is twice what the exact one may move by: the other half is room for the base solver's
error, of which a pair can use a quarter. Near its start a base solver may stay there; of the minimisers at 1/2 and
at 5/2 units L/(mu n) from the start it then puts out 0 and 5/2, where 4 units are declared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dpcheck.checks.privacy.entry import WHOLE, Entry, blank, entry
from dpcheck.checks.privacy.worst_case import record
from dpcheck.problems.problem import Array
from dpcheck.solvers.output_perturbation import blocks

_HALF = "half of the declared sensitivity is room for the base solver's error"
_ONE_BLOCK = f"{_HALF}; the bound on one block of a saddle point is met where the other is curved as much"
# The exact solution's share: half, less what a domain takes of the Lipschitz constant, or what curvature is unequal.
_LEAST = {_HALF: 0.5, _ONE_BLOCK: 0.3}
_CURVED = ("phased_convex_strongly_concave", "phased_strongly_convex_concave")
_DUAL = ("phased_dual", "phased_strongly_convex_concave")


def _near(size: int, block: str = "b") -> tuple[Array, Array, Array]:
    """Slopes in one block, of norm at most 1, that put the minimiser of ``size`` records where the file says."""
    others = (1.5 - 1e-6) / (size - 1)  # a little nearer than 1/2, as numbers are rounded
    return record(**{block: -1.0}), record(**{block: 1.0}), record(**{block: others})


def single(name: str) -> Iterator[Entry]:
    """One phase on all records, |w| <= 3/n, which costs that share of the Lipschitz constant."""
    n = 40
    constants: dict[str, Any] = {"convexity": 1.0, "radius_w": 3 / n, "lipschitz_w": 1 + 3 / n}
    if name == "output_perturbation":
        problem, remark = blank(n, **constants, lipschitz_v=0.0, dim_v=0), _HALF
    else:
        problem, remark = blank(n, **constants, concavity=1.0, lipschitz_v=1e-6, radius_v=1e-6), _ONE_BLOCK
    yield entry(name, "as_printed", problem, _near(n), WHOLE, {}, remark=remark, least_share=_LEAST[remark])


def phased(name: str) -> Iterator[Entry]:
    """Phases on three records each; the canary is in the first."""
    n, side, other = 9, *(("v", "w") if name in _DUAL else ("w", "v"))
    constants: dict[str, Any] = {"smoothness": 0.0, f"lipschitz_{other}": 0.0}
    remark = _ONE_BLOCK
    if name == "phased_output_perturbation":
        constants["dim_v"], remark = 0, _HALF
    elif name in _CURVED:
        modulus = "convexity" if name in _DUAL else "concavity"
        constants = {modulus: 1.0, f"radius_{side}": 100.0, f"radius_{other}": 1e-6, f"lipschitz_{other}": 1e-6}
    roles = _near(blocks(n)[0][1], "c" if name in _DUAL else "b")
    yield entry(name, "as_printed", blank(n, **constants), roles, WHOLE, {}, remark=remark, least_share=_LEAST[remark])


def nispp() -> Iterator[Entry]:
    """The same; ``lam`` is large enough for the solutions to lie inside."""
    problem = blank(9, smoothness=0.0, lipschitz_v=0.0)
    yield entry("nispp", "repaired", problem, _near(3), WHOLE, {"lam": 4.0}, remark=_HALF, least_share=_LEAST[_HALF])
