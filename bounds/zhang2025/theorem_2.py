r"""Theorem 2: the gradient norm that DP-SGDA reaches in the nonconvex-strongly concave case.

Problem. min over x in R^{d1}, max over y in a convex Y of diameter Lambda; the mean loss is mu-strongly concave
in y and l-smooth, kappa = l/mu; Phi(x) is its maximum. Minibatch gradients have variance B^2/m.

Algorithm. DP-SGDA with eta_x = 1/(16 (kappa + 1)^2 l), eta_y = 1/l, T of order n epsilon/sqrt(d log(1/delta)), m of
the same order, noise of Theorem 1.

Guarantee. With a = sqrt(d log(1/delta))/(n epsilon), by [1, Theorem 2],

    E|grad Phi(x_priv)| = O(a^{1/2}) = O( (d log(1/delta))^{1/4}/sqrt(n epsilon) ).

Smoothness must be joint in (x, y) (claim 003:Lem3), m at least of that order, and Theorem 1 asks for
epsilon < c_1 m^2 T/n^2, that is (d log(1/delta))^{3/2} of order n epsilon^2 at most (claim 003:Thm2).

[1] R. Zhang et al. Improved Rates of Differentially Private Nonconvex-Strongly-Concave Minimax
    Optimization. AAAI 2025, Theorem 2 and its proof.

Arguments. n, d, epsilon, delta.

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> thm = theorem("zhang2025.theorem_2")
>>> thm.schedule(n=10_000, d=10, epsilon=1.0, delta=1e-8)
{'T': 737, 'm': 737}
"""

from __future__ import annotations

from sympy import Eq, Ge, Le, Rational, ceiling, log, oo, sqrt, symbols

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.claim import Claim, Decision, Evidence
from dpcheck.bounds.evidence import AtMost, Cited, Counterexample, Identity
from dpcheck.bounds.prover import Domain, Inequality
from dpcheck.bounds.symbols import T, d, delta, epsilon, kappa, m, n
from dpcheck.bounds.theorem import Assumption, Parameter, Theorem

l, a, eta, g, h, N_x, N_y, theta, young, mu, b, X, ell = symbols(
    "l a eta g h N_x N_y theta young mu b X ell", positive=True
)
SMOOTH = (1 + kappa) * l  # of Phi
STEP = 1 / (16 * (kappa + 1) ** 2 * l)
SIZE = n * epsilon / sqrt(d * log(1 / delta))
PRIVACY = (
    Parameter(n, "records in the dataset"),
    Parameter(d, "larger of the dimensions of x and y"),
    Parameter(epsilon, "privacy loss, natural log"),
    Parameter(delta, "probability of a larger loss"),
)
BELOW_ONE = Assumption(
    "error", "d log(1/delta) <= (n epsilon)^2", "a rate below one", Le(d * log(1 / delta), (n * epsilon) ** 2)
)

THEOREMS = (
    Theorem(
        id="zhang2025.theorem_2",
        title="Gradient norm of DP-SGDA, nonconvex-strongly concave case",
        paper="zhang2025",
        location="Theorem 2 and its proof",
        quantity="expected gradient norm of the primal function at the output, in order",
        quantity_latex=r"\mathbb{E}\|\nabla\Phi(x^{priv})\|",
        parameters=PRIVACY,
        assumptions=(
            Assumption(
                "A1 to A4", "strongly concave in y, Lipschitz, jointly smooth, bounded variance", "Assumptions 1 to 4"
            ),
            BELOW_ONE,
        ),
        schedule_formulas=((T, ceiling(SIZE)), (m, ceiling(SIZE))),
        regimes=(("privacy", (d * log(1 / delta)) ** Rational(1, 4) / sqrt(n * epsilon)),),
    ),
)


