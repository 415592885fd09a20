r"""Theorem 4.3: output perturbation for smooth strongly convex-strongly concave problems.

Problem. min over x, max over y of F(x, y) = E f(x, y; xi); each f is mu_x-strongly convex and mu_y-strongly
concave, L-Lipschitz and ell-smooth; saddle points interior. mu = min{mu_x, mu_y}, d = max{d_x, d_y},
kappa = ell/mu, kappa_x = ell/mu_x, kappa_y = ell/mu_y.

Algorithm 3. Run any solver A until mu_x |A_x - x_S|^2 + mu_y |A_y - y_S|^2 <= L^2/(mu n^2) with
probability 1 - delta/8; add N(0, sigma_x^2 I) to A_x and N(0, sigma_y^2 I) to A_y with

    sigma_x = (8 L/(n epsilon)) sqrt(2 log(5/delta)/(mu_x mu)),  sigma_y likewise with mu_y.

Guarantee. For epsilon <= 1 and delta < 1/n it is (epsilon, delta)-DP, and by [1, Theorem 4.3] the expected
empirical gap is at most 257 L^2 (kappa_x kappa_y + kappa) d log(5/delta)/(mu n^2 epsilon^2) and the expected
(strong) population gap at most ``bound``,

    3 L^2 (kappa_x kappa_y + kappa) (3/(mu n) + 128 d log(5/delta)/(mu n^2 epsilon^2)).

[1] L. Zhang, K. K. Thekumparampil, S. Oh, N. He. Bring Your Own Algorithm for Optimal Differentially
    Private Stochastic Minimax Optimization. NeurIPS 2022, Appendix B.2.

Arguments. n records, d larger dimension, epsilon, delta, L Lipschitz constant, ell smoothness, mu_x, mu_y.

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> thm = theorem("zhang2022.theorem_4_3")
>>> problem = dict(n=10_000, d=50, epsilon=0.5, delta=1e-6, L=1, ell=1, mu_x=0.5, mu_y=1)
>>> round(thm.noise(**problem)["sigma_x"], 5)
0.01777
>>> round(thm.bound(**problem), 4)
0.102
"""

from __future__ import annotations

from sympy import Le, Min, Rational, log, oo, sqrt, symbols

from dpcheck.bounds.calibration import Private
from dpcheck.bounds.claim import Claim, Decision, Evidence
from dpcheck.bounds.evidence import AtMost, Cited, Identity, Step
from dpcheck.bounds.prover import Domain, Inequality
from dpcheck.bounds.symbols import L, c, d, delta, ell, epsilon, mu, mu_x, mu_y, n, sigma_x, sigma_y
from dpcheck.bounds.theorem import Assumption, Parameter, Theorem
from dpcheck.bounds.zhang2022 import outside
from dpcheck.bounds.zhang2022.theorem_3_3 import BUDGET, LIPSCHITZ, RECORDS, SMALL
from dpcheck.bounds.zhang2022.theorem_3_3_proof import SHARES

LOG = log(5 / delta)
LEAST = Min(mu_x, mu_y)
CONDITION = (ell**2 / (mu_x * mu_y) + ell / mu).subs(mu, LEAST)  # kappa_x kappa_y + kappa
NOISE_X, NOISE_Y = (8 * L / (n * epsilon) * sqrt(2 * LOG / (block * mu)) for block in (mu_x, mu_y))
SENSITIVITY = 4 * L / n / sqrt(mu_x * mu)
POPULATION = 3 * L**2 * CONDITION * (3 / (LEAST * n) + 128 * d * LOG / (LEAST * n**2 * epsilon**2))
MULTIPLIER = 2 * sqrt(2 * LOG) / epsilon
gamma, energy = symbols("gamma energy", positive=True)
# (kappa_x kappa_y + kappa) in units; the bounds below are per unit of it
SETTING = Domain(
    {n: (1, oo), d: (1, oo), epsilon: (0, 1), delta: (0, 1), L: (0, oo), mu: (0, oo)}, where=(Le(delta * n, 1),)
)
# f = (x^2 - y^2)/2: L^2 = 2, and kappa_x kappa_y + kappa = 2
INSTANCE = {n: outside.TEN, d: 1, mu: 1, epsilon: outside.EPSILON, delta: outside.DELTA}
PRIVACY = (*BUDGET, Parameter(d, "larger of the dimensions of x and y"), LIPSCHITZ)
SIZES = (
    *PRIVACY,
    Parameter(ell, "smoothness of f"),
    Parameter(mu_x, "strong convexity"),
    Parameter(mu_y, "strong concavity"),
)

