"""Zhang 2022: the strongest attacks on its claims, recomputed by hand in fractions and plain floating point."""

from __future__ import annotations

import dataclasses
import itertools
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpcheck.bounds import registry
from dpcheck.bounds.evidence import Quoted
from dpcheck.bounds.kind import Method
from dpcheck.bounds.ledger import recorded
from dpcheck.bounds.prover import Inequality
from dpcheck.bounds.statement import Statement
from dpcheck.bounds.symbols import c
from dpcheck.bounds.zhang2022.theorem_3_3_proof import EMPIRICAL

READINGS = Path(__file__).parents[1] / "measured" / "readings" / "zhang2022.md"
RNG = np.random.default_rng(2206)
CLAIMS = {claim.id: claim for claim in registry.claims("zhang2022")}
PROJECTED = ("Z08", "Z09", "Z16", "Z18", "Z20", "Z29", "Z30", "Z36", "Z37", "Z38", "Z47")
RATES = ("Z19", "Z40", "Z41", "Z42", "Z43", "Z44", "Z45", "Z50", "Z52", "Z53")


def gaussian_curve(multiplier: float, epsilon: float) -> float:
    """The least delta of one Gaussian release [Balle and Wang 2018, Theorem 8]."""

    def below(x: float) -> float:
        return math.erfc(-x / math.sqrt(2)) / 2

    half = 1 / (2 * multiplier)
    return below(half - epsilon * multiplier) - math.exp(epsilon) * below(-half - epsilon * multiplier)


# Verdicts


def test_a_released_point_makes_a_claim_conditional() -> None:
    """Every claim that evaluates f at a released point says what f must be there."""
    for id in PROJECTED:
        evidence = CLAIMS[id].decision().evidence
        assert recorded()[id]["verdict"] == "conditional", id
        assert evidence.condition.startswith("x~ is projected onto its set, or f "), id


def test_published_rates_are_cited() -> None:
    for id in RATES:
        entry = recorded()[id]
        assert Method.PUBLISHED in entry["method"], id
        assert "cited" in entry["trust"], id


def test_a_proved_claim_quotes_proved_claims_only() -> None:
    for id, claim in CLAIMS.items():
        quoted = [step for step in claim.decision().evidence.steps if isinstance(step, Quoted)]
        if recorded()[id]["verdict"] == "proved":
            assert all(recorded()[step.claim]["verdict"] == "proved" for step in quoted), id


@pytest.mark.thorough
def test_33_is_not_3() -> None:
    """Z08 with another constant in its text is unresolved, and its step with 3 fails at a point."""
    claim = CLAIMS["Z08"]
    assert isinstance(claim.statement, Statement)
    wrong = {**claim.statement.formulas, "bound": EMPIRICAL.subs(c, 3)}
    found = dataclasses.replace(claim, statement=Statement(claim.statement.template, wrong)).decide()
    assert found.verdict == "unresolved"
    assert "a formula of the statement is in no step" in found.note
    step = next(s for s in claim.decision().evidence.steps if isinstance(s, Inequality))
    assert step.at(3).verdict == "refuted"


@pytest.mark.parametrize("id", CLAIMS)
def test_every_claim_has_its_reading(id: str) -> None:
    """One line a claim, with the verdict as it is recorded."""
    lines = READINGS.read_text("utf-8").splitlines()
    (line,) = [each for each in lines if each.startswith(f"| {id} |")]
    assert line.split("|")[2].strip() == recorded()[id]["verdict"]


# Counterexamples


def beyond(sigma: float, gap: float) -> float:
    """E max(N - gap, 0)^2 by the midpoint rule."""
    steps = np.linspace(gap, gap + 12 * sigma, 200_001)
    middle = (steps[1:] + steps[:-1]) / 2
    density = np.exp(-(middle**2) / (2 * sigma**2)) / (sigma * math.sqrt(2 * math.pi))
    return float(np.sum((middle - gap) ** 2 * density) * (steps[1] - steps[0]))


