"""Markov chain on a ring: TD learning of a policy's value function, known in closed form.

S states in a ring. The policy moves right with probability q and left otherwise; the reward in state s
is cos(2 pi s/S). The value function V = r + gamma P V is, with omega = 2 pi/S,
V(s) = Re( e^{i omega s} / (1 - gamma (q e^{i omega} + (1 - q) e^{-i omega})) ),
since e^{i omega s} is an eigenvector of the shift P. The stationary law is uniform.

A record is a transition (s, s', r), |r| <= 1, and the saddle problem is that of
:mod:`dpcheck.problems.linear_td` with one feature a state,
f(w, v; (s, s', r)) = delta v_s - v_s^2/2,  delta = r + gamma w_{s'} - w_s,
W = [-R, R]^S, R = 1/(1 - gamma), which holds V; V-domain [-Lam, Lam]^S, Lam = 1 + (1 + gamma) R, which
holds every best response: y*_s = the mean of delta over the records that start in s, 0 if none does.
With D = diag of the shares of the states, Phi = 1/2 sum_s D_s y*_s^2, quadratic, rho_Phi = 0; it is 0 at
the value function of the chain that the records' frequencies define (the certainty-equivalent one).

G_w = sqrt(1 + gamma^2) Lam (at s' = s less), G_v = 1 + (1 + gamma) R + Lam, and L is the norm of
[[0, sqrt(1 + gamma^2)], [., -1]], along gamma e_{s'} - e_s and e_s. One record is not strongly concave;
the mean is, with the least share of a state, a number of the private data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.algorithms.kernels.jit import GRADIENT_SIGNATURE, VALUE_SIGNATURE, kernel
from dpcheck.algorithms.problem import Array, Constants
from dpcheck.algorithms.problem_domains import BOX, blocks
from dpcheck.algorithms.properties import fields_read
from dpcheck.algorithms.records import as_records, require_within
from dpcheck.errors import require, require_count
from dpcheck.problems.nonconvex import StronglyConcave, spectral


@kernel(GRADIENT_SIGNATURE)
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Partial gradients v_s (gamma e_s' - e_s) and (delta - v_s) e_s of one record (s, s', r)."""
    gamma, here, there = params[0], int(record[0]), int(record[1])
    out_w[:] = 0.0
    out_v[:] = 0.0
    out_w[here] -= v[here]
    out_w[there] += gamma * v[here]
    out_v[here] = record[2] + gamma * w[there] - w[here] - v[here]


@kernel(VALUE_SIGNATURE)
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """f of one record (s, s', r)."""
    here, there = int(record[0]), int(record[1])
    return v[here] * (record[2] + params[0] * w[there] - w[here] - 0.5 * v[here])


