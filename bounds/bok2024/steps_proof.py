"""The claims on steps that contract, setting in ``steps``.

Letters of a pair of points z, z': N = |z - z'|^2, I = <F(z) - F(z'), z - z'>, and i, g for what an inequality leaves.
"""

from sympy import symbols

from dpcheck.bounds.bok2024 import steps
from dpcheck.bounds.claim import Decision, Kind, carries, claim, proved
from dpcheck.bounds.evidence import AtMost, Cited, Identity
from dpcheck.bounds.symbols import L, ell, eta, eta_v, eta_w, k, mu, sigma_v, sigma_w

N, i, g, h, j, r, p, u, v, w, b, x, y = symbols("N i g h j r p u v w b x y", positive=True)
HERE = steps.HERE
MONOTONE = Cited("<F(z) - F(z'), z - z'> >= mu |z - z'|^2, from four inequalities of strong convexity",
                 "Rockafellar 1970, Monotone operators associated with saddle-functions")  # fmt: skip
PROJECTED = Cited("a projection onto a convex set afterwards expands no distance", "projection theorem")


@claim("B06", Kind.LEMMA, location=HERE, c=steps.GRADIENT)
@carries("bok2024.gradient_step", {"bound": steps.GRADIENT})
def gradient_step() -> Decision:
    """A gradient step of a mu-strongly convex, L-smooth function, eta <= 2/(mu + L), is Lipschitz with constant {c}."""
    short = 2 / ((2 * mu + h) * (1 + k))
    return proved(
        Cited("F(z) - F(z') = H (z - z') with a symmetric H, mu <= H <= L: |1 - eta h| decides at the ends of its "
              "spectrum", "Nesterov 2004, Theorem 2.1.12 and its proof"),
        AtMost("1 - eta h for h = mu + h'", 1 - eta * (mu + h), steps.GRADIENT),
        AtMost("and eta L - 1 for eta = 2/((mu + L)(1 + k)), L = mu + h'", short * (mu + h) - 1, 1 - short * mu),
        PROJECTED,
        note="A quadratic with curvature mu attains it.",
    )  # fmt: skip


@claim("B07", Kind.LEMMA, location=HERE, c=steps.SADDLE**2)
@carries("bok2024.saddle_step", {"bound": steps.SADDLE})
def saddle_step() -> Decision:
    """A step of gradient descent and ascent is Lipschitz, with the root of {c}, if F is mu-strongly monotone and
    L-Lipschitz.
    """
    return proved(
        MONOTONE,
        AtMost("N - 2 eta I + eta^2 |F - F'|^2 with I = mu N + i, |F - F'|^2 = L^2 N - g",
               N - 2 * eta * (mu * N + i) + eta**2 * (L**2 * N - g), steps.SADDLE**2 * N),
        Identity("mu w + b v, mu v - b w with b^2 = L^2 - mu^2 attains it",
                 lambda: (1 - eta * mu) ** 2 + eta**2 * (L**2 - mu**2), steps.SADDLE**2),
        Identity("it is below 1 for eta < 2 mu/L^2", 1 - steps.SADDLE**2, lambda: eta * L**2 * (2 * mu / L**2 - eta)),
        PROJECTED,
        note="A function that is mu-strongly convex in w and mu-strongly concave in v has such an operator; with "
        "different moduli mu is the smaller. The bilinear function with a regulariser attains c.",
    )  # fmt: skip


@claim("B08", Kind.LEMMA, location=HERE, c=steps.COCOERCIVE**2)
@carries("bok2024.cocoercive_step", {"bound": steps.COCOERCIVE})
def cocoercive_step() -> Decision:
    """A step along a mu-strongly monotone, 1/ell-cocoercive operator, eta <= 2/ell, is Lipschitz, with the root of
    {c}.
    """
    short = 2 / (ell * (1 + k))
    return proved(
        AtMost("N - 2 eta I + eta^2 |F - F'|^2 with I = mu N + i, |F - F'|^2 = ell I - g, eta = 2/(ell (1 + k))",
               N - 2 * short * (mu * N + i) + short**2 * (ell * (mu * N + i) - g),
               (1 - short * mu * (2 - short * ell)) * N),
        Identity("that factor, at any eta", steps.COCOERCIVE**2, lambda: 1 - 2 * eta * mu + eta**2 * mu * ell),
        AtMost("no larger than for an ell-Lipschitz operator, mu = ell/(1 + j)",
               (1 - eta * mu * (2 - eta * ell)).subs(mu, ell / (1 + j)),
               (1 - 2 * eta * mu + eta**2 * ell**2).subs(mu, ell / (1 + j))),
        PROJECTED,
        note="A cocoercive operator is ell-Lipschitz, so that the constant is never above that of a saddle step.",
    )  # fmt: skip


