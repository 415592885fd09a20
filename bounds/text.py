"""An inequality as people type it, read by a grammar of its own: nothing is evaluated, and no letter runs as code.

A line is a relation and where it is claimed::

    log(n) <= sqrt(n) for integer n >= 1
    (1 - x)**T <= exp(-x*T) for 0 <= x <= 1, integer T >= 1
    sum(1/sqrt(t), t = 1..T) <= 2 sqrt(T) for integer T >= 1
    exp(x) >= 1 + x

The grammar (``[]`` may be left out, ``*`` may be repeated, ``|`` is or; what stands in quotes is typed)::

    line      = relation ["for" domain]
    relation  = sum (sign sum)(sign sum)*            a <= b <= c is both
    sign      = "<=" "<" ">=" ">" "=", also "≤" "≥" "=="
    domain    = item (("," | ";" | "and") item)*
    item      = [kinds] relation | [kinds] letter | letter "in" set | letter kinds
    kinds     = "real" "integer" "positive" "negative" "nonnegative" "nonpositive" "even" "odd" "prime" "rational" ...
    set       = ("[" | "(") sum "," sum ("]" | ")")  an interval: a round bracket leaves its end out
    sum       = ["-"] product (("+" | "-") product)*
    product   = power (("*" | "/" | a space) power)*
    power     = atom ["^" power], also "**"          to the right: 2^3^2 is 2^9
    atom      = number | letter | constant | function "(" sum ("," sum)* ")" | "(" sum ")" | "|" sum "|" | atom "!"
    function  = exp log ln sqrt abs min max floor ceil erf erfc sin cos tan binomial factorial gamma
              | ("sum" | "prod") "(" sum "," letter "=" sum ".." sum ")"
    constant  = "e" "pi" "oo"                        oo only as an end
    letter    = a Latin or Greek letter or word, with strokes and an index: x  eps  ε  x'  x_1  eta_{t,1}

A kind before a relation is that of its first letter, in the plural (``integers 1 <= m <= n``) that of all letters that
stand alone in it; a letter without a kind after a comma takes that of the one before (``integer m, n``). A letter of
which nothing is said is a real number. ``0.1`` is one tenth. A product by a space after a ``/`` is refused, since
``a/2 b`` is read in two ways. LaTeX is read by :mod:`dpcheck.bounds.latex` and ends up in the same grammar.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpcheck.errors import InputError, did_you_mean, one_line

_LONGEST, _DEEPEST, _DIGITS = 10_000, 100, 4_000  # letters of a line, brackets within brackets, digits of a number
FUNCTIONS = {
    "exp": "exp", "log": "log", "ln": "log", "abs": "Abs", "min": "Min", "max": "Max", "floor": "floor",
    "ceil": "ceiling", "ceiling": "ceiling", "erf": "erf", "erfc": "erfc", "sin": "sin", "cos": "cos", "tan": "tan",
    "binomial": "binomial", "factorial": "factorial", "gamma": "gamma",
}  # fmt: skip
SUMS = {"sum": "Sum", "prod": "Product"}
_NUMBER_OF_ARGUMENTS = {"binomial": (2, 2), "Min": (1, 100), "Max": (1, 100)}
_CONSTANTS = {"e": "E", "pi": "pi", "π": "pi", "oo": "oo", "inf": "oo", "infinity": "oo", "∞": "oo"}
SIGNS = {
    "<=": "LessThan", "<": "StrictLessThan", ">=": "GreaterThan", ">": "StrictGreaterThan", "=": "Equality",
    "≤": "LessThan", "≥": "GreaterThan", "==": "Equality",
}  # fmt: skip
_FLIPPED = {
    "LessThan": "GreaterThan", "GreaterThan": "LessThan", "StrictLessThan": "StrictGreaterThan",
    "StrictGreaterThan": "StrictLessThan",
}  # fmt: skip
KINDS = (
    "real", "integer", "positive", "negative", "nonnegative", "nonpositive", "even", "odd", "prime", "composite",
    "rational", "irrational", "noninteger", "nonzero",
)  # fmt: skip
_SIGNED = {"positive", "negative", "nonnegative", "nonpositive"}
_PLURAL = ("reals", "integers", "numbers")
_FILLING = ("all", "any", "every", "number", "numbers")
_OTHERS = (  # words of a sentence that the grammar has no place for, which nobody means as letters
    "or", "not", "if", "then", "iff", "implies", "exists", "forall", "mod", "where", "when", "with", "such", "that",
    "is", "are", "be", "the", "of", "let", "to", "on", "at", "by", "as", "from", "over", "than", "while", "but", "some",
)  # fmt: skip
WORDS = {*KINDS, *_PLURAL, *_FILLING, *_OTHERS, "for", "and", "in"}
_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<number>(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<word>[^\W\d](?:[^\W_]|_(?!\{))*'*(?:_\{[\w,']+\})?'*|∞)|(?P<sign>\.\.|\*\*|<=|>=|==|[-+*/^(),;=<>\[\]|!≤≥·×−])"
)
_SAME = {"**": "^", "·": "*", "×": "*", "−": "-"}

Tree = list[Any]


class TextError(InputError):
    """A line that the grammar does not read; :attr:`caret` points to the place."""

    def __init__(self, what: str, text: str, place: int) -> None:
        """Say what is wrong, and in which column."""
        self.what, self.text, self.place = what, text, place
        super().__init__(f"{what}, at column {place + 1} of: {one_line(text)[:200]}")

    @property
    def caret(self) -> str:
        """Two lines: the text around the place, and a caret under it."""
        start = max(0, self.place - 60)
        shown = "".join(c if c.isprintable() else " " for c in self.text[start : start + 78])
        return f"{shown}\n{' ' * (self.place - start)}^"


@dataclass(frozen=True)
class Token:
    """A word, a number or a sign of a line, and where it stands."""

    kind: str  # "word", "number", "sign" or "end"
    text: str
    place: int
    spaced: bool = False  # after a space


@dataclass(frozen=True)
class Typed:
    """What a line says: relations, the facts of each letter, and conditions, as plain trees of terms."""

    relations: tuple[Tree, ...]
    letters: dict[str, dict[str, bool]]
    conditions: tuple[Tree, ...]


def parse(text: str) -> Typed:
    """Read a line of plain text or LaTeX.

    Parameters
    ----------
    text : str
        Such as ``"log(n) <= sqrt(n) for integer n >= 1"``.

    Returns
    -------
    Typed
        What it says, as plain trees.

    Raises
    ------
    TextError
        With the word that is not understood, and its column.

    Examples
    --------
    >>> parse("x <= 1/2 for integer x").conditions
    ()
    >>> parse("logg(n) <= 1")
    Traceback (most recent call last):
    dpcheck.bounds.text.TextError: unknown function logg (did you mean log?), at column 1 of: logg(n) <= 1
    """
    if len(text) > _LONGEST:
        raise InputError(f"a line must have at most {_LONGEST} characters, got {len(text)}")
    if "\\" in text or "$" in text or "^{" in text:
        from dpcheck.bounds import latex

        return _Parser(text, latex.tokens(text)).line()
    return _Parser(text, tokens(text)).line()


def tokens(text: str) -> list[Token]:
    """Return the words, numbers and signs of plain text."""
    found, place, spaced = list[Token](), 0, False
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise TextError(f"unknown sign {one_line(text[place])!r}", text, place)
        kind, word = str(match.lastgroup), match.group()
        if kind != "space":
            word = _plain_name(word) if kind == "word" else _SAME.get(word, word)
            found.append(Token(kind, word, place, spaced))
        spaced, place = kind == "space", match.end()
    return found


def _plain_name(word: str) -> str:
    """Return a letter with its strokes before its index, and the index in braces only where it needs them."""
    stem, _, index = unicodedata.normalize("NFKC", word).partition("_{")
    strokes = len(index) - len(index.rstrip("'"))
    inner = index.rstrip("'").removesuffix("}")
    name = stem + "'" * strokes
    return name if not index else f"{name}_{inner}" if inner.isalnum() else f"{name}_{{{inner}}}"


def number(value: Fraction | int) -> Tree:
    """Return the tree of a number."""
    return ["number", hex(value.numerator), hex(value.denominator)]


def value_of(tree: Tree) -> Fraction | None:
    """Return the number that a tree is; None for any other."""
    return Fraction(int(tree[1], 16), int(tree[2], 16)) if tree[0] == "number" else None


_MINUS = number(-1)


def _negative(tree: Tree) -> Tree:
    value = value_of(tree)
    if value is not None:
        return number(-value)
    first = value_of(tree[1]) if tree[0] == "Mul" else None
    if first is not None and first > 0 and first != 1:
        return ["Mul", number(-first), *tree[2:]]
    return ["Mul", _MINUS, *(tree[1:] if tree[0] == "Mul" and first is None else [tree])]


def _product(factors: Sequence[Tree]) -> Tree:
    return factors[0] if len(factors) == 1 else ["Mul", *factors]


class _Parser:
    """Recursive descent over the tokens of one line."""

    def __init__(self, text: str, found: list[Token]) -> None:
        self._text, self._tokens, self._at, self._depth, self._bars = text, found, 0, 0, 0
        self._bound: list[str] = []
        self._letters: dict[str, dict[str, bool]] = {}  # in the order in which they are typed
        self._first: dict[str, int] = {}  # where they are typed first
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

    def _fail(self, what: str, token: Token | None = None) -> None:
        token = token or self._next
        got = "" if token.text and token.text in what else f", got {token.text or 'the end'}"
        raise TextError(f"{what}{got}", self._text, token.place)

    # --- a line

    def line(self) -> Typed:
        relations = self._relations()
        conditions: list[Tree] = []
        said = set(self._letters)
        if self._take("for") or (self._after().text == "for" and self._take(",") and self._take("for")):
            conditions = self._domain()
        if self._next.kind != "end":
            self._fail("expected a sign, a relation or 'for'")
        for name in [name for name in self._letters if name not in said | self._stand_alone]:
            near = did_you_mean(name, WORDS)
            raise TextError(f"unknown word {name}{near}", self._text, self._first[name])
        facts = {name: known or {"real": True} for name, known in self._letters.items()}
        left = [condition for condition in conditions if not self._is_sign(condition, facts)]
        for condition in left:
            self._tell_sign(condition, facts)
        settled = [[relation[0], *(_settled(side, facts) for side in relation[1:])] for relation in (*relations, *left)]
        return Typed(tuple(settled[: len(relations)]), facts, tuple(settled[len(relations) :]))

    def _tell_sign(self, condition: Tree, facts: dict[str, dict[str, bool]]) -> None:
        """Add to the facts of a letter what an end of its interval, which stays, says of its sign."""
        head, left, right = condition
        if right[0] == "letter":
            head, left, right = _FLIPPED.get(head, head), right, left
        end = value_of(right)
        if left[0] != "letter" or end is None or facts[left[1]].keys() & _SIGNED:
            return
        if head in ("GreaterThan", "StrictGreaterThan") and end >= 0:
            facts[left[1]] = {**facts[left[1]], "positive" if end > 0 else "nonnegative": True}
        if head in ("LessThan", "StrictLessThan") and end <= 0:
            facts[left[1]] = {**facts[left[1]], "negative" if end < 0 else "nonpositive": True}

    def _is_sign(self, condition: Tree, facts: dict[str, dict[str, bool]]) -> bool:
        """Take a condition ``x > 0`` or ``x < 0`` over into the facts of its letter, if nothing there contradicts."""
        head, left, right = condition
        if right[0] == "letter":
            head, left, right = _FLIPPED.get(head, head), right, left
        sign = {"StrictGreaterThan": "positive", "StrictLessThan": "negative"}.get(head)
        if sign is None or left[0] != "letter" or value_of(right) != 0:
            return False
        known = facts[left[1]]
        if known.keys() & _SIGNED - {sign}:
            return False
        facts[left[1]] = {**known, sign: True}
        return True

    def _relations(self) -> list[Tree]:
        left = self._sum()
        found: list[Tree] = []
        while self._next.kind == "sign" and self._next.text in SIGNS:
            head = SIGNS[self._next.text]
            self._at += 1
            right = self._sum()
            found.append([head, left, right])
            left = right
        if not found:
            self._fail("expected a relation such as <=")
        return found

    def _domain(self) -> list[Tree]:
        conditions: list[Tree] = []
        before: tuple[str, ...] = ()
        while True:
            start = self._at
            kinds, plural = self._kinds()
            if self._next.kind == "end" and self._at > start:
                self._fail("expected a letter")
            if self._alone():
                name = self._name()
                after, _ = self._kinds()
                kinds = (*kinds, *after) or before
                names = [name]
                if self._take("in"):
                    among, _ = self._kinds()
                    conditions += [] if among else self._set(name)
                    kinds = (*kinds, *among)
            else:
                found = self._relations()
                conditions += found
                alone = [side[1] for relation in found for side in relation[1:] if side[0] == "letter"]
                names = list(dict.fromkeys(alone if plural else alone[:1]))
                if kinds and not names:
                    self._fail("expected a letter of this kind", self._tokens[start])
                self._stand_alone.update(alone)
            self._stand_alone.update(names)
            for name in names:
                self._letters[name] |= dict.fromkeys(kinds, True)
            before = kinds
            if not self._separator():
                return conditions

    def _separator(self) -> bool:
        found = False
        while self._take(",", ";", "and"):
            found = True
        return found

    def _alone(self) -> bool:
        after = self._after()
        ends = after.kind == "end" or after.text in (",", ";", "and", "in", *KINDS, *_PLURAL)
        return self._next.kind == "word" and self._next.text not in WORDS and ends

    def _kinds(self) -> tuple[tuple[str, ...], bool]:
        kinds, plural = list[str](), False
        while self._next.kind == "word" and self._next.text in {*KINDS, *_PLURAL, *_FILLING}:
            word = self._next.text
            plural = plural or word in _PLURAL
            kinds += [] if word in _FILLING else [word.removesuffix("s") if word in _PLURAL else word]
            self._at += 1
        return tuple(kinds), plural

    def _set(self, name: str) -> list[Tree]:
        opened = self._take("[", "(")
        if opened is None:
            self._fail("expected an interval such as [0, 1)")
        low = self._sum()
        self._expect(",", "between the ends of an interval")
        high = self._sum()
        closed = self._take("]", ")")
        if closed is None:
            self._fail("expected ']' or ')' after the ends of an interval")
        assert opened is not None and closed is not None
        letter: Tree = ["letter", name, {}]
        ends = [["GreaterThan" if opened.text == "[" else "StrictGreaterThan", letter, low]]
        ends += [["LessThan" if closed.text == "]" else "StrictLessThan", letter, high]]
        return [end for end in ends if end[2] not in (["constant", "oo"], ["Mul", _MINUS, ["constant", "oo"]])]

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
                    inverse: Tree = ["Pow", below, _MINUS]
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
            base = ["factorial", base]
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
            if token.text in _CONSTANTS:
                self._at += 1
                return ["constant", _CONSTANTS[token.text]]
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
        return self._failed("expected a number, a letter or a bracket")

    def _failed(self, what: str) -> Tree:
        self._fail(what)
        raise AssertionError

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
        least, most = _NUMBER_OF_ARGUMENTS.get(head, (1, 1))
        if not least <= len(arguments) <= most:
            raise TextError(f"{name} must have {most if least == most else 'some'} argument{'s' * (most > 1)}, got "
                            f"{len(arguments)}", self._text, token.place)  # fmt: skip
        return ["Pow", arguments[0], number(Fraction(1, 2))] if head == "sqrt" else [head, *arguments]

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
        raise AssertionError

    def _name(self) -> str:
        name = self._next.text
        if name in _CONSTANTS or name in ("E", "I", "nan", "zoo") or name in FUNCTIONS or name in SUMS:
            self._fail(f"the letter {name} must have another name: {name} means something else")
        self._at += 1
        if name not in self._bound:
            self._letters.setdefault(name, {})
            self._first.setdefault(name, self._tokens[self._at - 1].place)
        return name

    def _letter(self, name: str) -> Tree:
        return ["letter", name, {"integer": True} if name in self._bound else {}]


def _settled(tree: Tree, facts: dict[str, dict[str, bool]]) -> Tree:
    """Return the tree with the facts of its letters, which are known at the end of the line."""
    if tree[0] == "letter":
        return ["letter", tree[1], tree[2] or facts[tree[1]]]
    if tree[0] in ("number", "constant"):
        return tree
    return [tree[0], *(_settled(part, facts) for part in tree[1:])]