@dataclass(frozen=True, eq=False)
class MDP(StronglyConcave):
    """Policy evaluation on a ring of states.

    Parameters
    ----------
    records : ndarray, (n, 3) float64
        Transitions (s, s', r), s and s' whole numbers in [0, states), |r| <= 1.
    states : int
        S >= 3.
    discount : float
        gamma in [0, 1).
    right : float
        q in [0, 1], the policy.
    """

    records: Array
    states: int = 5
    discount: float = 0.9
    right: float = 0.75
    name: str = "mdp"

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    params = fields_read("discount")
    example_size = (500, 5)

    def __post_init__(self) -> None:
        require_count(self.states, "states", least=3)
        require(0 <= self.discount < 1, "discount", "lie in [0, 1)", self.discount)
        require(0 <= self.right <= 1, "right", "lie in [0, 1]", self.right)
        records = as_records(self.records, "records", 3)
        numbers = records[:, :2]
        good = bool((numbers == np.floor(numbers)).all() and numbers.min() >= 0 and numbers.max() < self.states)
        require(good, "records", f"hold states 0 to {self.states - 1}", np.unique(numbers)[[0, -1]])
        require_within(np.abs(records[:, 2]), 1, "rewards |r|")
        self._set(records=records)

    @classmethod
    def sample(cls, n: int, d: int, rng: np.random.Generator, **constants: Any) -> MDP:
        """Draw ``n`` independent transitions from the stationary law of a ring of d states."""
        require_count(n, "n")
        require_count(d, "d", least=3)
        here = rng.integers(0, d, n)
        step = np.where(rng.random(n) < constants.get("right", cls.right), 1, -1)
        reward = np.cos(2 * np.pi * here / d)
        return cls(np.column_stack([here, (here + step) % d, reward]), d, **constants)

    @property
    def dim_w(self) -> int:
        """S, of w and of v."""
        return self.states

    dim_v = dim_w

    @property
    def radius(self) -> float:
        """R = 1/(1 - gamma)."""
        return 1 / (1 - self.discount)

    @property
    def reach(self) -> float:
        """Lam = 1 + (1 + gamma) R."""
        return 1 + (1 + self.discount) * self.radius

    @property
    def domain_w(self) -> Array:
        """[-R, R]^S."""
        return blocks((self.states, BOX, self.radius))

    @property
    def domain_v(self) -> Array:
        """[-Lam, Lam]^S."""
        return blocks((self.states, BOX, self.reach))

    def constants(self) -> Constants:
        """G_v = 1 + (1 + gamma) R + Lam = 2 Lam."""
        root = math.hypot(1, self.discount)
        return Constants(
            lipschitz_w=root * self.reach,
            lipschitz_v=2 * self.reach,
            smoothness=spectral(0.0, root, 1.0),
            hessian_lipschitz=0.0,
        )

    @property
    def empirical_concavity(self) -> float:
        """The least share of a state: the mean's strong concavity, which the private data decide."""
        return float(self._shares().min())

    def best_response(self, w: Array) -> Array:
        here, there, reward = self._columns()
        delta = reward + self.discount * w[there] - w[here]
        return self._state_means(delta)

    def primal(self, w: Array) -> float:
        return float(0.5 * self._shares() @ self.best_response(w) ** 2)

    def primal_gradient(self, w: Array) -> Array:
        return np.asarray(self._slopes().T @ (self._shares() * self.best_response(w)))

    def primal_hessian(self, w: Array) -> Array:
        slopes = np.sqrt(self._shares())[:, None] * self._slopes()
        return np.asarray(slopes.T @ slopes)

    def saddle(self) -> tuple[Array, Array]:
        """Return the certainty-equivalent value function and 0; an error where a state was never left."""
        require(self.empirical_concavity > 0, "records", "start in every state", self._shares())
        reward = self._state_means(self._columns()[2])
        return np.asarray(np.linalg.solve(-self._slopes(), reward), dtype=float), np.zeros(self.states)

    def value_function(self) -> Array:
        """Return V of the chain that :meth:`sample` draws from, see the file's head : (S,)."""
        turn = np.exp(2j * np.pi / self.states)
        factor = 1 / (1 - self.discount * (self.right * turn + (1 - self.right) / turn))
        return np.asarray((turn ** np.arange(self.states) * factor).real)

    def _columns(self) -> tuple[Any, Any, Array]:
        """Return the states that the transitions leave, those they enter, and the rewards."""
        here, there = self.records[:, :2].astype(np.int64).T
        return here, there, self.records[:, 2]

    def _shares(self) -> Array:
        """Return the share of the transitions that leave each state : (S,)."""
        return np.asarray(np.bincount(self._columns()[0], minlength=self.states) / len(self.records))

    def _state_means(self, values: Array) -> Array:
        """Return means of ``values`` (n, ...) over the records that start in each state, 0 where none does."""
        sums = np.zeros((self.states, *values.shape[1:]))
        np.add.at(sums, self._columns()[0], values)
        counts = np.maximum(len(self.records) * self._shares(), 1)
        return sums / counts.reshape(-1, *[1] * (values.ndim - 1))

    def _slopes(self) -> Array:
        """Return the derivative of the best response in w : (S, S), gamma times the empirical chain - I."""
        here, there, _ = self._columns()
        unit = np.eye(self.states)
        return self._state_means(self.discount * unit[there] - unit[here])