def test_without_a_projection_f_outside_the_set_counts() -> None:
    """Z08, Z09, Z29, Z30: f = x^2/2 on [-1, 1] with 10^9 (|x| - 1)^2/2 beyond, n = 10, epsilon = 1/2, delta = 1/100."""
    log, double = math.log(250), math.log(500)
    sigma = 4 * math.sqrt(2 * log) / 5
    bounds = (33 * log / 25, 7 / 10 + 48 * log / 25)
    assert all(1e9 / 2 * beyond(sigma, 2) > bound for bound in bounds)
    sigma = 8 * math.sqrt(2) * math.sqrt(2 * double) / 5
    bounds = (257 * 4 * double / 25, 12 * (3 / 10 + 128 * double / 25))
    assert all(1e9 / 2 * beyond(sigma, 2) > bound for bound in bounds)


def test_without_a_projection_a_lipschitz_bound_on_the_set_says_nothing() -> None:
    """Z16, Z18, Z36 to Z38, Z47: f = 0 on [-1/100, 1/100], n = 16, K = 4, L = D = 1, epsilon = 1/2, delta = 1/100."""
    root, double = math.sqrt(math.log(250)), math.sqrt(math.log(500))
    mu = 14 * 4 * root / 8
    assert 1e9 / 2 * beyond(4 * math.sqrt(2) * root / (mu * 16 * 4 / 2), 0.02) > 16 * (1 / 4 + 7 * root / 8)
    mu = 13 * 4 * double / 8
    assert 1e9 / 2 * beyond(8 * math.sqrt(2) * double / (4 / 2 * mu * 4), 0.02) > 256 * (1 / 4 + 5 * double / 8)
    mu = 12 * 4 * root / 8 * 16
    first, second = 24 * (1 / 4 + 4 * root / 8), 16 * (8 / 16 + 65 * math.log(2.5 * 16 / 0.01) / 64)
    assert 1e9 / 2 * beyond(4 * math.sqrt(2) * root / (4 / 2 * math.sqrt(mu)), 0.02) > first + second


def test_with_a_projection_the_bound_holds() -> None:
    """Z08 by simulation: the same f, projected; the excess is a share of the bound."""
    sigma, bound = 4 * math.sqrt(2 * math.log(250)) / 5, 33 * math.log(250) / 25
    points = np.clip(sigma * RNG.standard_normal(100_000), -1, 1)
    assert np.mean(points**2) / 2 < bound / 10


LOG = Fraction(14)  # above log(2.5 * 2 * 10^5) = 13.1


def test_the_stopping_rule_alone_is_not_enough() -> None:
    """Z08, Z14, Z29, Z35: a failure that the rule allows costs more than the bound, in fractions."""
    n = 10**5
    assert math.log(2.5 * 2 * n) < LOG
    assert Fraction(1, 4 * 2 * n) * Fraction(1, 4) > 33 * LOG / n**2
    block, failure = 10**9, Fraction(1, 4 * 10**11)
    assert math.log(5e11) < 27
    assert failure / 2 > 65 * Fraction(27) / block**2
    assert failure / 4 > 257 * Fraction(27) / block**2
    n = 10**7
    assert math.log(5 * 2 * n) < 19
    assert Fraction(1, 8 * 2 * n) * Fraction(1, 4) > 257 * 2 * 2 * Fraction(19) / n**2


def test_blocks_chosen_by_value_leak_twice() -> None:
    """Z01: two blocks, each telling by randomised response with e^epsilon = 3 whether it is full."""
    truth, lie = Fraction(3, 4), Fraction(1, 4)
    assert truth * truth == 9 * (lie * lie)
    assert truth * truth > 3 * (lie * lie)


def test_smoothness_in_one_variable_at_a_time_bounds_no_gap() -> None:
    """Z22: f = x^2/2 + 3 x y - y^2/2, whose gap at (x, 0) is (1 + 9) x^2/2, for ell = mu = 1."""
    x = Fraction(1)
    y = 3 * x  # the best answer
    assert x**2 / 2 + 3 * x * y - y**2 / 2 == 5 > (1 + 1) * x**2 / 2


