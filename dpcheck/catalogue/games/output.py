"""Games for algorithms that solve a problem and release the solution.

Their losses are linear where the schedule has a curvature of its own, so that solutions are known. The declared
sensitivity of a solution is twice what the exact one may move by: the other half is room for the base solver's
error, of which a pair can use a quarter. Near its start a base solver may stay there; of the minimisers at 1/2 and
at 5/2 units L/(mu n) from the start it then returns 0 and 5/2, where 4 units are declared.

The canary has its slope in the block that is released, or in the other where both are. A coupled one has slopes in
both blocks and moves each through the other; where there are phases, it is the first record of the second phase.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from dpcheck.algorithms.problem import Array
from dpcheck.catalogue.zhang2022.output_perturbation import blocks
from dpcheck.checks.privacy.entry import WHOLE, Entry, blank, entry
from dpcheck.checks.privacy.worst_case import WorstCase, record

_HALF = "half of the declared sensitivity is room for the base solver's error"
_ONE_BLOCK = f"{_HALF}; the bound on one block of a saddle point is met where the other is curved as much"
_BOTH_BLOCKS = f"{_HALF}, and the canary's slope is shared by both blocks"
# The exact solution's share: half, less what a domain takes of the Lipschitz constant, or what curvature is unequal.
# In a coupled game it depends on what earlier phases released, so that no least share holds on every path.
_LEAST = {_HALF: 0.5, _ONE_BLOCK: 0.3, _BOTH_BLOCKS: 0.0}
_CURVED = ("phased_convex_strongly_concave", "phased_strongly_convex_concave")
_DUAL = ("phased_dual", "phased_strongly_convex_concave")
_SHARE = math.sqrt(0.5)  # of a slope in either block


_NISPP: dict[str, Any] = {"variant": "repaired", "settings": {"lam": 4.0}}


def _entry(
    name: str, problem: WorstCase, roles: Sequence[Array], remark: str, *, variant: str = "as_printed",
    settings: Mapping[str, Any] = MappingProxyType({}), **more: Any,
) -> Entry:  # fmt: skip
    """Return a game that releases solutions, and the share of the declared sensitivity that its remark leaves."""
    return entry(
        name, variant, problem, roles, WHOLE, dict(settings), remark=remark, least_share=_LEAST[remark], **more
    )


def _near(size: int, a: float = 0.0, **slopes: float) -> tuple[Array, Array, Array]:
    """Return slopes of norm at most 1 that put the solution of ``size`` records where the file says; all couple by
    ``a``.
    """
    others = (1.5 - 1e-6) / (size - 1)  # a little nearer than 1/2, as numbers are rounded

    def scaled(factor: float) -> Array:
        return record(**{block: factor * slope for block, slope in slopes.items()}, a=a)

    return scaled(-1.0), scaled(1.0), scaled(others)


def single(name: str) -> Iterator[Entry]:
    """Yield games of one phase on all records in a ball of radius 3/n, which costs that share of the Lipschitz
    constant.
    """
    n = 40
    if name == "output_perturbation":
        constants: dict[str, Any] = {"convexity": 1.0, "radius_w": 3 / n, "lipschitz_w": 1 + 3 / n}
        problem = blank(n, **constants, lipschitz_v=0.0, dim_v=0)
        yield _entry(name, problem, _near(n, b=1.0), _HALF)
        return
    for side, other, slope in (("w", "v", "b"), ("v", "w", "c")):
        constants = {
            "convexity": 1.0, "concavity": 1.0, f"radius_{side}": 3 / n, f"lipschitz_{side}": 1 + 3 / n,
            f"radius_{other}": 1e-6, f"lipschitz_{other}": 1e-6,
        }  # fmt: skip
        yield _entry(
            name, blank(n, **constants), _near(n, **{slope: 1.0}), _ONE_BLOCK,
            **({} if side == "w" else _second("v")),
        )  # fmt: skip
    a, radius = 0.25, 2.5 / n
    constants = dict.fromkeys(("lipschitz_w", "lipschitz_v"), _SHARE + (1 + a) * radius)
    constants |= {"convexity": 1.0, "concavity": 1.0, "smoothness": math.hypot(1, a)}
    problem = blank(n, **constants, radius_w=radius, radius_v=radius)
    yield _entry(
        name, problem, _near(n, a=a, b=_SHARE, c=_SHARE), _BOTH_BLOCKS,
        **_second("coupled"),
    )  # fmt: skip


def phased(name: str) -> Iterator[Entry]:
    """Yield games of phases on three records each."""
    n, size = 9, blocks(9)[0][1]
    sides = {"w": "b", "v": "c"}
    released = ("w", "v") if name == "phased_minimax_output_perturbation" else ("v" if name in _DUAL else "w",)
    if name == "phased_output_perturbation":
        problem = blank(n, smoothness=0.0, lipschitz_v=0.0, dim_v=0)
        yield _entry(name, problem, _near(size, b=1.0), _HALF)
        yield _entry(
            name, problem, _near(size, b=1.0), _HALF, place=size, **_second("later"),
        )  # fmt: skip
        return
    for side in released:
        other = "v" if side == "w" else "w"
        constants: dict[str, Any] = {"smoothness": 0.0, f"lipschitz_{other}": 0.0}
        if name in _CURVED:
            constants = {_modulus(other): 1.0, f"radius_{side}": 100.0, f"radius_{other}": 1e-6}
            constants |= {f"lipschitz_{other}": 1e-6}
        yield _entry(
            name, blank(n, **constants), _near(size, **{sides[side]: 1.0}), _ONE_BLOCK,
            **({} if side == released[0] else _second(side)),
        )  # fmt: skip
    a = 0.05
    constants = {"smoothness": a, "lipschitz_w": _SHARE + a, "lipschitz_v": _SHARE + a}
    if name in _CURVED:
        side, other, a = released[0], "v" if released[0] == "w" else "w", 0.001
        constants = {_modulus(other): 1.0, f"radius_{side}": 100.0, f"radius_{other}": 0.1, "smoothness": 1 + a}
        constants |= {f"lipschitz_{side}": _SHARE + 0.1 * a, f"lipschitz_{other}": _SHARE + 0.1 + 100 * a}
    yield _entry(
        name, blank(n, **constants), _near(size, a=a, b=_SHARE, c=_SHARE), _BOTH_BLOCKS, place=size,
        **_second("coupled"),
    )  # fmt: skip


def nispp() -> Iterator[Entry]:
    """Yield games of one side each, and a coupled one; ``lam`` is large enough for the solutions to lie inside."""
    sides = {"lipschitz_w": {"lipschitz_v": 0.0}, "lipschitz_v": {"lipschitz_w": 0.0}}
    for (side, constants), slope in zip(sides.items(), ("b", "c"), strict=True):
        yield _entry(
            "nispp", blank(9, smoothness=0.0, **constants), _near(3, **{slope: 1.0}), _HALF, **_NISPP,
            **({} if side == "lipschitz_w" else _second("v", "repaired")),
        )  # fmt: skip
    a = 0.05
    problem = blank(9, smoothness=a, lipschitz_w=_SHARE + a, lipschitz_v=_SHARE + a)
    roles = _near(3, a=a, b=_SHARE, c=_SHARE)
    yield _entry(
        "nispp", problem, roles, _BOTH_BLOCKS, place=3,
        **_NISPP, **_second("coupled", "repaired"),
    )  # fmt: skip


_WORDS = {"v": "canary in v", "coupled": "canary in w and v", "later": "canary in the second phase"}


def _modulus(block: str) -> str:
    return "convexity" if block == "w" else "concavity"


def _second(part: str, variant: str = "as_printed") -> dict[str, Any]:
    """Return the label and words of an entry beside the variant's first, whose transcript alone is audited."""
    words = f"{variant.replace('_', ' ')}, {_WORDS[part]}"
    return {"label": f"{variant}.{part}", "words": words, "brief": True}
