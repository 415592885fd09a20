"""Sums, products, tails and vectors: true lemmas are proved, none with a wrong constant is."""

from __future__ import annotations

import random

import pytest
import sympy
from lemmas_of_families import ALL, FALSE, T, c, t, total, u, v
from slices import first
from sympy import Integer, Product, Rational, Sum, log, oo, sqrt, symbols

from dpcheck.bounds.evidence import Counterexample, Identity
from dpcheck.bounds.prover import Domain, Inequality, ball, vectors
from dpcheck.errors import InputError

QUICK = ("roots", "squares", "geometric", "geometric, backwards", "squares, a product", "three halves", "Mills",
         "Cauchy", "cocoercive step", "contraction", "parallelogram")  # fmt: skip


def proved(name: str) -> None:
    smaller, larger, domain, _ = ALL[name]
    claim = Inequality(name, smaller, larger, domain)
    outcome = claim.outcome()
    assert outcome.verdict == "proved"
    assert outcome.sentence
    for step in outcome.pieces:
        assert isinstance(step, Inequality | Identity)
        assert step.holds()
        if isinstance(step, Inequality):  # plain ones, whose certificates are checked again
            assert not (step.smaller - step.larger).has(Sum, Product)
            assert all(certificate.holds() for certificate in step.outcome().certificates)


@pytest.mark.parametrize("name", first(4, QUICK))
def test_true_lemmas_are_proved_by_plain_pieces(name: str) -> None:
    proved(name)


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in ALL if name not in QUICK])
def test_the_other_lemmas_are_proved_too(name: str) -> None:
    proved(name)


def test_there_are_many_false_variants() -> None:
    assert len(FALSE) >= 60


def never_proved(name: str) -> str:
    smaller, larger, domain = FALSE[name]
    claim = Inequality(name, smaller, larger, domain)
    outcome = claim.outcome()
    assert outcome.verdict != "proved"
    if outcome.verdict == "refuted":  # by values that are in the domain, where sympy's own numbers say the same
        at = dict(outcome.point or {})
        assert domain.contains(at)
        assert sympy.N((claim.smaller - claim.larger).subs(at).doit(), 40) > 0
    return outcome.verdict


@pytest.mark.parametrize("name", first(8, [*FALSE][::4]))
def test_a_wrong_constant_is_never_proved(name: str) -> None:
    never_proved(name)


@pytest.mark.parametrize("name", ["beyond the search, from below", "a step size, 1", "harmonic, 1"])
def test_an_induction_runs_in_one_direction(name: str) -> None:
    """The first fails only where no search looks: a step that is taken the wrong way would prove it."""
    never_proved(name)


@pytest.mark.thorough
def test_no_variant_is_proved_and_most_are_refuted() -> None:
    verdicts = [never_proved(name) for name in FALSE]
    assert verdicts.count("refuted") >= 0.9 * len(verdicts)


def test_sums_are_added_up_exactly() -> None:
    rng = random.Random(0)
    for _ in range(20):
        last, low = rng.randint(1, 30), rng.randint(1, 5)
        expression = Sum(1 / t, (t, low, T))
        if last < low - 1:
            assert ball.sign(expression, {T: Integer(last)}) is None
            continue
        value = ball.value(expression, {T: Integer(last)})
        assert value == sum((Rational(1, k) for k in range(low, last + 1)), Integer(0))
    assert ball.value(Product(t, (t, 1, T)), {T: Integer(5)}) == 120


def test_a_summand_is_read_as_its_letter_allows() -> None:
    """A letter that is said to be positive over a range from 0 would make 0**t vanish at 0."""
    outcome = Inequality("", total(c**t, low=0), 1, Domain({T: (1, oo), c: (0, 1)})).outcome()
    assert outcome.verdict == "unresolved" and "said to be positive" in outcome.note
    twice = Inequality("", Sum(T, (T, 1, 5)), 20, Domain({T: (1, oo)})).outcome()
    assert twice.verdict == "unresolved"


def test_a_recursion_is_an_induction() -> None:
    """From a_{t+1} <= (1 - c) a_t + b: what bounds a_T bounds a_{T+1} too, and less than b/c does not."""
    a, b = symbols("a b", positive=True)
    k = symbols("k", integer=True, nonnegative=True)
    domain = Domain({k: (0, oo), a: (0, oo), b: (0, oo), c: (0, 1)})
    for share, verdict in ((Integer(1), "proved"), (Rational(9, 10), "refuted")):
        bound = (1 - c) ** k * a + share * b / c
        step = Inequality("", (1 - c) * bound + b, bound.xreplace({k: k + 1}), domain)
        assert step.outcome().verdict == verdict


def test_inner_products_are_those_of_vectors() -> None:
    entries = vectors.gram(u, v)
    fine, not_fine = (dict(zip(entries, map(Integer, values), strict=True)) for values in ((1, 2, 4), (1, 2, 3)))
    domain = Domain({entries[0]: (0, oo), entries[1]: (-oo, oo), entries[2]: (0, oo)})
    assert domain.contains(fine) and not domain.contains(not_fine)
    assert str(domain) == "vectors u, v of any dimension"
    claimed = sympy.Le(entries[1] ** 2, entries[0] * entries[2], evaluate=False)
    assert not Counterexample("", claimed, tuple(not_fine.items())).holds()
    assert not Counterexample("", sympy.Le(entries[1], 5, evaluate=False), ((entries[1], 6),)).holds()
    with pytest.raises(InputError, match="have those of all its vectors, got no <u, v>"):
        Domain({entries[0]: (0, oo), entries[2]: (0, oo)})
    with pytest.raises(InputError, match="a vector must be a sum of multiples of u, v"):
        vectors.inner(u * v, v, (u, v))


def test_the_inner_product_is_bilinear() -> None:
    rng = random.Random(1)
    for _ in range(10):
        first, second = ([rng.randint(-5, 5) for _ in range(3)] for _ in range(2))
        pairs = {(u, u): (first, first), (u, v): (first, second), (v, v): (second, second)}
        values = {vectors.entry(*names): sum(i * j for i, j in zip(*at, strict=True)) for names, at in pairs.items()}
        m, k = rng.randint(-4, 4), rng.randint(-4, 4)
        mean = [m * i + k * j for i, j in zip(first, second, strict=True)]
        assert vectors.inner(m * u + k * v, m * u + k * v, (u, v)).subs(values) == sum(i * i for i in mean)


def test_certificates_have_short_numbers_and_lines() -> None:
    s = symbols("s", positive=True)
    claim = Inequality("", log(Rational(5, 4)) * s, sqrt(2) * s**2 + log(3), Domain({s: (1, oo)}))
    (certificate,) = claim.outcome().certificates
    assert certificate.holds()
    ends = [end for _, pair in certificate.intervals for end in pair if end.is_finite]
    assert max(max(abs(end.p), end.q) for end in ends) < 1000
    assert certificate.idea == "substitute s = t_s + 1; no coefficient is negative"
    assert len(str(certificate)) < 600
