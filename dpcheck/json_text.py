"""JSON of unknown origin, read: one line says what is wrong with it, and nothing in it is deeper than anybody needs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from dpcheck.errors import InputError, one_line, require

_DEEPEST = 64  # levels; as many axes as an array can have


def parse(text: str, name: str, wanted: str = "be JSON") -> Any:
    """Return the value of a JSON text; InputError, by ``name``, if it is not as ``wanted``, or is nested too deep."""
    try:
        value = json.loads(text, object_pairs_hook=once)
    except RecursionError:
        raise InputError(f"{name} must be nested at most {_DEEPEST} levels deep, got more") from None
    except ValueError as error:  # a number with thousands of digits, too
        raise InputError(f"{name} must {wanted}, got {one_line(text[:80])}: {one_line(error)}") from error
    level: list[Any] = [value]
    for _ in range(_DEEPEST):
        level = [inner for each in level for inner in _inside(each)]
        if not level:
            return value
    raise InputError(f"{name} must be nested at most {_DEEPEST} levels deep, got more")


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its fields, none of which may be there twice: readers differ in which of them counts."""
    names = [name for name, _ in pairs]
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    require(not twice, "an object", "have each field once", f"{', '.join(twice)} twice")
    return dict(pairs)


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return [each for each in value.values() if isinstance(each, (dict, list))]
    return [each for each in value if isinstance(each, (dict, list))] if isinstance(value, list) else []
