r"""What a point of a privacy curve means for a group of records, and for an attacker.

Problem. A release is (epsilon, delta)-private between neighbours, in both orders. A test between them with false
positives a then has true positives of at most e^epsilon a + delta, a line above all tests [1].

Guarantee. k records are added, removed or replaced one after another: ``dong2022.group`` has the delta at k epsilon.
``dong2022.advantage`` has true minus false positives, and ``dong2022.guess`` the chance that one of N equally likely
records is named. Each epsilon of a curve gives one such number, and the least of them holds.

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> round(theorem("dong2022.advantage").bound(epsilon=1, delta=1e-5), 4)
0.4621
>>> round(theorem("dong2022.guess").bound(epsilon=1, delta=1e-5, N=1000), 5)
0.00273
"""

from sympy import exp, symbols

from dpcheck.bounds.symbols import delta, epsilon, k
from dpcheck.bounds.theorem import Assumption, Parameter, Theorem

N = symbols("N", integer=True, positive=True)

GROUP = delta * (exp(k * epsilon) - 1) / (exp(epsilon) - 1)
ADVANTAGE = (exp(epsilon) - 1 + 2 * delta) / (exp(epsilon) + 1)
GUESS = exp(epsilon) / N + delta

POINT = (Parameter(epsilon, "privacy loss, natural log"), Parameter(delta, "probability of a larger loss"))
BOTH = Assumption("orders", "the release is (epsilon, delta)-private in both orders of the neighbours", "definition")
HERE = "not in the paper"

THEOREMS = (
    Theorem(
        id="dong2022.group",
        title="Several records of one person, by a chain of neighbours",
        location="on groups, for one line of the curve",
        parameters=(*POINT, Parameter(k, "records of the person")),
        assumptions=(BOTH,),
        bound_formula=GROUP,
        quantity="delta of all k records at k epsilon",
        quantity_latex=r"\delta_k",
    ),
    Theorem(
        id="dong2022.advantage",
        title="The advantage of the best membership attacker",
        location="on curves",
        parameters=POINT,
        assumptions=(BOTH,),
        bound_formula=ADVANTAGE,
        quantity="true minus false positives",
        quantity_latex=r"\beta",
    ),
    Theorem(
        id="dong2022.guess",
        title="A record is named among N equally likely ones",
        location=HERE,
        parameters=(*POINT, Parameter(N, "equally likely records")),
        assumptions=(
            BOTH,
            Assumption("prior", "every other record is known, and each of the N is as likely as another", HERE),
        ),
        bound_formula=GUESS,
        quantity="chance that the right record is named",
        quantity_latex="p",
    ),
)
