"""Lemmas as text, read by Python's own parser and computed with mpmath: a second way to what ``dpcheck.prove`` reads.

``RELATION for CONDITION, ...``, with ``sum(f, t = a..b)``, ``prod``, ``norm``, ``inner``, and letters declared as in
``integer T >= 1``, ``real x`` or ``vectors x, y``.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import mpmath
from mpmath import mpf

DIGITS = 50
_BOUND = re.compile(r",\s*(\w+) = ([^=,]+?)\.\.((?:[^(),]|\([^()]*\))+)")
_SIGNS = {ast.LtE: "<=", ast.GtE: ">=", ast.Lt: "<", ast.Gt: ">", ast.Eq: "=="}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(mpmath, name)
       for name in ("exp", "log", "sqrt", "cosh", "sinh", "tanh", "erf", "erfc", "factorial", "binomial")},
    "max": max, "abs": abs,
    "norm": lambda x: mpmath.sqrt(sum(part * part for part in x)),
    "inner": lambda x, y: sum(a * b for a, b in zip(x, y, strict=True)),
}  # fmt: skip
Relations = list[tuple[ast.expr, str, ast.expr]]
Point = dict[str, Any]


def tree(text: str) -> ast.expr:
    """The text as Python's parser reads it, an equation as ``==`` and a bound letter as three arguments."""
    text = _BOUND.sub(r", \1, \2, \3", text)
    return ast.parse(re.sub(r"(?<![<>=])=(?!=)", "==", text), mode="eval").body


def value(node: ast.expr, at: Mapping[str, Any]) -> Any:
    """The value of a term in the current precision; vectors are tuples."""
    match node:
        case ast.Constant(int(number)):
            return mpf(number)
        case ast.Name("pi"):
            return +mpmath.pi
        case ast.Name(letter):
            return at[letter]
        case ast.UnaryOp(ast.USub(), inside):
            got = value(inside, at)
            return tuple(-part for part in got) if isinstance(got, tuple) else -got
        case ast.BinOp(left, operator, right):
            return _combined(value(left, at), operator, value(right, at))
        case ast.Call(ast.Name(("sum" | "prod") as name), [inside, ast.Name(letter), start, stop]):
            terms = (
                value(inside, {**at, letter: mpf(k)}) for k in range(int(value(start, at)), int(value(stop, at)) + 1)
            )
            return mpmath.fsum(terms) if name == "sum" else mpmath.fprod(terms)
        case ast.Call(ast.Name(name), arguments):
            return _FUNCTIONS[name](*(value(argument, at) for argument in arguments))
    raise ValueError(ast.dump(node))


def _combined(left: Any, operator: ast.operator, right: Any) -> Any:
    if isinstance(left, tuple) and isinstance(right, tuple):
        sign = 1 if isinstance(operator, ast.Add) else -1
        return tuple(a + sign * b for a, b in zip(left, right, strict=True))
    if isinstance(right, tuple):
        return tuple(left * part for part in right)
    if isinstance(left, tuple):
        return tuple(part / right if isinstance(operator, ast.Div) else part * right for part in left)
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Div():
            return left / right
    return mpf(1) if right == 0 else left**right


def holds(left: Any, sign: str, right: Any, room: Any = 0) -> bool:
    """Whether the relation holds, up to ``room``."""
    if isinstance(left, mpmath.mpc) or isinstance(right, mpmath.mpc):
        raise ValueError("not real")
    if sign == "==":
        return bool(abs(left - right) <= room)
    small, large = (left, right) if sign[0] == "<" else (right, left)
    return bool(small <= large + room if len(sign) == 2 or room else small < large)


