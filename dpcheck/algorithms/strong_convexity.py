"""Strong convexity and smoothness of what a step descends along, from which its contraction follows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dpcheck.errors import require

_UP = 1e-15  # past the rounding of a contraction


@dataclass(frozen=True, kw_only=True, eq=False)
class StrongConvexity:
    """What makes the steps z <- P(z - eta (F(z) + noise)) contract: a strongly convex objective, or a saddle.

    Parameters
    ----------
    gradient : callable
        ``(state, data) -> F(state)``, of the state's shape and without noise: the objective's gradient, or with
        ``saddle`` (grad_w f, -grad_v f), as a step follows it.
    eta : float
        Step size, > 0.
    mu : float
        Strong convexity, > 0; with ``saddle`` also strong concavity in v. It holds for every data set and minibatch.
    L : float
        Lipschitz constant of F, at least mu, for every data set and minibatch.
    saddle : bool
        Whether F belongs to a saddle and not to a minimum, where less is known (``bok2024.saddle_step``).

    Raises
    ------
    InputError
        For numbers outside the theorem's region, such as eta > 2/(mu + L) for a minimum.

    Examples
    --------
    >>> import dpcheck
    >>> def gradient(w, data):
    ...     return w - data.mean(axis=0)
    >>> round(dpcheck.StrongConvexity(gradient=gradient, eta=0.1, mu=1.0, L=1.0).contraction, 6)
    0.9
    """

    gradient: Callable[[Any, Any], Any]
    eta: float
    mu: float
    L: float
    saddle: bool = False

    def __post_init__(self) -> None:
        require(callable(self.gradient), "gradient", "be a function (state, data) -> array", self.gradient)
        require(isinstance(self.saddle, bool), "saddle", "be True or False", self.saddle)
        _ = self.contraction  # which refuses what lies outside the theorem's region

    @property
    def theorem(self) -> str:
        """The name of the theorem that gives the contraction."""
        return f"bok2024.{'saddle' if self.saddle else 'gradient'}_step"

    @property
    def contraction(self) -> float:
        """The Lipschitz constant of z - eta F(z)."""
        from dpcheck.bounds.registry import theorem  # here, as it loads sympy

        return theorem(self.theorem).bound(eta=self.eta, mu=self.mu, L=self.L) * (1 + _UP) + _UP

    @property
    def words(self) -> str:
        """The contraction, and what it follows from."""
        given = f"eta {self.eta:g}, mu {self.mu:g} and L {self.L:g}"
        return f"contraction {self.contraction:.6g} follows from {given} ({self.theorem})"


def lipschitz(given: float | StrongConvexity | None) -> float | None:
    """Return the contraction that is declared, or that follows from what is."""
    return given.contraction if isinstance(given, StrongConvexity) else given
