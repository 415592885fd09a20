"""Files of privacy events: JSON objects with a ``class_name`` and the event's fields.

The notation is that of dp_accounting's named tuples (``DpEvent.to_named_tuple``), such as

    {"class_name": "SelfComposedDpEvent", "count": 1000, "event": {"class_name": "PoissonSampledDpEvent",
     "sampling_probability": 0.01, "event": {"class_name": "GaussianDpEvent", "noise_multiplier": 1.1}}}

or the same as ``json.dump`` writes it, a list that begins with the module's and the class's name and goes on with the
fields in order; and dpcheck's own events are written in the same way, such as

    {"class_name": "Repeated", "count": 1000, "event": {"class_name": "Sampled", "scheme": "poisson", "batch": 256,
     "population": 60000, "mechanisms": [{"class_name": "Gaussian", "noise_multiplier": 1.1}]}}

A file holds one event, a list of events, or a history of Opacus: a list of [noise multiplier, sample rate, steps], or
an object with such a list as its ``history`` (the accountant's ``state_dict``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpcheck import events as own
from dpcheck.errors import InputError, one_line, require
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
