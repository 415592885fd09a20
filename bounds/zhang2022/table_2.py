r"""Table 2 and its derivation: gradients taken when a given solver is plugged in.

A phase of Algorithm 4 is an nbar = n/K record problem that is mu_k-strongly convex in x, mu_k = mu 2^k,
mu-strongly concave in y, with 1/mu <= sqrt n D/(2 L). Summed over the phases, each solver's own rate
gives, up to logarithms of n/delta [1, Table 2], with r = ell D/L and condition numbers for SC-SC problems:

    solver                 strongly convex-strongly concave            convex-concave
    Extragradient          n kappa                                     n^{3/2} r + n^2
    SVRG, SAGA             n + kappa^2                                 n + n r^2
    accelerated SVRG       n + sqrt n kappa                            n + n r
    Jin et al.             n + sqrt n kappa                            n + n r
    AL-SVRE, Catalyst      n + sqrt(n kappa_x kappa_y) + n^{3/4} sqrt kappa    n r + n^{5/4}

The solvers' rates are those of their papers and are taken as given; the claims about these sums are in ``gradients``.

[1] L. Zhang, K. K. Thekumparampil, S. Oh, N. He. Bring Your Own Algorithm for Optimal Differentially
    Private Stochastic Minimax Optimization. NeurIPS 2022, Appendix B.3, B.4 and Table 2.

Arguments. n records, r = ell D/L.

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> theorem("zhang2022.table_2_extragradient").rate_exponents()
{'smoothness': {'n': 1.5, 'r': 1.0}, 'regulariser': {'n': 2.0}}
"""

from __future__ import annotations

from typing import Any

from sympy import Rational, symbols

from dpcheck.bounds.symbols import n
from dpcheck.bounds.theorem import Assumption, Parameter, Theorem

r = symbols("r", positive=True)
GIVEN = "the solver's own rate is as published"

RATES: dict[str, tuple[tuple[str, Any], ...]] = {
    "extragradient": (("smoothness", n ** Rational(3, 2) * r), ("regulariser", n**2)),
    "svrg": (("records", n), ("smoothness", n * r**2)),
    "accelerated_svrg": (("records", n), ("smoothness", n * r)),
    "jin": (("records", n), ("smoothness", n * r)),
    "catalyst": (("smoothness", n * r), ("regulariser", n ** Rational(5, 4))),
}

PROX = Assumption("regulariser", "the solver takes the regulariser by its proximal operator", "Appendix B.3")
APART = Assumption("regulariser", "the solver takes the regulariser apart from f, as g(x) - h(y)", "Appendix B.3")
REGULARISER = {"svrg": (PROX,), "accelerated_svrg": (PROX,), "jin": (APART,)}

THEOREMS = tuple(
    Theorem(
        id=f"zhang2022.table_2_{name}",
        title=f"Gradients of Algorithms 4 and 5 with {name.replace('_', ' ')}, up to logarithms",
        paper="zhang2022",
        location="Table 2, convex-concave column",
        quantity="number of gradients, up to logarithms of n/delta",
        quantity_latex=r"\text{gradients}",
        parameters=(Parameter(n, "records in the dataset"), Parameter(r, "ell D/L")),
        assumptions=(
            Assumption("f", "every f is convex-concave, L-Lipschitz and ell-smooth", "Appendix B.3"),
            Assumption("solver", GIVEN, "Table 2"),
            *REGULARISER.get(name, ()),
            Assumption("n", "n >= 2", "at least one phase", n >= 2),
        ),
        regimes=regimes,
    )
    for name, regimes in RATES.items()
)