THEOREMS = (
    Theorem(
        id="zhang2022.theorem_4_3",
        title="Output perturbation, smooth strongly convex-strongly concave case",
        paper="zhang2022",
        location="Theorem 4.3 and its proof, Appendix B.2",
        quantity="expected strong duality gap of the released point on the population",
        quantity_latex=r"\mathbb{E}[\max_y F(\tilde{x}, y) - \min_x F(x, \tilde{y})]",
        parameters=SIZES,
        assumptions=(
            Assumption(
                "f", "every f is L-Lipschitz, ell-smooth, mu_x-strongly convex and mu_y-strongly concave", "Theorem 4.3"
            ),
            Assumption("interior", "the saddle points of F_S and F lie in the interior of X x Y", "Theorem 4.3"),
            RECORDS,
            Assumption(
                "solver",
                "mu_x |A_x - x_S|^2 + mu_y |A_y - y_S|^2 <= L^2/(mu n^2) with probability 1 - delta/8",
                "Algorithm 3",
            ),
            Assumption("mu_x", "mu_x <= ell", "strong convexity is at most smoothness", Le(mu_x, ell)),
            Assumption("mu_y", "mu_y <= ell", "strong concavity is at most smoothness", Le(mu_y, ell)),
            *SMALL,
        ),
        noise_formulas=((sigma_x, NOISE_X.subs(mu, LEAST)), (sigma_y, NOISE_Y.subs(mu, LEAST))),
        bound_formula=POPULATION,
        regimes=(
            ("statistical", L**2 * CONDITION / (LEAST * n)),
            ("privacy", L**2 * CONDITION * d * log(1 / delta) / (LEAST * n**2 * epsilon**2)),
        ),
    ),
)


def _sensitivity() -> Decision:
    steps = (
        Identity("two solver errors and the stability", (1 + 2 + 1) * L / n / sqrt(mu_x * mu), SENSITIVITY),
        Identity(
            "the stability of x from Lemma B.2: sqrt(4 L^2/(mu n^2)/mu_x)",
            sqrt(4 * L**2 / (mu * n**2) / mu_x),
            2 * L / n / sqrt(mu_x * mu),
        ),
        Identity("two runs, each failing with probability delta/8", delta / 8 + delta / 8, delta / 4),
    )
    return Decision("proved", "exact algebra", Evidence(steps), "Lemma B.2 and the solver's guarantee.")


def _calibration() -> Decision:
    steps = (
        Identity("noise over sensitivity", NOISE_X / SENSITIVITY, MULTIPLIER),
        Private("it is (epsilon/2, delta/4)-DP for epsilon <= 1", MULTIPLIER, SHARES, epsilon / 2, delta / 4),
        Cited("the other delta/4 is the chance that the sensitivity fails", "claims Z26 and Z07"),
    )
    return Decision(
        "proved",
        "tail bound of the exact Gaussian curve",
        Evidence(steps),
        "1.25/(delta/4) is the printed 5/delta, and the sensitivity's own delta/4 completes delta/2.",
    )


def _composition() -> Decision:
    steps = (
        Cited(
            "draw A(S) and A(S') independently: each misses its requirement, which is for both blocks at once, with "
            "probability delta/8, and otherwise both blocks are within the sensitivity",
            "union bound; equation (17)",
        ),
        Cited(
            "given both, the two noises are independent, so that the two Gaussians, (epsilon/2, delta/4)-DP each, "
            "compose; averaged over A(S) and A(S') as in Z07",
            "basic composition; claim Z27",
        ),
        Identity("epsilon", epsilon / 2 + epsilon / 2, epsilon),
        AtMost(
            "two failures and two Gaussians take 3 delta/4 of delta",
            (delta / 8 + delta / 8) + (delta / 4 + delta / 4),
            delta,
        ),
    )
    return Decision(
        "proved",
        "exact algebra from cited facts",
        Evidence(steps),
        "Both blocks come from one run of A, so that the guarantees of the blocks do not compose as they stand; given "
        "close solutions they do, and the failure counts once for both.",
    )


