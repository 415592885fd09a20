"""Xu 2026: counterexamples and rescues of the readings once more, in plain fractions or NumPy, without the prover."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from dpcheck.bounds import ledger

READINGS = Path(__file__).resolve().parents[1] / "measured" / "readings" / "xu2026.md"
MINE = {id: entry for id, entry in ledger.recorded().items() if id.startswith("002:")}


def verdict(id: str, start: str) -> str:
    """The expected verdict of the one reading of a claim that begins so."""
    (found,) = [value for text, value in MINE[id]["readings"].items() if text.startswith(start)]
    return str(found)


# Each claim's strongest attack, in words


def test_each_claim_has_its_line_with_its_verdict() -> None:
    lines = re.findall(r"^- `(002:[^`]+)` (\w+): (.+)$", READINGS.read_text("utf-8"), flags=re.MULTILINE)
    assert {id: word for id, word, _ in lines} == {id: entry["verdict"] for id, entry in MINE.items()}
    assert len(lines) == len(MINE)
    assert all(len(text) > 60 for *_, text in lines)


# (31): the change of an increment


def increment(
    records: tuple[tuple[int, int], ...], x: tuple[Fraction, Fraction], y: tuple[Fraction, Fraction]
) -> Fraction:
    """Mean of grad_x F(x_k, y_k) - grad_x F(x_{k-1}, y_{k-1}), F = z x^2/2 + w x y - y^2/2 for records (z, w)."""
    terms = [(z * x[1] + w * y[1]) - (z * x[0] + w * y[0]) for z, w in records]
    return sum(terms, Fraction(0)) / len(records)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_31_holds_from_the_second_inner_step_on_and_fails_at_the_first(size: int) -> None:
    rest, signs = ((1, -1),) * (size - 1), tuple(product((-1, 1), repeat=2))
    for old, new in product((Fraction(-2), Fraction(1, 3), Fraction(5)), repeat=2):

        def worst(x: tuple[Fraction, Fraction], y: tuple[Fraction, Fraction]) -> Fraction:
            return max(
                abs(increment((a, *rest), x, y) - increment((b, *rest), x, y)) for a, b in product(signs, repeat=2)
            )

        still = (Fraction(1), Fraction(1))
        assert worst(still, (old, new)) == 2 * abs(new - old) / size  # k >= 1: 2 L |dy|/S_2 does, since L >= |w| = 1
        assert worst((old, new), still) == 2 * abs(new - old) / size  # k = 0: the bound is 0, y being the same
    assert MINE["002:(31)"]["verdict"] == "conditional"
    assert verdict("002:(31)", "k >= 1, with 2 L") == "proved"
    assert verdict("002:(31)", "k = 0") == "refuted"


def test_a_record_drawn_twice_doubles_appendix_d() -> None:
    def mean(batch: tuple[int, ...]) -> Fraction:
        return Fraction(sum(max(-1, min(1, z)) for z in batch), len(batch))

    assert mean((5, 0)) - mean((-5, 0)) == Fraction(2, 2)  # 2 C/B, C = 1, B = 2
    assert mean((5, 5)) - mean((-5, -5)) == 2 * Fraction(2, 2)
    assert verdict("002:App D", "batches drawn with replacement") == "refuted"


def test_the_choice_shows_a_start_that_reads_the_data() -> None:
    def choice(start: Fraction, u: tuple[int, ...]) -> int:
        path = [start]
        for each in u:
            path.append(max(Fraction(-1), min(Fraction(1), path[-1] + Fraction(each, 6))))
        moves = [abs(path[k + 1] - path[k]) for k in range(len(u))]
        return moves.index(min(moves))

    assert choice(Fraction(0), (6, 3, -2)) == 1
    assert choice(Fraction(1), (6, 3, -2)) == 0
    assert verdict("002:Alg3 s_t", "the choice is a function") == "refuted"


# Lemma 12: which steps


@pytest.mark.parametrize("mu", [Fraction(1, 10), Fraction(1), Fraction(7, 2)])
@pytest.mark.parametrize("excess", [Fraction(1, 1000), Fraction(1), Fraction(50)])
def test_lemma_12_fails_beyond_two_over_mu(mu: Fraction, excess: Fraction) -> None:
    """f = -mu y^2/2 on [0, 1] at y = 1: G = (1 - max(0, 1 - lambda mu))/lambda."""
    step = 2 / mu + excess
    norm = (1 - max(Fraction(0), 1 - step * mu)) / step
    assert mu / 2 > norm
    assert verdict("002:Lem12", "a lambda > 2/mu") == "refuted"


def least_map(mu: float, L: float, step: float) -> float:
    """The least |G|/|y - y*| over all f and half-spaces: |p| for h = H d, H symmetric with spectrum in [mu, L]."""
    along = np.linspace(mu, L, 20_001)
    across = np.sqrt(np.maximum((along - mu) * (L - along), 0))  # the most that <h, d> = along leaves beside d
    longer, shorter = (np.hypot(1 + sign * step * along, step * across) for sign in (1, -1))
    return float(((longer - shorter) / 2).min() / step)


@pytest.mark.parametrize(("mu", "L"), [(1.0, 1.0), (1.0, 1.5), (1.0, 10.0), (0.01, 3.0), (1e-4, 1.0)])
def test_lemma_12_up_to_the_step_of_its_condition(mu: float, L: float) -> None:
    longest = math.sqrt(3 / (mu * L))
    for share in (1e-3, 0.1, 0.5, 0.9, 1.0):
        assert least_map(mu, L, share * longest) >= mu / 2 * (1 - 1e-9)
    assert least_map(mu, L, 1 / (6 * L)) >= mu * (1 - 1e-9)
    assert least_map(mu, L, 2 / (mu + L)) >= mu * (1 - 1e-9)
    assert least_map(mu, L, 2.01 / mu) < mu / 2


def test_the_least_map_is_attained_on_a_half_space() -> None:
    """y in a half-space whose boundary has y* and y^+, H = diag(1, 10) turned, lambda = 1/2: G by projecting."""
    step, d = 0.5, np.array([1.0, 0.0])
    rng, least = np.random.default_rng(0), math.inf
    for _ in range(20_000):
        angle = rng.uniform(0, math.pi)
        turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
        normal = np.array([math.cos(b := rng.uniform(0, 2 * math.pi)), math.sin(b)])
        if normal @ d > 0:
            normal = -normal  # y = y* + d lies in {<normal, z - y*> <= 0}
        gradient = turn @ np.diag([1.0, 10.0]) @ turn.T @ d - 20 * normal  # of -f at y, -20 normal being that at y*
        moved = d - step * gradient
        landed = moved - max(0.0, float(normal @ moved)) * normal
        least = min(least, float(np.linalg.norm(d - landed)) / step)
    assert least == pytest.approx(least_map(1.0, 10.0, step), rel=5e-3)


# (15): the strict sign


def test_15_is_strict_only_after_a_move() -> None:
    steps = (Fraction(0), Fraction(3), Fraction(-1), Fraction(2))
    for count in range(len(steps) + 1):  # t = m + 1 + count
        away, spread = sum(steps[:count], Fraction(0)), sum((s * s for s in steps[:count]), Fraction(0))
        assert away**2 <= (count + 1) * spread
        assert (away**2 < (count + 1) * spread) is any(steps[:count])
    assert verdict("002:(15)", "with < as printed") == "refuted"
    assert verdict("002:(15)", "with <, once") == "proved"


# (35): the coefficient that is hard to read


def test_35_with_one_for_its_coefficient() -> None:
    """F = x y - y^2/20 on R at y = 0, x from 1 to 2, u_{i-1} = 10/9 where the slope is 1; one record, no noise."""
    before, after, released = Fraction(1), Fraction(2), Fraction(10, 9)
    first = released + (after - before)  # u_{i,0}; the slope in y at 0 is x
    squared_L = Fraction(6, 5)  # the Hessian [[0, 1], [1, -1/10]] has its largest eigenvalue below its root
    assert np.abs(np.linalg.eigvalsh([[0, 1], [1, -0.1]])).max() ** 2 < float(squared_L)
    theta, gamma, dx = released - before, before, after - before
    assert first**2 > 9 * theta**2 + squared_L * dx**2 + 3 * gamma**2
    assert first**2 <= 9 * theta**2 + Fraction(9, 5) * dx**2 + 3 * gamma**2  # and L >= 1
    assert verdict("002:(35)", "1 for 21") == "refuted"


# Lemma 5: what its two versions of T and q give


def test_lemma_5_loses_no_rate_with_the_statement_s_sizes() -> None:
    """sqrt(F_0 L/T) + M sqrt(max(1, T/q)) a over a^{2/3}, M = F_0 = 1: bounded for both, as a falls."""
    apart = 0
    for L, logs in product((0.5, 1.0, 3.0), (1.0, 16.0)):
        for a in 10.0 ** -np.arange(3, 13):
            long = L ** (1 / 3) * a ** (-4 / 3)
            proof, statement = max(long, 1 / a), max(long, 1 / (a * math.sqrt(logs)))
            for T, q in ((proof, 1 / (proof * a**2)), (statement, 1 / (L**2 * statement * a**2))):
                bound = math.sqrt(L / T) + math.sqrt(max(1.0, T / math.floor(q))) * a
                assert bound <= 8 * a ** (2 / 3)
            apart += q != 1 / (proof * a**2)
    assert apart > 0
    T = 1 / (Fraction(1, 100) * 4)  # 1/(a sqrt(16)), the larger for a small L F_0
    assert 1 / (T * Fraction(1, 100) ** 2) > T  # q = 400 > T = 25
    assert verdict("002:Lem5 T,q", "T and q of the statement, the order") == "proved"
    assert verdict("002:Lem5 T,q", "T and q of the statement are those") == "refuted"
    assert verdict("002:Lem5 T,q", "T >= q") == "refuted"
