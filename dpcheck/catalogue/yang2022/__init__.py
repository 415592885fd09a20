"""Yang et al. 2022: DP-SGDA, and the methods that its Table 1 compares it with."""

import math
from collections.abc import Iterator
from typing import Any

from dpcheck.algorithms.problem import Problem
from dpcheck.algorithms.promises import breaches
from dpcheck.algorithms.schedule import prescribed

# Assumptions of the paper's theorems that no run can answer, with what it would have to know.
UNKNOWN = {
    "A2": "how far the records' gradients spread",
    "saddle": "whether the mean over the records has a saddle point",
    "records": "where the records come from",
}


def printed_batch(n: int, steps: int, epsilon: float) -> int:
    """Return Remark 1's minibatch, max(1, n sqrt(epsilon / (4T))) rounded up, at most n."""
    return min(n, prescribed("yang2022.theorem_1", "m", n=n, T=steps, epsilon=epsilon))


def printed_noise(G: float, n: int, steps: int, epsilon: float, delta: float) -> float:
    """Return Remark 1's standard deviation, 8 G sqrt(T log(1/delta)) / (n epsilon)."""
    return 8 * G * math.sqrt(steps * math.log(1 / delta)) / (n * epsilon)


def unmet_in_table_1(solver: Any, problem: Problem) -> Iterator[str]:
    """Yield what a baseline of Table 1, which stands there for problems that are C-C, Lip and S, does not meet."""
    clips = {
        f"clip_{side}": (getattr(solver, f"clip_{side}"), getattr(problem, f"lipschitz_{side}"))
        for side in "wv" if hasattr(solver, f"clip_{side}")
    }  # fmt: skip
    broken = breaches(problem, "wv", **clips)
    conditions = {
        "f convex in w and concave in v": "convex-concave", "f Lipschitz": "Lipschitz", "f smooth": "smooth",
    }  # fmt: skip
    for condition, name in conditions.items():
        if broken[name]:
            yield f"Table 1 of Yang et al. assumes {condition}; here {broken[name]}"
