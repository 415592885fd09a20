"""JSON of unknown origin, read: one line says what is wrong with it, and nothing in it is deeper than anybody needs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from dpcheck.errors import InputError, one_line

_DEEPEST = 64  # levels; as many axes as an array can have


def parse(text: str, name: str, wanted: str = "be JSON") -> Any:
    """Return the value of a JSON text.

    Raises
    ------
    InputError
        If the text, named ``name``, is not what is ``wanted`` of it, or is nested more than 64 levels deep.
    """
    try:
        value = json.loads(text, object_pairs_hook=_once)
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


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that is there twice: Python would take the last one without a word."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key in found if sum(key == other for other, _ in pairs) > 1)
        raise ValueError(f"the key {twice!r} is there twice")
    return found


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return [each for each in value.values() if isinstance(each, (dict, list))]
    return [each for each in value if isinstance(each, (dict, list))] if isinstance(value, list) else []
