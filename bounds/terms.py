"""What a formula may be made of, a closed list, and formulas as plain trees that cross from one process to another.

Every step passes its formulas through :func:`exact`. A node counts by its very type, so that a class of one's own,
whatever it says of itself, is refused, and a floating-point number is the binary fraction that it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

import sympy

from dpcheck.errors import InputError, one_line, require

_WHOLE = (*map(type, (sympy.S.Zero, sympy.S.One, sympy.S.NegativeOne)), sympy.Integer)
NUMBERS = {*_WHOLE, type(sympy.S.Half), sympy.Rational}
_ENDS = {"oo": sympy.oo, "-oo": -sympy.oo}  # of intervals alone
_CONSTANTS = {"E": sympy.E, "pi": sympy.pi, **_ENDS}
_BOUND = ("Derivative", "Subs", "Sum", "Product")  # have letters of their own
_RELATIONS = ("LessThan", "StrictLessThan", "GreaterThan", "StrictGreaterThan", "Equality", "Unequality")
HEADS: dict[str, Any] = {
    name: getattr(sympy, name)
    for name in (
        "Add", "Mul", "Pow", "exp", "log", "Max", "Min", "Abs", "floor", "ceiling", "sin", "cos", "tan", "erf", "erfc",
        "Tuple", *_BOUND, *_RELATIONS,
    )
}  # fmt: skip
_NAMES = {head: name for name, head in HEADS.items()}
_SHOWN = "sums, products, powers, " + ", ".join(
    name for name in HEADS if name[0].islower() or name in ("Max", "Min", "Abs")
)
_LARGEST_EXPONENT = 13_000  # bits of a floating-point number that are written out
_ALPHABETS = re.compile(r"[\x00-\x7fΑ-Ωα-ω]*")
_ALIKE = str.maketrans("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαικνορυχ", "ABEZHIKMNOPTYXaikvopux")
_WORD = r"[^\W\d]\w*'*(_\{?[\w,']+\}?)?"
_LETTER = re.compile(rf"{_WORD}|<{_WORD}, {_WORD}>")  # <x, y> is an inner product
_RESERVED = {*_CONSTANTS, "I", "nan", "zoo", "sqrt", *HEADS}  # what a letter of this name would be read as
_NUMBER = sympy.Symbol("x", complex=True).assumptions0
_FACTS = sympy.Symbol("x", integer=True, positive=True).assumptions0.keys() | {
    "prime", "composite", "even", "odd", "polar", "antihermitian",
}  # fmt: skip


def exact(value: Any, name: str = "a formula", *, ends: bool = False) -> Any:
    """Return a number, a fraction or an expression as a sympy expression of known parts alone, among them ``oo`` where
    it is one of the ``ends`` of an interval.

    A floating-point number is taken at its exact binary value: 0.1 is 3602879701896397/2^55. Nothing is evaluated that
    was not. Raises :class:`~dpcheck.errors.InputError` for text and for other parts, named with ``name``.
    """
    try:
        expression = sympy.sympify(value, strict=True)
    except sympy.SympifyError as error:
        shown = one_line(value)[:80]
        raise InputError(f"a formula must be a number or a sympy expression, got {shown!r}") from error
    folded = expression is sympy.true or expression is sympy.false
    require(not folded, name, "be a relation that sympy leaves open (Le(a, b, evaluate=False) is never folded)", value)
    fit = isinstance(expression, sympy.Expr | sympy.core.relational.Relational)
    require(fit, name, "be a number or an expression", value)
    return _exact(expression, name, ends)


def _exact(part: Any, name: str, ends: bool) -> Any:
    kind = type(part)
    if kind is sympy.Symbol:
        # sympy uses what it is told of a letter: what no text says of one has no place
        known = part.is_real or part.assumptions0.items() <= _NUMBER.items()
        require(known, f"the letter {part}", "be a real number, or any number", part.assumptions0)
        return part
    if kind in NUMBERS or part is sympy.E or part is sympy.pi:
        return part
    if kind is sympy.Float:
        return _binary(part)
    if ends and (part is sympy.oo or part is -sympy.oo):
        return part
    strange = part in (sympy.nan, sympy.zoo, sympy.oo, -sympy.oo, sympy.I)
    require(not strange, name, f"be made of real numbers, without {part}", part)
    must = f"be made of numbers, letters (sympy.Symbol), {_SHOWN}"
    require(kind in _NAMES, name, must, f"{kind.__module__}.{kind.__name__}")
    args = tuple(_exact(arg, name, ends) for arg in part.args)
    same = all(new is old for new, old in zip(args, part.args, strict=True))
    return part if same else build(_NAMES[kind], args)


def _binary(number: Any) -> Any:
    """Return the binary fraction that a floating-point number is."""
    sign, man, exp, bits = number._mpf_
    fits = bits and abs(exp + bits) < _LARGEST_EXPONENT
    require(fits or not man, "a floating-point number", "have an exponent below 4000", "one beyond")
    return sympy.Rational(-int(man) if sign else int(man)) * sympy.Rational(2) ** int(exp)


def build(head: str, args: Iterable[Any]) -> Any:
    """Return the node of the closed list with these parts, not evaluated."""
    if head in _BOUND or head == "Tuple":  # which evaluate nothing
        return HEADS[head](*args)
    return HEADS[head](*args, evaluate=False)


def distinct(letters: Iterable[Any]) -> None:
    """Require that no two letters have one name, or look alike, since a reader could not tell them apart."""
    seen: dict[str, Any] = {}
    for letter in letters:
        name = unicodedata.normalize("NFKC", letter.name)
        require(bool(_ALPHABETS.fullmatch(name)), "a letter", "be Latin or Greek", letter.name)
        must = "have different names (a second symbol of a name has other assumptions)"
        look = sympy.latex(sympy.Symbol(name.translate(_ALIKE)))  # x1 and x_1 are both printed with an index
        other = seen.setdefault(look, letter)
        alike = f"{letter.name} twice" if other.name == letter.name else f"{other.name} and {letter.name}"
        require(other == letter, "letters", must, alike)


def free(*sides: Any) -> None:
    """Require that no part has letters of its own, as a sum or a derivative has: identities alone may."""
    for part in set().union(*(side.atoms(*(HEADS[head] for head in _BOUND)) for side in sides)):
        raise InputError(f"a formula outside an identity must be free of {', '.join(_BOUND)}, got {part}")


def evaluated(expression: Any) -> Any:
    """Return the expression as sympy writes it by default: sums and products in order, numbers multiplied out.

    Raises :class:`~dpcheck.bounds.prover.ball.UndefinedError` for a power of numbers too large to be written down.
    """
    if not expression.args:
        return expression
    parts = [evaluated(part) for part in expression.args]
    if expression.is_Pow and all(part.is_Rational for part in parts):
        from dpcheck.bounds.prover import ball  # which knows what is too large, and imports this

        ball.require_power(*parts)
    return expression.func(*parts)


def tree(expression: Any) -> Any:
    """Return an expression as lists of words and numbers; :func:`grown` makes it an expression again."""
    return _tree(exact(expression, ends=True))


def _tree(part: Any) -> Any:
    if type(part) is sympy.Symbol:
        return ["letter", part.name, {fact: known for fact, known in part.assumptions0.items() if fact in _FACTS}]
    if type(part) in NUMBERS:
        return ["number", hex(part.p), hex(part.q)]
    constant = next((name for name, value in _CONSTANTS.items() if part is value), None)
    return ["constant", constant] if constant else [_NAMES[type(part)], *map(_tree, part.args)]


def grown(node: Any) -> Any:
    """Return the expression of a tree that another process sent.

    Raises :class:`~dpcheck.errors.InputError` for what :func:`tree` does not make, and for a letter that would be read
    as a number, a function or a formula.
    """
    return exact(_grown(node), ends=True)


def _grown(node: Any) -> Any:
    head, *rest = node if isinstance(node, list) and node and isinstance(node[0], str) else ("",)
    match head, rest:
        case "number", [str(above), str(below)]:
            number = sympy.Rational(int(above, 16), int(below, 16))
            require(type(number) in NUMBERS, "a number", "be a fraction", f"{above}/{below}")
            return number
        case "constant", [str(name)] if name in _CONSTANTS:
            return _CONSTANTS[name]
        case "letter", [str(name), dict(facts)]:
            plain = _LETTER.fullmatch(name) and name not in _RESERVED
            require(bool(plain), "a letter", "have a name that reads as a letter, such as x or eta_1", name)
            known = facts.keys() <= _FACTS and all(type(fact) is bool for fact in facts.values())
            require(known, f"the letter {name}", "be a sympy.Symbol with sympy's assumptions", facts)
            return sympy.Symbol(name, **facts)
    if head == "gamma":
        raise InputError(f"a formula must be made of {_SHOWN}, got gamma, which is read and has no proofs yet")
    require(head in HEADS, "a tree", "be that of a formula", node)
    return build(head, map(_grown, rest))
