"""Formulas that are typed, by recursive descent over their tokens: sums of products of powers, as plain trees."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NoReturn

from dpcheck.bounds.tokens import CONSTANTS, FUNCTIONS, NUMBER_OF_ARGUMENTS, SUMS, WORDS, TextError, Token
from dpcheck.errors import did_you_mean

_DEEPEST, _DIGITS = 100, 4_000  # brackets within brackets, digits of a number
_WRITTEN_OUT = 20  # factors of a factorial or a binomial coefficient
Tree = list[Any]


def number(value: Fraction | int) -> Tree:
    """Return the tree of a number."""
    return ["number", hex(value.numerator), hex(value.denominator)]


def value_of(tree: Tree) -> Fraction | None:
    """Return the number that a tree is; None for any other."""
    return Fraction(int(tree[1], 16), int(tree[2], 16)) if tree[0] == "number" else None


MINUS = number(-1)


def _negative(tree: Tree) -> Tree:
    value = value_of(tree)
    if value is not None:
        return number(-value)
    first = value_of(tree[1]) if tree[0] == "Mul" else None
    if first is not None and first > 0 and first != 1:
        return ["Mul", number(-first), *tree[2:]]
    return ["Mul", MINUS, *(tree[1:] if tree[0] == "Mul" and first is None else [tree])]


def _product(factors: Sequence[Tree]) -> Tree:
    return factors[0] if len(factors) == 1 else ["Mul", *factors]


def _hyperbolic(head: str, argument: Tree) -> Tree:
    """Return cosh, sinh or tanh by exponentials."""
    grows, falls = ["exp", argument], ["exp", _negative(argument)]
    total, difference = ["Add", grows, falls], ["Add", grows, _negative(falls)]
    if head == "tanh":
        return ["Mul", difference, ["Pow", total, MINUS]]
    return ["Mul", number(Fraction(1, 2)), total if head == "cosh" else difference]


class Formulas:
    """Recursive descent over the tokens of one line."""

    def __init__(self, text: str, found: list[Token]) -> None:
        self._text, self._tokens, self._at, self._depth, self._bars = text, found, 0, 0, 0
        self._bound: list[str] = []
        self._letters: dict[str, dict[str, bool]] = {}  # in the order in which they are typed
        self._first: dict[str, int] = {}  # where they are typed first
        self._counters = set[str]()  # of products that a binomial coefficient or a factorial is
        self._stand_alone = set[str]()  # in the domain: what is between two signs, or has a kind

    # --- tokens

    @property
    def _next(self) -> Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else Token("end", "", len(self._text.rstrip()))

    def _after(self, steps: int = 1) -> Token:
        at = self._at + steps
        return self._tokens[at] if at < len(self._tokens) else Token("end", "", len(self._text))

    def _take(self, *texts: str) -> Token | None:
        """Take the next token if it is one of these signs or words."""
        token = self._next
        if token.kind in ("sign", "word", "opener") and token.text in texts:
            self._at += 1
            return token
        return None

    def _expect(self, text: str, why: str) -> None:
        if self._take(text) is None:
            self._fail(f"expected {text!r} {why}")

    def _fail(self, what: str, token: Token | None = None) -> NoReturn:
        token = token or self._next
        got = "" if token.text and token.text in what else f", got {token.text or 'the end'}"
        raise TextError(f"{what}{got}", self._text, token.place)

    # --- formulas

    def _sum(self) -> Tree:
        self._depth += 1
        if self._depth > _DEEPEST:
            self._fail(f"brackets must be nested at most {_DEEPEST} deep")
        minus = self._take("-")
        if minus is None:
            self._take("+")
        terms = [_negative(self._product()) if minus else self._product()]
        while sign := self._take("+", "-"):
            term = self._product()
            terms.append(_negative(term) if sign.text == "-" else term)
        self._depth -= 1
        return terms[0] if len(terms) == 1 else ["Add", *terms]

    def _product(self) -> Tree:
        factors = [self._power()]
        divided = False
        while True:
            token = self._next
            if self._take("*"):
                factors.append(self._signed())
                divided = False
            elif self._take("/"):
                below = self._signed()
                over, under = value_of(factors[-1]), value_of(below)
                if under == 0:
                    raise TextError("division by zero", self._text, token.place)
                if len(factors) == 1 and over is not None and under is not None:
                    factors = [number(over / under)]
                else:
                    inverse: Tree = ["Pow", below, MINUS]
                    factors = [inverse] if len(factors) == 1 and over == 1 else [*factors, inverse]
                divided = True
            elif self._starts_factor(token):
                if divided:
                    self._fail("write brackets or a '*': a product without a sign after '/' is read in two ways")
                factors.append(self._power())
            else:
                return _product(factors)

    def _starts_factor(self, token: Token) -> bool:
        if token.kind == "word":
            return token.text not in WORDS
        if token.kind == "number":
            return token.spaced
        return token.kind == "opener" or (token.text == "(" and token.kind == "sign") or (
            token.text == "|" and not self._bars)  # fmt: skip

    def _signed(self) -> Tree:
        """Return a factor, which may have a minus of its own."""
        return _negative(self._signed()) if self._take("-") else self._power()

    def _power(self) -> Tree:
        base = self._postfix()
        if not self._take("^"):
            return base
        self._depth += 1
        if self._depth > _DEEPEST:
            self._fail(f"powers must be nested at most {_DEEPEST} deep")
        exponent = self._signed()
        self._depth -= 1
        return ["exp", exponent] if base == ["constant", "E"] else ["Pow", base, exponent]

    def _postfix(self) -> Tree:
        base = self._atom()
        while self._take("!"):
            base = self._factorial(base)
        return base

    def _atom(self) -> Tree:
        token = self._next
        if token.kind == "number":
            self._at += 1
            return number(self._fraction(token))
        if token.kind == "word" and token.text not in WORDS:
            after = self._after()
            if after.text == "(" and after.kind == "sign" and not after.spaced:
                return self._call()
            if token.text in FUNCTIONS or token.text in SUMS or token.text == "sqrt":
                self._fail(f"expected '(' directly after the function {token.text}", after)
            if token.text in CONSTANTS:
                self._at += 1
                return ["constant", CONSTANTS[token.text]]
            return self._letter(self._name())
        if self._take("("):
            inner = self._within(self._sum)
            self._expect(")", "to close a bracket")
            return inner
        if self._take("|"):
            self._bars += 1
            inner = self._sum()
            self._bars -= 1
            self._expect("|", "to close the absolute value")
            return ["Abs", inner]
        self._fail("expected a number, a letter or a bracket")

    def _within(self, read: Callable[[], Tree]) -> Tree:
        """Read what stands in brackets, in which a bar opens an absolute value again."""
        bars, self._bars = self._bars, 0
        tree = read()
        self._bars = bars
        return tree

    def _fraction(self, token: Token) -> Fraction:
        mantissa, _, exponent = token.text.lower().partition("e")
        if len(mantissa) > _DIGITS or len(exponent) > 5 or abs(int(exponent or 0)) > _DIGITS:
            raise TextError(f"a number must have at most {_DIGITS} digits", self._text, token.place)
        return Fraction(token.text)

    def _call(self) -> Tree:
        token = self._next
        name = token.text
        self._at += 2
        if name in SUMS:
            return self._within(lambda: self._over_range(SUMS[name]))
        if name not in FUNCTIONS and name != "sqrt":
            near = did_you_mean(name, [*FUNCTIONS, *SUMS, "sqrt"])
            letter = f"; a product is {name}*(...)" if len(name) == 1 else ""
            raise TextError(f"unknown function {name}{near}{letter}", self._text, token.place)
        arguments = [self._within(self._sum)]
        while self._take(","):
            arguments.append(self._within(self._sum))
        self._expect(")", f"to close {name}")
        head = FUNCTIONS.get(name, "sqrt")
        least, most = NUMBER_OF_ARGUMENTS.get(head, (1, 1))
        if not least <= len(arguments) <= most:
            raise TextError(f"{name} must have {most if least == most else 'some'} argument{'s' * (most > 1)}, got "
                            f"{len(arguments)}", self._text, token.place)  # fmt: skip
        if head in ("cosh", "sinh", "tanh"):
            return _hyperbolic(head, arguments[0])
        if head in ("binomial", "factorial"):
            return self._binomial(*arguments) if head == "binomial" else self._factorial(*arguments)
        return ["Pow", arguments[0], number(Fraction(1, 2))] if head == "sqrt" else [head, *arguments]

    def _factorial(self, top: Tree) -> Tree:
        """Return 1*2*...*top as a product; one that runs backwards, as for a top below 0, is not decided."""
        count = self._small(top)
        return number(math.factorial(count)) if count is not None else self._counted(top, lambda k: k)

    def _binomial(self, top: Tree, chosen: Tree) -> Tree:
        """Return the product of (top + 1 - j)/j for j from 1 to ``chosen``: a binomial coefficient for any top."""
        count = self._small(chosen)
        if count is not None:
            terms = top[1:] if top[0] == "Add" else [top]
            factors = [top, *(["Add", *terms, number(-j)] for j in range(1, count))][:count]
            below = [["Pow", number(math.factorial(count)), MINUS]] if count > 1 else []
            return _product([*factors, *below]) if factors else number(1)
        return self._counted(chosen, lambda j: ["Mul", ["Add", top, number(1), _negative(j)], ["Pow", j, MINUS]])

    def _small(self, count: Tree) -> int | None:
        """Return a number of factors that are written out."""
        known = value_of(count)
        return int(known) if known is not None and known.denominator == 1 and 0 <= known <= _WRITTEN_OUT else None

    def _counted(self, count: Tree, factor: Callable[[Tree], Tree]) -> Tree:
        """Return the product of the factors 1 to ``count``."""
        typed = {token.text for token in self._tokens} | self._counters
        name = next(name for name in ("j", "i", *(f"j_{k}" for k in range(len(typed) + 1))) if name not in typed)
        self._counters.add(name)
        letter = ["letter", name, {"integer": True, "positive": True}]
        return ["Product", factor(letter), ["Tuple", letter, number(1), count]]

    def _over_range(self, head: str) -> Tree:
        """Read ``body, letter = low..high)``; the letter is the sum's own."""
        start = self._at
        name = self._range_letter()
        self._at = start
        self._bound.append(name)
        body = self._sum()
        self._bound.pop()
        self._expect(",", "and a range such as t = 1..T")
        self._at += 2  # the letter and its sign
        low = self._sum()
        self._expect("..", "between the ends of the range")
        high = self._sum()
        self._expect(")", "to close the sum")
        return [head, body, ["Tuple", ["letter", name, {"integer": True}], low, high]]

    def _range_letter(self) -> str:
        """Return the letter of the sum whose body begins here: the first ``, letter =`` at this depth."""
        depth = 0
        while self._next.kind != "end" and depth >= 0:
            token = self._next
            depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
            if depth == 0 and token.text == "," and self._after().kind == "word" and self._after(2).text == "=":
                self._at += 1
                return self._next.text
            self._at += 1
        self._fail("expected a range such as ', t = 1..T' in a sum")

    def _name(self) -> str:
        name = self._next.text
        if name in CONSTANTS or name in ("E", "I", "nan", "zoo") or name in FUNCTIONS or name in SUMS:
            self._fail(f"the letter {name} must have another name: {name} means something else")
        if not name[:1].isalpha():
            self._fail(f"the letter {name} must begin with a letter")
        self._at += 1
        if name not in self._bound:
            self._letters.setdefault(name, {})
            self._first.setdefault(name, self._tokens[self._at - 1].place)
        return name

    def _letter(self, name: str) -> Tree:
        return ["letter", name, {"integer": True} if name in self._bound else {}]
