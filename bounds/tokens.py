"""The words, numbers and signs of an inequality that is typed, and the places of those that nobody can read."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from dpcheck.errors import InputError, one_line, short

FUNCTIONS = {
    "exp": "exp", "log": "log", "ln": "log", "abs": "Abs", "min": "Min", "max": "Max", "floor": "floor",
    "ceil": "ceiling", "ceiling": "ceiling", "erf": "erf", "erfc": "erfc", "sin": "sin", "cos": "cos", "tan": "tan",
    "binomial": "binomial", "factorial": "factorial", "gamma": "gamma", "norm": "norm", "inner": "inner",
    "cosh": "cosh", "sinh": "sinh", "tanh": "tanh",
}  # fmt: skip
SUMS = {"sum": "Sum", "prod": "Product"}
NUMBER_OF_ARGUMENTS = {"binomial": (2, 2), "inner": (2, 2), "Min": (1, 100), "Max": (1, 100)}
CONSTANTS = {"e": "E", "pi": "pi", "π": "pi", "oo": "oo", "inf": "oo", "infinity": "oo", "∞": "oo"}
SIGNS = {
    "<=": "LessThan", "<": "StrictLessThan", ">=": "GreaterThan", ">": "StrictGreaterThan", "=": "Equality",
    "≤": "LessThan", "≥": "GreaterThan", "==": "Equality",
}  # fmt: skip
KINDS = (
    "real", "integer", "positive", "negative", "nonnegative", "nonpositive", "even", "odd", "prime", "composite",
    "rational", "irrational", "noninteger", "nonzero", "vector",
)  # fmt: skip
PLURAL = ("reals", "integers", "numbers", "vectors")
FILLING = ("all", "any", "every", "number", "numbers")
_OTHERS = (  # words of a sentence that the grammar has no place for, which nobody means as letters
    "or", "not", "if", "then", "iff", "implies", "exists", "forall", "mod", "where", "when", "with", "such", "that",
    "is", "are", "be", "the", "of", "let", "to", "on", "at", "by", "as", "from", "over", "than", "while", "but", "some",
)  # fmt: skip
WORDS = {*KINDS, *PLURAL, *FILLING, *_OTHERS, "for", "and", "in"}
_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<number>(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<word>[^\W\d](?:[^\W_]|_(?!\{))*'*(?:_\{[\w,']+\}|_[^\W_]+)?'*|∞)|(?P<sign>\.\.|\*\*|<=|>=|==|!=|=>|[-+*/^(),;=<>\[\]|!≤≥·×−])"
)
_SAME = {"**": "^", "·": "*", "×": "*", "−": "-"}


class TextError(InputError):
    """A line that the grammar does not read; :attr:`caret` points to the place."""

    def __init__(self, what: str, text: str, place: int) -> None:
        """Say what is wrong, and in which column."""
        self.what, self.text, self.place = short(what, 350), text, place  # what was typed may be long
        super().__init__(f"{self.what}, at column {place + 1} of: {one_line(text)[:200]}")

    @property
    def caret(self) -> str:
        """Two lines: the text around the place, and a caret under it."""
        start = max(0, self.place - 60)
        shown = "".join(c if c.isprintable() else " " for c in self.text[start : start + 78])
        return f"  {shown}\n  {' ' * (self.place - start)}^"


@dataclass(frozen=True)
class Token:
    """A word, a number or a sign of a line, and where it stands."""

    kind: str  # "word", "number", "sign" or "end"
    text: str
    place: int
    spaced: bool = False  # after a space


def tokens(text: str) -> list[Token]:
    """Return the words, numbers and signs of plain text."""
    found, place, spaced = list[Token](), 0, False
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            braces = " (write sum(1/t, t = 1..T), or all of it in LaTeX)" if text[place] in "{}" else ""
            raise TextError(f"unknown sign {one_line(text[place])!r}{braces}", text, place)
        kind, word = str(match.lastgroup), match.group()
        raised = [at for at, c in enumerate(word) if kind == "word" and c.isnumeric() and not c.isdecimal()]
        if raised:  # x² is no letter of that name
            raise TextError(f"unknown sign {word[raised[0]]!r} (write x^2)", text, place + raised[0])
        if kind != "space":
            word = plain_name(word) if kind == "word" else _SAME.get(word, word)
            found.append(Token(kind, word, place, spaced))
        spaced, place = kind == "space", match.end()
    return found


def plain_name(word: str) -> str:
    """Return a letter with its strokes before its index, and the index in braces only where it needs them."""
    stem, _, index = unicodedata.normalize("NFKC", word).partition("_")
    inner = index.rstrip("'")
    name = stem + "'" * (len(index) - len(inner))
    inner = inner.removeprefix("{").removesuffix("}")
    return name if not inner else f"{name}_{inner}" if inner.replace("_", "").isalnum() else f"{name}_{{{inner}}}"