def test_the_published_root_of_the_next_move() -> None:
    """Z33: sqrt(26) L/(mu nbar) against sqrt(26 L/(mu nbar)), both squared."""
    for ell, mu, block in itertools.product((Fraction(1, 9), 1, 100), (Fraction(1, 7), 1, 30), (1, 10, 1000)):
        within = 26 * Fraction(ell) ** 2 / (mu * block) ** 2 <= 26 * Fraction(ell) / (mu * block)
        assert within == (ell <= mu * block)


def test_n_plus_the_root_of_n_kappa_is_too_little() -> None:
    """Z43: kappa = n makes the published rate 2 n and that of Table 2 n + n^{3/2}; kappa = sqrt n keeps 2 n."""
    for n in (10**4, 10**8, 10**12):
        root = math.isqrt(n)
        assert n + root * n > root // 2 * (n + math.isqrt(n * n))
        assert n + root * root <= 2 * (n + math.isqrt(n * root))


# Attacks that fail


def test_the_failure_budget_is_spent_in_full() -> None:
    """Z07: a mechanism that loses delta/2 to the noise and delta/2 to the solver comes within delta^2/4 of delta."""
    for delta in (0.3, 1e-2, 1e-5):
        for close in (0.0, 0.2, 1.0):
            bad = delta / 2
            spent = (1 - bad) * (delta / 2) + bad
            assert delta - delta**2 / 3 < spent <= delta
            assert math.e * close + spent <= math.e * close + delta


def test_calibrations_on_a_grid() -> None:
    """Z06, Z13, Z27, Z28, Z39, Z46: the curve as a share of what is allowed, and both blocks of Z28 at once."""
    worst = {"one": 0.0, "block": 0.0, "both": 0.0}
    for epsilon, delta in itertools.product((1e-3, 0.01, 0.1, 0.3, 0.6, 0.9, 1.0), 10.0 ** np.arange(-12, 0)):
        one, block = math.sqrt(2 * math.log(2.5 / delta)) / epsilon, 2 * math.sqrt(2 * math.log(5 / delta)) / epsilon
        worst["one"] = max(worst["one"], gaussian_curve(one, epsilon) / (delta / 2))
        worst["block"] = max(worst["block"], gaussian_curve(block, epsilon / 2) / (delta / 4))
        worst["both"] = max(worst["both"], gaussian_curve(block / math.sqrt(2), epsilon) / (3 * delta / 4))
    assert all(1e-5 < share < 0.05 for share in worst.values())


def test_balanced_signs_take_a_quarter_of_the_risk_bound() -> None:
    """Z03, Z04: f = z x with mu x^2/2, z = 1 or -1: E x_S^2 mu/2 = 1/(2 mu n), by enumeration."""
    for n, mu in ((1, Fraction(1)), (3, Fraction(1, 2)), (6, Fraction(5))):
        sums = [sum(signs) for signs in itertools.product((-1, 1), repeat=n)]
        risk = sum(mu / 2 * (Fraction(total, n) / mu) ** 2 for total in sums) / len(sums)
        assert risk == Fraction(1, 4) * 2 / (mu * n)


def test_weak_gaps_of_signed_games() -> None:
    """Z24, Z25: f = z (x - y) + mu (x^2 - y^2)/2 with L^2 = 2: 1/(mu n) against 4 sqrt 2/(mu n), by enumeration."""
    for n, mu in ((1, Fraction(1)), (4, Fraction(1, 3))):
        means = [Fraction(sum(signs), n) for signs in itertools.product((-1, 1), repeat=n)]
        gap = sum(mu * (mean / mu) ** 2 for mean in means) / len(means)
        assert gap == 1 / (mu * n)
        assert float(gap * mu * n) < 4 * math.sqrt(2)


def test_markov_is_attained_in_z31_and_not_in_z10() -> None:
    """A solver that fails at the edge as often as allowed has the mean gap of Z31, and 4/delta times that of Z10."""
    n, mu, delta = 50, Fraction(2), Fraction(1, 100)
    assert delta / 8 * (1 / (mu * n**2)) / 2 == delta / (16 * mu * n**2)
    edge = delta / 4 * mu / 2 * (1 / (mu * n)) ** 2
    assert delta**2 / (32 * mu * n**2) == delta / 4 * edge


