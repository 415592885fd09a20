"""Guesses of one run that hang together: what privacy alone allows, and which bound on right guesses it breaks.

Decided: (epsilon, delta)-privacy at every point of a curve, Gaussian differential privacy included, does NOT bound the
right guesses as if they were independent, given the cut or not. The mechanism that breaks it is ``common_level``.
"""

from __future__ import annotations

import itertools
import math
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tables
from guessed_coins import count_right, excess, gaussian, gdp, largest, outputs
from independent_guesses import Levels
from numpy.typing import NDArray
from scipy import optimize, sparse, special, stats

from dpcheck.accounting import certify, privacy_curve
from dpcheck.audits.limits import guesses as coin_guesses
from dpcheck.audits.one_run import audit_one_run, audit_one_run_scores
from dpcheck.events import Gaussian, Repeated, Sampled, scaled

Floats = NDArray[np.float64]
CLAIM = Gaussian(1.0)


def common_level(mu: float, share: float = 1.0) -> Any:
    """A mu-private mechanism: one Gaussian magnitude for all of some canaries drawn at random.

    N(0, 1) against N(mu, 1), seen from the middle, is a magnitude that tells nothing of the coin, and a sign that is
    right with probability 1 / (1 + e^-level), level = mu times magnitude. All lucky canaries share the level, which is
    one of the highest; their signs are independent. A coin's own part is what a Gaussian release tells of it, no more.
    """
    grid = np.linspace(0, mu / 2 + 10, 20_000)
    beyond = stats.norm.sf(grid - mu / 2) + stats.norm.sf(grid + mu / 2)

    def run(included: NDArray[np.bool_], rng: np.random.Generator) -> Floats:
        magnitude = np.interp(-share * rng.random(), -beyond, grid)
        lucky = rng.permutation(included.size) < round(share * included.size)
        truth = rng.random(included.size) < special.expit(mu * magnitude)
        return np.where(lucky, magnitude * np.where(truth == included, 1.0, -1.0), 0.0)

    return run


