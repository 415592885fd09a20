"""What code keeps from one call to the next: in closures, module variables, attributes and default arguments.

A mechanism is audited as many runs that know nothing of each other, and a step as what it does to one state. Code that
remembers breaks both, unseen. Here its memory is found, put back between runs, and compared between two of them.
"""

from __future__ import annotations

import builtins
import copy
import random
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from dpcheck.audits.running.datasets import digest

_LOOKS = 3  # at all places, of which there may be many and large ones


@dataclass(frozen=True, eq=False)
class Place:
    """Where something is kept: its name in words, what is there, and how to put something else there."""

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], None]


class Memory:
    """The memory of some functions, as it was when this object was made.

    Random generators are left alone: put back, they would repeat their noise. So is what cannot be copied.

    only : the names of the places to look at, None for all
    looks : how often all of them are looked at when they are put back; later those alone that had changed
    """

    def __init__(self, *functions: Any, only: Collection[str] | None = None, looks: float = _LOOKS) -> None:
        self._looks = looks
        self._places, self._first, self._held = list[Place](), list[tuple[Any, str]](), list[Any]()
        seen: set[int] = set()
        memo: dict[int, Any] = {}  # one for all, so that what is shared stays shared
        for function in functions:
            for place in _places(function, seen):
                if only is None or place.name in only:
                    self._keep(place, memo)
        self._changing, self._restored = set[int](), 0

    def _keep(self, place: Place, memo: dict[int, Any]) -> None:
        value = place.read()
        if _is_random(value) or (first := digest(value)) is None:
            return
        try:
            held = copy.deepcopy(value, memo)
        except Exception:  # whatever its class makes of being copied
            return
        self._places.append(place)
        self._first.append((value, first))
        self._held.append(held)

    def restore(self) -> None:
        """Put back all that has changed; after so many looks, what had changed before one of them."""
        looked_at = range(len(self._places)) if self._restored < self._looks else sorted(self._changing)
        changed = [k for k in looked_at if digest(self._places[k].read()) != self._first[k][1]]
        self._changing.update(changed)
        self._restored += 1
        for k, kept in zip(changed, copy.deepcopy([self._held[k] for k in changed]), strict=True):
            original = self._first[k][0]
            self._places[k].write(original if _refilled(original, kept) else kept)

    @property
    def digests(self) -> dict[str, str]:
        """What told the contents of each place from others at first, by the place's name."""
        return {place.name: first for place, (_, first) in zip(self._places, self._first, strict=True)}

    def changed(self) -> list[str]:
        """Name the places that hold something else than at first."""
        kept = zip(self._places, self._first, strict=True)
        return [place.name for place, (_, first) in kept if digest(place.read()) != first]


def _is_random(value: Any) -> bool:
    """Whether it is a source of randomness, or holds one at its top."""
    if isinstance(value, (np.random.Generator, np.random.RandomState, random.Random)):
        return True
    library = type(value).__module__.partition(".")[0]
    if library == "torch" and type(value).__name__ == "Generator":
        return True
    if library in ("jax", "jaxlib") and getattr(value, "dtype", None) is not None:
        return str(value.dtype).startswith("key") or (str(value.dtype) == "uint32" and value.shape[-1:] == (2,))
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return any(_is_random(part) for part in list(parts)[:100])


def _refilled(original: Any, kept: Any) -> bool:
    """Give an object its old contents, so that whatever else holds it sees them; False where it cannot be."""
    match original:
        case list():
            original[:] = kept
        case dict() | set():
            original.clear()
            original.update(kept)
        case np.ndarray() if original.shape == kept.shape and original.flags.writeable:
            original[...] = kept
        case _ if hasattr(original, "__dict__") and not isinstance(original, (type, ModuleType, FunctionType)):
            vars(original).clear()
            vars(original).update(vars(kept))
        case _:
            return False
    return True


def _places(function: Any, seen: set[int]) -> Iterator[Place]:
    """Yield the places that a function, or what it calls in its module, reads or writes beside its arguments."""
    if id(function) in seen:
        return
    seen.add(id(function))
    if isinstance(function, partial):
        yield from _places(function.func, seen)
        for name, value in [*enumerate(function.args), *function.keywords.items()]:
            yield Place(f"the argument {name} of a functools.partial", partial(_same, value), _nowhere)
    elif isinstance(function, MethodType):
        yield from _attributes(function.__self__, "self", seen)
        yield from _places(function.__func__, seen)
    elif isinstance(function, FunctionType):
        yield from _of_function(function, seen)
    elif callable(function) and hasattr(function, "__dict__") and not isinstance(function, type):
        yield from _attributes(function, "self", seen)
        yield from _places(type(function).__call__, seen)
        yield from _places(getattr(function, "__wrapped__", None), seen)


def _of_function(function: FunctionType, seen: set[int]) -> Iterator[Place]:
    name = function.__name__
    for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:  # not yet filled
            continue
        if _is_code(value):
            yield from _places(value, seen)
        elif id(cell) not in seen:
            seen.add(id(cell))
            yield Place(
                f"{variable}, a variable of the function around {name}", partial(getattr, cell, "cell_contents"),
                partial(setattr, cell, "cell_contents"),
            )  # fmt: skip
    scope = function.__globals__
    for variable in sorted(set(_names(function.__code__)) & scope.keys() - vars(builtins).keys()):
        value = scope[variable]
        if isinstance(value, ModuleType):
            continue
        if _is_code(value):
            if getattr(value, "__module__", None) == scope.get("__name__"):
                yield from _places(value, seen)
        elif isinstance(value, type):
            if value.__module__ == scope.get("__name__"):
                yield from _attributes(value, variable, seen)
        elif (key := hash((id(scope), variable))) not in seen:
            seen.add(key)
            yield Place(f"{variable}, a variable of the module", partial(scope.get, variable),
                        partial(scope.__setitem__, variable))  # fmt: skip
    values = function.__defaults__ or ()
    last = function.__code__.co_argcount
    arguments = function.__code__.co_varnames[last - len(values) : last]
    for argument, value in [*zip(arguments, values, strict=True), *(function.__kwdefaults__ or {}).items()]:
        yield Place(f"{argument}, a default argument of {name}", partial(_same, value), _nowhere)
    yield from _attributes(function, name, seen)


def _attributes(owner: Any, name: str, seen: set[int]) -> Iterator[Place]:
    """Yield the data among an object's attributes, and what its own methods remember."""
    if (key := hash((id(owner), "attributes"))) in seen:
        return
    seen.add(key)
    names = list(getattr(owner, "__dict__", {}))
    names += [slot for kind in type(owner).__mro__ for slot in vars(kind).get("__slots__", ()) if hasattr(owner, slot)]
    for attribute in names:
        value = getattr(owner, attribute, None)
        if attribute.startswith("__") or isinstance(value, (property, staticmethod, classmethod)):
            continue
        if _is_code(value):
            yield from _places(value, seen)
        else:
            yield Place(f"the attribute {name}.{attribute}", partial(getattr, owner, attribute, None),
                        partial(setattr, owner, attribute))  # fmt: skip
    if not isinstance(owner, (FunctionType, type)):
        for method in vars(type(owner)).values():
            if isinstance(method, FunctionType):
                yield from _places(method, seen)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _is_code(value: Any) -> bool:
    return isinstance(value, (FunctionType, MethodType, partial)) or hasattr(value, "py_func")


def _same(value: Any) -> Any:
    return value


def _nowhere(value: Any) -> None:
    """A place that cannot be bound anew; its contents can be put back."""