@claim("B09", Kind.LEMMA, location=HERE, c=steps.REGULARISED)
@carries("bok2024.regularised_saddle_step", {"bound": steps.REGULARISED})
def regularised_saddle_step() -> Decision:
    """Where F is mu z plus a monotone, ell-Lipschitz operator S, and eta <= 1/mu, a step is Lipschitz with constant
    {c}.
    """
    return proved(
        Cited("S is monotone: <S(z) - S(z'), z - z'> = i >= 0", "Rockafellar 1970"),
        AtMost("r^2 N - 2 r eta i + eta^2 (ell^2 N - g), r = 1 - eta mu >= 0",
               r**2 * N - 2 * r * eta * i + eta**2 * (ell**2 * N - g), (r**2 + eta**2 * ell**2) * N),
        Identity("that factor", (r**2 + eta**2 * ell**2).subs(r, 1 - eta * mu), lambda: steps.REGULARISED**2),
        AtMost("no larger than a saddle step's with L = mu + ell", (1 - 2 * eta * mu + eta**2 * (mu**2 + ell**2)),
               1 - 2 * eta * mu + eta**2 * (mu + ell) ** 2),
        PROJECTED,
        note="Exact for a bilinear coupling: S is then skew and the step's matrix normal.",
    )  # fmt: skip


SQUARE = (
    N - 2 * eta * (p + eta * v) + eta**2 * w
)  # |z - eta F(z_h)|^2 of differences, u = |F|^2, v = <F_h, F>, w = |F_h|^2


@claim("B10", Kind.LEMMA, location=HERE, c=steps.EXTRA_LINEAR)
@carries("bok2024.linear_extragradient_step", {"bound": steps.EXTRA_LINEAR})
def linear_extragradient_step() -> Decision:
    """A step of extragradient, z - eta F(z - eta F(z)), is Lipschitz with constant {c} if F is affine, mu-strongly
    monotone and L-Lipschitz, and 2 eta mu + eta^2 L^2 <= 1.
    """
    half = (N + g) / 2 - eta**2 * u  # |z_h - z_h'|^2, from N <= 2 |z_h - z_h'|^2 + 2 eta^2 u
    return proved(
        Identity("with p = <F_h, z_h>, z = z_h + eta F, differences all,", SQUARE,
                 lambda: N - 2 * eta * p + eta**2 * (w - 2 * v + u) - eta**2 * u),
        Cited("F is affine: |F_h - F|^2 <= L^2 |z_h - z|^2 of the differences, which is eta^2 L^2 u", "linearity"),
        AtMost("p >= mu |z_h|^2, eta^2 L^2 = 1 - 2 eta mu - j",
               N - 2 * eta * mu * half + eta**2 * u * (1 - 2 * eta * mu - j) - eta**2 * u, (1 - eta * mu) * N),
        Identity("that factor", lambda: steps.EXTRA_LINEAR**2, 1 - eta * mu),
        PROJECTED,
        note="The noise, and a projection, come after the second half.",
    )  # fmt: skip


@claim("B11", Kind.LEMMA, location=HERE, c=steps.EXTRA, apart=eta * u * (1 + eta * L))
@carries("bok2024.extragradient_step", {"bound": steps.EXTRA})
def extragradient_step() -> Decision:
    """A step of extragradient is Lipschitz with constant {c} if F is mu-strongly monotone and L-Lipschitz, eta <= 1/L
    and eta <= 2 mu/L^2; on data sets whose F are u apart it moves by at most {apart}.
    """
    rest = 1 - eta * L
    return proved(
        MONOTONE,
        AtMost("|z_h| = h sqrt N of the differences, eta L = 1/(1 + k), h = (1 - eta L) + j >= 1 - eta L, in p",
               -2 * (mu / L) / (1 + k) * (k / (1 + k) + j) ** 2, -2 * (mu / L) / (1 + k) * (k / (1 + k)) ** 2),
        AtMost("h = 1/(1 + j) <= 1 by the saddle step, |v| <= L^2 h N, w <= L^2 h^2 N",
               2 * eta**2 * L**2 / (1 + j) + eta**2 * L**2 / (1 + j) ** 2, 3 * eta**2 * L**2),
        Identity("together", 1 - 2 * eta * mu * rest**2 + 2 * eta**2 * L**2 + eta**2 * L**2, lambda: steps.EXTRA**2),
        Identity("the first half moves by eta u, the second by eta (u + L eta u)", eta * (u + L * eta * u),
                 lambda: eta * u * (1 + eta * L)),
        PROJECTED,
        note="Nothing is known of differences of differences of a nonlinear F, so that this is far looser than for an "
        "affine one, and below 1 only for eta well below mu/L^2.",
    )  # fmt: skip