@dataclass(frozen=True)
class Lemma:
    """A line of the table."""

    text: str

    @cached_property
    def _parts(
        self,
    ) -> tuple[Relations, Relations, dict[str, str]]:
        relation, _, where = self.text.partition(" for ")
        kinds: dict[str, str] = {}
        conditions = []
        kind = ""
        for part in re.split(r",\s*(?![^()]*\))", where):
            word, _, rest = part.partition(" ")
            if word in ("integer", "real", "vector", "vectors"):
                kind, part = word.rstrip("s"), rest
            if re.fullmatch(r"\w+", part):
                kinds[part] = kind
                continue
            found = _pairs(tree(part))
            if word == "integer":
                kinds[next(n.id for n in ast.walk(tree(part)) if isinstance(n, ast.Name))] = "integer"
            conditions += found
        for node in (side for left, _, right in (*conditions, *_pairs(tree(relation))) for side in (left, right)):
            for name in letters(node):
                kinds.setdefault(name, "real")
        return _pairs(tree(relation)), conditions, kinds

    @property
    def relation(self) -> Relations:
        return self._parts[0]

    @property
    def conditions(self) -> Relations:
        return self._parts[1]

    @property
    def kinds(self) -> dict[str, str]:
        """Every free letter, and whether it is an integer, a real number or a vector."""
        return self._parts[2]

    def admits(self, at: Point) -> bool:
        """Whether the point lies in the domain."""
        whole = all(at[name] == int(at[name]) for name, kind in self.kinds.items() if kind == "integer")
        return whole and all(holds(value(a, at), sign, value(b, at)) for a, sign, b in self.conditions)

    def gap(self, at: Point) -> Any:
        """By how much it fails there, relative to the sides: above 0 where it is false."""
        worst = mpf("-inf")
        for left, sign, right in self.relation:
            a, b = value(left, at), value(right, at)
            if isinstance(a, mpmath.mpc) or isinstance(b, mpmath.mpc):
                raise ValueError("not real")
            size = max(abs(a), abs(b)) or mpf(1)
            more = abs(a - b) if sign == "==" else a - b if sign[0] == "<" else b - a
            worst = max(worst, mpf(0) if abs(more) < mpf(10) ** -44 else more / size)
        return worst

    def drawn(self, rng: random.Random) -> Point | None:
        """A random point of the domain, or none where a draw missed it."""
        at: Point = {}
        size = rng.randint(1, 3)
        left = list(self.kinds)
        scale = rng.choice((0.1, 1.0, 1.0, 5.0))
        while left:
            ready = [name for name in left if self._known(name, at, left)] or left
            name = ready[0]
            left.remove(name)
            if self.kinds[name] == "vector":
                same = rng.random() < 0.4 and [v for v in at.values() if isinstance(v, tuple)]
                base = rng.choice(same) if same else None
                factor = rng.choice((1, -1, 0, rng.gauss(0, 2)))
                drawn = [mpf(rng.gauss(0, scale)) for _ in range(size)]
                at[name] = tuple(factor * part for part in base) if base else tuple(drawn)
                continue
            try:
                at[name] = self._number(name, at, rng)
            except ZeroDivisionError:  # an end such as 2/L, at an L that the domain leaves out
                return None
        return at if self.admits(at) else None

    def _ends(self, name: str, at: Point) -> tuple[Any, Any]:
        low, high = mpf("-inf"), mpf("inf")
        for left, sign, right in self.conditions:
            for one, other, up in ((left, right, sign[0] == ">"), (right, left, sign[0] == "<")):
                if isinstance(one, ast.Name) and one.id == name and letters(other) <= set(at):
                    end = value(other, at)
                    low, high = (max(low, end), high) if up else (low, min(high, end))
        return low, high

    def _known(self, name: str, at: Point, left: list[str]) -> bool:
        """Whether no end of the letter's interval waits for another letter."""
        for one, _, other in self.conditions:
            for this, that in ((one, other), (other, one)):
                if isinstance(this, ast.Name) and this.id == name and letters(that) & (set(left) - {name}):
                    simple = isinstance(that, ast.Name) and left.index(that.id) > left.index(name)
                    if not simple:
                        return False
        return True

    def _number(self, name: str, at: Point, rng: random.Random) -> Any:
        low, high = self._ends(name, at)
        free = mpf(10) ** rng.uniform(-3, 1.5 if self.kinds[name] != "integer" else 2.8)
        if mpmath.isinf(low) and mpmath.isinf(high):
            drawn = rng.choice((1, -1)) * free
        elif mpmath.isinf(high):
            drawn = low + rng.choice((free, free, free, mpf(0)))
        elif mpmath.isinf(low):
            drawn = high - rng.choice((free, free, free, mpf(0)))
        else:
            share = rng.choice(
                (rng.random(), rng.random(), 10 ** rng.uniform(-4, 0), 1 - 10 ** rng.uniform(-4, 0), 0, 1)
            )
            drawn = low + (high - low) * mpf(share)
        return mpf(round(drawn)) if self.kinds[name] == "integer" else +drawn


def point(text: str) -> Point:
    """The point that a witness names, such as ``x = 1/2, y = (1, 0)``."""
    at: Point = {}
    for name, number in re.findall(r"(\w+) = (\([^()]*\)|[^,]+)", text):
        node = tree(number)
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        values = tuple(value(part, {}) for part in parts)
        at[name] = values if isinstance(node, ast.Tuple) else values[0]
    return at


def _pairs(node: ast.expr) -> Relations:
    assert isinstance(node, ast.Compare), ast.dump(node)
    sides = [node.left, *node.comparators]
    return [(a, _SIGNS[type(op)], b) for a, op, b in zip(sides, node.ops, sides[1:], strict=False)]


def letters(node: ast.expr) -> set[str]:
    """The free letters of a term."""
    match node:
        case ast.Call(ast.Name("sum" | "prod"), [inside, ast.Name(letter), start, stop]):
            return (letters(inside) - {letter}) | letters(start) | letters(stop)
        case ast.Call(_, arguments):
            return set().union(*map(letters, arguments))
        case ast.Name(name):
            return {name} - {"pi"}
    children = (child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))
    return set().union(*map(letters, children))
