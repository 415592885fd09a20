"""LaTeX as tokens of the grammar of :mod:`dpcheck.bounds.text`, every one with its place in what was typed.

Read are ``\\frac \\sqrt[n] \\binom``, ``\\log \\ln \\exp \\min \\max ...`` with or without brackets, powers, indices,
``\\sum_{t=1}^{T}`` and ``\\prod``, ``\\le \\leq \\ge \\geq < > = <= >=``, ``\\cdot \\times``, ``\\left \\right``,
bars, ``\\|x\\|``, ``\\langle x, y \\rangle``, ``\\lfloor \\lceil``, Greek letters, ``\\text{for integer } n``,
``\\forall n \\in \\mathbb{Z}``, ``\\in [0, 1)``.
The body of a sum is the product after it. ``\\log n^2`` is the logarithm of the square; ``\\log 2 n`` is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn

from dpcheck.bounds.tokens import FUNCTIONS, SIGNS, SUMS, WORDS, TextError, Token, plain_name
from dpcheck.bounds.tokens import tokens as plain_tokens

_RAW = re.compile(r"\\(?:[A-Za-z]+|.)|\s+|\d+(?:\.\d+)?|\.\d+|[^\W\d_]+|[<>=]=|.", re.DOTALL)
_RELATIONS = {
    "le": "<=", "leq": "<=", "leqslant": "<=", "lt": "<", "ge": ">=", "geq": ">=", "geqslant": ">=", "gt": ">",
}  # fmt: skip
_AS = {
    **_RELATIONS, "cdot": "*", "times": "*", "div": "/", "infty": "oo", "forall": "for", "in": "in", "lvert": "|",
    "rvert": "|", "vert": "|", "mid": "|", "ldots": "..", "dots": "..", "land": "and", "wedge": "and",
}  # fmt: skip
_SKIPPED = {
    "left", "right", "big", "Big", "bigl", "bigr", "Bigl", "Bigr", "bigg", "Bigg", "quad", "qquad", "displaystyle",
    "textstyle", "limits", "nolimits", "!", ",", ";", ":", " ", "(", ")", "[", "]",
}  # fmt: skip
_GREEK = {
    "alpha", "beta", "gamma", "delta", "epsilon", "varepsilon", "zeta", "eta", "theta", "vartheta", "iota", "kappa",
    "lambda", "mu", "nu", "xi", "rho", "varrho", "sigma", "tau", "upsilon", "phi", "varphi", "chi", "psi", "omega",
    "Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega", "ell",
}  # fmt: skip
_TEXT = {"text", "mathrm", "operatorname", "textrm", "mathit", "textit", "mathsf"}
_SETS = {"R": ("real",), "Z": ("integer",), "Q": ("rational",)}
_OPEN, _CLOSE = ("(", "[", "\\{"), (")", "]", "\\}")
_ENCLOSED = {
    "\\lfloor": ("\\rfloor", "floor"), "\\lceil": ("\\rceil", "ceil"), "\\langle": ("\\rangle", "inner"),
    "\\|": ("\\|", "norm"), "\\lVert": ("\\rVert", "norm"), "\\Vert": ("\\Vert", "norm"),
}  # fmt: skip


def tokens(text: str) -> list[Token]:
    """Return the tokens of the plain grammar for a line of LaTeX."""
    reader = _Reader(text)
    found = reader.until()
    reader.end()
    return found


class _Reader:
    """Commands, groups and letters, one after the other."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._raw = [(m.group(), m.start()) for m in _RAW.finditer(text) if not m.group().isspace()]
        self._at, self._depth = 0, 0

    # --- what comes next

    @property
    def _next(self) -> str:
        while self._at < len(self._raw) and self._skips(self._raw[self._at][0]):
            self._at += 1
        return self._raw[self._at][0] if self._at < len(self._raw) else ""

    def _skips(self, raw: str) -> bool:
        return raw in ("$", "&", "~") or (raw[0] == "\\" and raw[1:] in _SKIPPED)

    @property
    def _place(self) -> int:
        _ = self._next
        return self._raw[self._at][1] if self._at < len(self._raw) else len(self._text)

    def _fail(self, what: str) -> NoReturn:
        raise TextError(what, self._text, self._place)

    def _expect(self, *raws: str) -> str:
        got = self._next
        if got not in raws:
            self._fail(f"expected {' or '.join(raws)}, got {got or 'the end'}")
        self._at += 1
        return got

    def _sign(self, text: str, *, spaced: bool = True) -> Token:
        return Token("sign", text, self._place, spaced)

    def end(self) -> None:
        """Require that all was read."""
        if self._next:
            self._fail(f"unexpected {self._next}")

    # --- what is read

    def until(self, *ends: str) -> list[Token]:
        """Return the tokens up to one of ``ends``, or to what closes a group."""
        self._depth += 1
        if self._depth > 100:
            self._fail("brackets must be nested at most 100 deep")
        found: list[Token] = []
        while self._next and self._next not in ends and self._next not in ("}", *_CLOSE, "\\rfloor", "\\rceil"):
            found += self._one(found)
        self._depth -= 1
        return found

    def _one(self, before: list[Token]) -> list[Token]:
        raw = self._next
        if raw in _OPEN:
            interval = bool(before) and before[-1].text == "in"
            opened = self._sign(raw if interval else "(")
            self._at += 1
            inner = self.until()
            shut = self._sign(self._next if interval else ")")
            self._expect(*_CLOSE)
            return [opened, *inner, shut]
        if raw == "{":
            return self._group()
        if raw == "^":
            sign = self._sign("^")
            self._at += 1
            return [sign, *self._argument()]
        if raw in _ENCLOSED:
            end, name = _ENCLOSED[raw]
            called = self._call(name, lambda: self._closed(end))
            if name == "norm" and self._next == "_":  # the Euclidean norm is the only one
                self._at += 1
                self._expect("2")
            return called
        if raw[0] == "\\":
            return self._command(raw[1:])
        if raw[0].isalpha():
            return self._word(raw)
        token = plain_tokens(raw)[0] if raw != "_" and raw != "'" else self._fail("an index must follow a letter")
        found = Token(token.kind, token.text, self._place, True)
        self._at += 1
        return [found]

    def _closed(self, shut: str) -> list[Token]:
        self._at += 1
        inner = self.until(shut)
        self._expect(shut)
        return inner

    def _call(self, name: str, *parts: Callable[[], list[Token]]) -> list[Token]:
        """Return a call of a function, whose arguments are read one after the other."""
        found = [Token("word", name, self._place, True), self._sign("(", spaced=False)]
        for k, part in enumerate(parts):
            found += [self._sign(",")] if k else []
            found += part()
        return [*found, self._sign(")")]

    def _group(self) -> list[Token]:
        """Return what stands in braces, in brackets."""
        opened = self._sign("(")
        self._expect("{")
        inner = self.until()
        shut = self._sign(")")
        self._expect("}")
        return [opened, *inner, shut]

    def _argument(self) -> list[Token]:
        """Return a group, or the one sign that TeX takes without braces."""
        raw = self._next
        if raw == "{":
            return self._group()
        if len(raw) > 1 and raw[0] != "\\":
            self._fail(f"write braces around {raw}: TeX takes its first character only")
        if not raw or raw in ("^", "_", "}"):
            self._fail("expected an argument in braces")
        return self._one([])

    def _word(self, raw: str) -> list[Token]:
        place = self._place
        if raw in WORDS:
            self._at += 1
            return [Token("word", raw, place, True)]
        if len(raw) > 1 and raw.isascii():
            known = (
                f"\\{raw}" if raw in {*FUNCTIONS, *_GREEK, *SUMS, "sqrt"} else f"{' '.join(raw)}, or \\mathrm{{{raw}}}"
            )
            self._fail(f"{raw} is {len(raw)} letters in LaTeX: write {known}")
        return self._letter(raw)

    def _letter(self, name: str) -> list[Token]:
        """Return a letter with its strokes and its index."""
        place = self._place
        self._at += 1
        while self._next == "'":
            name += "'"
            self._at += 1
        if self._next == "_":
            self._at += 1
            group = self._next == "{"
            found = self._argument() if group else [Token("word", self._next, self._place)]
            self._at += not group
            index = "".join(token.text for token in found if token.text not in ("(", ")"))
            if not re.fullmatch(r"[\w,']+", index):
                self._fail("an index must be made of letters, digits and commas")
            name += f"_{{{index}}}"
            while self._next == "'":
                name += "'"
                self._at += 1
            name = plain_name(name)
        return [Token("word", name, place, True)]

    def _command(self, name: str) -> list[Token]:
        place = self._place
        if name in _AS:
            self._at += 1
            kind = "word" if _AS[name].isalpha() else "sign"
            return [Token(kind, _AS[name], place, True)]
        if name in _GREEK or name == "pi":
            return self._letter(name)
        if name in _TEXT:
            return self._words()
        if name == "mathbb":
            return self._domain_of()
        if name in ("frac", "tfrac", "dfrac"):
            self._at += 1
            above = self._argument()
            stroke = self._sign("/")
            return [Token("sign", "(", place, True), *above, stroke, *self._argument(), self._sign(")")]
        if name == "sqrt":
            return self._root()
        if name in ("binom", "dbinom", "tbinom"):
            self._at += 1
            return self._call("binomial", self._argument, self._argument)
        if name in SUMS:
            return self._over_range(name)
        if name in FUNCTIONS:
            return self._function(name)
        self._fail(f"unknown command \\{name}")

    def _words(self) -> list[Token]:
        self._at += 1
        self._expect("{")
        start, depth = self._place, 1
        while self._at < len(self._raw) and depth:
            depth += {"{": 1, "}": -1}.get(self._raw[self._at][0], 0)
            self._at += 1
        inner = plain_tokens(self._text[start : self._raw[self._at - 1][1]])
        return [Token(token.kind, token.text, start + token.place, True) for token in inner]

    def _domain_of(self) -> list[Token]:
        place = self._place
        self._at += 1
        name = "".join(token.text for token in self._argument() if token.text not in ("(", ")"))
        if name not in _SETS:
            self._fail(
                f"\\mathbb{{{name}}} must be one of {', '.join(_SETS)} (for N, write n \\in \\mathbb{{Z}}, n \\ge 1)"
            )
        return [Token("word", kind, place, True) for kind in _SETS[name]]

    def _root(self) -> list[Token]:
        self._at += 1
        if self._next != "[":
            return self._call("sqrt", self._argument)
        place = self._place
        self._at += 1
        degree = self.until()
        self._expect("]")
        one = Token("number", "1", place, True)
        power = [self._sign("^"), self._sign("("), one, self._sign("/"), self._sign("("), *degree, self._sign(")")]
        return [self._sign("("), *self._argument(), *power, self._sign(")"), self._sign(")")]

    def _over_range(self, name: str) -> list[Token]:
        place = self._place
        self._at += 1
        ends: dict[str, list[Token]] = {}
        while self._next in ("_", "^") and self._next not in ends:
            which = self._next
            self._at += 1
            ends[which] = self._argument()
        if ends.keys() != {"_", "^"} or "=" not in [token.text for token in ends["_"]]:
            self._fail(f"expected a range such as \\{name}_{{t=1}}^{{T}}")
        body = self.until(
            "+", "-", ",", *SIGNS, *(f"\\{relation}" for relation in _RELATIONS), "for", "\\forall", "\\text"
        )
        return [
            Token("word", name, place, True), Token("sign", "(", place), *body, Token("sign", ",", place),
            *ends["_"][1:-1], Token("sign", "..", place), *ends["^"], Token("sign", ")", place),
        ]  # fmt: skip

    def _function(self, name: str) -> list[Token]:
        place = self._place
        self._at += 1
        base: list[Token] = []
        power: list[Token] = []
        if name == "log" and self._next == "_":
            self._at += 1
            base = [Token("sign", "/", place), *self._call("log", self._argument)]
        if self._next == "^":
            self._at += 1
            power = [self._sign("^"), *self._argument()]
        inner = self._one([])[1:-1] if self._next in (*_OPEN, "{") else self._factor(name)
        called = [Token("word", name, place, True), Token("sign", "(", place), *inner, Token("sign", ")", place)]
        whole = [Token("sign", "(", place, True), *called, *base, Token("sign", ")", place)] if base else called
        return [*whole, *power]

    def _factor(self, name: str) -> list[Token]:
        """Return the one factor that a function without brackets is taken of."""
        found = self._one([])
        while self._next == "^":
            found += self._one(found)
        raw = self._next
        product = (raw and raw not in WORDS) and (
            raw.isalnum() or raw in ("(", "[", "{") or raw[1:] in ("frac", "sqrt", *_GREEK)
        )
        if product or raw == "/":
            self._fail(f"write brackets around what \\{name} is taken of")
        return found
