"""Inequalities as text, one or a file of them, as the claims that a judge is sent: plain trees, nothing evaluated.

A file of lines, ``NAME.txt``, has one a line; what follows ``#`` is a comment. In Markdown, ``NAME.md``, the lines of
fenced blocks whose language is ``dpcheck`` are checked; in LaTeX, ``NAME.tex``, what follows ``% dpcheck:`` on a line.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcheck.bounds.kind import TYPED
from dpcheck.bounds.ledger import recorded
from dpcheck.bounds.text import Typed, parse
from dpcheck.bounds.tokens import SIGNS, TextError
from dpcheck.bounds.typed import Tree
from dpcheck.errors import InputError, one_line, require
from dpcheck.reading import text_of, within

if TYPE_CHECKING:
    from sympy.core.relational import Relational

ENDINGS = (".txt", ".md", ".tex")
_MARK = "% dpcheck:"
_SWAPPED = {"GreaterThan": "<=", "StrictGreaterThan": "<"}
_SIGN = {"LessThan": "<=", "StrictLessThan": "<", "Equality": "=", **_SWAPPED}
_FOLDED = (
    "what is to be proved must be a relation that is open, and sympy made it {} before it could be judged: write it as "
    "text, such as dpcheck.prove('x**2 >= 0 for real x')"
)


def is_line(target: str) -> bool:
    """Say whether what is to be proved is a relation, and no name or file."""
    return any(sign in target for sign in SIGNS) or any(word in target for word in ("\\le", "\\ge", "\\lt", "\\gt"))


def claims(target: Any, conditions: tuple[Any, ...] = ()) -> list[dict[str, Any]] | None:
    """Return the claims of a line, a file of lines or a relation of sympy as plain trees; None for any other target.

    Raises :class:`~dpcheck.errors.InputError` for a line that the grammar does not read, with its place.
    """
    if isinstance(target, str):
        require(not conditions, "the domain of a text", "stand in the text, as in 'x <= 1 for x < 1'", conditions)
        if target.endswith(ENDINGS):
            return [_claim(_read(line, place), place, line, place) for place, line in _lines(target)]
        if not is_line(target) or {target, target.partition(".")[2]} & recorded().keys():  # some ids have a sign
            return None
        return [_claim(parse(target), TYPED, target, "one line")]
    if target is None:
        return None
    return [_claim(_of_sympy(target, conditions), TYPED, one_line(target), "one line")]


def _lines(path: str) -> Iterator[tuple[str, str]]:
    """Yield the place and the text of every line of a file that is to be checked."""
    with within(path):
        text = text_of(path, "the file of lines")
    fenced, found = False, 0
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if path.endswith(".md"):
            if bare.startswith("```"):
                fenced = not fenced and bare.strip("`").strip() == "dpcheck"
                continue
            bare = bare if fenced else ""
        elif path.endswith(".tex"):
            _, mark, bare = bare.partition(_MARK)
            bare = bare.strip() if mark else ""
        bare = bare.partition("#")[0].strip() if not path.endswith(".tex") else bare
        if bare:
            found += 1
            yield f"{Path(path).name}:{number}", bare
    marked = {".md": "a block fenced by ```dpcheck", ".tex": f"a line with {_MARK}"}.get(Path(path).suffix, "a line")
    require(found > 0, "the file of lines", f"have {marked}", path)


def _read(line: str, place: str) -> Typed:
    try:
        return parse(line)
    except TextError as error:
        raise TextError(f"{place}: {error.what}", error.text, error.place) from None


def _of_sympy(target: Any, conditions: tuple[Any, ...]) -> Typed:
    """Return what a relation of sympy and its conditions say."""
    import sympy

    from dpcheck.bounds import terms

    if isinstance(target, bool | sympy.logic.boolalg.BooleanAtom):
        raise InputError(_FOLDED.format(bool(target)))
    relation: Relational = target
    fit = isinstance(relation, sympy.core.relational.Relational) and type(relation).__name__ in _SIGN
    require(fit, "what is to be proved", "be text, or a relation of sympy such as log(n) <= sqrt(n)", target)
    require(
        not any(one is False or one is sympy.false for one in conditions), "a condition", "leave something", "false"
    )
    left = [one for one in conditions if one is not True and one is not sympy.true]
    letters = set().union(*(one.free_symbols for one in (relation, *left) if isinstance(one, sympy.Basic)))
    named = {letter.name: terms.tree(letter)[2] for letter in sorted(letters, key=str)}
    terms.distinct(letters)
    return Typed((terms.tree(relation),), named, tuple(terms.tree(one) for one in left))


def _claim(typed: Typed, id: str, line: str, place: str) -> dict[str, Any]:
    """Return the tree of a claim, as :func:`dpcheck.bounds.crossing.claim` takes it."""
    over: Tree = ["over", *(["letter", name, facts] for name, facts in typed.letters.items()), *typed.conditions]
    return {
        "id": id, "paper": TYPED, "kind": TYPED, "statement": line, "location": place, "carries": ["tuple"],
        "steps": ["tuple", *(_step(relation, over) for relation in typed.relations)], "note": "", "repaired": "",
    }  # fmt: skip


def _step(relation: Tree, over: Tree) -> Tree:
    head, left, right = relation
    smaller, larger = (right, left) if head in _SWAPPED else (left, right)
    return [
        "Inequality",
        {"says": "as it is typed", "smaller": smaller, "larger": larger, "sign": _SIGN[head], "over": over},
    ]
