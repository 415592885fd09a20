"""Encoders of correlated noise for the command: a tree over the steps, or a matrix in a file."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpcheck.accounting.matrix_noise import correlated_noise, tree_encoder
from dpcheck.arrays import real_numbers
from dpcheck.errors import InputError, one_line, require, require_count
from dpcheck.events import Event

_LARGEST_TREE = 10_000  # steps
_LARGEST_FILE = 500_000_000


def read_encoder(path: str) -> NDArray[np.float64]:
    """Read a matrix (rows, steps) from a file of NumPy (.npy) or of numbers apart by commas; InputError otherwise."""
    file = Path(path)
    try:
        require(file.stat().st_size <= _LARGEST_FILE, "--encoder", "be a file of at most 500 megabytes", path)
        if file.suffix == ".npy":
            loaded = real_numbers(np.load(file, allow_pickle=False), "--encoder")
            require(loaded.ndim == 2, "--encoder", "be a matrix", f"an array of shape {loaded.shape}")
            return loaded
        return np.loadtxt(file, delimiter=",", ndmin=2, dtype=np.float64)
    except (OSError, ValueError, TypeError, EOFError) as error:
        raise InputError(
            f"--encoder must be tree or a readable file of numbers, got {path}: {one_line(error)}"
        ) from error


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
