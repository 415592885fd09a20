r"""Theorem 4: the lower bound for worst-group risk.

    min over x max over y in the simplex of  sum_i y_i F_i(x) - |y|^2/2,  F_i the mean loss of group D_i, i <= d_2.

By [1, Theorem 4] some Lipschitz and smooth loss and some dataset force |grad Phi(x_priv)| = Omega(min{1, d sqrt(d
log(1/delta))/(n epsilon)}) on every (epsilon, delta)-DP algorithm, d = max{d_1, d_2}.

- As published, a linear loss meets it: Lipschitz, smooth, with a gradient of norm 1 everywhere. This has nothing to do
  with privacy, so the theorem must be about losses that have stationary points, such as bounded ones. Then, as for
  Theorem 3, every algorithm must have a dataset of its own.
- With groups of any size and d_2 >= 2 even Omega(1) is forced. Let group 1 be one record z in {-1, 1} with the loss
  2 - cos(x_1 - z pi/4), and let the others have loss 0. Then y* = e_1 everywhere, the squared gradients for z = 1 and
  z = -1 add up to 1, and a private algorithm cannot avoid both.
- With d_2 = 1 there are no groups, and private descent does better than d sqrt d.
- The proof takes groups of n/d_2 records and gives d_2 sqrt(d_1), which is d sqrt d where d_1 and d_2 are both of
  order d.

[1] R. Zhang et al. Improved Rates of Differentially Private Nonconvex-Strongly-Concave Minimax
    Optimization. AAAI 2025, Theorem 4; version with proofs.
"""

from __future__ import annotations

from sympy import Integer, Min, Rational, pi, sin, sqrt, symbols

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional
from dpcheck.bounds.evidence import AtMost, Cited, Identity
from dpcheck.bounds.symbols import d, d_1, d_2, delta, epsilon, n
from dpcheck.bounds.zhang2025.lower_bounds import CONSTANT, RATE_4, always

ell, a, k, above, factor = symbols("ell a k above factor", positive=True)  # factor = e^epsilon
p = symbols("x_1", real=True)


@claim("003:Thm4", Kind.LOWER_BOUND, location="Theorem 4", least=Min(1, RATE_4))
def groups() -> Decision:
    """There are a Lipschitz and smooth loss and a dataset on which every (epsilon, delta)-DP algorithm has, for
    worst-group risk, a gradient norm of the order of {least} at least, d the larger of d_1 and d_2.
    """
    chance = (factor + delta) / (1 + factor)  # of a small gradient on z = 1, where both bounds below agree
    first = 1 / (1 + k)  # y_1
    return conditional(
        Cited(
            "the linear loss x_1 of every record: Phi = x_1 - 1/(2 d_2) has gradient 1 everywhere, which is at least "
            "min{1, ...} whatever is returned",
            "y = (1, ..., 1)/d_2 is best at every x",
        ),
        *CONSTANT,
        always(RATE_4),
        # Take a bounded loss and a group of one record: Omega(1).
        AtMost(
            "one record in group 1, F_1 = 1 + above, the others 0: y = e_1 is best, as (1 - |y|^2)/2 <= "
            "(1 - y_1^2)/2 <= (1 - y_1) F_1",
            (1 - first**2) / 2,
            (1 - first) * (1 + above),
        ),
        Identity(
            "the squared gradients for z = 1 and z = -1, one of which is at least 1/2 at each x",
            sin(p - pi / 4) ** 2 + sin(p + pi / 4) ** 2,
            Integer(1),
        ),
        Identity(
            "with chance P of less than 1/sqrt 2 for z = 1, more for z = -1 has chance (P - delta)/e^epsilon; the "
            "larger of that and 1 - P is least where they agree",
            (chance - delta) / factor,
            1 - chance,
        ),
        Identity("and is there, for every algorithm on one of the two", 1 - chance, (1 - delta) / (1 + factor)),
        # Show that for d_2 = 1 private descent does better.
        Cited(
            "d_2 = 1, any loss of bounded range, Lipschitz and smooth: full-batch private descent reaches O(a^{1/2}) "
            "on every dataset, up to logarithms, a = sqrt(d log(1/delta))/(n epsilon)",
            "D. Wang, M. Ye, J. Xu, NeurIPS 2017",
        ),
        Exceeds(
            "where the printed bound min{1, d a} is 1",
            Integer(1),
            sqrt(a),
            Region(a <= 1, d * a >= 1),
            {a: 1 / s, d: s},
        ),
        # Follow the proof of the paper, with groups of n/d_2 records.
        Identity(
            "the proof: a group of n/d_2 records in the cited bound",
            lambda: sqrt(d_1 * ell) / ((n / d_2) * epsilon),
            d_2 * sqrt(d_1 * ell) / (n * epsilon),
        ),
        Identity(
            "which is d^{3/2} for d_1 = d_2 = d", lambda: (d_2 * sqrt(d_1)).subs({d_1: d, d_2: d}), d ** Rational(3, 2)
        ),
        Exceeds(
            "for d_1 = 1 and d_2 = d the proof gives less than the theorem says (which is no counterexample)",
            d_2 * sqrt(d_2),
            d_2 * sqrt(d_1),
            Region(d_1 >= 1, d_2 >= 1),
            {d_2: s, d_1: 1},
        ),
        Cited(
            "equal groups: the one that counts must hold records that no other group repeats, since an algorithm may "
            "learn them from the copies",
            "the construction in the proof",
        ),
        Dominated(
            "no conflict with Theorem 2, which is about mean losses: its rate a^{1/2} is above a",
            a,
            sqrt(a),
            Region(a <= 1),
        ),
        readings={
            "the loss only Lipschitz and smooth, as printed: a linear loss, private or not": "proved",
            "a loss with stationary points, one dataset for all algorithms": "refuted",
            "a bounded loss, for every algorithm a dataset, groups of any size, d_2 >= 2: Omega(1)": "proved",
            "a bounded loss, for every algorithm a dataset, equal groups, d_1 and d_2 of order d": "conditional",
            "a bounded loss, for every algorithm a dataset, d_2 = 1 and d_1 large": "refuted",
        },
        condition="a loss that has stationary points, and for every algorithm there is a dataset, in the mean (the "
        "quantifiers exchanged); then either d_2 >= 2 and groups of any size, which give Omega(1), or equal groups as "
        "in the proof, which hold different records, d_1 and d_2 both of order d, and the cited lower bound",
        note="As printed it is met by a linear loss, which no algorithm can make stationary, and says nothing on "
        "privacy. About privacy it holds with the quantifiers exchanged, for d_2 >= 2 more easily than the proof has "
        "it, with a group of one record; the proof gives d_2 sqrt(d_1 log(1/delta))/(n epsilon). For d_2 = 1 and "
        "large d_1 it fails.",
        method=(Method.ALGEBRA, Method.CITED),
    )
