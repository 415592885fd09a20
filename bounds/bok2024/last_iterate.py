r"""The privacy of the last iterate of a noisy contraction, released alone.

Problem. Two runs x and x' from one start, on neighbouring data sets: z_{t+1} = P(phi_t(z_t) + Z_t), Z_t ~ N(0, sigma^2
I), where P does not expand distances, phi_t is c-Lipschitz on both data sets, and the two phi_t lie at most s apart.
Only the last of T iterates is released.

Guarantee. The release is mu-GDP, no easier to tell apart than N(0, 1) and N(mu, 1) [1, Section 4]. For all records in
every step mu is that of ``bok2024.full_batch``, which linear maps attain; for l batches in a fixed order, E times, that
of ``bok2024.cyclic``; for a domain of diameter D, any m of the last steps prove ``bok2024.diameter``.

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> round(theorem("bok2024.full_batch").bound(T=1000, s=1, sigma=1, c=0.9), 2)
4.36
"""

from typing import Any

from sympy import sqrt, symbols

from dpcheck.bounds.symbols import D, T, c, sigma
from dpcheck.bounds.theorem import Assumption, Parameter, Theorem

s = symbols("s", positive=True)
l, E, m = symbols("l E m", integer=True, positive=True)


def total(count: Any, ratio: Any = c) -> Any:
    """Return 1 + ratio + ... + ratio^(count - 1)."""
    return (1 - ratio**count) / (1 - ratio)


FULL = s / sigma * sqrt((1 - c**T) * (1 + c) / ((1 + c**T) * (1 - c)))
CYCLIC = (
    s
    / sigma
    * sqrt(1 + c ** (2 * l - 2) * (1 - c**2) / (1 - c**l) ** 2 * (1 - c ** (l * (E - 1))) / (1 + c ** (l * (E - 1))))
)
BOUNDED = (c**m * D + s * total(m)) / (sigma * sqrt(total(m, c**2)))

RUN = (
    Assumption("map", "every phi_t is c-Lipschitz, on both data sets", "Section 4"),
    Assumption("apart", "phi_t of the two data sets lie at most s apart where the record takes part", "Section 4"),
    Assumption("projection", "P does not expand distances and looks at no data", "Section 4"),
    Assumption("noise", "the noise is N(0, sigma^2 I), spherical in the norm of c and s", "Section 4"),
)
BELOW_ONE = Assumption("c", "c < 1", "its limit at c = 1 is s sqrt(T)/sigma", c < 1)
MAPS = (
    Parameter(s, "most that one record moves a step's map"),
    Parameter(sigma, "standard deviation of a step's noise"),
    Parameter(c, "Lipschitz constant of a step's map"),
)
QUANTITY = "mu of the last iterate, which is mu-GDP"

THEOREMS = (
    Theorem(
        id="bok2024.full_batch",
        title="The last iterate of a noisy contraction, all records in every step",
        location="Section 4, strongly convex, full batches",
        parameters=(Parameter(T, "steps"), *MAPS),
        assumptions=(*RUN, BELOW_ONE),
        bound_formula=FULL,
        quantity=QUANTITY,
        quantity_latex=r"\mu",
    ),
    Theorem(
        id="bok2024.cyclic",
        title="The last iterate of a noisy contraction, batches in a fixed order",
        location="Section 4, strongly convex, cyclic batches",
        parameters=(Parameter(l, "batches of an epoch"), Parameter(E, "epochs"), *MAPS),
        assumptions=(*RUN, BELOW_ONE, Assumption("l", "l >= 2", "one batch is all records: full_batch", l >= 2)),
        bound_formula=CYCLIC,
        quantity=QUANTITY,
        quantity_latex=r"\mu",
    ),
    Theorem(
        id="bok2024.diameter",
        title="The last iterate of a noisy contraction on a bounded domain, by its last m steps",
        location="Section 4, bounded domains, for every c",
        parameters=(Parameter(m, "last steps, at most all"), Parameter(D, "diameter of the domain"), *MAPS),
        assumptions=(*RUN, BELOW_ONE, Assumption("domain", "P projects into a set of diameter D", "Section 4")),
        bound_formula=BOUNDED,
        quantity=QUANTITY,
        quantity_latex=r"\mu",
    ),
)