def _empirical() -> Decision:
    per_block = mu_x * d * NOISE_X**2
    unit = d * LOG / (mu * n**2 * epsilon**2)
    steps: tuple[Step, ...] = (
        Cited(
            "(kappa_y + 1) ell = (kappa_x kappa_y + kappa_x) mu_x, at most (kappa_x kappa_y + kappa) mu_x", "definition"
        ),
        Identity("each block's noise energy is 128 units", per_block, 128 * L**2 * unit),
        Identity(
            "E of the solver's energy is at most 2 gamma",
            2 * (delta * L**2 / (16 * mu * n**2)),
            L**2 * delta / (8 * mu * n**2),
        ),
        Inequality(
            "the sum is within the printed bound",
            256 * L**2 * unit + L**2 * delta / (8 * mu * n**2),
            c * L**2 * unit,
            SETTING,
            (c, 257),
        ),
        *outside.saddle(257 * 2 * 2 * unit.subs(INSTANCE)),
    )
    return Decision(
        "proved", "prover", Evidence(steps, readings=outside.readings(outside.LIPSCHITZ)), "256 from the two noises."
    )


def _population() -> Decision:
    unit = d * LOG / (mu * n**2 * epsilon**2)
    terms = L**2 * (384 * unit + 3 * delta / (16 * mu * n**2) + 6 * sqrt(2) / (mu * n))
    steps: tuple[Step, ...] = (
        Identity(
            "3/2 of the noises and of the solver",
            Rational(3, 2) * (256 * unit + delta / (8 * mu * n**2)),
            384 * unit + 3 * delta / (16 * mu * n**2),
        ),
        Identity(
            "3/2 of twice the weak gap 2 sqrt 2 L^2/(mu n)",
            Rational(3, 2) * 2 * 2 * sqrt(2) / (mu * n),
            6 * sqrt(2) / (mu * n),
        ),
        Cited(
            "the weak gap of (x_S, y_S) is at least the expected energy of its distance to (x*, y*)",
            "Lemma B.1 at the fixed (x*, y*)",
        ),
        Inequality(
            "the three terms are within the printed bound",
            terms,
            3 * L**2 * (c / (mu * n) + 128 * unit),
            SETTING,
            (c, 3),
        ),
        *outside.saddle(3 * 2 * 2 * (3 / (mu * n) + 128 * unit).subs(INSTANCE)),
    )
    return Decision(
        "proved", "prover", Evidence(steps, readings=outside.readings(outside.LIPSCHITZ)), "6 sqrt 2 = 8.49 of 9."
    )


def _failure() -> Decision:
    at = delta * L**2 / (16 * mu * n**2)
    steps = (
        Identity("Markov's bound", 2 * gamma / (L**2 / (mu * n**2)), 2 * gamma * mu * n**2 / L**2),
        Identity("at the printed gamma", (2 * gamma * mu * n**2 / L**2).subs(gamma, at), delta / 8),
    )
    return Decision(
        "proved", "exact algebra", Evidence(steps), "Lemma B.1 turns a gap of gamma into an energy of 2 gamma."
    )


CLAIMS = (
    Claim(
        "Z26",
        "zhang2022",
        "sensitivity",
        "|A_x(S) - A_x(S')| <= (4 L/n)/sqrt(mu_x mu) with probability 1 - delta/4.",
        "equation (17)",
        _sensitivity,
    ),
    Claim(
        "Z27",
        "zhang2022",
        "calibration",
        "sigma_x = (8 L/(n epsilon)) sqrt(2 log(5/delta)/(mu_x mu)), and sigma_y likewise, make each block "
        "(epsilon/2, delta/2)-DP, epsilon < 1.",
        "Theorem 4.3",
        _calibration,
    ),
    Claim(
        "Z28",
        "zhang2022",
        "composition",
        "The two blocks together are (epsilon, delta)-DP.",
        "proof of Theorem 4.3",
        _composition,
    ),
    Claim(
        "Z29",
        "zhang2022",
        "constant",
        "The expected empirical gap is at most 257 L^2 (kappa_x kappa_y + kappa) d log(5/delta)/(mu n^2 epsilon^2), "
        "from 256 for the noise and delta/8 for the solver.",
        "equations (18) to (20)",
        _empirical,
    ),
    Claim(
        "Z30",
        "zhang2022",
        "constant",
        "The expected population gap is at most 3 L^2 (kappa_x kappa_y + kappa) (3/(mu n) + "
        "128 d log(5/delta)/(mu n^2 epsilon^2)), from 384, 3 delta/16 and 6 sqrt 2.",
        "Theorem 4.3",
        _population,
    ),
    Claim(
        "Z31",
        "zhang2022",
        "failure probability",
        "gamma = delta L^2/(16 mu n^2) makes the solver's requirement fail with probability at most delta/8.",
        "proof of Theorem 4.3, gradient complexity",
        _failure,
    ),
)