def test_the_regulariser_may_be_taken_apart() -> None:
    """Z52: f + mu_y |y|^2/2 is concave in y and 2 ell-smooth, on random quadratics."""
    largest = 0.0
    for _ in range(500):
        half, cross = RNG.standard_normal((3, 3)), RNG.standard_normal((3, 3))
        convex = half @ half.T * RNG.uniform(0, 1)
        mu_y = RNG.uniform(0.01, 2)
        concave = half.T @ half * RNG.uniform(0, 1) + mu_y * np.eye(3)
        whole = np.block([[convex, cross], [cross.T, -concave]])
        ell = np.linalg.norm(whole, 2)
        rest = whole + np.diag([0, 0, 0, mu_y, mu_y, mu_y])
        assert np.linalg.eigvalsh(rest[3:, 3:]).max() <= 1e-9
        largest = max(largest, float(np.linalg.norm(rest, 2) / ell))
    assert largest <= 2


def phased_erm(count: int, noise: float) -> tuple[float, float]:
    """The proof's terms of phased ERM at n = 2^count in units of L D, and p + b, b = noise."""
    n = 2**count
    p = 1 / math.sqrt(n)
    mu = max(p, noise)
    sizes = {k: (mu * 8.0**k, n / 2.0**k) for k in range(1, count + 1)}
    apart = {k: 65 * (noise * n) ** 2 / (m * size) ** 2 for k, (m, size) in sizes.items()}
    total = math.sqrt(apart[count]) + sizes[1][0] / 2 + sum(2 / (m * size) for m, size in sizes.values())
    return total + sum(sizes[k][0] / 2 * apart[k - 1] for k in range(2, count + 1)), p + noise


def test_phased_erm_has_no_logarithm() -> None:
    """Z20: from n = 2 to n = 2^60 the sum is at most 300 (p + b), phase by phase."""
    worst = 0.0
    for count in range(1, 61):
        for noise in 10.0 ** np.arange(-12, 3):
            total, rate = phased_erm(count, float(noise))
            worst = max(worst, total / rate)
    assert 200 < worst <= 300


def shares() -> dict[str, float]:
    """The greatest share of a bound that its terms take over a grid of sizes, by phases and in floating point."""
    found: dict[str, float] = {}

    def note(id: str, share: float) -> None:
        found[id] = max(found.get(id, 0.0), share)

    grid = itertools.product((2, 3, 5, 17, 1000, 10**6), (1, 30, 10**4), (0.01, 0.5, 1.0))
    for n, d, epsilon in grid:
        delta = 0.999 / n
        log, five = math.log(2.5 / delta), math.log(5 / delta)
        unit, pair = d * log / epsilon**2, d * five / epsilon**2
        note("Z08", (32 * unit + delta**2 / 16) / (33 * unit))
        note("Z09", (48 * unit + 3 * delta**2 / 32 + 6 * n) / (7 * n + 48 * unit))
        note("Z14", (64 * unit + delta**2 / 8) / (65 * unit))
        note("Z16", math.sqrt(65) / 9)
        note("Z29", (256 * pair + delta / 8) / (257 * pair))
        note("Z30", (384 * pair + 3 * delta / 16 + 6 * math.sqrt(2) * n) / (3 * (3 * n + 128 * pair)))
        note("Z34", (24 + 3 * delta / 2) / 26)
        note("Z35", (256 * pair + delta / 4) / (257 * pair))
    return found


def test_how_close_the_published_constants_come() -> None:
    """Z08, Z09, Z14, Z16, Z29, Z30, Z34, Z35: none is exceeded, and each is nearly reached."""
    assert all(0.85 < share <= 1 for share in shares().values())


def test_resolvents_nearly_attain_their_bounds() -> None:
    """Z32 and Z51: a share near 1 of the lemma's bound, and of a quarter of it, on bilinear games."""
    full = quarter = 0.0
    for a in np.geomspace(1e-3, 1e3, 25):
        x, y = np.linalg.solve([[1.0, a], [a, -1.0]], [1.0, 0.0])
        full = max(full, float(x**2 + y**2))
        quarter = max(quarter, float(4 * y**2))
    assert 0.99 < full <= 1 + 1e-12
    assert 0.99 < quarter <= 1 + 1e-12
