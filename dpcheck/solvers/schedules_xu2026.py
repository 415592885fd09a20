"""The schedules of DP-RGDA by Theorems 1 and 2 of Xu et al. 2026, as published and repaired: numbers, nothing else.

Each class is one of the four; :meth:`DPRGDA.configure` takes from it what is not given. The head of ``dp_rgda`` has the
table of what differs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class EmpiricalPrinted:
    """Theorem 1 with the numbers of Lemma 5.

    n, d, delta : records, dimension and delta;  a : sqrt(d log(1/delta))/(n epsilon)
    L, mu : smoothness and strong concavity;  F0 : bound on Phi(x_0) - min Phi;  failure : delta_1 and delta_2
    M : called with the name of the number that needs it, returns the bound on the gradients
    """

    n: int
    d: int
    delta: float
    a: float
    L: float
    mu: float
    F0: float
    failure: float
    M: Callable[[str], float]

    def alpha(self) -> float:
        """Accuracy of the second-order point."""
        return float(self.a ** (2 / 3))

    def eta(self, alpha: float) -> float:
        """Step of descent."""
        return 1 / (2 * self.L)

    def K(self) -> int:
        """Steps of an inner ascent."""
        return 1

    def steps(self, alpha: float, eta: float) -> int:
        """T."""
        least = float(((self.L * self.F0) ** 0.25 / (math.sqrt(self.M("steps")) * self.a)) ** (4 / 3))
        return math.ceil(max(least, 1 / (self.a * math.sqrt(-math.log(self.delta)))))

    def period(self, alpha: float, steps: int) -> int:
        """q, before it is raised to 1."""
        return math.floor(1 / (self.L**2 * steps * self.a**2))

    def S1(self, refreshes: int) -> int:
        """Minibatch of a refresh."""
        return self.n

    def S2(self, steps: int, differences: int) -> int:
        """Minibatch of a difference."""
        M, root = self.M("S2"), math.sqrt(self.F0 * self.L)
        shares = M / (root * self.a), M * self.n * self.d * -math.log(self.delta) / root
        return min(self.n, max(1, math.ceil(max(float(shares[0] ** (2 / 3)), float(shares[1] ** (1 / 3))))))

    def C_u(self, alpha: float, eta: float) -> float:
        """Clipping norm of a difference."""
        return self.L * eta

    def R(self, most: float, L_Phi: float, eta_H: float) -> float:
        """How far an escape goes; ``most`` is the farthest that Lemma 7 allows."""
        return 1 / (2 * L_Phi * eta_H)

    def perturbation(self) -> float | None:
        """r where it does not follow from R, and the root of D_bar."""
        return None


class EmpiricalRepaired(EmpiricalPrinted):
    """Theorem 1 as its proof has it."""

    def eta(self, alpha: float) -> float:
        return alpha / (2 * self.L)

    def K(self) -> int:
        return max(2, math.ceil(self.L / self.mu))

    def steps(self, alpha: float, eta: float) -> int:
        return math.ceil(self.L * (1 + self.L / self.mu) * self.F0 / alpha**2)

    def period(self, alpha: float, steps: int) -> int:
        return math.floor(1 / (steps * self.a**2))

    def S2(self, steps: int, differences: int) -> int:
        return min(self.n, max(1, math.ceil(max(self.n / math.sqrt(steps), 1 / (steps * self.a**2)))))

    def C_u(self, alpha: float, eta: float) -> float:
        return alpha

    def R(self, most: float, L_Phi: float, eta_H: float) -> float:
        return most


class PopulationPrinted(EmpiricalPrinted):
    """Theorem 2 with the sizes of Lemma 8's proof, its constants 1."""

    @property
    def logs(self) -> float:
        """log(4/delta_1)."""
        return math.log(4 / self.failure)

    def alpha(self) -> float:
        return float(self.n ** (-1 / 3)) + math.sqrt(self.a)

    def eta(self, alpha: float) -> float:
        """Return Lemma 8's length, which is also its r and the root of its D."""
        return math.sqrt(self.a) / (self.L * self.logs)

    def K(self) -> int:
        return math.ceil(self.L / self.mu)

    def steps(self, alpha: float, eta: float) -> int:
        return math.ceil(float(self.a ** (-2 / 3)))

    def period(self, alpha: float, steps: int) -> int:
        return math.floor(float(self.a ** (-1 / 3)))

    def S1(self, refreshes: int) -> int:
        return math.ceil(float(self.n ** (2 / 3)))

    def S2(self, steps: int, differences: int) -> int:
        return min(self.n, math.ceil(self.logs**2 * self.L / self.mu * float(self.a ** (-1 / 3))))

    def perturbation(self) -> float | None:
        return self.eta(0.0)


class PopulationRepaired(EmpiricalRepaired):
    """Theorem 2 with the sizes of claim 002:Thm2: each record is in one minibatch, half of them for refreshes."""

    def alpha(self) -> float:
        return float(self.n ** (-1 / 3)) + math.sqrt(self.a)

    def eta(self, alpha: float) -> float:
        return alpha / self.L

    def steps(self, alpha: float, eta: float) -> int:
        return math.ceil(self.F0 / (eta * alpha))

    def period(self, alpha: float, steps: int) -> int:
        return math.ceil(self.a / alpha**3 + 1 / (self.n * alpha**4))

    def S1(self, refreshes: int) -> int:
        return max(1, self.n // 2 // refreshes)

    def S2(self, steps: int, differences: int) -> int:
        return max(1, self.n // 2 // differences)

    def C_u(self, alpha: float, eta: float) -> float:
        return 2 * alpha


SCHEDULES = {
    ("1", False): EmpiricalPrinted,
    ("1", True): EmpiricalRepaired,
    ("2", False): PopulationPrinted,
    ("2", True): PopulationRepaired,
}
