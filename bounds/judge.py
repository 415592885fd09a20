"""Claims whose verdict is the prover's own, for inequalities that need no further argument."""

from __future__ import annotations

import functools
from collections.abc import Callable

import sympy

from dpcheck.bounds.claim import Decision, Evidence
from dpcheck.bounds.evidence import Counterexample
from dpcheck.bounds.prover import Inequality


def judge(*inequalities: Inequality) -> Callable[[], Decision]:
    """The decision of a claim that all ``inequalities`` hold: proved, refuted or unresolved.

    Example
    -------
    >>> from sympy import log, sqrt, symbols, oo
    >>> from dpcheck.bounds.prover import Domain
    >>> x = symbols("x", positive=True)
    >>> judge(Inequality("a logarithm is below a root", log(x), sqrt(x), Domain({x: (1, oo)})))().verdict
    'proved'
    """
    return functools.partial(_judge, inequalities)


def _judge(inequalities: tuple[Inequality, ...]) -> Decision:
    outcomes = [each.outcome() for each in inequalities]
    methods = ", ".join(dict.fromkeys(each.method for each in outcomes))
    for inequality, outcome in zip(inequalities, outcomes, strict=True):
        if outcome.verdict == "refuted" and outcome.point is not None:
            point = tuple(outcome.point.items())
            at = ", ".join(f"{letter} = {value}" for letter, value in point)
            step = Counterexample(
                f"{inequality.says}: fails at {at}", sympy.Le(*inequality.sides(), evaluate=False), point
            )
            critical = inequality.tightness().critical
            repaired = "no constant in its place would do"
            if critical is not None:
                name = inequality.constant[0] if inequality.constant else "a factor on the larger side"
                repaired = f"it holds with {critical:.6g} for {name}, as far as a search can tell"
            return Decision("refuted", methods, Evidence((step,), repaired=repaired), f"Fails: {inequality.says}.")
    if all(each.verdict == "proved" for each in outcomes):
        return Decision("proved", methods, Evidence(inequalities), "Every inequality is proved as it stands.")
    undecided = "; ".join(i.says for i, o in zip(inequalities, outcomes, strict=True) if o.verdict == "unresolved")
    return Decision("unresolved", methods, Evidence(()), f"Neither proved nor refuted: {undecided}.")
