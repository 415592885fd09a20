"""Theorems of Coq as text, read by a reader of their own and computed with mpmath: a second way to what a line says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import mpmath
from mpmath import mpf

_TOKEN = re.compile(r"\s*(->|=>|<=|>=|<>|[A-Za-z][A-Za-z0-9_']*|\d+|[-+*/^()=<>,:~])")
_ONE: dict[str, Callable[..., Any]] = {
    "ln": mpmath.log, "exp": mpmath.exp, "sqrt": mpmath.sqrt, "Rabs": abs, "erf": mpmath.erf, "erfc": mpmath.erfc,
}  # fmt: skip
_TWO: dict[str, Callable[..., Any]] = {"Rmax": max, "Rmin": min, "Rpower": lambda b, x: mpmath.exp(x * mpmath.log(b))}
_SIGNS = ("<=", ">=", "<", ">", "=", "<>")
Tree = tuple[Any, ...]


def theorems(text: str) -> Iterator[str]:
    """The statement of every theorem of a file."""
    for found in re.finditer(r"^Theorem \w+ :\n(.*?)\.\nProof\.", text, re.M | re.S):
        yield found[1]


class Statement:
    """``forall letters : R, hypotheses -> conclusion``."""

    def __init__(self, text: str) -> None:
        self._tokens = [*_TOKEN.findall(text), "end"]
        assert "".join(self._tokens[:-1]) == re.sub(r"\s+", "", text), "nothing but what the reader knows"
        self.letters: list[str] = []
        parts = self._implied(self.letters)
        assert self._tokens == ["end"]
        self.hypotheses, self.conclusion = parts[:-1], parts[-1]

    def _take(self, *texts: str) -> str:
        assert self._tokens[0] in texts or not texts, f"{texts} expected, got {self._tokens[0]}"
        return self._tokens.pop(0)

    def _implied(self, letters: list[str]) -> list[Tree]:
        if self._tokens[0] == "forall":
            self._take()
            while self._tokens[0] != ":":
                letters.append(self._take())
            self._take(":"), self._take("R"), self._take(",")
            assert len(set(letters)) == len(letters)
        parts = [self._relation()]
        while self._tokens[0] == "->":
            self._take()
            parts.append(self._relation())
        return parts

    def _relation(self) -> Tree:
        if self._tokens[:2] == ["(", "forall"]:
            self._take("(")
            bound: list[str] = []
            parts = self._implied(bound)
            self._take(")")
            return ("forall", bound, parts)
        if self._tokens[0] == "integer":
            self._take()
            return ("integer", self._atom())
        left = self._sum()
        sign = self._take(*_SIGNS)
        return (sign, left, self._sum())

    def _sum(self) -> Tree:
        tree = self._product()
        while self._tokens[0] in ("+", "-"):
            tree = (self._take(), tree, self._product())
        return tree

    def _product(self) -> Tree:
        tree = self._unary()
        while self._tokens[0] in ("*", "/"):
            tree = (self._take(), tree, self._unary())
        return tree

    def _unary(self) -> Tree:
        if self._tokens[0] in ("-", "/"):
            return ("unary " + self._take(), self._unary())
        return self._power()

    def _power(self) -> Tree:
        base = self._application()
        if self._tokens[0] == "^":
            self._take()
            return ("^", base, ("number", int(self._take())))
        return base

    def _application(self) -> Tree:
        head = self._tokens[0]
        if head in _ONE or head in _TWO or head in ("whole_power", "sum_of", "product_of"):
            self._take()
            return (head, *(self._atom() for _ in range(1 if head in _ONE else 3 if head.endswith("_of") else 2)))
        return self._atom()

    def _atom(self) -> Tree:
        token = self._take()
        if token == "(":
            if self._tokens[0] == "fun":
                self._take(), (letter := self._take()), self._take(":"), self._take("R"), self._take("=>")
                tree: Tree = ("fun", letter, self._sum())
            else:
                tree = self._sum()
            self._take(")")
            return tree
        return ("number", int(token)) if token.isdigit() else ("letter", token)


def value(tree: Tree, at: Mapping[str, Any]) -> Any:
    """The value of a term."""
    head, *parts = tree
    if head == "number":
        return mpf(parts[0])
    if head == "letter":
        return +mpmath.pi if parts[0] == "PI" and "PI" not in at else at[parts[0]]
    if head in ("sum_of", "product_of"):
        (_, letter, body), low, high = parts[0], value(parts[1], at), value(parts[2], at)
        terms = [value(body, {**at, letter: mpf(k)}) for k in range(int(low), int(high) + 1)]
        return mpmath.fsum(terms) if head == "sum_of" else mpmath.fprod(terms)
    done = [value(part, at) for part in parts]
    if head in _ONE or head in _TWO:
        return (_ONE | _TWO)[head](*done)
    if head in ("whole_power", "^"):
        return mpf(1) if done[1] == 0 else done[0] ** int(done[1])
    if head.startswith("unary"):
        return -done[0] if head[-1] == "-" else 1 / done[0]
    a, b = done
    return a + b if head == "+" else a - b if head == "-" else a * b if head == "*" else a / b


def holds(tree: Tree, at: Mapping[str, Any], room: Any = 0) -> bool:
    """Whether a relation without a quantifier holds, up to ``room``."""
    head, *parts = tree
    if head == "integer":
        return bool(value(parts[0], at) == int(value(parts[0], at)))
    a, b = (value(part, at) for part in parts)
    if head in ("=", "<>"):
        return bool((abs(a - b) <= room) == (head == "="))
    small, large = (a, b) if head[0] == "<" else (b, a)
    return bool(small <= large + room if len(head) == 2 else small < large)
