"""The claims about Corollary B.6 and its proof. Setting and reference as in ``corollary_b_6``.

The terms and their sum are in ``corollary_b_6_sum``.
"""

from __future__ import annotations

from sympy import Rational, sqrt, symbols

from dpcheck.bounds.calibration import Private
from dpcheck.bounds.claim import Decision, Kind, Method, claim, proved
from dpcheck.bounds.evidence import Cited, Identity, Quoted
from dpcheck.bounds.symbols import L, delta, epsilon, mu, n
from dpcheck.bounds.zhang2022.lemma_b import STABLE
from dpcheck.bounds.zhang2022.phases import PRINTED, TRUE, short
from dpcheck.bounds.zhang2022.theorem_3_3 import LOG
from dpcheck.bounds.zhang2022.theorem_3_3_proof import ONE, SHARES

nbar, mu_k, m_k = symbols("nbar mu_k m_k", positive=True)
du, dx = symbols("du dx", real=True)
MOVED = mu_k * du**2
TINY = Rational(1, 10**12)
SIGMA_K = 4 * L / (nbar * epsilon) * sqrt(2 * LOG / (mu_k * m_k))
QUARTER = delta / 4


@claim("Z46", Kind.CALIBRATION, location="Appendix B.4", sigma=SIGMA_K, rare=QUARTER, small=ONE)
def calibration() -> Decision:
    """For f jointly L-Lipschitz, m_k = min(mu_k, mu_y) and nbar records in a block, sigma_k = {sigma} makes a phase
    (epsilon, delta)-DP when the solver keeps its bound but for a probability of {rare}, for {small}.
    """
    sensitivity, multiplier = 4 * L / (nbar * sqrt(mu_k * m_k)), sqrt(2 * LOG) / epsilon
    return proved(
        Quoted("the energy between saddle points, m_k the smaller of mu_k and mu_y", "Z23"),
        Identity(
            "the stability sqrt(4 L^2/(m_k nbar^2)/mu_k), and two solver errors of half of it",
            lambda: 2 * sqrt(STABLE.subs({mu: m_k, n: nbar}) / mu_k),
            sensitivity,
        ),
        Identity("noise over sensitivity", lambda: SIGMA_K / sensitivity, multiplier),
        Private("it is (epsilon, delta/2)-DP", multiplier, SHARES, epsilon, delta / 2),
        Identity("and two solver failures of delta/4", lambda: QUARTER + QUARTER, delta / 2),
        Quoted("which make the other half of delta", "Z07"),
        short(multiplier.subs({epsilon: 1, delta: TINY}), 1, TINY),
        readings={TRUE: "proved", PRINTED: "refuted"},
        note="As Z27, with one block released.",
        method=Method.PRIVACY_CURVE,
    )


@claim("Z51", Kind.LEMMA, location="proof of Corollary B.6", moved=MOVED)
def stability() -> Decision:
    """Without a regulariser in y, moving the proximal centre by du moves y so that mu_y |dy|^2 is at most {moved}."""
    return proved(
        Cited(
            "mu_k (u - x) and 0 are in the field of f at the saddle, which is monotone with mu_y |dy|^2 to spare",
            "strong concavity",
        ),
        Identity(
            "so that mu_y |dy|^2 <= mu_k dx (du - dx), one coordinate each: the lemma's bound less a square and less "
            "three quarters of itself",
            mu_k * dx * (du - dx),
            lambda: MOVED - mu_k * (dx - du / 2) ** 2 - 3 * MOVED / 4,
        ),
        note="Even with a quarter of the lemma's constant.",
    )
