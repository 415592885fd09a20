"""The privacy loss of a run, recovered by replay: the score that tells two datasets apart best.

Of a mechanism whose output determines its noise - each step released with fresh additive noise, and
free to depend on the releases before it - one can ask which noise would have given the output on
either dataset. The log-ratio of the densities of these two noises is the log-likelihood ratio of the
output. It is found without knowing the mechanism: runs with silenced and unit noise give a slope,
and steps along it, each a replay, solve ``output(noise) = y``. Where step t sees the noise of steps
up to t only and adds its own linearly, that ends after as many replays as there are steps.

The loss is computed from the output alone. So a membership audit of it keeps its error rate whatever
the mechanism does; if the assumptions fail it only loses power.

>>> def release(x, rng):
...     return sum(x) + rng.normal()
>>> loss = PrivacyLoss.of(release, [1, 2], [1, 0])
>>> round(loss.at(2.5), 6)  # ((2.5 - 1)^2 - (2.5 - 3)^2) / 2
1.0
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcheck.audits.recorder import Recorder
from dpcheck.errors import InputError, require, require_count

Array = NDArray[np.float64]
Mechanism = Callable[[Any, np.random.Generator], Any]

# Each number drawn costs a replay beforehand.
MOST_DRAWS = 2048
_TOLERANCE = 1e-9
_LOG_DENSITY: dict[str, Callable[[Array], Array]] = {
    "gaussian": lambda z: -(z**2) / 2,
    "laplace": lambda z: -np.abs(z),
    "logistic": lambda z: -np.abs(z) - 2 * np.log1p(np.exp(-np.abs(z))),
    "gumbel": lambda z: -z - np.exp(-z),
    "exponential": lambda z: np.where(z >= 0, -z, -np.inf),
}


@dataclass(frozen=True, eq=False)
class _Side:
    """One dataset: output without noise (k,), and the generalised inverse (m, k) of its slope in the noise."""

    dataset: Any
    query: Array
    inverse: Array


@dataclass(frozen=True, eq=False)
class PrivacyLoss:
    """A mechanism ``(dataset, rng) -> loss``, to be audited in place of the one it was made :meth:`of`.

    laws : per number drawn, (m,);  steps : replays that may be needed
    """

    mechanism: Mechanism
    sides: tuple[_Side, _Side]
    laws: tuple[str, ...]
    steps: int
    seed: int

    @classmethod
    def of(cls, mechanism: Mechanism, data: Any, neighbour: Any, *, seed: int = 0) -> PrivacyLoss:
        """Learn the slopes on both datasets, from as many replays as numbers are drawn.

        Raises :class:`~dpcheck.errors.InputError` where other than additive noise is drawn, where draws
        depend on the data, and where the output has fewer numbers than the noise.
        """
        require(callable(mechanism), "mechanism", "be callable", type(mechanism).__name__)
        require_count(seed, "seed", least=0)
        recorders = Recorder(seed), Recorder(seed)
        for dataset, recorder in zip((data, neighbour), recorders, strict=True):
            _run(mechanism, dataset, recorder)
        draws = recorders[0].draws
        other = [draw.method for draw in draws if not draw.law]
        require(not other, "mechanism", "draw additive noise only", other)
        laws = [tuple(law for draw in r.draws for law in [draw.law] * draw.standard.size) for r in recorders]
        require(laws[0] == laws[1], "mechanism", "draw alike on both datasets", f"{len(laws[0])} and {len(laws[1])}")
        require(0 < len(laws[0]) <= MOST_DRAWS, "mechanism", f"draw 1 to {MOST_DRAWS} numbers", len(laws[0]))
        sides = _side(mechanism, data, len(laws[0]), seed), _side(mechanism, neighbour, len(laws[0]), seed)
        return cls(mechanism, sides, laws[0], len(draws), seed)

    def __call__(self, dataset: Any, rng: np.random.Generator) -> float:
        """The loss of a fresh output on ``dataset``."""
        return self.at(_run(self.mechanism, dataset, rng))

    def at(self, output: ArrayLike) -> float:
        """Log-likelihood ratio of ``output``, data over neighbour, up to a constant; natural log.

        +-inf where only one dataset can have given it, 0 where neither.
        """
        y = np.asarray(output, float).ravel()
        first, second = (self._log_density(side, y) for side in self.sides)
        return 0.0 if first == second else first - second

    def _log_density(self, side: _Side, y: Array) -> float:
        if y.shape != side.query.shape:
            return -math.inf
        room = _TOLERANCE * (1 + np.abs(y) + np.abs(side.query))
        z = side.inverse @ (y - side.query)
        for _ in range(self.steps + 1):
            gap = y - _run(self.mechanism, side.dataset, Recorder(self.seed, standard=z))
            if (np.abs(gap) <= room).all():
                laws = np.array(self.laws)
                return float(sum(_LOG_DENSITY[law](z[laws == law]).sum() for law in set(self.laws)))
            z = z + side.inverse @ gap
        return -math.inf


def _side(mechanism: Mechanism, dataset: Any, m: int, seed: int) -> _Side:
    query = _run(mechanism, dataset, Recorder(seed, standard=()))
    columns = [_run(mechanism, dataset, Recorder(seed, standard=unit)) - query for unit in np.eye(m)]
    slope = np.array(columns).T
    require(slope.shape[0] >= m, "mechanism", "release as many numbers as it draws", f"{slope.shape[0]} and {m}")
    require(bool(np.linalg.matrix_rank(slope) == m), "mechanism", "let all its noise reach the output",
            f"noise of rank {np.linalg.matrix_rank(slope)} from {m} numbers")  # fmt: skip
    return _Side(dataset, query, np.asarray(np.linalg.pinv(slope), float))


def _run(mechanism: Mechanism, dataset: Any, rng: np.random.Generator) -> Array:
    try:
        return np.asarray(mechanism(dataset, rng), float).ravel()
    except Exception as error:
        raise InputError(f"mechanism must return numbers, got {type(error).__name__}: {error}") from error
