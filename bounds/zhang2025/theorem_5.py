r"""Theorem 5 with Remark 2: the noise with which PrivateDiff Minimax is said to be private.

Problem. As in ``theorem_1``, the mean loss mu-strongly concave in y, f <= M, Y bounded (A1).

Algorithm. PrivateDiff Minimax [1, Algorithms 3 and 4]. For r = 0, ..., R, minibatches of m records
without replacement: y_{r+1} by T_2 steps of clipped minibatch ascent from ytilde_r; then

    T | r:      d = mean clip(grad_x f(x_r, y_{r+1}; z_r), C_1),  C = C_1, sigma_x = sigma_x1, vtilde_r = 0
    otherwise:  d = mean clip(grad_x f(x_r, y_{r+1}; z_r) - grad_x f(x_{r-1}, y_r; z_{r-1}), C),
                C = C_{2,r} = C_2 |x_r - x_{r-1}| + C_3, sigma_x = sigma_x2
    vtilde_{r+1} = vtilde_r + d + N(0, sigma_x^2 C^2 I),  x_{r+1} = x_r - eta_x vtilde_{r+1},
    ytilde_{r+1} = y_{r+1} + N(0, sigma_y^2 I).

``zhang2025.theorem_5_existential`` has the noise of Theorem 5, ``zhang2025.theorem_5`` that of Remark 2, m rounded up.
The objects state what the paper states, for comparison with an accountant; they promise no privacy.

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> thm = theorem("zhang2025.theorem_5")
>>> sizes = dict(n=10_000, T=10, R=100, epsilon=1.0, delta=1e-8)
>>> thm.schedule(**sizes)
{'m': 1119}
>>> noise = thm.noise(**sizes, C_0=1.0, beta=1.0, M=1.0, mu=0.5)
>>> {name: round(sigma, 6) for name, sigma in noise.items()}
{'sigma_x1': 0.005429, 'sigma_x2': 0.017168, 'sigma_y': 0.103006}
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sympy import Eq, Max, Rational, ceiling, log, sqrt, symbols

from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional, refuted
from dpcheck.bounds.evidence import Counterexample, Enumerated, Identity
from dpcheck.bounds.symbols import R, T, delta, epsilon, m, mu, n, sigma, sigma_y
from dpcheck.bounds.theorem import Assumption, Parameter, Theorem
from dpcheck.bounds.zhang2025.privatediff import left_over

C_0, beta, M, sigma_x1, sigma_x2 = symbols("C_0 beta M sigma_x1 sigma_x2", positive=True)
c_4, c_5, c_6, c_7 = symbols("c_4 c_5 c_6 c_7", positive=True)

SIZES = (
    Parameter(n, "records in the dataset"),
    Parameter(epsilon, "privacy loss, natural log"),
    Parameter(delta, "probability of a larger loss"),
    Parameter(T, "rounds from one restart to the next"),
    Parameter(R, "rounds"),
    Parameter(C_0, "clipping threshold of the inner ascent"),
    Parameter(beta, "smoothness of f in y"),
    Parameter(M, "upper bound of f"),
)
A1 = Assumption("A1", "L-hat(x, .) is mu-strongly concave, Y is bounded, f <= M on R^{d_1} x Y", "Assumption 1")
MECHANISM = (
    Assumption("beta", "f is beta-smooth in y for every record; not named in Theorem 5", "Lemma 10"),
    Assumption("sampling", "each minibatch is drawn uniformly without replacement", "Algorithms 3 and 4, line 2"),
    Assumption("clipping", "each record's gradients and differences are clipped", "Algorithms 3 and 4"),
    Assumption("steps", "the inner ascent takes the steps 1/(mu i)", "Lemma 9, by [Hardt et al., Theorem 3.10]"),
)
LIMITS = (
    Assumption("epsilon", "epsilon <= 1", "Remark 2", epsilon <= 1),
    Assumption("delta", "delta <= 1/n^2", "Remark 2", delta <= 1 / n**2),
    Assumption("m", "m >= n sqrt(epsilon/(8 T))", "Remark 2", m >= n * sqrt(epsilon / (8 * T))),
    Assumption("most", "m <= n", "Algorithm 3, drawn without replacement", m <= n),
)
X_NOISE = (
    (sigma_x1, c_5 * sqrt(R / T * log(1 / delta)) / (n * epsilon)),
    (sigma_x2, c_6 * sqrt(R * log(1 / delta)) / (n * epsilon)),
)
Y_NOISE = c_7 * (2 * C_0**2 + beta * M) * sqrt(R * log(1 / delta)) / (n * epsilon)
REMARK_2 = (
    *((symbol, formula.subs({c_5: 4, c_6: 4})) for symbol, formula in X_NOISE),
    (sigma_y, Y_NOISE.subs(c_7, 4) / mu),
)

THEOREMS = (
    Theorem(
        id="zhang2025.theorem_5",
        title="Noise of PrivateDiff Minimax, with the constants of Remark 2 (refuted)",
        paper="zhang2025",
        location="Theorem 5 and Remark 2",
        quantity="(epsilon, delta)-differential privacy, which does not follow",
        quantity_latex=r"(\epsilon, \delta)",
        parameters=(*SIZES, Parameter(mu, "strong concavity of L-hat in y")),
        assumptions=(A1, *MECHANISM, *LIMITS),
        schedule_formulas=((m, ceiling(Max(1, n * sqrt(epsilon / (8 * T))))),),
        noise_formulas=REMARK_2,
    ),
    Theorem(
        id="zhang2025.theorem_5_existential",
        title="Noise of PrivateDiff Minimax, for constants that the paper leaves open (refuted)",
        paper="zhang2025",
        location="Theorem 5",
        quantity="(epsilon, delta)-differential privacy for some c_4, ..., c_7, which does not follow",
        quantity_latex=r"(\epsilon, \delta)",
        parameters=(
            *SIZES,
            Parameter(m, "records in a minibatch"),
            Parameter(c_4, "constant of the region, which the paper leaves open"),
            Parameter(c_5, "constant of sigma_x1, which the paper leaves open"),
            Parameter(c_6, "constant of sigma_x2, which the paper leaves open"),
            Parameter(c_7, "constant of sigma_y, which the paper leaves open"),
        ),
        assumptions=(
            A1,
            *MECHANISM,
            Assumption("most", "m <= n", "Algorithm 3, drawn without replacement", m <= n),
            Assumption("epsilon", "epsilon < c_4 m^2 T/n^2", "Theorem 5", epsilon < c_4 * m**2 * T / n**2),
        ),
        noise_formulas=(*X_NOISE, (sigma_y, Y_NOISE)),
    ),
)


C_1 = symbols("C_1", positive=True)
NOISE = dict(REMARK_2)


@claim(
    "004:Thm5-proof sigma-tilde",
    Kind.STEP,
    location="version with proofs, after (44)",
    multiplier=m * sigma / (2 * C_1),
)
def normalisation() -> Decision:
    """The noise of Algorithm 3, relative to a query of sensitivity 1/m (the one of Theorem 5's proof), has the
    multiplier {multiplier} with sigma = sigma_x1 at a restart, and likewise with sigma_x2 and C_{{2,r}}.
    """
    released = 2 * C_1  # d = 2 C_1 g, and g of (43) has sensitivity 1/m
    multiplier = sigma * C_1 / released * m
    printed = m * sigma / (2 * C_1)
    return conditional(
        Identity(
            "noise sigma C_1 on d = 2 C_1 g is noise sigma/2 on g, m sigma/2 in units of 1/m",
            lambda: sigma * C_1 / (2 * C_1) * m,
            m * sigma / 2,
        ),
        Counterexample("C_1 = 3, m = 2, sigma = 1: 1 and 1/3", Eq(multiplier, printed), {m: 2, sigma: 1, C_1: 3}),
        Counterexample(
            "C_1 = 1/3: the printed one is three times too large, which is unsafe",
            printed <= multiplier,
            {m: 2, sigma: 1, C_1: Rational(1, 3)},
        ),
        Identity("they agree for noise sigma on d, as in Algorithm 1", lambda: sigma / released * m, printed),
        Identity("and for C_1 = 1", lambda: (sigma * C_1 / (2 * C_1) * m).subs(C_1, 1), printed.subs(C_1, 1)),
        readings={"Algorithm 3, noise N(0, sigma^2 C^2 I)": "refuted", "noise N(0, sigma^2 I), or C = 1": "proved"},
        condition="sigma_x1 and sigma_x2 are the whole standard deviations of the noise, or C = 1",
        repaired="m sigma_x1/2 and m sigma_x2/2: the thresholds are in the noise of Algorithm 3, as the sigma of "
        "Theorem 5, which have none, suppose",
        note="Step 8 of Algorithm 3 multiplies the noise by C, so that C cancels. The printed form divides by it once "
        "more.",
    )


PRINTED = 8 * log(n) / epsilon


@claim(
    "004:Remark proof",
    Kind.STEP,
    location="version with proofs, proof of Remark 5.1",
    sigma=NOISE[sigma_x1].subs(log(1 / delta), 2 * log(n)),
)
def remark_algebra() -> Decision:
    """With sigma_x1 = {sigma} at delta = 1/n^2, the first condition of the proof of Theorem 5 reads lambda <=
    {PRINTED}.
    """

    # First condition: m^2 R lambda^2/(T n^2 s^2) <= lambda epsilon/4; delta = 1/n^2, log(1/delta) = 2 log n.
    def largest(normalised: Any) -> Any:
        return epsilon / 4 * T * n**2 * normalised**2 / (m**2 * R)

    first = NOISE[sigma_x1].subs(log(1 / delta), 2 * log(n))
    divided, whole = largest(m * first / (2 * C_1)), largest(m * first / 2)
    second = NOISE[sigma_x2].subs(log(1 / delta), 2 * log(n))
    return refuted(
        Identity(
            "the printed sigma_x1 at delta = 1/n^2", first, lambda: 4 * sqrt(R / T * (2 * log(n))) / (n * epsilon)
        ),
        Identity(
            "the first condition with m sigma/(2 C_1)",
            lambda: largest(m * first / (2 * C_1)),
            2 * log(n) / (C_1**2 * epsilon),
        ),
        Identity("and with m sigma/2, the right normalisation", lambda: largest(m * first / 2), 2 * log(n) / epsilon),
        Counterexample(
            "C_1 = 1, n = 10, epsilon = 1: 2 log 10 and 8 log 10", Eq(divided, PRINTED), {C_1: 1, n: 10, epsilon: 1}
        ),
        Identity(
            "the fourth, exp(-lambda epsilon/4) <= 1/n^2, asks for lambda at least",
            lambda: 4 / epsilon * 2 * log(n),
            PRINTED,
        ),
        Counterexample("so no lambda meets both", PRINTED <= whole, {n: 10, epsilon: 1}),
        Identity("8 in place of 4 mends it", lambda: largest(m * 2 * first / 2), PRINTED),
        # Check the second and the third condition.
        Identity(
            "the second, without its 1 - 1/T, which helps, is the same",
            lambda: epsilon / 4 * n**2 * (m * second / 2) ** 2 / (R * m**2),
            2 * log(n) / epsilon,
        ),
        Identity(
            "the third holds with equality, given the mu of Remark 2",
            lambda: (
                epsilon
                / 4
                * (NOISE[sigma_y].subs(log(1 / delta), 2 * log(n)) * mu * n / (2 * C_0**2 + beta * M)) ** 2
                / R
            ),
            PRINTED,
        ),
        readings={"sigma-tilde = m sigma/(2 C_1), C_1 = 1": "refuted", "sigma-tilde = m sigma/2": "refuted"},
        repaired="lambda <= 2 log(n)/epsilon with the constant 4; the constant 8 gives the printed 8 log(n)/epsilon",
        note="The factor 2 of the sensitivity 2 C_1/m is lost: four times too large, and lambda >= 8 log(n)/epsilon "
        "cannot be met.",
    )


@claim("003:Alg3 step 3", Kind.ALGORITHM, location="Algorithm 3, steps 3 and 7")
def telescoping() -> Decision:
    """With y_r = ytilde_r from step 3, the difference of step 7 added to the estimator of the round before estimates
    the gradient in x at (x_r, y_{r+1}), as (6) intends.
    """
    estimate, gradient = symbols("estimate gradient", real=True)
    built, now, subtracted = symbols("built now subtracted", real=True)
    return refuted(
        Enumerated("without noise in ytilde_1 nothing is left over", left_over, (Fraction(0),), Fraction(0)),
        Enumerated("noise 1/2 in ytilde_1 leaves -1/2", left_over, (Fraction(1, 2),), Fraction(-1, 2)),
        Enumerated("noise -3 leaves 3", left_over, (Fraction(-3),), Fraction(3)),
        Counterexample(
            "there v_2 is not grad_x at (x_1, y_2) = (1/2, 2/5)",
            Eq(estimate, gradient),
            {gradient: Rational(24, 125), estimate: Rational(24, 125) - Rational(1, 2)},
        ),
        Identity(
            "what is left over: grad_x at (x_{r-1}, y_r) less that at (x_{r-1}, ytilde_r)",
            lambda: built + (now - subtracted) - now,
            built - subtracted,
        ),
        readings={
            "y_r of step 7 is the ytilde_r of step 3, as printed": "refuted",
            "y_r of step 7 is the unperturbed y_r": "proved",
            "both gradients at ytilde, as in the outline (6)": "proved",
        },
        repaired="evaluate both gradients of step 7, and step 6, at released points ytilde_{r+1} and ytilde_r; the "
        "unperturbed y_r would telescope too, but is not private, and C_3 of Lemma 13 has no room for the noise",
        note="Step 3 overwrites y_r by ytilde_r. The estimator was built at y_r, the difference subtracts the "
        "gradient at ytilde_r, and grad_x f(x_{r-1}, y_r) - grad_x f(x_{r-1}, ytilde_r), of the size of the noise, "
        "stays in v until the next restart, once a round. Lemma 13 and the utility proof use the unperturbed y_r.",
        method=Method.STEPS,
    )
