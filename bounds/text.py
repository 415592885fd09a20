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
    kinds     = "real" "integer" "positive" "negative" "nonnegative" "nonpositive" "even" "odd" "prime" "vector" ...
    set       = ("[" | "(") sum "," sum ("]" | ")")  an interval: a round bracket leaves its end out
    sum       = ["-"] product (("+" | "-") product)*
    product   = power (("*" | "/" | a space) power)*
    power     = atom ["^" power], also "**"          to the right: 2^3^2 is 2^9
    atom      = number | letter | constant | function "(" sum ("," sum)* ")" | "(" sum ")" | "|" sum "|" | atom "!"
    function  = exp log ln sqrt abs min max floor ceil erf erfc sin cos tan cosh sinh tanh binomial factorial gamma
              | "norm(" sum ")" | "inner(" sum "," sum ")"      of vectors, which the domain declares: vectors x, y
              | ("sum" | "prod") "(" sum "," letter "=" sum ".." sum ")"
    constant  = "e" "pi" "oo"                        oo only as an end
    letter    = a Latin or Greek letter or word, with strokes and an index: x  eps  ε  x'  x_1  eta_{t,1}

A kind before a relation is that of its first letter, in the plural (``integers 1 <= m <= n``) that of all letters that
stand alone in it; a letter without a kind takes that of the letter before (``integer m, n``). A letter of
which nothing is said is a real number, save one that the domain defines, as ``q = p/(p - 1)``: what it is stands in its
place. ``0.1`` is one tenth. A product by a space after a ``/`` is refused, since
``a/2 b`` is read in two ways. LaTeX is read by :mod:`dpcheck.bounds.latex` and ends up in the same grammar.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dpcheck.bounds import typed_vectors
from dpcheck.bounds.tokens import FILLING, KINDS, PLURAL, SIGNS, WORDS, TextError, tokens
from dpcheck.bounds.typed import MINUS, Formulas, Tree, value_of
from dpcheck.errors import InputError, did_you_mean

FLIPPED = {
    "LessThan": "GreaterThan", "GreaterThan": "LessThan", "StrictLessThan": "StrictGreaterThan",
    "StrictGreaterThan": "StrictLessThan",
}  # fmt: skip
SIGNED = {"positive", "negative", "nonnegative", "nonpositive"}


