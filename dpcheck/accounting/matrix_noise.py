"""Noise that is correlated between steps: the matrix mechanism, banded or a tree, as one Gaussian.

A run that releases B (C G + Z), G (steps, d) the steps' clipped gradients and Z white, is post-processing of C G + Z: a
Gaussian mechanism whose sensitivity is that of the encoder C. With C lower triangular this also holds where gradients
depend on earlier outputs (Denisov, McMahan, Rush, Smith and Guha Thakurta 2022, Theorem 2.1).

A record that joins the steps i in a pattern changes C G by sum_i c_i g_i, c_i the columns of C and |g_i| <= 1 of any
direction: at most the root of sum_{i, j} |<c_i, c_j>| over the pattern. Joining at most ``participations`` steps, any
two at least ``separation`` apart, each of the other steps of a pattern lies in a block of its own of that length to
the left or right of i; with the largest |<c_i, c_j>| of each block the sum over the pattern is one of single terms,
whose largest value a dynamic programme finds. For a C of bandwidth at most the separation all those are 0: it is exact.
"""

from __future__ import annotations

import math
import warnings
from argparse import Namespace
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcheck.arrays import real_numbers
from dpcheck.errors import InputError, one_line, require, require_count
from dpcheck.events import Event, Gaussian, shift_of
from dpcheck.reading import array_of, text_of, within


def encoder_sensitivity(encoder: ArrayLike, *, participations: int = 1, separation: int = 1) -> float:
    """Bound how much a record changes what C (rows, steps) encodes; exact where columns so far apart do not overlap.

    >>> encoder = [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
    >>> round(encoder_sensitivity(encoder, participations=2, separation=2) ** 2, 9)
    4.0
    """
    C = real_numbers(encoder, "encoder")
    good = C.ndim == 2 and C.size > 0 and bool(np.all(np.isfinite(C)))
    require(good, "encoder", "be a matrix of finite numbers", np.shape(encoder))
    require_count(participations, "participations")
    require_count(separation, "separation")
    unit = float(np.abs(C).max()) or 1.0  # products of tiny entries would be 0
    C = C / unit
    products = np.abs(C.T @ C) * (1 + 1e-14 * C.shape[0])
    worth = np.array([_worth(row, i, participations, separation) for i, row in enumerate(products)])
    return unit * math.sqrt(_heaviest(worth, participations, separation)) * (1 + 1e-14)


def correlated_noise(
    encoder: ArrayLike, noise_multiplier: float, *, participations: int = 1, separation: int = 1
) -> Gaussian:
    """Describe a whole run with noise correlated between its steps as one event.

    Parameters
    ----------
    encoder : array_like, shape (rows, steps)
        C, lower triangular where gradients depend on earlier outputs.
    noise_multiplier : float
        Standard deviation of the white noise Z over the sensitivity of one step's query between neighbours.
    participations, separation : int
        As in :func:`encoder_sensitivity`; without amplification by sampling.

    Returns
    -------
    Gaussian
        One event, to be certified with others.

    References
    ----------
    S. Denisov, B. McMahan, K. Rush, A. Smith, A. Guha Thakurta. Improved differential privacy for SGD via optimal
    private linear operators on adaptive streams. NeurIPS 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcheck.accounting.matrix_noise import correlated_noise
    >>> round(correlated_noise(np.eye(10), 2.0, participations=4).noise_multiplier, 6)
    1.0
    """
    sensitivity = encoder_sensitivity(encoder, participations=participations, separation=separation)
    shift = shift_of(Gaussian(noise_multiplier).noise_multiplier) * sensitivity if sensitivity else 0.0
    return Gaussian(math.inf if shift == 0 else 1 / shift)


def tree_encoder(steps: int) -> NDArray[np.float64]:
    """Return the encoder of a binary tree over the steps: a row for each node that is complete, (nodes, steps)."""
    require_count(steps, "steps")
    rows: list[Any] = []
    width = 1
    while width <= steps:
        for first in range(0, steps - width + 1, width):
            rows.append([float(first <= i < first + width) for i in range(steps)])
        width *= 2
    return np.array(rows)


def _worth(row: NDArray[np.float64], i: int, participations: int, separation: int) -> float:
    """The most that step i and its products with the other steps of a pattern add."""
    right, left = row[i + separation :], row[: max(i - separation + 1, 0)][::-1]
    blocks = [side[k : k + separation].max() for side in (left, right) for k in range(0, side.size, separation)]
    return float(row[i] + sum(sorted(blocks, reverse=True)[: participations - 1]))


def _heaviest(worth: NDArray[np.float64], participations: int, separation: int) -> float:
    """The largest sum of so many of these, any two of them so far apart."""
    most = min(participations, -(-worth.size // separation))
    best = np.zeros(worth.size + 1)  # of the first steps, with as many participations as there were turns
    for _ in range(most):
        taken = worth + best[np.maximum(np.arange(worth.size) - separation + 1, 0)]
        best = np.maximum.accumulate(np.concatenate([[0.0], taken]))
    return float(best[-1])


_LARGEST_TREE = 10_000  # steps


def read_encoder(path: str) -> NDArray[np.float64]:
    """Read a matrix (rows, steps) from a file of NumPy (.npy) or of numbers apart by commas; InputError otherwise."""
    with within(path):
        if path.endswith(".npy"):
            loaded = real_numbers(array_of(path, "--encoder"), "--encoder")
            require(loaded.ndim == 2, "--encoder", "be a matrix", f"an array of shape {loaded.shape}")
            return loaded
        lines = text_of(path, "--encoder").split("\n")
        try:
            with warnings.catch_warnings(action="ignore"):  # of an empty file
                return np.loadtxt(lines, delimiter=",", ndmin=2, dtype=np.float64)
        except ValueError as error:
            raise InputError(f"--encoder must be tree or a file of numbers, got: {one_line(error)}") from error


def correlated_events(options: Namespace) -> Callable[[float], Event]:
    """Return what makes the one event of a run with correlated noise from a multiplier."""
    for name in ("batch", "population", "sampling", "neighbours", "noise"):
        require(getattr(options, name) is None, f"--{name}", "come without --encoder", getattr(options, name))
    if options.encoder == "tree":
        require(options.steps is not None, "--steps", "be given with --encoder tree", "nothing")
        require_count(options.steps, "--steps")
        require(options.steps <= _LARGEST_TREE, "--steps", f"be at most {_LARGEST_TREE} with a tree", options.steps)
        encoder = tree_encoder(options.steps)
    else:
        encoder = read_encoder(options.encoder)
        matches = options.steps in (None, encoder.shape[-1])
        require(matches, "--steps", f"be the encoder's columns, {encoder.shape[-1]}, or left out", options.steps)
    how_often = 1 if options.participations is None else options.participations
    apart = 1 if options.separation is None else options.separation
    return lambda z: correlated_noise(encoder, z, participations=how_often, separation=apart)
