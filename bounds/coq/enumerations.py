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


COUNTERPARTS: dict[str, Counterpart] = {
    "yang2022.sampling.mean_share": Counterpart(
        "mean_share", ("nat", "nat", "bool"),
        "MEAN", ("draws",), (True,),
    ),
    "yang2022.sampling.chance_absent": Counterpart(
        "chance_absent", ("nat", "nat", "bool"),
        "CHANCE", ("draws",), (True,),
    ),
    "zhang2022.lemma_a.move_share": Counterpart(
        "move_share", ("nat", "Q", "Q"),
        "MOVE",
    ),
    "zhang2022.lemma_b.block_energy": Counterpart(
        "block_energy", ("nat", "Q"),
        "BLOCK",
    ),
    "zhang2025.moments.flipped_moment": Counterpart(
        "flipped_moment", ("nat", "Q", "nat"),
        "FLIPPED",
    ),
    "xu2026.post_processing.broken_at": Counterpart(
        "broken_at", ("Q", "Q", "list"),
        "BROKEN",
    ),
    "xu2026.post_processing.chosen": Counterpart(
        "chosen", ("Q", "list"),
        "CHOSEN",
    ),
    "xu2026.clip.clip_then_mean": Counterpart(
        "clip_then_mean", ("Q", "list"),
        "CLIP", ("clipped",),
    ),
    "xu2026.clip.difference_of_clipped": Counterpart(
        "difference_of_clipped", ("Q", "list"),
        "DIFFERENCE", ("clipped",),
    ),
}  # fmt: skip


def conclusion(step: Enumerated) -> str | None:
    """The step as a statement about the counterpart, or ``None`` if its function has none."""
    name = f"{step.function.__module__}.{step.function.__name__}".removeprefix("dpcheck.bounds.")
    counterpart = COUNTERPARTS.get(name)
    if counterpart is None or code(step.function, counterpart.helpers) != counterpart.sha256:
        return None
    arguments = " ".join(_arguments(counterpart, step.arguments))
    value = Fraction(step.value)
    return f"Enumeration.gives (Enumeration.{counterpart.name} {arguments}) {_whole(value.numerator)} {value.denominator}"


def code(function: Callable[..., Any], helpers: tuple[str, ...] = ()) -> str:
    """The hash of what the function and its helpers do: their code without docstrings."""
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