_LONGEST = 10_000  # letters of a line


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
    dpcheck.bounds.tokens.TextError: unknown function logg (did you mean log?), at column 1 of: logg(n) <= 1
    """
    if len(text) > _LONGEST:
        raise InputError(f"a line must have at most {_LONGEST} characters, got {len(text)}")
    if "\\" in text or "$" in text or "^{" in text:
        from dpcheck.bounds import latex

        return _Line(text, latex.tokens(text)).line()
    return _Line(text, tokens(text)).line()


class _Line(Formulas):
    """A relation and its domain."""

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
        relations, conditions = self._with_definitions(relations, conditions)
        among = {name: known for name, known in self._letters.items() if "vector" in known}
        relations = [typed_vectors.told(tree, among) for tree in relations]
        conditions = [typed_vectors.told(tree, among) for tree in conditions]
        facts = {name: known or {"real": True} for name, known in self._letters.items() if name not in among}
        facts |= typed_vectors.letters(among)
        left = [condition for condition in conditions if not self._is_sign(condition, facts)]
        for condition in left:
            self._tell_sign(condition, facts)
        settled = [[relation[0], *(_settled(side, facts) for side in relation[1:])] for relation in (*relations, *left)]
        return Typed(tuple(settled[: len(relations)]), facts, tuple(settled[len(relations) :]))

    def _with_definitions(self, relations: list[Tree], conditions: list[Tree]) -> tuple[list[Tree], list[Tree]]:
        """Put what a condition ``q = p/(p - 1)`` says of a letter in its place, save where a sum has that letter."""
        bound = set(_bound_letters([*relations, *conditions]))

        def defines(condition: Tree) -> bool:
            head, left, right = condition
            if head != "Equality" or left[0] != "letter" or self._letters.get(left[1], True):
                return False
            return left[1] not in _letters_of(right) and not bound & {left[1], *_letters_of(right)}

        while defining := next(filter(defines, conditions), None):
            _, (_, name, _), value = defining
            conditions = [_put(condition, name, value) for condition in conditions if condition is not defining]
            relations = [_put(relation, name, value) for relation in relations]
            del self._letters[name]
        return relations, conditions

    def _tell_sign(self, condition: Tree, facts: dict[str, dict[str, bool]]) -> None:
        """Add to the facts of a letter what an end of its interval, which stays, says of its sign."""
        head, left, right = condition
        if right[0] == "letter":
            head, left, right = FLIPPED.get(head, head), right, left
        end = value_of(right)
        if left[0] != "letter" or end is None or facts[left[1]].keys() & SIGNED:
            return
        if head in ("GreaterThan", "StrictGreaterThan") and end >= 0:
            facts[left[1]] = {**facts[left[1]], "positive" if end > 0 else "nonnegative": True}
        if head in ("LessThan", "StrictLessThan") and end <= 0:
            facts[left[1]] = {**facts[left[1]], "negative" if end < 0 else "nonpositive": True}

    def _is_sign(self, condition: Tree, facts: dict[str, dict[str, bool]]) -> bool:
        """Take a condition ``x > 0`` or ``x < 0`` over into the facts of its letter, if nothing there contradicts."""
        head, left, right = condition
        if right[0] == "letter":
            head, left, right = FLIPPED.get(head, head), right, left
        sign = {"StrictGreaterThan": "positive", "StrictLessThan": "negative"}.get(head)
        if sign is None or left[0] != "letter" or value_of(right) != 0:
            return False
        known = facts[left[1]]
        if known.keys() & SIGNED - {sign}:
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
                names, before = [name], kinds
                if self._take("in"):
                    among, _ = self._kinds()
                    conditions += [] if among else self._set(name)
                    kinds = (*kinds, *among)
            else:
                found, before = self._relations(), ()
                if not all(map(_letters_of, found)):
                    self._fail("a condition must speak of a letter, and e is Euler's number", self._tokens[start])
                conditions += found
                alone = [side[1] for relation in found for side in relation[1:] if side[0] == "letter"]
                names = list(dict.fromkeys(alone if plural else alone[:1]))
                if kinds and not names:
                    self._fail("expected a letter of this kind", self._tokens[start])
                self._stand_alone.update(alone)
                for head, left, right in found:
                    self._stand_alone.update(_letters_of(right) if head == "Equality" and left[0] == "letter" else ())
            self._stand_alone.update(names)
            for name in names:
                self._letters[name] |= dict.fromkeys(kinds, True)
            if not self._separator():
                return conditions

    def _separator(self) -> bool:
        found = False
        while self._take(",", ";", "and"):
            found = True
        return found

    def _alone(self) -> bool:
        after = self._after()
        ends = after.kind == "end" or after.text in (",", ";", "and", "in", *KINDS, *PLURAL)
        return self._next.kind == "word" and self._next.text not in WORDS and ends

    def _kinds(self) -> tuple[tuple[str, ...], bool]:
        kinds, plural = list[str](), False
        while self._next.kind == "word" and self._next.text in {*KINDS, *PLURAL, *FILLING}:
            word = self._next.text
            plural = plural or word in PLURAL
            kinds += [] if word in FILLING else [word.removesuffix("s") if word in PLURAL else word]
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
        letter: Tree = ["letter", name, {}]
        ends = [["GreaterThan" if opened.text == "[" else "StrictGreaterThan", letter, low]]
        ends += [["LessThan" if closed.text == "]" else "StrictLessThan", letter, high]]
        return [end for end in ends if end[2] not in (["constant", "oo"], ["Mul", MINUS, ["constant", "oo"]])]


def _parts(tree: Tree) -> list[Tree]:
    return [part for part in tree[1:] if isinstance(part, list)]


def _letters_of(tree: Tree) -> set[str]:
    return {tree[1]} if tree[0] == "letter" else set().union(*map(_letters_of, _parts(tree)))


def _bound_letters(trees: Iterable[Tree]) -> Iterator[str]:
    """The letters of sums and products."""
    for tree in trees:
        if tree[0] == "Tuple":
            yield tree[1][1]
        yield from _bound_letters(_parts(tree))


def _put(tree: Tree, name: str, value: Tree) -> Tree:
    """Return the tree with a value in the place of a letter."""
    if tree[0] == "letter":
        return value if tree[1] == name else tree
    return [part if not isinstance(part, list) else _put(part, name, value) for part in tree]


def _settled(tree: Tree, facts: dict[str, dict[str, bool]]) -> Tree:
    """Return the tree with the facts of its letters, which are known at the end of the line."""
    if tree[0] == "letter":
        return ["letter", tree[1], tree[2] or facts[tree[1]]]
    if tree[0] in ("number", "constant"):
        return tree
    return [tree[0], *(_settled(part, facts) for part in tree[1:])]
