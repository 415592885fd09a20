"""Trees of terms as text that the grammar of :mod:`dpcheck.bounds.text` reads back: nothing is reordered."""

from __future__ import annotations

from fractions import Fraction

from dpcheck.bounds.tokens import FUNCTIONS, SUMS
from dpcheck.bounds.typed import Tree, number, value_of

_NAMES = {head: name for name, head in reversed([*FUNCTIONS.items(), *SUMS.items()])}
_CONSTANTS = {"E": "e", "pi": "pi", "oo": "oo"}
_SUM, _PRODUCT, _POWER, _ATOM = range(4)  # how closely the parts of a text hold together


def printed(tree: Tree) -> str:
    """Return the text of a tree.

    Raises :class:`KeyError` for a part that cannot be typed, such as a derivative.
    """
    return _text(tree)[0]


def _in(tree: Tree, least: int) -> str:
    """Return the text of a part, in brackets where it would fall apart."""
    text, level = _text(tree)
    return text if level >= least else f"({text})"


def _text(tree: Tree) -> tuple[str, int]:
    """Return the text of a tree, and how closely it holds together."""
    head, *parts = tree
    value = value_of(tree)
    if value is not None:
        return str(value), _SUM if value < 0 else _PRODUCT if value.denominator > 1 else _ATOM
    if head == "letter":
        return str(parts[0]), _ATOM
    if head == "constant":
        return _CONSTANTS[parts[0]], _ATOM
    if head == "Add":
        first, *others = parts
        return "".join([_in(first, _SUM if first[0] != "Add" else _ATOM), *map(_term, others)]), _SUM
    if head == "Mul":
        sign, rest = _signed(tree)
        return (f"-{_product(rest)}", _SUM) if sign else (_product(parts), _PRODUCT)
    if head == "Pow":
        base, exponent = parts
        if value_of(exponent) == Fraction(1, 2):
            return f"sqrt({printed(base)})", _ATOM
        if value_of(exponent) == -1 and value_of(base) is None:  # 1/10 is read as a number
            return f"1/{_in(base, _POWER)}", _PRODUCT
        return f"{_in(base, _ATOM)}^{_in(exponent, _ATOM)}", _POWER
    if head in SUMS.values():
        body, (_, letter, low, high) = parts
        return f"{_NAMES[head]}({printed(body)}, {letter[1]} = {printed(low)}..{printed(high)})", _ATOM
    return f"{_NAMES[head]}({', '.join(map(printed, parts))})", _ATOM


def _signed(tree: Tree) -> tuple[bool, list[Tree]]:
    """Say whether a product has a minus in front, and return its factors without it."""
    first = value_of(tree[1])
    if first is None or first >= 0:
        return False, tree[1:]
    return True, tree[2:] if first == -1 else [number(-first), *tree[2:]]


def _term(tree: Tree) -> str:
    """Return a further term of a sum, with its sign."""
    value = value_of(tree)
    if value is not None and value < 0:
        return f" - {-value}"
    sign, rest = _signed(tree) if tree[0] == "Mul" else (False, [])
    return f" - {_product(rest)}" if sign else f" + {_in(tree, _PRODUCT)}"


def _product(factors: list[Tree]) -> str:
    """Return a product: spaces before letters and brackets, save behind a division."""
    text, divided = "", False
    for k, factor in enumerate(factors):
        below = factor[0] == "Pow" and value_of(factor[2]) == -1
        if k and below:
            text += f"/{_in(factor[1], _POWER)}"
            divided = True
            continue
        whole = _in(factor, _POWER if k else _PRODUCT if factor[0] != "Mul" else _ATOM)
        text += (("*" if divided or whole[0].isdigit() else " ") if k else "") + whole
        divided = divided and k > 0 if k else "/" in whole and whole[0] != "("
    return text