def _smoothness() -> Decision:
    steps = (
        Cited(
            "mu |y*(x) - y*(x')| <= |grad_y L(x, y) - grad_y L(x', y)| <= l |x - x'| for a jointly l-smooth L",
            "strong concavity, optimality over Y",
        ),
        Identity("so that grad Phi is Lipschitz with l (1 + l/mu)", l * (1 + l / mu), l + (l / mu) * l),
        Cited(
            "L = b x y - mu y^2/2 is linear in x (l_x = 0) and mu-smooth in y: l = mu and kappa = 1 for every b",
            "Assumption 3",
        ),
        Counterexample(
            "its y* = b x/mu has slope b/mu, beyond kappa = 1 at b = 5 mu", Le(b / mu, 1), ((b, 5), (mu, 1))
        ),
    )
    evidence = Evidence(
        steps,
        readings=(
            ("l-smooth in each block, as Assumption 3 says", "refuted"),
            ("jointly l-smooth, as in the source", "proved"),
        ),
        condition="the loss is l-smooth jointly in (x, y)",
    )
    return Decision(
        "conditional",
        "exact algebra from cited facts",
        evidence,
        "Assumption 3 bounds each block's own smoothness and leaves the cross term free.",
    )


def _cross() -> Decision:
    steps = (
        Cited(
            "<grad_xy L u, v> is the derivative of <grad_y L(x + t u, y), v>, at most l |u| |v| for a "
            "jointly l-smooth L",
            "definition",
        ),
        Counterexample(
            "L = b x y - mu y^2/2: the cross derivative is b, while both blocks are mu-smooth",
            Le(b, mu),
            ((b, 5), (mu, 1)),
        ),
        Identity("for the joint Hessian [[0, b], [b, -mu]] the norm is at least b", b**2, b * b),
    )
    evidence = Evidence(
        steps,
        readings=(("l from Assumption 3", "refuted"), ("l the joint smoothness", "proved")),
        condition="the loss is l-smooth jointly in (x, y)",
    )
    return Decision(
        "conditional",
        "exact algebra",
        evidence,
        "True for a jointly smooth function, which Assumption 3 does not ask for.",
    )


def _descent() -> Decision:
    # g = |grad Phi|, h = |grad Phi - grad_x L|
    steps = (
        Cited(
            "Phi is (l + kappa l)-smooth; E|step|^2 <= eta^2 2 (|grad_x L|^2 + B^2/m + E|xi|^2); no "
            "clipping for C_1 >= G_x",
            "Lemma 3",
        ),
        Cited("|grad_x L|^2 <= 2 h^2 + 2 g^2 and <grad Phi, grad Phi - grad_x L> <= (g^2 + h^2)/2", "Young"),
        Identity(
            "collected",
            -eta * g**2 + eta * (g**2 + h**2) / 2 + SMOOTH / 2 * eta**2 * 2 * (2 * h**2 + 2 * g**2 + N_x),
            (2 * SMOOTH * eta**2 - eta / 2) * g**2 + SMOOTH * eta**2 * N_x + (2 * SMOOTH * eta**2 + eta / 2) * h**2,
        ),
    )
    return Decision(
        "proved",
        "exact algebra",
        Evidence(steps),
        "The factor 2 on the squared step is not even needed, since minibatch and noise have mean zero errors.",
    )


def _contraction() -> Decision:
    young_1, factor = 1 / (2 * (kappa - 1)), 1 - 1 / kappa
    printed = (
        (1 - 1 / (2 * kappa) + 4 * kappa**3 * eta**2 * l**2) * theta
        + 4 * kappa**3 * eta**2 * g**2
        + 2 * kappa**3 * eta**2 * N_x
        + 2 / l**2 * N_y
    )
    move = eta**2 * (2 * l**2 * theta + 2 * g**2 + N_x)
    letters = {theta: (0, oo), eta: (0, oo), l: (0, oo), g: (0, oo), N_x: (0, oo), N_y: (0, oo)}
    steps = (
        Cited(
            "one projected ascent step of 1/l: E|y_t - y*(x_{t-1})|^2 <= (1 - 1/kappa) theta + N_y/l^2",
            "contraction of the gradient map; the noise has mean zero",
        ),
        Cited("E|x_t - x_{t-1}|^2 <= eta^2 (2 l^2 theta + 2 g^2 + N_x), and y* is kappa-Lipschitz", "Lemmas 3 and 4"),
        Identity("Young's inequality with 1/(2 (kappa - 1))", (1 + young_1) * factor, (2 * kappa - 1) / (2 * kappa)),
        Inequality(
            "kappa >= 3/2: the two parts are within the printed right side",
            (1 + young_1) * (factor * theta + N_y / l**2) + (2 * kappa - 1) * kappa**2 * move,
            printed,
            Domain({**letters, kappa: (Rational(3, 2), oo)}),
        ),
        Inequality(
            "1 <= kappa <= 3/2: so they are with Young's parameter 1",
            2 * (factor * theta + N_y / l**2) + 2 * kappa**2 * move,
            printed,
            Domain({**letters, kappa: (1, Rational(3, 2))}),
        ),
    )
    return Decision(
        "proved",
        "prover, from cited facts",
        Evidence(steps),
        "The printed proof doubles the "
        "noise on the way, which the loss in Young's inequality needs; k in the statement is kappa.",
    )


