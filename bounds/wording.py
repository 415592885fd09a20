"""What a judged claim says, in text and LaTeX: relations, domains and quantifiers come from the checked steps alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from dpcheck.bounds.asymptotics import Dominated, Exceeds
from dpcheck.bounds.calibration import Private
from dpcheck.bounds.coq.expression import UntranslatedError, Writer, names
from dpcheck.bounds.coq.statement import ordered
from dpcheck.bounds.evidence import AtMost, Below, Identity, Inequality
from dpcheck.bounds.formula import plain
from dpcheck.bounds.printed import printed
from dpcheck.bounds.terms import evaluated, tree

_CAPITAL = re.compile(r"\b(?:Abs|Max|Min)(?=\()")  # as sympy has them
_KINDS = ("even", "odd", "prime", "composite", "integer", "rational", "irrational", "noninteger", "nonzero")
_SIGNS = {"zero": "= 0", "positive": "> 0", "negative": "< 0", "nonnegative": ">= 0", "nonpositive": "<= 0"}
_SIDES = ("left", "right", "smaller", "larger", "terms", "rate")


def text(steps: Iterable[Any]) -> str:
    """Return what the steps state together."""
    return "; and ".join(_text(step) for step in steps)


def latex(steps: Iterable[Any]) -> str:
    """Return what the steps state together, with their formulas in LaTeX between dollar signs."""
    return "; and ".join(f"${step.latex()}$" + (f" for {over}" if (over := quantified(step)) else "") for step in steps)


def quantified(step: Any) -> str:
    """Return for which values of its letters a step is stated."""
    if isinstance(step, Inequality | Private):
        over = step.over
        return ", ".join([*[str(over).replace("**", "^")] * bool(str(over)), *_kinds(over.intervals)])
    if isinstance(step, Identity | AtMost | Dominated | Exceeds):
        relations = step.region.relations if isinstance(step, Dominated | Exceeds) else ()
        sides = [*(getattr(step, name) for name in _SIDES if hasattr(step, name)), *relations]
        letters = {letter: None for side in sides for letter in sorted(side.free_symbols, key=str)}
        region = [str(step.region).replace("**", "^")] if isinstance(step, Dominated | Exceeds) and relations else []
        return ", ".join([*region, *_signs(letters), *_kinds(letters)])
    return ""


def relation(step: Inequality) -> str:
    """Return an inequality without its domain."""
    left, right = _sides(*step.sides())
    return f"{left} {step.sign} {right}"


def _text(step: Any) -> str:
    over = quantified(step)
    end = f" for {over}" if over else ""
    if isinstance(step, Inequality):
        return f"{relation(step)}{end}{_defined(*step.sides())}"
    if isinstance(step, Identity | AtMost | Below):
        left, right = step.sides()
        defined = _defined(left, right) if isinstance(step, Identity) else ""
        return f"{plain(left)} {step.sign} {plain(right)}{end}{defined}"
    if isinstance(step, Dominated):
        return f"{plain(step.terms)} = O({plain(step.needed_rate())}){end}"
    if isinstance(step, Exceeds):
        return f"{plain(step.terms)} is not O({plain(step.rate)}){end}"
    if isinstance(step, Private):
        guarantee = f"({plain(step.epsilon)}, {plain(step.delta)})-DP"
        return f"N(0, ({plain(step.multiplier)})^2) on sensitivity 1 is {guarantee}{end}"
    return str(step.formula())


def _sides(*sides: Any) -> list[str]:
    """Return sides in sympy's order, or as they were typed where sympy would write one otherwise."""
    try:
        if any(side != evaluated(side) for side in sides):
            return [printed(tree(side)) for side in sides]
    except (ArithmeticError, KeyError):  # a number too large to be written out, or a part that cannot be typed
        pass
    return [_CAPITAL.sub(lambda match: match[0].lower(), plain(side)) for side in sides]


def _defined(*sides: Any) -> str:
    """Return where sides count, unless they plainly have values everywhere."""
    try:
        plainly = not Writer(names(ordered(set().union(*(side.free_symbols for side in sides))))).conditions(*sides)
    except UntranslatedError:
        plainly = False
    return "" if plainly else ", wherever both sides are defined"


def _signs(letters: Mapping[Any, Any]) -> Iterable[str]:
    for letter in letters:
        sign = next((text for name, text in _SIGNS.items() if getattr(letter, f"is_{name}")), None)
        yield f"{letter} {sign}" if sign else f"any {'real' if letter.is_real else 'number'} {letter}"


def _kinds(letters: Mapping[Any, Any]) -> Iterable[str]:
    """Yield what is assumed of letters beyond their signs, the telling word first: an even one is an integer too."""
    for letter in letters:
        known = [kind for kind in _KINDS if letter.assumptions0.get(kind)]
        if letter.is_positive or letter.is_negative:
            known = [kind for kind in known if kind != "nonzero"]
        if letter.is_integer:
            known = [kind for kind in known if kind != "rational"]
        if len(set(known) - {"nonzero"}) > 1:
            known = [kind for kind in known if kind not in ("integer", "rational")]
        yield from (f"{letter} {kind}" for kind in known)
