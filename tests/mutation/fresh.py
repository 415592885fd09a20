"""Mutants that are drawn anew: an edit of a random kind at a random place of a random function, the same for a seed."""

from __future__ import annotations

import ast
import copy
import random
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any

from .definitions import Edit, Sources, tree
from .mutant import Mutant, mutants

FRESH = "fresh"  # their area
_PAPERS = re.compile(r"/bounds/\w+\d{4}/")  # their theorems and claims are data; the engine is edited
_SWAPS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.Mod: ast.FloorDiv,
    ast.FloorDiv: ast.Div, ast.And: ast.Or, ast.Or: ast.And, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE,
    ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}  # fmt: skip
_TURNED = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE}
_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceil", "ceil": "floor", "log": "log2"}
_DROPPED = ("sqrt", "abs", "exp", "log", "log1p", "expm1", "square", "sorted", "reversed", "ceil", "floor")


def drawn(seed: int, count: int, sources: Sources, accepted: Callable[[str], bool]) -> list[Mutant]:
    """``count`` mutants of functions in the modules whose dotted names are accepted, checked as listed ones nearby."""
    rng, edits = random.Random(seed), dict[Edit, Mutant]()
    listed = [(sources.place(mutant.edits[0])[0], mutant.check) for mutant in mutants()]
    functions = [
        (path, name, function)
        for path, text in sources.texts.items()
        if not _PAPERS.search(path) and accepted(path.removesuffix(".py").replace("/", "."))
        for name, function in _functions(tree(text).body)
    ]
    for _ in range(100 * count if functions else 0):
        if len(edits) == count:
            break
        path, name, function = rng.choice(functions)
        variants = [(kind, chain, new) for chain in _chains(function, []) for kind, new in _variants(chain[0])]
        kind = rng.choice(sorted({kind for kind, _, _ in variants} or {""}))
        chosen = [variant for variant in variants if variant[0] == kind]
        edit = _edit(sources, path, name, *rng.choice(chosen)[1:]) if chosen else None
        if edit is not None and edit not in edits:
            _, check = max(listed, key=lambda known: SequenceMatcher(None, known[0], path).ratio())
            edits[edit] = Mutant(f"{seed}/{len(edits)} {kind}", FRESH, (edit,), check)
    return list(edits.values())


def _functions(body: list[ast.stmt], within: str = "") -> Iterator[tuple[str, ast.stmt]]:
    """Functions and methods with their qualified names, without those that only show an object."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{within}{node.name}.")
        elif isinstance(node, ast.FunctionDef) and node.name not in ("__repr__", "__str__", "_repr_html_"):
            yield within + node.name, node


def _chains(node: ast.AST, above: list[ast.AST]) -> Iterator[list[ast.AST]]:
    """Each node below with those above it up to the function; docstrings, messages and annotations are left out."""
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            unseen = docstring or name in ("annotation", "returns", "decorator_list")
            if isinstance(child, ast.AST) and not unseen and not isinstance(child, (ast.JoinedStr, ast.Raise)):
                yield [child, node, *above]
                yield from _chains(child, [node, *above])


def _variants(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """The kinds of edit that a node admits, and what takes its place."""
    if isinstance(node, (ast.BinOp, ast.AugAssign, ast.BoolOp)):
        if type(node.op) in _SWAPS:
            yield "operator swapped", _but(node, op=_SWAPS[type(node.op)]())
    elif isinstance(node, ast.Compare):
        for swaps in (_SWAPS, _TURNED):
            if type(node.ops[0]) in swaps:
                yield "comparison changed", _but(node, ops=[swaps[type(node.ops[0])](), *node.ops[1:]])
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        values = (not node.value,) if isinstance(node.value, bool) else (node.value + 1, node.value * 2, node.value - 1)
        yield from (("constant changed", ast.Constant(value)) for value in values if value >= 0)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.Name, ast.BinOp)):
        yield "off by one", _but(node, slice=ast.BinOp(node.slice, ast.Sub(), ast.Constant(1)))
    elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
        yield "condition negated", _but(node, test=ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in _CALLS:
            field = "attr" if isinstance(node.func, ast.Attribute) else "id"
            yield f"{name} replaced", _but(node, func=_but(node.func, **{field: _CALLS[name]}))
        if name in _DROPPED and len(node.args) == 1:
            yield f"{name} dropped", node.args[0]
        if len(node.args) > 1 and name not in ("min", "max", "hypot"):
            yield "arguments swapped", _but(node, args=[node.args[1], node.args[0], *node.args[2:]])
            yield "argument dropped", _but(node, args=node.args[:-1])
        for keyword in node.keywords:
            yield "argument dropped", _but(node, keywords=[other for other in node.keywords if other is not keyword])
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr, ast.Break, ast.Continue)):
        yield "statement removed", ast.Pass()


def _edit(sources: Sources, path: str, name: str, chain: list[ast.AST], new: ast.AST) -> Edit | None:
    """The smallest fragment that holds the place and is found again by it; None where nothing changes or is found."""
    for node, above in pairwise(chain):
        if isinstance(node, (ast.BinOp, ast.Call, ast.Compare, ast.IfExp, ast.stmt)):
            for hint in ("", *reversed(path.removesuffix(".py").split("/")[1:])):
                with suppress(ValueError):  # of a fragment that is there or elsewhere again
                    edit = Edit(name, ast.unparse(node), ast.unparse(new), hint)
                    return edit if sources.place(edit)[0] == path and edit.old != edit.new else None
        new = _but(above, **{
            field: new if value is node else [new if part is node else part for part in value]
            for field, value in ast.iter_fields(above)
            if value is node or (isinstance(value, list) and any(part is node for part in value))
        })  # fmt: skip
    return None


def _but(node: Any, **changed: object) -> Any:
    """The node with other values in some fields."""
    other = copy.copy(node)
    vars(other).update(changed)
    return other
