"""A rate that an algorithm of one's own promises: what is measured, on which grid, against which law."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import Protocol

from dpcheck.errors import require, require_count


class Bound(Protocol):
    """A theorem as a rate needs it; :class:`~dpcheck.bounds.theorem.Theorem` is one."""

    @property
    def id(self) -> str:
        """The theorem's name."""

    def bound(self, **values: float) -> float:
        """Return the number that the theorem states.

        Parameters
        ----------
        **values : float
            The theorem's parameters by name.

        Returns
        -------
        float
            The bound.
        """


@dataclass(frozen=True, kw_only=True, eq=False)
class RateClaim:
    """A rate that an algorithm of one's own promises, and how to measure it.

    Parameters
    ----------
    measure : callable
        ``(rng, **setting) -> number``: draws data from ``rng``, runs the algorithm and returns the error, such as the
        gap in a problem whose optimum is known in closed form.
    grid : mapping
        Name of a setting -> its levels, such as ``{"n": (250, 500, 1000, 2000)}``; all combinations are measured.
    claimed : mapping, optional
        Name of a setting -> claimed exponent, such as ``{"n": -0.5}``; an upper bound.
    theorem : Theorem, optional
        In place of ``claimed``: its bound at each setting is the claimed law, and a number not to be exceeded.
    constants : mapping
        What the theorem's bound takes beside the settings, such as ``{"epsilon": 1.0}``.
    seeds : int
        Measurements of each combination.
    """

    measure: Callable[..., float]
    grid: Mapping[str, Sequence[float]]
    claimed: Mapping[str, float] = field(default_factory=dict)
    theorem: Bound | None = None
    constants: Mapping[str, float] = field(default_factory=dict)
    seeds: int = 20

    def __post_init__(self) -> None:
        require(callable(self.measure), "measure", "be a function (rng, **setting) -> number", self.measure)
        good = isinstance(self.grid, Mapping) and bool(self.grid)
        good = good and all(isinstance(levels, Sized) and len(levels) >= 3 for levels in self.grid.values())
        require(good, "grid", "have at least three levels of each setting", self.grid)
        require(bool(self.claimed) != (self.theorem is not None), "claimed", "be given, or a theorem", self.claimed)
        require(set(self.claimed) <= set(self.grid), "claimed", "name settings of the grid", dict(self.claimed))
        require_count(self.seeds, "seeds", least=3)
