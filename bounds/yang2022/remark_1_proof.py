"""The claim about the proof of Remark 1: the constant 8 of its noise.

Setting as in ``theorem_1``.

[1] Z. Yang et al. Differentially Private SGDA for Minimax Problems. UAI 2022, Appendix B.
"""

from __future__ import annotations

from typing import Any

from sympy import Eq, Mul, Pow, Rational, log

from dpcheck.bounds.claim import Decision, Kind, claim, conditional
from dpcheck.bounds.evidence import AtMost, Counterexample, Identity
from dpcheck.bounds.symbols import G_w, T, delta, epsilon, m, n, sigma_w
from dpcheck.bounds.yang2022.theorem_1 import NOISE
from dpcheck.bounds.yang2022.theorem_1_proof import SENSITIVITY, ell

REMARK, PROOF = dict(NOISE)[sigma_w], 8 * m**2 * T * log(n) / (n**2 * epsilon**2)  # PROOF is a square


def _equal(left: Any, right: Any) -> Any:
    return Eq(left, right, evaluate=False)


@claim("Y11", Kind.CONSTANT, location="Remark 1 and its proof, Appendix B", proof=PROOF, remark=REMARK)
def remark_constant() -> Decision:
    """At delta = 1/n^2 the noise sigma^2 = {proof} of the proof, in units of the sensitivity, is the noise {remark} of
    Remark 1.
    """
    at = ((n, 10), (T, 4), (m, 3), (epsilon, 1), (G_w, 1), (delta, Rational(1, 100)))
    square = Pow(REMARK, 2, evaluate=False)
    return conditional(
        # Compare the noise of the proof with that of the remark.
        Identity(
            "in units of 2 G/m the proof's noise has the constant 4 for 8: squares, log n = ell/2",
            lambda: 4 * (2 * G_w / m) ** 2 * (8 * m**2 * T * (ell / 2) / (n * epsilon) ** 2),
            (8 * G_w) ** 2 * T * ell / (n * epsilon) ** 2,
        ),
        Counterexample("in units of 2 G/m", _equal(Mul(SENSITIVITY**2, PROOF, evaluate=False), square), at),
        Counterexample(
            "in units of 2 G, as Y05 prints them", _equal(Mul(4 * G_w**2, PROOF, evaluate=False), square), at
        ),
        Identity(
            "in units of 2 G the two agree at m = 2, and there alone",
            lambda: (2 * G_w) ** 2 * (8 * m**2 * T * (ell / 2) / (n * epsilon) ** 2),
            (m**2 / 4) * (8 * G_w) ** 2 * T * ell / (n * epsilon) ** 2,
        ),
        AtMost(
            "the remark's noise is at least the proof's",
            (SENSITIVITY**2 * PROOF).subs(log(n), ell / 2),
            (REMARK**2).subs(log(1 / delta), ell),
        ),
        # Check the conditions of Theorem 1 at the constant 8.
        Identity(
            "Theorem 1's first two conditions, with equality, give the constant 8: s^2 = 4 (m/n)^2 T lambda/epsilon "
            "at lambda = 4 ell/epsilon, in units of 2 G/m",
            lambda: (2 * G_w / m) ** 2 * (4 * (m / n) ** 2 * T * (4 * ell / epsilon) / epsilon),
            (8 * G_w) ** 2 * T * ell / (n * epsilon) ** 2,
        ),
        Identity(
            "the third, lambda <= s^2 log(n/(m s)), at the remark's minibatch, (m/n)^2 = epsilon/(4 T): lambda = s^2",
            lambda: 4 * (epsilon / (4 * T)) * T * (4 * ell / epsilon) / epsilon,
            4 * ell / epsilon,
        ),
        Identity(
            "and (m s/n)^2 = log(1/delta)/T, which must be at most exp(-2)",
            lambda: (epsilon / (4 * T)) * (4 * ell / epsilon),
            ell / T,
        ),
        readings={
            "the noise of the proof is the noise of the remark, in units of 2 G/m": "refuted",
            "the same in units of 2 G, as Y05 prints them, unless m = 2": "refuted",
            "the same in units of 2 G, m = 2": "proved",
            "the noise of the remark is at least that of the proof": "proved",
            "the noise of the proof, in units of 2 G/m, is half that of the remark": "proved",
        },
        condition="m = 2 and units of 2 G, as Y05 prints them; in the right units, 2 G/m, a factor 2 is put in, since "
        "the constant of the proof is 4 for 8",
        repaired="the proof's choice is 4 G sqrt(T log(1/delta))/(n epsilon); 8 is what the two conditions of Theorem "
        "1, for the pair of releases, give with equality",
        note="The proof of Remark 1 arrives at the constant 4, for one release; the remark's 8 is the larger, and "
        "comes out exactly from the proof of Theorem 1. Either way the third condition asks for T of order "
        "log(1/delta), which the remark leaves out: for 8, T >= e^2 log(1/delta) where its minibatch exceeds 1.",
    )