def in_groups(size: int, mechanism: Any) -> Any:
    """Canaries in groups, one independent run of a mechanism on each."""
    return lambda coins, rng: np.concatenate([mechanism(part, rng) for part in np.split(coins, coins.size // size)])


def mechanism_table(mu: float, canaries: int, guesses: int, cells: int) -> Floats:
    """``common_level`` in full: P(which are lucky, level, signs | coins), levels merged to their cells' means."""
    fine = Levels.gaussian(mu, cells=20_000)
    above, share = np.cumsum(fine.mass), guesses / canaries
    cell = np.searchsorted(np.linspace(0, share, cells + 1)[1:-1], above)
    kept = np.clip(share - above + fine.mass, 0, fine.mass)
    mass = np.bincount(cell, kept)
    right = np.bincount(cell, kept * special.expit(fine.levels)) / mass
    columns = []
    for signs in outputs(canaries, guesses):
        hits = np.array([count_right(s, signs) for s in range(2**canaries)])[:, None]
        columns.append(mass / mass.sum() * right**hits * (1 - right) ** (guesses - hits))
    return np.hstack(columns) / math.comb(canaries, guesses)


def best_mechanism(canaries: int, guesses: int, right: int, points: list[tuple[float, float]]) -> float:
    """P(W >= right) maximised over ALL mechanisms on coins that keep the points, by a linear program on their tables.

    Its variables are P(guesses | coins), and for all neighbours, both ways, and all points the excesses.
    """
    ways, inputs = outputs(canaries, guesses), 2**canaries
    pairs = [(s, s ^ (1 << i)) for s in range(inputs) for i in range(canaries)]
    one, width = sparse.identity(len(ways), format="csr"), inputs * len(ways)
    blocks, totals, limits = [], [], []
    for epsilon, delta in points:
        signs = sparse.lil_array((len(pairs), inputs))
        for row, (s, other) in enumerate(pairs):
            signs[row, s], signs[row, other] = 1.0, -math.exp(epsilon)
        blocks.append(sparse.kron(signs.tocsr(), one))
        totals.append(sparse.kron(sparse.identity(len(pairs)), np.ones((1, len(ways)))))
        limits += [delta] * len(pairs)
    excesses = len(points) * len(pairs) * len(ways)
    rows = sparse.vstack([
        sparse.hstack([sparse.vstack(blocks), -sparse.identity(excesses)]),
        sparse.hstack([sparse.csr_array((len(limits), width)), sparse.block_diag(totals)]),
    ])  # fmt: skip
    aim = np.array([[float(count_right(s, t) >= right) for t in ways] for s in range(inputs)]).ravel() / inputs
    sums = sparse.hstack([sparse.kron(sparse.identity(inputs), np.ones((1, len(ways)))),
                          sparse.csr_array((inputs, excesses))])  # fmt: skip
    found = optimize.linprog(
        np.concatenate([-aim, np.zeros(excesses)]), A_ub=rows.tocsr(),
        b_ub=np.concatenate([np.zeros(excesses), limits]), A_eq=sums.tocsr(), b_eq=np.ones(inputs),
    )  # fmt: skip
    assert found.success
    return float(-found.fun)


class TestDecision:
    @pytest.mark.parametrize(("canaries", "guesses"), [(1, 1), (2, 1), (2, 2), (3, 2), (3, 3), (4, 4)])
    def test_best_of_all_mechanisms(self, canaries: int, guesses: int) -> None:
        """The program on all tables gives what the one on laws of W gives, and more than independence of two coins."""
        e = np.array([0.0, 0.5, 1.0, 2.0])
        points = list(zip(e, gdp(1.0)(e), strict=True))
        best = best_mechanism(canaries, guesses, guesses, points)
        assert best == pytest.approx(largest(canaries, guesses, guesses, points), abs=1e-6)
        independent = Levels.gaussian(1.0).tail(0, guesses, canaries)
        together = Levels.gaussian(1.0).together(0, guesses, canaries)
        assert together <= best + 1e-6
        assert (together > independent + 0.01) == (canaries > 1)

    @pytest.mark.parametrize(("canaries", "guesses"), [(2, 2), (3, 2), (4, 1), (3, 3)])
    def test_common_level_is_as_private_as_the_gaussian(self, canaries: int, guesses: int) -> None:
        """All outputs, all coins, all neighbours: delta is at most the Gaussian's everywhere, and near it somewhere."""
        table = mechanism_table(1.0, canaries, guesses, 64)
        assert table.sum(axis=1) == pytest.approx(1)
        e = np.linspace(0, 6, 121)
        claimed, seen = gdp(1.0)(e), np.array([excess(table, epsilon) for epsilon in e])
        assert (seen <= claimed + 1e-6).all()
        high = (e > 1.5) & (e < 2)  # above the least of the lucky's levels nothing is lost, but by merging
        assert (seen[high] > 0.97 * claimed[high]).all()

    @pytest.mark.parametrize(("guesses", "share"), [(100, 0.106), (500, 0.338), (1_000, 0.415)])
    def test_independence_accuses_it(self, guesses: int, share: float) -> None:
        """At level 5 % it is called less private than it is in so many runs; exactly, and simulated."""
        levels = Levels.gaussian(1.0)
        critical = levels.critical(guesses, 1_000)
        exact = levels.together(critical, guesses, 1_000)
        assert exact == pytest.approx(share, abs=2e-3)
        run, seen = common_level(1.0, guesses / 1_000), 0
        for seed in range(400):
            rng = np.random.default_rng(seed)
            coins = rng.random(1_000) < 0.5
            scores = run(coins, rng)
            told = scores != 0
            assert told.sum() == guesses
            seen += int(((scores > 0) != coins)[told].sum() <= critical)
        assert stats.binom.ppf(1e-4, 400, exact) <= seen <= stats.binom.isf(1e-4, 400, exact)

    def test_independence_holds_for_one_channel_a_canary(self) -> None:
        """The tail itself is right for what it assumes."""
        levels, rng, hits = Levels.gaussian(1.0), np.random.default_rng(0), []
        for _ in range(2_000):
            coins = rng.random(200) < 0.5
            scores = coins - 0.5 + rng.standard_normal(200)
            surest = np.argsort(-np.abs(scores))[:50]
            hits.append(int(((scores > 0) != coins)[surest].sum()))
        for wrong in (4, 7, 9):
            exact = levels.tail(wrong, 50, 200)
            assert stats.binom.ppf(1e-4, 2_000, exact) <= sum(h <= wrong for h in hits)
            assert sum(h <= wrong for h in hits) <= stats.binom.isf(1e-4, 2_000, exact)


def factor(tests: list[tuple[int, int, float]], canaries: int, event: Any) -> float:
    return coin_guesses.least_factor(tests, canaries, lambda z, e: privacy_curve(scaled([event], z))(e))


class TestFamily:
    """Epsilon within the claimed family, without independence."""

    @pytest.mark.parametrize(("right", "guesses", "canaries"), [(40, 47, 100), (78, 80, 100)])
    def test_what_it_rejects_no_mechanism_reaches(self, right: int, guesses: int, canaries: int) -> None:
        """At the factor, the program over laws of W at some of the curve's points allows at most the level."""
        z = factor([(right, guesses, 0.03)], canaries, CLAIM)
        best = -1.0, 0.0
        for epsilon in np.linspace(0.1, 6, 60):
            p = float(coin_guesses.p_value(right, guesses, canaries, epsilon, float(gdp(1 / z)(epsilon))))
            best = max(best, (-p, float(epsilon)))
        e = coin_guesses._around(best[1])
        assert 0.027 < largest(canaries, guesses, right, list(zip(e, gdp(1 / z)(e), strict=True))) <= 0.0305

    def test_all_tests_count(self) -> None:
        few, many = (40, 47, 0.02), (62, 80, 0.02)
        both = factor([few, many], 100, CLAIM)
        assert both <= 1.01 * min(factor([few], 100, CLAIM), factor([many], 100, CLAIM))
        assert factor([(24, 47, 0.02)], 100, CLAIM) == math.inf

    def test_lies_between_any_mechanism_and_the_truth(self) -> None:
        for mu in (1.0, 2.0, 4.0):
            audit = audit_one_run(gaussian(mu), 1_000, claim=Gaussian(1 / mu), delta=1e-5)
            assert audit.in_family is not None
            assert 1.4 * audit.epsilon_lower < audit.in_family < certify([Gaussian(1 / mu)], 1e-5).epsilon
        assert audit_one_run(gaussian(1.0), 200, epsilon=1.0, delta=1e-5).in_family is None
        assert audit_one_run(gaussian(0.0), 200, claim=CLAIM, seed=1).in_family == 0.0


NULLS: dict[str, tuple[Any, Any]] = {
    "gaussian": (gaussian(1.0), CLAIM),
    "common level": (common_level(1.0), CLAIM),
    "common level of the surest 80 %": (common_level(1.0, 0.8), CLAIM),
    "common level of the surest quarter": (common_level(1.0, 0.25), CLAIM),
    "common level of the surest twentieth": (common_level(1.0, 0.05), CLAIM),
    "common level in groups of ten": (in_groups(10, common_level(1.0)), CLAIM),
    "common level in groups of forty": (in_groups(40, common_level(1.0)), CLAIM),
    "common level, mu = 2": (common_level(2.0), Gaussian(0.5)),
    "common level, mu = 0.3": (common_level(0.3), Gaussian(1 / 0.3)),
    "ten steps": (gaussian(1.0), Repeated(Gaussian(10**0.5), 10)),
    "half of the canaries alone": (lambda c, g: np.where(np.arange(c.size) % 2, gaussian(1.0)(c, g), 0.5), CLAIM),
    "all equal": (lambda coins, rng: np.ones(coins.size), CLAIM),
}


def alarms(name: str, canaries: int, repeats: int) -> dict[str, Any]:
    algorithm, claim = NULLS[name]
    truth = certify([claim], 1e-5).epsilon
    above = 0
    for seed in range(repeats):
        audit = audit_one_run(algorithm, canaries, claim=claim, delta=1e-5, seed=seed)
        near = any(test.p_value <= 10 * test.alpha for test in audit.tests)  # else below the truth
        above += audit.verdict == "violated" or (near and float(audit.in_family or 0) > truth)
    most = stats.binomtest(above, repeats).proportion_ci(0.95, "exact").high
    return {"mechanism": name, "canaries": canaries, "audits": repeats, "alarms": above, "upper_97.5": most}


class TestLevel:
    """Mechanisms at exactly their claim are accused, by the verdict or by epsilon within the family, at most at 5 %."""

    @pytest.mark.parametrize("name", ["common level", "common level of the surest quarter"])
    def test_some(self, name: str) -> None:
        assert alarms(name, 60, 25)["alarms"] <= stats.binom.isf(1e-4, 25, 0.05)

    def test_kept_table(self) -> None:
        kept = tables.read("one_run_nulls")
        assert set(kept["mechanism"]) == set(NULLS)
        assert (kept["alarms"] <= stats.binom.isf(1e-3, kept["audits"], 0.05)).all()

    @pytest.mark.experiment
    def test_table(self, keep: Any) -> None:
        keep("one_run_nulls", pd.DataFrame([alarms(name, 200, 500) for name in NULLS]))


FAMILIES: dict[str, tuple[float, float]] = {
    "gaussian mu=0.5": (0.5, 1.0),
    "gaussian mu=1": (1.0, 1.0),
    "gaussian mu=2": (2.0, 1.0),
    "sampled mu=1 q=0.5": (1.0, 0.5),
    "sampled mu=2 q=0.2": (2.0, 0.2),
}


def beside(name: str, canaries: int, share: float) -> dict[str, Any]:
    """One of the 60 settings of Xiang et al.: the expected wrong guesses of independent canaries, and each bound."""
    (mu, rate), guesses, delta = FAMILIES[name], round(canaries * share), 1e-5
    event = Gaussian(1 / mu) if rate == 1 else Sampled((Gaussian(1 / mu),), "poisson", 1_000, 1_000 * rate)
    levels = Levels.gaussian(mu, rate)
    above = np.cumsum(levels.mass)
    cut = stats.beta(guesses + 1, max(canaries - guesses, 1e-9)).mean() if guesses < canaries else 1.0
    errors = np.interp(cut, above, np.cumsum(levels.mass * special.expit(-levels.levels)))
    wrong = round(guesses * errors / cut)

    def epsilon(z: float) -> float:
        return certify(scaled([event], z), delta).epsilon if math.isfinite(z) else 0.0

    independent = optimize.brentq(
        lambda m: Levels.gaussian(m, rate).tail(wrong, guesses, canaries) - 0.05, 0.02, mu, xtol=1e-4
    )
    return {
        "mechanism": name, "epsilon": epsilon(1.0), "canaries": canaries, "guesses": guesses, "wrong": wrong,
        "any mechanism": coin_guesses.epsilon_lower(guesses - wrong, guesses, canaries, delta=delta),
        "in family": epsilon(factor([(guesses - wrong, guesses, 0.05)], canaries, event)),
        "if independent": epsilon(mu / independent),
        "accused": levels.together(levels.critical(guesses, canaries), guesses, canaries),
    }  # fmt: skip


class TestBesideIndependence:
    def test_slice_of_the_kept_table(self) -> None:
        kept = tables.read("one_run_beside_independence").set_index(["mechanism", "canaries", "guesses"])
        assert len(kept) == 60
        row = beside("gaussian mu=1", 1_000, 0.25)
        assert row["wrong"] == 36
        for name in ("any mechanism", "in family", "if independent", "accused"):
            assert row[name] == pytest.approx(kept.loc[("gaussian mu=1", 1_000, 250), name], rel=5e-3)
        assert row["if independent"] == pytest.approx(3.6327, abs=2e-3)  # in print
        assert (kept["in family"] <= kept["epsilon"]).all()
        assert (kept["accused"] > 0.05).sum() == 59  # and once no number of right guesses is enough

    @pytest.mark.experiment
    def test_table(self, keep: Any) -> None:
        settings = itertools.product(FAMILIES, (1_000, 10_000, 100_000), (0.1, 0.25, 0.5, 1.0))
        keep("one_run_beside_independence", pd.DataFrame([partial(beside)(*setting) for setting in settings]))


def beside_jax_privacy(mu: float, canaries: int, runs: int) -> dict[str, Any]:
    """Medians over runs of independent canaries, with default settings; theirs is the bound of Mahloujifar et al."""
    auditing = pytest.importorskip("jax_privacy.auditing")
    ours, theirs = [], []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        coins = rng.random(canaries) < 0.5
        scores = mu * coins + rng.standard_normal(canaries)
        ours.append(audit_one_run_scores(scores, coins, claim=Gaussian(1 / mu), delta=1e-5))
        auditor = auditing.CanaryScoreAuditor(scores[coins], scores[~coins])
        theirs.append(auditor.epsilon_one_run_fdp(significance=0.05, delta=1e-5))
    return {
        "mu": mu, "epsilon": certify([Gaussian(1 / mu)], 1e-5).epsilon, "canaries": canaries, "runs": runs,
        "dpcheck, any mechanism": float(np.median([audit.epsilon_lower for audit in ours])),
        "dpcheck, in family": float(np.median([audit.in_family for audit in ours])),
        "jax_privacy, in family": float(np.median(theirs)),
        "dpcheck ahead": sum(float(a.in_family or 0) > b for a, b in zip(ours, theirs, strict=True)),
    }  # fmt: skip


class TestBesideJaxPrivacy:
    def test_kept_table(self) -> None:
        kept = tables.read("one_run_beside_jax_privacy")
        assert (kept["dpcheck, in family"] >= kept["jax_privacy, in family"]).all()

    @pytest.mark.experiment
    def test_table(self, keep: Any) -> None:
        settings = itertools.product((0.25, 0.5, 1.0, 2.0, 4.0, 8.0), (100, 1_000))
        rows = [beside_jax_privacy(mu, m, 20) for mu, m in settings]
        keep("one_run_beside_jax_privacy", pd.DataFrame(rows))
