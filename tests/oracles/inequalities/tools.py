"""The prover and its peers, each asked in the way that suits it best."""

from __future__ import annotations

from typing import Any

import sympy

from inequalities.item import Item
from inequalities.run import Tool


def dpcheck(item: Item) -> str:
    from dpcheck.bounds.prover import Inequality
    from dpcheck.errors import InputError

    try:
        found = Inequality(item.name, item.smaller, item.larger, item.over).outcome()
    except InputError as error:
        return f"refused: {error}"
    return f"{found.verdict}: {found.method}"


def z3(item: Item) -> str:
    """Everything polynomial natively; logarithms and their kin are functions it knows nothing of."""
    from inequalities.solvers import Z3

    return Z3().decide(item)


def cvc5(item: Item) -> str:
    """Nonlinear arithmetic with its own exponential, sine and pi."""
    from inequalities.solvers import Cvc5

    return Cvc5().decide(item)


def sympy_(item: Item) -> str:
    """Assumptions after a shift to the bounds, then minima and solution sets in one letter."""
    difference = sympy.sympify(item.larger) - item.smaller
    intervals = item.over.intervals
    for shown in (difference, sympy.factor(difference), sympy.simplify(difference)):
        shifted = shown.xreplace({x: _shifted(x, low, high) for x, (low, high) in intervals.items()})
        for each in (shifted, sympy.expand(shifted), sympy.factor(shifted)):
            if each.is_nonnegative:
                return "proved: assumptions"
            if each.is_negative:
                return "refuted: assumptions"
    facts = [sympy.Q.positive(x) for x in intervals if x.is_positive]
    facts += [sympy.Q.nonnegative(fact) for fact in item.over.differences()]
    known = sympy.ask(sympy.Q.nonnegative(difference), sympy.And(*facts))
    if known is not None:
        return "proved: ask" if known else "unknown"
    if len(intervals) != 1 or item.over.where:
        return "unknown"
    ((letter, (low, high)),) = intervals.items()
    set_ = sympy.Interval(low, high, left_open=bool(low == 0 and letter.is_positive))
    real = sympy.Symbol("real", real=True)
    line = difference.xreplace({letter: real})
    if not letter.is_integer:
        try:
            least = sympy.calculus.util.minimum(line, real, set_)
            if least.is_nonnegative is not None:
                return "proved: minimum" if least.is_nonnegative else "refuted: minimum"
        except (NotImplementedError, ValueError, TypeError):
            pass
    failing = sympy.solve_univariate_inequality(line < 0, real, relational=False, domain=set_)
    if letter.is_integer:
        failing = failing.intersect(sympy.S.Integers)
    if failing.is_empty is None:
        return "unknown"
    return "proved: solution set" if failing.is_empty else "refuted: solution set"


def _shifted(letter: Any, low: Any, high: Any) -> Any:
    """The letter as its bound and a part that is at least zero."""
    part = sympy.Symbol(f"{letter}_", nonnegative=True, integer=letter.is_integer)
    if low.is_finite and high.is_finite:
        return letter
    if low.is_finite and low > 0:
        return low + part
    return high - part if high.is_finite else letter


TOOLS: dict[str, Tool] = {"dpcheck": dpcheck, "z3": z3, "cvc5": cvc5, "sympy": sympy_}