def _sixteenths() -> Decision:
    over = Domain({kappa: (1, oo), l: (0, oo)})
    steps = (
        Inequality(
            "eta/2 - 2 (l + kappa l) eta^2 >= 7 eta/16 at eta = 1/(16 (kappa + 1)^2 l)",
            Rational(7, 16) * STEP,
            STEP / 2 - 2 * SMOOTH * STEP**2,
            over,
        ),
        Inequality(
            "and eta/2 + 2 (l + kappa l) eta^2 <= 9 eta/16",
            STEP / 2 + 2 * SMOOTH * STEP**2,
            Rational(9, 16) * STEP,
            over,
        ),
    )
    return Decision("proved", "prover", Evidence(steps), "Equality at kappa = 1.")


def _coefficients() -> Decision:
    # (35): xi has (l + kappa l) eta^2 + (9/8) eta^3 kappa^3 l^2 4 kappa, zeta has (9/8) eta 4 kappa.
    xi = SMOOTH * STEP**2 + Rational(9, 8) * STEP**3 * kappa**3 * l**2 * 4 * kappa
    zeta = Rational(9, 8) * STEP * 4 * kappa
    over = Domain({kappa: (1, oo), l: (0, oo)})
    steps = (
        Identity("zeta's coefficient in (35), the geometric sum at most 4 kappa", zeta, Rational(9, 2) * kappa * STEP),
        Counterexample(
            "(38) gives zeta eta/(8 kappa), at kappa = l = 1", Le(zeta, STEP / (8 * kappa)), ((kappa, 1), (l, 1))
        ),
        Inequality("xi's is within what (38) gives it", xi, STEP / (16 * kappa) + Rational(9, 2) * kappa * STEP, over),
        Inequality(
            "both are within the maximum that is used afterwards",
            zeta + xi,
            2 * (Rational(9, 2) * kappa * STEP + STEP / (16 * kappa)),
            over,
        ),
    )
    evidence = Evidence(
        steps,
        repaired="9 kappa eta/2 belongs to zeta and a number below eta/(16 kappa) + 9 "
        "eta/512 to xi; the next line takes the maximum for both, so that nothing "
        "later changes",
    )
    return Decision("refuted", "prover", evidence, "The two coefficients have changed places.")


def _rate() -> Decision:
    region = Region(Le(a, 1), Ge(T, 1), Ge(m, 1))
    parts = 1 / T + 1 / m + a**2 * T
    size = 1 / a
    steps = (
        Dominated(
            "with T and m of order 1/a the three parts are of order a, whose root is the rate",
            1 / X + 1 / X + a**2 * X,
            a,
            Region(Le(a, 1), Le(1 / a, X), Le(X, 2 / a)),
        ),
        Exceeds("m = O(1/a) alone allows m = 1", parts, a, region, {a: 1 / s, T: s, m: 1}),
        Identity(
            "m = T = 1/a in Theorem 1's m^2 T/n^2, a = sqrt(d ell)/(n epsilon)",
            (size**3 / n**2).subs(a, sqrt(d * ell) / (n * epsilon)),
            n * epsilon**3 / (d * ell) ** Rational(3, 2),
        ),
        Counterexample(
            "epsilon < that fails for d = 100, ell = 10, n = 10^4, epsilon = 1, where a = 0.0032",
            Le(epsilon, n * epsilon**3 / (d * ell) ** Rational(3, 2)),
            ((d, 100), (ell, 10), (n, 10**4), (epsilon, 1)),
        ),
        AtMost("it holds with n = X (d ell)^{3/2}/epsilon^2, X >= 1", 1 / (1 + X), 1 + 0 * X),
    )
    evidence = Evidence(
        steps,
        condition="joint smoothness (003:Lem3), m at least of the order n "
        "epsilon/sqrt(d log(1/delta)), and n epsilon^2 at least of order (d log(1/delta))^{3/2} for Theorem 1's "
        "region; kappa and l constants",
    )
    return Decision(
        "conditional",
        "linear program with exact multipliers",
        evidence,
        "The rate follows from (38) and its maximum; the minibatch needs a lower bound, not an upper one.",
    )