@claim("B12", Kind.LEMMA, location=HERE, c=steps.ALTERNATING)
@carries("bok2024.alternating_step", {"bound": steps.ALTERNATING})
def alternating_step() -> Decision:
    """A step in w and then one in v at the new, noisy w is Lipschitz, with {c}, if the step in a block contracts it
    by 1 - eta mu and the other block moves it by at most eta ell of what it moves itself.
    """
    a = 1 / (1 + h)  # 1 - eta mu
    e = symbols("e", positive=True)  # eta ell
    first, second = (a, e), (e * a, a + e**2)
    return proved(
        Identity("distances of the blocks after it: |w| and |v| times these rows at most",
                 e * (a * x + e * y) + a * y, second[0] * x + second[1] * y),
        AtMost("the first row's sum is at most 1 - eta mu + eta ell", first[0] + first[1], a + e),
        AtMost("so is the second's, and eta^2 ell^2", second[0] + second[1], a + e + e**2),
        AtMost("and so are the columns'", first[0] + second[0], a + e + e**2),
        Identity("which is", steps.ALTERNATING, (1 - eta * mu) + (eta * ell) * (1 + eta * ell)),
        Cited("a matrix with entries >= 0 has norm at most the root of its largest sum of a row times that of a column",
              "Schur's test"),
        Cited("the run between takes its share first in w and then in v, where w's rest is smaller for it; both are "
              "released with noise of their own", "the recursion of one step, each half as a step"),
        PROJECTED,
        note="Below 1 about where the coupling is weaker than the strong convexity, ell < mu.",
    )  # fmt: skip


@claim("B13", Kind.LEMMA, location=HERE, c=steps.UNEQUAL**2)
@carries("bok2024.unequal_noise", {"bound": steps.UNEQUAL})
def unequal_noise() -> Decision:
    """With noise of deviation sigma_w in w and sigma_v in v a saddle step is Lipschitz, with the root of {c}, in the
    norm |w|^2/sigma_w^2 + |v|^2/sigma_v^2, in which the noise is spherical of deviation 1.
    """
    ratio = 1 + k  # the larger deviation over the smaller
    return proved(
        MONOTONE,
        Cited("F(z) - F(z') is the mean Jacobian, with blocks at least mu and couplings B, -B^T of norm at most ell, "
              "times z - z'", "mean value"),
        Identity("the couplings cancel at equal noise, and otherwise leave b times the difference of the ratios",
                 b * x * y * (1 + k) - b * x * y / (1 + k), b * x * y * (ratio - 1 / ratio)),
        AtMost("of which x y <= (x^2 + y^2)/2, y = x + h", 2 * x * (x + h), x**2 + (x + h) ** 2),
        AtMost("N - 2 eta I + eta^2 G, I = mu N - ell (ratio - 1/ratio) N/2 + i, G = L^2 ratio^2 N - g",
               N - 2 * eta * (mu * N - ell * (ratio - 1 / ratio) * N / 2 + i)
               + eta**2 * (L**2 * ratio**2 * N - g),
               (1 - 2 * eta * mu + eta * ell * (ratio - 1 / ratio) + eta**2 * L**2 * ratio**2) * N),
        Identity("that factor, for either order of the deviations", steps.UNEQUAL**2,
                 1 - 2 * eta * mu - eta * ell / steps.RATIO + eta * steps.RATIO * (ell + eta * L**2 * steps.RATIO)),
        Cited("in w/sigma_w, v/sigma_v F is at most L times the larger ratio of the deviations Lipschitz, and a "
              "projection onto W x V is still one in each block", "change of variables"),
        note="It contracts for small eta if ell (ratio - 1/ratio) < 2 mu. Blocks without coupling need no such thing.",
    )  # fmt: skip


@claim("B14", Kind.LEMMA, location=HERE, c=steps.PROPORTIONAL**2)
@carries("bok2024.proportional_steps", {"bound": steps.PROPORTIONAL})
def proportional_steps() -> Decision:
    """With step sizes in proportion to the noise's variances, eta_w/sigma_w^2 = eta_v/sigma_v^2, the couplings cancel,
    and in the norm |w|^2/sigma_w^2 + |v|^2/sigma_v^2 a step is Lipschitz, with the root of {c}.
    """
    return proved(
        Identity("in w/sigma_w and v/sigma_v the couplings of v into w and of w into v differ by",
                 eta_w * b * sigma_v / sigma_w - eta_v * b * sigma_w / sigma_v,
                 b * sigma_w * sigma_v * (eta_w / sigma_w**2 - eta_v / sigma_v**2)),
        Cited("the step is then one of size k = eta_w/sigma_w^2 along the saddle operator of f(sigma_w w', sigma_v v')",
              "chain rule"),
        MONOTONE,
        Identity("whose strong convexity is sigma_w^2 mu, and k sigma_w^2 = eta_w",
                 (1 - 2 * k * (sigma_w**2 * mu) + k**2 * (sigma_w**2 * L) ** 2).subs(k, eta_w / sigma_w**2),
                 lambda: steps.PROPORTIONAL**2),
        AtMost("a saddle step's square, I = mu N + i", N - 2 * eta_w * (mu * N + i) + eta_w**2 * (L**2 * N - g),
               steps.PROPORTIONAL**2 * N),
        note="Where the noise is on the gradients its deviation in an iterate is eta_w (eta_v) times as large.",
    )  # fmt: skip
