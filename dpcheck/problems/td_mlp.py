"""Temporal-difference learning with a multilayer perceptron as the value function: Zhang et al. 2025, Eq. (68).

A record is a transition (s, s', r, c), c = 0 where the episode ends and 1 elsewhere. With V_theta, its gradient
Psi(s) and the error delta = r + gamma c V(s') - V(s), min over theta, max over omega of the mean of
f = delta u - u^2 / 2,  u = <Psi(s), omega>.
The maximum over omega is the mean-squared projected Bellman error of Eq. (67), half the mean square of the
projection of delta onto the span of Psi: best response and primal function are least squares.

V(s) = <c, tanh((s, 1) W)> + c_0 with one hidden layer (50 units in the paper, which does not name the
activation; tanh makes the Hessian in f's gradient exist). With tau = tanh(z), z' = (s, 1) Omega for the part
Omega of omega that belongs to W, gamma_c the part that belongs to c, and all products of vectors entry by entry:
u       = <omega_c, tau> + omega_0 + <c, tau' z'>
grad u  = (s, 1) outer (omega_c tau' + c tau'' z') in W, tau' z' in c, 0 in c_0
grad f  = u (gamma c Psi(s') - Psi(s)) + (delta - u) grad u in theta, (delta - u) Psi(s) in omega.

Bounds for |s|, |s'| <= 1, |r| <= R, |theta|, |omega| <= B, H units, from |tau| <= |z|, |tau'| <= 1,
|tau''| <= k = 4/(3 sqrt 3), |tau'''| <= 2:
|(tau, 1)| <= A = sqrt(min(H, 2 B^2) + 1), |V| <= A B, |Psi| <= D = sqrt(2 B^2 + A^2), |u| <= D B,
|delta| <= E = R + (1 + gamma) A B, |Hessian of V| <= N = |[[sqrt 2, 2 k B], [0, sqrt 2]]| (by the parts in c
and W), |third derivative of V| <= 4 sqrt 2 B + 6 k = T (c tau''' z' z' z' and thrice omega_c tau'' z' z'). So
G_w = (1 + gamma) D^2 B + (E + D B) N B,  G_v = (E + D B) D,
L  <= 2 (1 + gamma) D U + U^2 + (1 + gamma) D B N + (E + D B) |[[T B, N], [N, 0]]|,  U = sqrt(N^2 B^2 + D^2),
from the Hessian grad u grad delta' + grad delta grad u' - grad u grad u' + u Hess delta + (delta - u) Hess u.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpcheck.algorithms.problem import Array, Constants, Defaults, fields_read
from dpcheck.errors import InputError, require, require_positive, require_work
from dpcheck.problems import as_records
from dpcheck.problems import td_mlp_kernels as kernels
from dpcheck.problems.mlp import Network


@dataclass(frozen=True, eq=False)
class TDMLP(Defaults):
    """Temporal-difference learning with a perceptron; build it with :meth:`from_transitions` or :meth:`chain`.

    Parameters
    ----------
    records : ndarray, (n, 2k + 2) float64
        Rows (s, s', r, c) with |s|, |s'| <= 1, |r| <= reward and c in {0, 1}.
    hidden : int
        H hidden units.
    gamma : float
        Discount in [0, 1).
    reward : float
        R > 0.
    radius : float
        B > 0, inf for none.
    seed : int
        Seed of the start, which is public: theta random, omega 0.
    """

    records: Array
    hidden: int = 50
    gamma: float = 0.95
    reward: float = 1.0
    radius: float = math.inf
    seed: int = 0
    name: str = "td_mlp"
    network: Network = field(init=False)

    gradient = staticmethod(kernels.gradient)
    value = staticmethod(kernels.value)
    mean = staticmethod(kernels.mean)
    difference = staticmethod(kernels.difference)
    params = fields_read("gamma", "hidden")
    convex = False

    def __post_init__(self) -> None:
        records = as_records(self.records, "records")
        k = records.shape[1] // 2 - 1
        require(k >= 1 and records.shape[1] % 2 == 0, "records", "have 2k + 2 columns, k >= 1", records.shape[1])
        largest = float(np.linalg.norm(records[:, : 2 * k].reshape(len(records), 2, k), axis=2).max())
        require(largest <= 1 + 1e-9, "records", "have states of norm <= 1", f"a state of norm {largest:.6g}")
        self._require_positive("reward")
        largest = float(np.abs(records[:, 2 * k]).max())
        require(largest <= self.reward, "records", f"have rewards of at most {self.reward} in size", largest)
        require(bool(np.isin(records[:, -1], (0, 1)).all()), "records", "end in 0 or 1", records[:, -1])
        require_work(self.hidden, "hidden")
        require(0 <= self.gamma < 1, "gamma", "lie in [0, 1)", self.gamma)
        require(self.radius > 0, "radius", "be > 0", self.radius)
        self._set(records=records, network=Network((k, self.hidden, 1), 1.0))

    @classmethod
    def from_transitions(
        cls, states: object, next_states: object, rewards: object, ended: object, *, scale: float = 1.0, **settings: Any
    ) -> TDMLP:
        """Make the problem of transitions.

        Parameters
        ----------
        states, next_states : array_like, (n, k)
            A state s is stored as s / max(scale, |s|).
        rewards : array_like, (n,)
            The rewards.
        ended : array_like of bool, (n,)
            Whether the episode ended there.
        scale : float
            A public number > 0.
        **settings : object
            Fields of the problem.

        Returns
        -------
        TDMLP
            The problem.
        """
        require_positive(scale, "scale")
        s = as_records(states, "states")
        s_next = as_records(next_states, "next_states", s.shape[1])
        r, c = np.asarray(rewards, float).ravel(), 1.0 - np.asarray(ended, float).ravel()
        for name, column in (("next_states", s_next), ("rewards", r), ("ended", c)):
            require(len(column) == len(s), name, f"have one row a state ({len(s)})", len(column))
        s, s_next = (x / np.maximum(scale, np.linalg.norm(x, axis=1, keepdims=True)) for x in (s, s_next))
        return cls(np.column_stack([s, s_next, r, c]), **settings)

    @classmethod
    def from_gymnasium(cls, environment: str, n: int, *, seed: int = 0, scale: float = 1.0, **settings: Any) -> TDMLP:
        """Draw transitions of a gymnasium environment under uniformly random actions.

        Parameters
        ----------
        environment : str
            Its name; the paper takes CartPole, Acrobot and Pong. Observations must be vectors.
        n : int
            Number of transitions.
        seed : int
            Seed of the environment and of the actions.
        scale : float
            A public number > 0, as in :meth:`from_transitions`.
        **settings : object
            Fields of the problem.

        Returns
        -------
        TDMLP
            The problem.
        """
        try:
            import gymnasium  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            raise InputError(
                "environment must be played by gymnasium, which is not installed: pip install 'dpcheck[reinforcement]'"
            ) from None
        require_work(n, "n")
        rows = []
        with gymnasium.make(environment) as world:
            world.action_space.seed(seed)
            state, _ = world.reset(seed=seed)
            for _ in range(n):
                following, reward, ended, cut, _ = world.step(world.action_space.sample())
                rows.append((state, following, float(reward), ended))
                state = world.reset()[0] if ended or cut else following
        return cls.from_transitions(*zip(*rows, strict=True), scale=scale, **settings)

    @classmethod
    def chain(cls, n: int, rng: np.random.Generator, **settings: Any) -> TDMLP:
        """Draw ``n`` transitions of a walk on 0, ..., 9: up with probability 0.7, down otherwise (0 stays at 0).

        Reaching 9 pays 1 and ends the episode, which starts again at 0. State i is (cos, sin)(pi i/9).
        """
        angles = np.pi * np.arange(10) / 9
        features = np.column_stack([np.cos(angles), np.sin(angles)]) / (1 + 1e-12)
        at, rows = 0, []
        for up in rng.random(n) < 0.7:
            to = at + 1 if up else max(at - 1, 0)
            rows.append((*features[at], *features[to], float(to == 9), float(to != 9)))
            at = to if to < 9 else 0
        return cls(np.array(rows), **settings)

    @classmethod
    def example(cls, rng: np.random.Generator) -> TDMLP:
        """Draw the example: 200 transitions of the chain, 4 hidden units, B = 2."""
        return cls.chain(200, rng, hidden=4, radius=2.0)

    @property
    def dim_w(self) -> int:
        """The number of parameters of V, and of omega."""
        return self.network.size

    dim_v = dim_w

    @property
    def start(self) -> Array:
        return np.concatenate([self.network.begin(self.seed, self.radius), np.zeros(self.dim_v)])

    def constants(self) -> Constants:
        """G_w, G_v and the bound on L in the file's head, with its letters."""
        B, g, k = self.radius, 1 + self.gamma, 4 / (3 * math.sqrt(3))
        if math.isinf(B):
            return Constants()
        A = math.sqrt(min(self.hidden, 2 * B**2) + 1)
        D, E, T = math.sqrt(2 * B**2 + A**2), self.reward + g * A * B, 4 * math.sqrt(2) * B + 6 * k
        N = float(np.linalg.norm([[math.sqrt(2), 2 * k * B], [0.0, math.sqrt(2)]], 2))
        U = math.hypot(N * B, D)
        joint = float(np.linalg.norm([[T * B, N], [N, 0.0]], 2))
        return Constants(
            lipschitz_w=g * D**2 * B + (E + D * B) * N * B,
            lipschitz_v=(E + D * B) * D,
            smoothness=2 * g * D * U + U**2 + g * D * B * N + (E + D * B) * joint,
        )

    def features(self, w: Array) -> tuple[Array, Array]:
        """Return Psi : (n, d) and delta : (n,) of the records at theta = w."""
        k = self.network.widths[0]
        matrix, last = self.network.layers(w)
        s = np.column_stack([self.records[:, :k], np.ones(len(self.records))])
        s_next = np.column_stack([self.records[:, k : 2 * k], np.ones(len(self.records))])
        tau, next_tau = np.tanh(s @ matrix), np.tanh(s_next @ matrix)
        back = last[:-1, 0] * (1 - tau**2)
        psi = np.column_stack([(s[:, :, None] * back[:, None]).reshape(len(s), -1), tau, np.ones(len(s))])
        values, next_values = (t @ last[:-1, 0] + last[-1, 0] for t in (tau, next_tau))
        delta: Array = self.records[:, 2 * k] + self.gamma * self.records[:, -1] * next_values - values
        return psi, delta

    def best_response(self, w: Array) -> Array:
        """Return the shortest maximiser over all omega: least squares of delta on Psi."""
        psi, delta = self.features(w)
        omega: Array = np.asarray(np.linalg.lstsq(psi, delta, rcond=None)[0], float)
        return omega

    def primal(self, w: Array) -> float:
        """Return the mean-squared projected Bellman error, Eq. (67)."""
        psi, delta = self.features(w)
        return float(0.5 * np.mean((psi @ np.linalg.lstsq(psi, delta, rcond=None)[0]) ** 2))
