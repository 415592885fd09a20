r"""Which steps contract, and how much: the Lipschitz constant c that the theorems on the last iterate take.

Problem. A step is z -> z - eta F(z), with the gradient F of a function that is mu-strongly convex and L-smooth, or with
the saddle operator F = (grad_w f, -grad_v f) of a function f that is mu-strongly convex in w and mu-strongly concave in
v, whose F is L-Lipschitz. Both data sets, and all minibatches, have these constants. A projection onto a convex set
(W x V for a saddle) follows, or nothing.

Guarantee. c as below. Where w and v get noise of different deviation, c and s are those in the norm that divides w by
sigma_w and v by sigma_v, with noise of deviation 1 (``bok2024.unequal_noise``, ``bok2024.proportional_steps``).

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> round(theorem("bok2024.saddle_step").bound(eta=0.05, mu=1, L=2), 4)
0.9539
>>> round(theorem("bok2024.regularised_saddle_step").bound(eta=0.05, mu=1, ell=2), 4)
0.9552
"""

from sympy import Max, sqrt

from dpcheck.bounds.symbols import L, ell, eta, eta_w, mu, sigma_v, sigma_w
from dpcheck.bounds.theorem import Assumption, Parameter, Theorem

STRONG, SMOOTH = Parameter(mu, "strong convexity, and strong concavity in v"), Parameter(L, "Lipschitz constant of F")
STEP, COUPLING = Parameter(eta, "step size"), Parameter(ell, "Lipschitz constant of the part without mu")
KAPPA = Assumption("mu", "mu <= L", "mu-strongly monotone and L-Lipschitz", mu <= L)
HERE = "not in the paper"
SECOND = Assumption(
    "s", "s is eta u (1 + eta L) for F of two data sets u apart; nothing is projected between the halves", HERE
)

GRADIENT = 1 - eta * mu
SADDLE = sqrt(1 - 2 * eta * mu + eta**2 * L**2)
COCOERCIVE = sqrt(1 - eta * mu * (2 - eta * ell))
REGULARISED = sqrt((1 - eta * mu) ** 2 + eta**2 * ell**2)
EXTRA_LINEAR = sqrt(1 - eta * mu)
EXTRA = sqrt(1 - 2 * eta * mu * (1 - eta * L) ** 2 + 3 * eta**2 * L**2)
ALTERNATING = 1 - eta * mu + eta * ell + eta**2 * ell**2
RATIO = Max(sigma_v / sigma_w, sigma_w / sigma_v)
UNEQUAL = sqrt(1 - 2 * eta * mu + eta * ell * (RATIO - 1 / RATIO) + eta**2 * L**2 * RATIO**2)
PROPORTIONAL = sqrt(1 - 2 * eta_w * mu + eta_w**2 * L**2)


def _step(name: str, title: str, parameters: tuple[Parameter, ...], bound: object, *assumptions: Assumption) -> Theorem:
    return Theorem(
        id=f"bok2024.{name}",
        title=title,
        location=HERE,
        quantity="Lipschitz constant c of a step",
        quantity_latex="c",
        parameters=parameters,
        assumptions=assumptions,
        bound_formula=bound,
    )


THEOREMS = (
    _step(
        "gradient_step", "A gradient step of a strongly convex function", (STEP, STRONG, SMOOTH), GRADIENT, KAPPA,
        Assumption("eta", "eta <= 2/(mu + L)", HERE, eta <= 2 / (mu + L)),
    ),
    _step("saddle_step", "A step of gradient descent and ascent", (STEP, STRONG, SMOOTH), SADDLE, KAPPA),
    _step(
        "cocoercive_step", "A step along a cocoercive operator",
        (STEP, STRONG, Parameter(ell, "inverse of the cocoercivity")), COCOERCIVE,
        Assumption("F", "<F(z) - F(z'), z - z'> >= |F(z) - F(z')|^2/ell", HERE),
        Assumption("mu", "mu <= ell", "cocoercive and mu-strongly monotone", mu <= ell),
        Assumption("eta", "eta <= 2/ell", HERE, eta <= 2 / ell),
    ),
    _step(
        "regularised_saddle_step", "A saddle step whose strong convexity is a regulariser's", (STEP, STRONG, COUPLING),
        REGULARISED,
        Assumption("F", "F is mu z plus a monotone operator that is ell-Lipschitz: f is mu/2 |w|^2 - mu/2 |v|^2 plus a "
                   "convex-concave function", HERE),
        Assumption("eta", "eta <= 1/mu", HERE, eta <= 1 / mu),
    ),
    _step(
        "linear_extragradient_step", "A step of extragradient, noise at its end, for a quadratic",
        (STEP, STRONG, SMOOTH), EXTRA_LINEAR, KAPPA,
        Assumption("F", "F is affine", HERE),
        SECOND,
        Assumption("eta", "2 eta mu + eta^2 L^2 <= 1", HERE, 2 * eta * mu + eta**2 * L**2 <= 1),
    ),
    _step(
        "extragradient_step", "A step of extragradient, noise at its end", (STEP, STRONG, SMOOTH), EXTRA, KAPPA,
        SECOND,
        Assumption("eta", "eta <= 1/L", HERE, eta <= 1 / L),
        Assumption("small", "eta <= 2 mu/L^2", HERE, eta <= 2 * mu / L**2),
    ),
    _step(
        "alternating_step", "A step in w, then one in v at the new w with its noise",
        (STEP, STRONG, Parameter(ell, "Lipschitz constant of each block's gradient in the other block")), ALTERNATING,
        Assumption("eta", "the step in a block contracts it by 1 - eta mu: eta <= 2/(mu + L) for an L-smooth block",
                   HERE),
        Assumption("mu", "eta <= 1/mu", HERE, eta <= 1 / mu),
        Assumption("s", "s is the norm of (s_w, s_v + eta ell s_w), what a record moves the step in a block", HERE),
    ),
    _step(
        "unequal_noise", "A saddle step with noise of different deviation in w and v",
        (STEP, STRONG, SMOOTH, Parameter(ell, "Lipschitz constant of each block's gradient in the other block"),
         Parameter(sigma_w, "deviation of the noise in w"), Parameter(sigma_v, "deviation of the noise in v")),
        UNEQUAL, KAPPA,
        Assumption("norm", "s is taken in the norm |w|^2/sigma_w^2 + |v|^2/sigma_v^2, and sigma is 1", HERE),
    ),
    _step(
        "proportional_steps", "A saddle step with step sizes in proportion to the noise's variances",
        (Parameter(eta_w, "step size in w"), Parameter(mu, "least of the strong convexity in w and sigma_v^2/sigma_w^2 "
                                                       "times the strong concavity in v"),
         Parameter(L, "Lipschitz constant of the saddle operator of f(sigma_w w, sigma_v v), over sigma_w^2")),
        PROPORTIONAL, KAPPA,
        Assumption("eta", "eta_w/sigma_w^2 = eta_v/sigma_v^2, each deviation that of the noise in an iterate", HERE),
        Assumption("norm", "s is taken in the norm |w|^2/sigma_w^2 + |v|^2/sigma_v^2, and sigma is 1", HERE),
    ),
)  # fmt: skip
