"""Enumerations with a counterpart in Coq, written by hand and evaluated by the kernel.

The counterparts are in ``library.v``; that one says what the other does is for a reader to see, and
holds for the very text of the Python function that was read: :data:`COUNTERPARTS` keeps its hash, and
a function whose code has changed has no counterpart until it is read again.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib
import inspect
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpcheck.bounds.evidence import Enumerated


@dataclass(frozen=True)
class Counterpart:
    """A definition of Coq for a function of Python.

    ``sorts`` are those of its arguments, the last one for all that follow if it is a list; ``helpers``
    are functions of the same module that it calls; ``sha256`` is the hash of their code, without docstrings.
    """

    name: str
    sorts: tuple[str, ...]
    sha256: str
    helpers: tuple[str, ...] = ()
    defaults: tuple[Any, ...] = ()


COUNTERPARTS: dict[str, Counterpart] = {  # by paper and function, in whatever file of the paper it is
    "yang2022.mean_share": Counterpart(
        "mean_share", ("nat", "nat", "bool"),
        "207445abed14aa499372a6edd9f7eea7b52a38ea22e559ea752c78a769263e03", ("draws",), (True,),
    ),
    "yang2022.chance_absent": Counterpart(
        "chance_absent", ("nat", "nat", "bool"),
        "e78fe666656ddfea474c69e92afbed9322a2802109cfd1e15c8ea388d37891d2", ("draws",), (True,),
    ),
    "zhang2022.move_share": Counterpart(
        "move_share", ("nat", "Q", "Q"),
        "e49ee352ba118e6d4296bf21f07bc7ca7627d930a7facf0eea6ab4d2830a5ee5",
    ),
    "zhang2022.block_energy": Counterpart(
        "block_energy", ("nat", "Q"),
        "d4d24ed179496b6e909771f9b725c9f0231185dab5264b02a150a6136749ac74",
    ),
    "zhang2025.flipped_moment": Counterpart(
        "flipped_moment", ("nat", "Q", "nat"),
        "01cdf9ef34355fedf28d389f046e76d335a50189d1b21f9762d6d498edffb15a",
    ),
    "xu2026.broken_at": Counterpart(
        "broken_at", ("Q", "Q", "list"),
        "6f2bd65cc1cebaf48d2f755cf1e4745ed7ef1c7caf59c6514d32a51462fb3bf2",
    ),
    "xu2026.chosen": Counterpart(
        "chosen", ("Q", "list"),
        "6c8a7143ce4c14cd9b46c4c8022f87a1bbc8da0888887b479932b024a32b71db",
    ),
    "xu2026.clip_then_mean": Counterpart(
        "clip_then_mean", ("Q", "list"),
        "59206a4cee3e8dd3d34ad4588c55313f716841ffe910c8753e11a2ac62d74a77", ("clipped",),
    ),
    "xu2026.difference_of_clipped": Counterpart(
        "difference_of_clipped", ("Q", "list"),
        "f8b0c7883df262fbc3f5d62a7baf760667527c58d1ad0680f8339e4b3077243b", ("clipped",),
    ),
}  # fmt: skip


def conclusion(step: Enumerated) -> str | None:
    """Return the step as a statement about the counterpart, or ``None`` if its function has none."""
    paper = step.function.__module__.rpartition(".")[0].rpartition(".")[2]
    counterpart = COUNTERPARTS.get(f"{paper}.{step.function.__name__}")
    if counterpart is None or code(step.function, counterpart.helpers) != counterpart.sha256:
        return None
    arguments = " ".join(_arguments(counterpart, step.arguments))
    value = Fraction(step.value)
    return (
        f"Enumeration.gives (Enumeration.{counterpart.name} {arguments}) {_whole(value.numerator)} {value.denominator}"
    )


def code(function: Callable[..., Any], helpers: tuple[str, ...] = ()) -> str:
    """Return the hash of what the function and its helpers do: their code without docstrings."""
    module = importlib.import_module(function.__module__)
    return _hash(function, *(getattr(module, helper) for helper in helpers))


@functools.cache
def _hash(*functions: Callable[..., Any]) -> str:
    return hashlib.sha256("\n".join(_plain(each) for each in functions).encode()).hexdigest()


def _plain(function: Callable[..., Any]) -> str:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def _arguments(counterpart: Counterpart, given: tuple[Any, ...]) -> Iterator[str]:
    missing = len(counterpart.sorts) - len(given)
    complete = given + (counterpart.defaults[-missing:] if missing > 0 and counterpart.sorts[-1] != "list" else ())
    for index, sort in enumerate(counterpart.sorts):
        if sort == "list":
            items = "".join(f"(cons {_ratio(each)} " for each in complete[index:])
            yield f"{items}nil{')' * len(complete[index:])}"
        elif sort == "bool":
            yield "true" if complete[index] else "false"
        else:
            yield str(complete[index]) if sort == "nat" else _ratio(complete[index])


def _ratio(value: Any) -> str:
    exact = Fraction(value)
    return f"(Enumeration.ratio {_whole(exact.numerator)} {exact.denominator})"


def _whole(value: int) -> str:
    return str(value) if value >= 0 else f"({value})"
