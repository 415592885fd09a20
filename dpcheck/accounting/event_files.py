"""Files of what a run released: privacy events as JSON objects, and encoders of correlated noise.

An event is a JSON object with a ``class_name`` and the event's fields.
"""

from __future__ import annotations

import json
import math
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck import events as own
from dpcheck.accounting.matrix_noise import correlated_noise, tree_encoder
from dpcheck.arrays import real_numbers
from dpcheck.errors import InputError, one_line, require, require_count
from dpcheck.events import Event
from dpcheck.json_text import once

_OWN = {
    kind.__name__: kind
    for kind in (own.Gaussian, own.Laplace, own.Sampled, own.RandomAllocation, own.Repeated, own.Disjoint)
}
_LARGEST_FILE = 50_000_000


def read_event_file(path: str) -> Any:
    """Read a file of events; InputError if it holds anything else."""
    try:
        file = Path(path)
        require(file.stat().st_size <= _LARGEST_FILE, "FILE.json", "hold at most 50 megabytes", path)
        found = json.loads(file.read_text(encoding="utf-8-sig"), parse_int=_whole, object_pairs_hook=once)
        if isinstance(found, dict) and "history" in found:
            found = found["history"]
            require(found != [], "the history in FILE.json", "be that of a training that began", "an empty one")
        if _is_named_tuple(found):
            return _event(found)
        rows = isinstance(found, list) and found and all(isinstance(row, list) for row in found)
        if rows and not any(map(_is_named_tuple, found)):
            return [tuple(row) for row in found]
        return [_event(item) for item in found] if isinstance(found, list) else _event(found)
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"FILE.json must be a readable file of JSON, got {path}: {one_line(error)}") from error
    except RecursionError as error:
        raise InputError(f"FILE.json must be nested a few hundred times at most, got {path}") from error


def _whole(text: str) -> int:
    require(len(text) <= 400, "a number in FILE.json", "have at most 400 digits", f"{len(text)} digits")
    return int(text)


def _is_named_tuple(item: Any) -> bool:
    """Whether it is an event of dp_accounting as ``json.dump`` writes its named tuple: without the fields' names."""
    named = isinstance(item, list) and len(item) > 1 and all(isinstance(name, str) for name in item[:2])
    return named and item[0].startswith("dp_accounting")


def _event(item: Any) -> Any:
    if _is_named_tuple(item):
        return _positional(item[1], [_field(value) for value in item[2:]])
    good = isinstance(item, dict) and isinstance(item.get("class_name"), str)
    require(good, "an event in FILE.json", "be an object with a class_name", item)
    name = item["class_name"]
    fields = {key: _field(value) for key, value in item.items() if key not in ("class_name", "module_name")}
    make = _OWN.get(name) or _theirs(name)
    try:
        return make(**fields)
    except TypeError as error:
        raise InputError(f"{name} in FILE.json must have the fields of that event: {one_line(error)}") from error


def _positional(name: str, values: list[Any]) -> Any:
    try:
        return _theirs(name)(*values)
    except TypeError as error:
        raise InputError(f"{name} in FILE.json must have the fields of that event: {one_line(error)}") from error


def _field(value: Any) -> Any:
    if isinstance(value, dict) or _is_named_tuple(value):
        return _event(value)
    if isinstance(value, list):
        parts = [_field(part) for part in value]
        return tuple(parts) if any(isinstance(part, own.Gaussian | own.Laplace) for part in parts) else parts
    return math.inf if value in ("inf", "Infinity") else value


def _theirs(name: str) -> Callable[..., Any]:
    """The class of dp_accounting of that name."""
    ours = ", ".join(_OWN)
    require(name.endswith("DpEvent"), "class_name in FILE.json", f"be one of {ours}, or dp_accounting's", name)
    try:
        from dp_accounting import dp_event
    except ImportError as error:
        raise InputError(f"{name} in FILE.json must find its library: pip install dp-accounting") from error
    kind = getattr(dp_event, name, None)
    require(isinstance(kind, type), "class_name in FILE.json", f"be one of {ours}, or dp_accounting's", name)
    make: Callable[..., Any] = kind  # type: ignore[assignment]  # just asked
    return make


_LARGEST_TREE = 10_000  # steps
_LARGEST_ENCODER = 500_000_000


def read_encoder(path: str) -> NDArray[np.float64]:
    """Read a matrix (rows, steps) from a file of NumPy (.npy) or of numbers apart by commas; InputError otherwise."""
    file = Path(path)
    try:
        require(file.stat().st_size <= _LARGEST_ENCODER, "--encoder", "be a file of at most 500 megabytes", path)
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
