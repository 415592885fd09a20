"""All that a file of claims is written with: ``from dpcheck.claims import *``.

Examples
--------
>>> from sympy import exp, log, symbols
>>> from dpcheck.claims import Claim, Inequality, judge, over, stated
>>> x = symbols("x", positive=True)
>>> steps = Inequality("the first step", log(1 + x), x, over(x)), Inequality("the second step", x, exp(x) - 1, over(x))
>>> Claim("chain", "mine", "lemma", stated("{a}", a=log(1 + x) <= x), "Lemma 1", judge(*steps)).decide().verdict
'proved'
"""

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region
from dpcheck.bounds.calibration import NotPrivate, Private
from dpcheck.bounds.claim import Claim, Kind, Method, claim, conditional, misprint, proved, refuted, unresolved
from dpcheck.bounds.evidence import AtMost, Below, Cited, Counterexample, Enumerated, Identity, Quoted, Searched
from dpcheck.bounds.judge import judge
from dpcheck.bounds.prover import Domain, Inequality, over
from dpcheck.bounds.statement import stated

__all__ = [
    "AtMost", "Below", "Cited", "Claim", "Counterexample", "Domain", "Dominated", "Enumerated", "Exceeds", "Identity",
    "Inequality", "Kind", "Method", "NotPrivate", "Private", "Quoted", "Region", "Searched", "claim", "conditional",
    "judge", "misprint", "over", "proved", "refuted", "stated", "unresolved",
]  # fmt: skip
