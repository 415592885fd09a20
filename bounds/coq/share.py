"""How much of a claim's statement stands in theorems that Coq's kernel has accepted.

The word is read off the statement's form. A statement that is not of a form below gets the weaker word, however well
its steps prove it, since what prose asserts is read by a person.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence
from typing import Any

import sympy

from dpcheck.bounds.coq import kernel
from dpcheck.bounds.evidence import AtMost, Below, Cited, Counterexample, Identity, Inequality, Quoted
from dpcheck.bounds.ledger import SHARES
from dpcheck.bounds.statement import BELOW_1, Statement, assumed, conditions_of, is_relation, same, spoken_of

ALL, INEQUALITY, STEPS, NOTHING = SHARES

_LIST = r"@(?:(?:,|,? and) @)*"  # @ stands for a formula
_RELATIONS = re.compile(rf"(?:For (?P<given>{_LIST}): )?{_LIST}(?: \([^@()]*\))?\.")
_BOUND = r"(?<!not )(at most|at least) @"
_BOUNDS = re.compile(rf"(?P<bounds>.*{_BOUND})(?:[^@]*|[^@]* (?:for|where|if) .*)")
_FROM_1 = ("kappa", "kappa_x", "kappa_y", "nbar")  # condition numbers, and the records of a block
_TRUE = (AtMost, Below, Identity, Inequality)
_Theorem = tuple[Any, list[Any]]  # a relation, and the hypotheses beyond what letters carry


def share(statement: Statement | str, verdict: str, steps: Sequence[Any]) -> str:
    """Return one of ``SHARES``, of which the last says that the kernel accepted no step.

    - *all*: the statement is relations alone, with relations as conditions before a colon and, at the end in brackets,
      what letters stand for. The kernel accepted every relation under no more than these conditions and what the
      letters carry; or, of a statement without conditions that is false, that a relation fails.
    - *the inequality, the rest cited*: the statement says that things are at most, or at least, what its formulas are.
      For each formula the kernel accepted such an inequality, with no hypothesis on the statement's letters alone that
      is not stated; or, of a statement that is false, that one fails. Every other step is accepted or cited.
    - *steps only*: neither.
    """
    accepted = [step for step in steps if kernel.accepted(step)]
    if not accepted or not isinstance(statement, Statement) or verdict == "unresolved":
        return STEPS if accepted else NOTHING
    places = [name for _, name, _, _ in string.Formatter().parse(statement.template) if name is not None]
    shape = statement.template.format(**dict.fromkeys(places, "@"))
    formulas = [statement.formulas[name] for name in places]
    holds = verdict in ("proved", "conditional")
    theorems = list(_theorems(accepted, holds))
    if verdict != "conditional" and _is_all(shape, formulas, theorems, holds):
        return ALL
    cited = sum(isinstance(step, Cited | Quoted) for step in steps)
    alone = cited and cited + len(accepted) == len(steps)
    return INEQUALITY if alone and _is_bounded(shape, formulas, theorems, holds) else STEPS


def _is_all(shape: str, formulas: list[Any], theorems: list[_Theorem], holds: bool) -> bool:
    form = _RELATIONS.fullmatch(shape)
    if not form or not all(hasattr(formula, "rel_op") for formula in formulas):
        return False
    conditions = (form["given"] or "").count("@")
    given, relations = formulas[:conditions], formulas[conditions:]
    if not holds:
        return not given and any(is_relation(false, relations) for false, _ in theorems)
    return all(
        any(
            is_relation(relation, [true]) and all(any(assumed(one, [needed]) for one in given) for needed in hypotheses)
            for true, hypotheses in theorems
        )
        for relation in relations
    )


def _is_bounded(shape: str, formulas: list[Any], theorems: list[_Theorem], holds: bool) -> bool:
    form = _BOUNDS.fullmatch(shape)
    senses = re.findall(_BOUND, form["bounds"]) if form else []
    bounds, given = formulas[: len(senses)], formulas[len(senses) :]
    if not form or not all(hasattr(one, "rel_op") for one in given):  # a formula beside the bounds and conditions
        return False
    letters = set().union(*(formula.free_symbols for formula in formulas))
    shown = [
        any(_bounds(theorem, sense, bound, given, letters) for theorem in theorems if holds or "=" in theorem[0].rel_op)
        for sense, bound in zip(senses, bounds, strict=True)
    ]
    return all(shown) if holds else any(shown) and not given


def _theorems(accepted: Sequence[Any], hold: bool) -> Iterator[_Theorem]:
    """Yield the relations that are accepted to hold, or to fail."""
    for step in accepted:
        if isinstance(step, _TRUE if hold else Counterexample):
            ends = [end for end in conditions_of(step) if hasattr(end, "rel_op")]
            beyond = [end for end in ends if end.func(*end.args) is not sympy.true]
            yield from ((relation, beyond) for relation in spoken_of(step) if hasattr(relation, "rel_op"))


def _bounds(theorem: _Theorem, sense: str, bound: Any, given: list[Any], letters: set[Any]) -> bool:
    """Say whether the theorem has the bound as its whole larger side, or smaller one, wherever the statement has it."""
    relation, hypotheses = theorem
    if relation.rel_op not in ("<", "<=", ">", ">=") or hasattr(bound, "rel_op"):
        return False
    side = relation.gts if sense == "at most" else relation.lts
    return (side == bound or (side.free_symbols == bound.free_symbols and same(side, bound))) and all(
        not needed.free_symbols <= letters
        or any(assumed(one, [needed]) for one in given)
        or any(needed in _meant(letter) for letter in needed.free_symbols)
        for needed in hypotheses
    )


def _meant(letter: Any) -> tuple[Any, ...]:
    """Return what is true of a letter by what its name stands for in every paper, beside its sign."""
    return (letter <= 1,) * (str(letter) in BELOW_1) + (letter >= 1,) * (str(letter) in _FROM_1)