def _remark() -> Decision:
    steps = (
        Counterexample(
            "sqrt d/sqrt(n epsilon) is not d^{1/4}/sqrt(n epsilon): d = 16",
            Eq(sqrt(d) / sqrt(n * epsilon), d ** Rational(1, 4) / sqrt(n * epsilon)),
            ((d, 16), (n, 100), (epsilon, 1)),
        ),
        Exceeds(
            "nor of its order",
            sqrt(d) / sqrt(n),
            d ** Rational(1, 4) / sqrt(n),
            Region(Ge(d, 1), Ge(n, 1)),
            {d: s, n: s},
        ),
        Dominated(
            "the theorem's rate is below it",
            d ** Rational(1, 4) / sqrt(n),
            sqrt(d) / sqrt(n),
            Region(Ge(d, 1), Ge(n, 1)),
        ),
    )
    evidence = Evidence(
        steps,
        readings=(("as the rate of Theorem 2", "refuted"), ("as a weaker upper bound", "proved")),
        condition="d^{1/4} in place of sqrt d, or as an upper bound only",
    )
    return Decision("conditional", "exact arithmetic", evidence, "Theorem 2 and the work compared with have d^{1/4}.")


CLAIMS = (
    Claim(
        "003:Lem3",
        "zhang2025",
        "lemma",
        "Under Assumptions 1 and 3 Phi is (l + kappa l)-smooth and y* is kappa-Lipschitz.",
        "Lemma 3",
        _smoothness,
    ),
    Claim(
        "004:Lem11",
        "zhang2025",
        "lemma",
        "Under Assumption 3 the norm of grad_xy L is at most l.",
        "version with proofs, Lemma 11",
        _cross,
    ),
    Claim(
        "004:Lem4",
        "zhang2025",
        "algebraic step",
        "The descent inequality (7) holds for DP-SGDA.",
        "version with proofs, Lemma 4",
        _descent,
    ),
    Claim(
        "004:Lem5",
        "zhang2025",
        "algebraic step",
        "theta_t <= (1 - 1/(2 kappa) + 4 kappa^3 eta^2 l^2) theta_{t-1} + 4 kappa^3 eta^2 |grad Phi|^2 + "
        "(2 kappa^3 eta^2 + 2/l^2) B^2/m + 2 kappa^3 eta^2 E|xi|^2 + "
        "(2/l^2) E|zeta|^2 for eta_y = 1/l.",
        "version with proofs, Lemma 5",
        _contraction,
    ),
    Claim(
        "004:Lem6",
        "zhang2025",
        "step",
        "With eta_x = 1/(16 (kappa + 1)^2 l) the coefficients are 7/16 and 9/16.",
        "version with proofs, Lemma 6",
        _sixteenths,
    ),
    Claim(
        "004:(38)",
        "zhang2025",
        "algebra",
        "xi enters with eta/(16 kappa) + 9 eta kappa/2 and zeta with eta/(8 kappa).",
        "version with proofs, equation (38)",
        _coefficients,
    ),
    Claim(
        "003:Thm2",
        "zhang2025",
        "utility",
        "With T = Theta(n epsilon/sqrt(d log(1/delta))) and m = O(the same) E|grad Phi| = O((d "
        "log(1/delta))^{1/4}/sqrt(n epsilon)).",
        "Theorem 2",
        _rate,
    ),
    Claim(
        "003:Remark1",
        "zhang2025",
        "rate",
        "The bound of Theorem 2 is of order sqrt d/sqrt(n epsilon), up to logarithms.",
        "Remark 1",
        _remark,
    ),
)
