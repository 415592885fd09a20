"""What the algorithms share that release gradient differences between refreshes, and minimise over w alone."""

from __future__ import annotations

from typing import Any, ClassVar

from dpcheck.algorithms.kernels.named import Numbers
from dpcheck.algorithms.packing import fill, pack
from dpcheck.algorithms.problem import Problem
from dpcheck.algorithms.solver import Solver
from dpcheck.errors import require


class Spider(Solver):
    """An algorithm with minibatches of two sizes, whose kernel reads its fields and nothing else.

    Attributes
    ----------
    b1, b2 : int
        Minibatch of a refresh and of a difference.
    reals, counts : type
        The real and the whole numbers that the kernel reads, as named tuples.
    """

    b1: int
    b2: int
    reals: ClassVar[type[Any]]
    counts: ClassVar[type[Any]]

    def packed(self, problem: Problem) -> Numbers:
        """Pack the fields, for a problem that has no v, and records enough."""
        require(problem.dim_v == 0, "problem", "have no v: this algorithm minimises over w alone", problem.name)
        n, largest = len(problem.records), max(self.b1, self.b2)
        require(largest <= n, "b1 and b2", f"be at most the number of records, {n}", largest)
        return pack(fill(self.reals, self), fill(self.counts, self))
