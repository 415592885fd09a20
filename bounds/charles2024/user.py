"""The claims on one user's K records under Poisson sampling, each drawn by its own coin of chance q.

A set A of the user's records is drawn with chance q^|A| (1 - q)^(K - |A|) and adds v_A, of length |A| s at most, s the
most that one record adds in deviations of the noise; without the user nothing is added. P and Q are the laws with and
without the user.
"""

from sympy import Symbol, exp, oo, symbols

from dpcheck.bounds.claim import Decision, Kind, claim, proved
from dpcheck.bounds.evidence import AtMost, Cited, Domain, Identity, Inequality, Quoted

a, b, s, x, y, u, v = symbols("a b s x y u v", positive=True)
q = Symbol("q", positive=True)
K = Symbol("K", integer=True, positive=True)
ANY = 1 - (1 - q) ** K
HERE = "on mixtures of Gaussians, derived anew"
CHANCES = Domain({q: (0, 1), K: (1, oo)})


@claim("U01", Kind.LEMMA, location=HERE, product=a * b * s**2)
def products() -> Decision:
    """What a and b drawn records of the user add have an inner product of at most {product}."""
    return proved(
        Cited("the sum of a vectors has the length of their lengths' sum at most", "triangle inequality"),
        AtMost("an inner product is at most the lengths' product, here a s/(1 + x) and b s/(1 + y)",
               a * s / (1 + x) * (b * s / (1 + y)), a * b * s**2),
        note="All products are at this at once where the records are equal.",
    )  # fmt: skip


@claim("U02", Kind.PRIVACY, location=HERE, ratio=exp(s * u * v - s**2 * u**2 / 2))
def mixture() -> Decision:
    """The user's curve of a step is that of N(0, 1) moved by s for each hit, the hits binomial, against N(0, 1), or
    below it: with u hits its likelihood ratio at v is {ratio}. Equal records attain it.
    """
    return proved(
        Quoted("inner products of what is added", "U01"),
        Identity("the likelihood ratio of N(s u, 1) to N(0, 1)", exp(s * u * v - s**2 * u**2 / 2),
                 lambda: exp(-((v - s * u) ** 2) / 2) / exp(-(v**2) / 2)),
        Cited("what the records of others add is the same in both, given which were drawn, and is taken away",
              "joint convexity of the hockey-stick divergence, rotation"),
        Cited("P over Q is a sum of e^(<v_A, z> - |v_A|^2/2) with the chances of A, z standard normal under Q, jointly "
              "Gaussian in the exponent, each of mean 1", "density of a Gaussian"),
        Cited("the mean of a convex function of such a sum with weights >= 0 does not decrease in any product "
              "<v_A, v_B>, its second derivative being >= 0", "Price's theorem"),
        Cited("both orders of P and Q, at every epsilon, are means under Q of a convex function of P/Q",
              "definition of the hockey-stick divergence"),
        Cited("|A| is binomial, and steps compose as their dominating pairs do", "Zhu et al. 2022, Theorem 10"),
        note="Since it is attained, no chain of K neighbours is sharper.",
    )  # fmt: skip


@claim("U03", Kind.PRIVACY, location=HERE, any=ANY, linear=K * q)
def few_hits() -> Decision:
    """With any noise a step tells a user's K records with a delta of at most {any} and at most {linear}."""
    return proved(
        Cited("the two laws agree unless a record is drawn, whose chance bounds their total variation", "coupling"),
        AtMost("the chance that one is drawn, of which x shows nothing", ANY - x, ANY),
        Inequality("at most the sum of the chances", ANY, K * q, CHANCES),
        note="Without noise this is attained at epsilon 0.",
    )  # fmt: skip
