"""Arguments of what users call, held against the kinds that their annotations name."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from dpcheck.errors import InputError, one_line

P = ParamSpec("P")
T = TypeVar("T")
_OF_MANY = frozenset({"Sequence", "Iterable", "Collection", "Sized", "list", "tuple"})
# Of classes that functions know by their annotations alone.
_HOMES = {"Executor": "dpcheck.running.executor", "Limits": "dpcheck.audits.running.isolated"}
_WORDS = {"bool": "be true or false", "str": "be a text", "Callable": "be callable", "Mapping": "be a mapping"}


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """Refuse arguments of another kind: flags, functions, mappings, several of something, objects of one's own classes.

    Numbers and arrays are left to the function, which knows their domains.
    """
    parameters = inspect.signature(function).parameters
    heads = {name: _head(parameter.annotation) for name, parameter in parameters.items()}
    kinds = {name: head for name, head in heads.items() if head is not None}
    names, known = list(parameters), getattr(function, "__globals__", {})

    @wraps(function)
    def call(*arguments: P.args, **named: P.kwargs) -> T:
        for name, value in (*zip(names, arguments, strict=False), *named.items()):
            if name in kinds and value is not parameters[name].default:
                _require_kind(name, value, *kinds[name], known)
        return function(*arguments, **named)

    return call


def has_records(value: Any) -> bool:
    """Whether a value holds something that can be counted, and is no array without an axis."""
    try:
        return len(value) > 0
    except TypeError:
        return False


def _head(annotation: Any) -> tuple[str, bool] | None:
    """Return the first word of an annotation, and whether None is one of its values; nothing for one of two kinds."""
    text = re.sub(r"\[.*\]", "", str(annotation))
    kinds = [part.strip() for part in text.split("|")]
    others = [kind for kind in kinds if kind != "None"]
    return (others[0], "None" in kinds) if len(others) == 1 and others[0].isidentifier() else None


def _require_kind(name: str, value: Any, kind: str, optional: bool, known: Mapping[str, Any]) -> None:
    if value is None and optional:
        return
    words = _WORDS.get(kind, "be several of something" if kind in _OF_MANY else f"be a {kind}")
    if kind == "bool":
        good = isinstance(value, bool) or type(value).__name__ == "bool"  # of NumPy
    elif kind == "Callable":
        good = callable(value)
    elif kind == "str":
        good = isinstance(value, str)
    elif kind == "Mapping":
        good = isinstance(value, Mapping)
    elif kind in _OF_MANY:
        good = isinstance(value, Iterable) and getattr(value, "shape", None) != ()
    else:
        home = _HOMES.get(kind)
        wanted = getattr(importlib.import_module(home), kind) if home else known.get(kind)
        if not inspect.isclass(wanted) or not wanted.__module__.startswith("dpcheck."):
            return
        if getattr(wanted, "_is_protocol", False):
            asked = [part for part in vars(wanted) if callable(vars(wanted)[part]) and not part.startswith("_")]
            asked += [part for part in ("__contains__", "__getitem__", "__setitem__") if part in vars(wanted)]
            good = all(hasattr(value, part) for part in asked) and not hasattr(value, "__array__")
            good = good and not isinstance(value, list | tuple)
        else:
            good = isinstance(value, wanted)
    if not good:
        raise InputError(f"{name} must {words}, got {one_line(type(value).__name__)}")
