"""Every compiled algorithm against plain NumPy, on the minibatches and the noise of a recorded run."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from reference import phases as phase_lists
from reference.descent import descent_ascent, dp_rgda, dptd, nseg, privatediff
from reference.phases import nispp_phases, output_perturbation
from reference.replay import replayed
from reference.small_runs import sharpened

from dpcheck import certify
from dpcheck.algorithms.problem import with_record
from dpcheck.catalogue.xu2026.dp_rgda import DPRGDA
from dpcheck.catalogue.yang2022.nispp import NISPP
from dpcheck.catalogue.yang2022.nseg import NSEG
from dpcheck.catalogue.zhang2022.algorithms import (
    PhasedConvex,
    PhasedConvexStronglyConcave,
    PhasedDual,
    PhasedPrimal,
    PhasedSaddle,
    PhasedStronglyConvexConcave,
    Saddle,
    SaddleJoint,
    StronglyConvex,
)
from dpcheck.catalogue.zhang2022.output_perturbation import FIELDS
from dpcheck.catalogue.zhang2025.dp_sgda_clipped import DPSGDAClipped
from dpcheck.catalogue.zhang2025.dptd import DPTD
from dpcheck.catalogue.zhang2025.privatediff import PrivateDiff
from dpcheck.problems import example
from dpcheck.problems.auc import AUC
from dpcheck.problems.bilinear import Bilinear
from dpcheck.problems.cosine import Cosine
from dpcheck.problems.linear import Linear
from dpcheck.problems.mean_estimation import MeanEstimation
from dpcheck.problems.product import Product
from dpcheck.problems.product_mirror import ProductMirror
from dpcheck.problems.quadratic import Quadratic
from dpcheck.problems.quartic import Quartic

RNG = np.random.default_rng(11)
SEEDS = (0, 1, 2)
PRIVACY = {"epsilon": 1.0, "delta": 1e-3}


def small_auc(n=30, d=3):
    X = RNG.normal(size=(n, d))
    X /= np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
    return AUC.from_data(X, np.where(np.arange(n) % 3, -1.0, 1.0), positive_share=0.3)


PROBLEMS = {
    "auc": small_auc(),
    "bilinear": Bilinear.sample(30, 3, RNG, coupling=1.5, radius=0.4),
    "cosine": Cosine.sample(30, 2, RNG),
    "quadratic": Quadratic.sample(30, 3, RNG, mu_x=0.5, mu_y=2.0, radius=0.8),
    "quartic": Quartic.sample(30, 3, RNG, radius=4.0),
    "wide quadratic": Quadratic.sample(30, 3, RNG, mu_x=0.5, mu_y=2.0, radius=1e4),
}


def with_noise_or_not(solver):
    """The solver with noise, on several streams, and without."""
    return [(solver, seed) for seed in SEEDS] + [(solver.quiet(), 0)]


def assert_same(replay):
    """The private quantities, the iterates, the output and the noise declared agree to 1e-10."""
    assert {part: each.sentence for part, each in replay.differences.found.items()} == {}
    assert max(replay.differences.largest.values()) <= 1e-10
    assert {"gradients", "scales", "iterates", "output", "ending"} <= set(replay.differences.compared)


def assert_partly_clipped(replay):
    assert min(replay.clipped[True], replay.clipped[False]) > 0


PRIVATEDIFF = {"rounds": 7, "restart": 3, "inner": 4, "batch": 6, "eta_x": 0.02, "C1": 0.05, "C2": 0.5, "C3": 0.002}


@pytest.mark.parametrize("name", ["quadratic", "cosine"])
@pytest.mark.parametrize("variant", PrivateDiff.variants)
@pytest.mark.parametrize("C3", [0.002, 0.2])  # the latter is beyond twice C1
def test_privatediff_equals_plain_numpy(name, variant, C3):
    problem = PROBLEMS[name]
    C0 = {"C0": 1.0} if variant == "as_printed" else {}
    configured = PrivateDiff.configure(problem, **PRIVACY, variant=variant, **PRIVATEDIFF | {"C3": C3}, **C0)
    for solver, seed in with_noise_or_not(configured):
        run = solver.run(problem, seed=seed, record=True)
        replay = replayed(run, privatediff)
        assert_same(replay)
        assert_partly_clipped(replay)


def test_privatediff_follows_the_print_to_the_letter_where_no_domain_binds():
    """The print has X the whole space and does not project the noised maximiser; the kernel does both."""
    problem = PROBLEMS["wide quadratic"]
    configured = PrivateDiff.configure(problem, **PRIVACY, variant="as_printed", **PRIVATEDIFF, C0=1.0)
    for solver, seed in with_noise_or_not(configured):
        run = solver.run(problem, seed=seed, record=True)
        assert np.abs(run.history.path).max() < 1e3
        assert_same(replayed(run, privatediff, to_the_letter=True))


def test_privatediff_puts_out_every_round_equally_often():
    """x_r, r = 1, ..., R: chi-squared of 500 runs against the uniform law, refused with probability 1e-4."""
    from scipy.stats import chisquare

    problem = PROBLEMS["quadratic"]
    solver = PrivateDiff.configure(problem, **PRIVACY, **PRIVATEDIFF).quiet()
    counts = Counter()
    for seed in range(500):
        run = solver.run(problem, seed=seed, at=range(solver.rounds + 1))
        found = np.flatnonzero((run.history.path == np.concatenate([run.x, run.y])).all(axis=1))
        counts[int(found[0])] += 1
    assert set(counts) == set(range(1, solver.rounds + 1))
    assert chisquare(list(counts.values())).pvalue > 1e-4


@pytest.mark.parametrize("name", ["bilinear", "cosine"])
@pytest.mark.parametrize("sampling", ["with_replacement", "without_replacement", "poisson"])
def test_nseg_equals_plain_numpy(name, sampling):
    problem = PROBLEMS[name]
    configured = NSEG.configure(
        problem, **PRIVACY, steps=9, batch=3, eta=0.2, clip_w=0.8, clip_v=0.6, sampling=sampling
    )
    for solver, seed in with_noise_or_not(configured):
        run = solver.run(problem, seed=seed, record=True)
        replay = replayed(run, nseg)
        assert_same(replay)
        assert_partly_clipped(replay)


@pytest.mark.parametrize("name", ["quadratic", "cosine"])
@pytest.mark.parametrize("variant", DPTD.variants)
def test_dptd_equals_plain_numpy(name, variant):
    problem = PROBLEMS[name]
    configured = DPTD.configure(
        problem, **PRIVACY, variant=variant, steps=9, batch=4, clip_w=0.8, clip_v=0.6, chi=1.8, eta=1.2, alpha=3.0,
        beta=2.5,
    )  # fmt: skip
    for solver, seed in with_noise_or_not(configured):
        run = solver.run(problem, seed=seed, record=True)
        replay = replayed(run, dptd)
        assert_same(replay)
        assert_partly_clipped(replay)


@pytest.mark.parametrize("name", ["quadratic", "cosine", "auc"])
@pytest.mark.parametrize("variant", DPSGDAClipped.variants)
def test_dp_sgda_clipped_equals_plain_numpy(name, variant):
    problem = PROBLEMS[name]
    configured = DPSGDAClipped.configure(
        problem, **PRIVACY, variant=variant, steps=9, batch=5, eta_w=0.3, eta_v=0.2, clip_w=0.8, clip_v=0.5
    )
    for solver, seed in with_noise_or_not(configured):
        run = solver.run(problem, seed=seed, record=True)
        replay = replayed(run, descent_ascent)
        assert_same(replay)
        assert_partly_clipped(replay)


def of_the_kernel(problem):
    """Of perceptrons, one record at a time; ``test_mlp`` holds the kernel to plain NumPy and to differences."""

    def gradient(record, w, v):
        g_w, g_v = np.empty_like(w), np.empty_like(v)
        problem.gradient(problem.params, record, np.ascontiguousarray(w), np.ascontiguousarray(v), g_w, g_v)
        return g_w, g_v

    return gradient


@pytest.mark.parametrize("name", ["auc_mlp", "td_mlp", "wgan"])
@pytest.mark.parametrize("variant", DPSGDAClipped.variants)
def test_dp_sgda_clipped_equals_plain_numpy_on_perceptrons(name, variant):
    """None of them is smooth, or none is strongly concave: the steps are given, and certified as anywhere."""
    problem = example(name)
    configured = DPSGDAClipped.configure(
        problem, **PRIVACY, variant=variant, steps=6, batch=5, eta_w=0.1, eta_v=0.1, clip_w=0.8, clip_v=0.5
    )
    if variant == "repaired":
        assert 0 < certify(configured.events(problem), delta=PRIVACY["delta"]).epsilon <= PRIVACY["epsilon"]
    for solver, seed in with_noise_or_not(configured):
        run = solver.run(problem, seed=seed, record=True)
        replay = replayed(run, descent_ascent, of_the_kernel(problem))
        assert_same(replay)
        assert_partly_clipped(replay)


RGDA_BRANCHES = {
    "descends": {"alpha": 0.02, "steps": 14, "t_thres": 30},
    "certifies": {"alpha": 50.0, "steps": 14, "t_thres": 5},
    "leaves the saddle again and again": {"alpha": 1.5, "steps": 24, "t_thres": 8},
}


def rgda(problem, variant, *, D_bar=None, K=2, **branch):
    """C_v and C_u are such that a part is clipped; a small D_bar makes it leave its escapes."""
    C_v = 1.1 if problem.name == "cosine" else 0.4
    solver = DPRGDA.configure(
        problem, epsilon=40.0, delta=1e-3, variant=variant, K=K, C_v=C_v,
        **{"period": 4, "S1": 20, "S2": 7, "C_u": 0.15, "eta": 0.2, "escapes": 3} | branch,
        r=0.25 if variant == "as_printed" else None,
    )  # fmt: skip
    return solver if D_bar is None else replace(solver, D_bar=D_bar)


def rgda_pair(solver, problem, seed):
    """A run, its replay, and the iterations at which it was perturbed."""
    run = solver.run(problem, seed=seed, record=True)
    replay = replayed(run, dp_rgda)
    times = replay.perturbed_at
    points = np.vstack([run.history.path[:, : problem.dim_w], run.x])
    if run.outcome == "certified" or not solver.repaired:  # the last anchor, or without one the start
        assert run.history.returned == (times[-1] if times else 0)
    np.testing.assert_array_equal(points[run.history.returned], run.x)
    assert any("x is the start" in note for note in run.notes) == (run.history.returned == 0)
    return run, replay, times


@pytest.mark.parametrize("name", ["cosine", "quartic"])
@pytest.mark.parametrize(("variant", "K"), [("as_printed", 1), ("as_printed", 3), ("repaired", 2), ("repaired", 3)])
@pytest.mark.parametrize("branch", RGDA_BRANCHES)
def test_dp_rgda_equals_plain_numpy(name, variant, K, branch):
    problem = PROBLEMS[name]
    D_bar = 1e-12 if branch.startswith("leaves") else None
    configured = rgda(problem, variant, D_bar=D_bar, K=K, **RGDA_BRANCHES[branch])
    clipped, perturbed, outcomes = Counter(), 0, set()
    for solver, seed in with_noise_or_not(configured):
        run, replay, times = rgda_pair(solver, problem, seed)
        assert_same(replay)
        clipped += replay.clipped
        perturbed += len(times)
        outcomes.add(run.outcome)
    assert clipped[True] and clipped[False]
    if branch == "descends":
        assert "uncertified" in outcomes
    if branch == "certifies":
        assert outcomes == {"certified"}
    if branch.startswith("leaves"):
        assert perturbed > len(SEEDS) + 1  # more than once in some run


@pytest.mark.parametrize("name", ["cosine", "quartic"])
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("branch", RGDA_BRANCHES)
def test_dp_rgda_of_the_population_equals_plain_numpy(name, K, branch):
    """Noise along a tree, and each record in one minibatch at most."""
    problem = PROBLEMS[name].sample(500, 2, np.random.default_rng(0))
    configured = rgda(problem, "repaired", K=K, theorem="2", **RGDA_BRANCHES[branch] | {"S1": 20, "S2": 4})
    if branch.startswith("leaves"):
        configured = replace(configured, D_bar=1e-12)
    for solver, seed in with_noise_or_not(configured):
        run, replay, _ = rgda_pair(solver, problem, seed)
        assert_same(replay)
        drawn = run.history.drawn[run.history.drawn >= 0]
        assert len(set(drawn)) == len(drawn) >= 20 + 4 * K


@pytest.mark.parametrize("variant", DPRGDA.variants)
def test_dp_rgda_ends_an_escape_when_plain_numpy_does(variant):
    """Thresholds near eta_H^2 |v|^2, where a step more or less in t - m would decide otherwise."""
    problem, perturbed = PROBLEMS["cosine"], set()
    for factor in (0.08, 0.09, 0.1, 0.11, 0.13, 0.16, 0.2):
        solver = rgda(problem, variant, **RGDA_BRANCHES["leaves the saddle again and again"])
        for seed in SEEDS:
            run, replay, times = rgda_pair(replace(solver, D_bar=(factor * solver.eta_H) ** 2), problem, seed)
            assert_same(replay)
            perturbed.add((len(times), run.outcome))
    assert len(perturbed) > 2


def test_every_perturbation_is_a_refresh_in_the_repaired_variant_only():
    """A refresh draws S1 records; as printed one comes every ``period`` iterations, whatever happened between."""
    problem = PROBLEMS["cosine"]
    for variant in DPRGDA.variants:
        solver = rgda(problem, variant, D_bar=1e-12, K=2, **RGDA_BRANCHES["leaves the saddle again and again"])
        run, _, times = rgda_pair(solver, problem, 0)
        iterations = len(run.history.path)
        due = {t for t in range(iterations) if t % solver.period == 0}
        after = {t + 1 for t in times if t + 1 < iterations} if variant == "repaired" else set()
        refreshes = int(((run.history.drawn >= 0).sum(axis=1) == solver.S1).sum())
        assert times
        assert refreshes == len(due | after)


PHASED = {
    StronglyConvex: (phase_lists.algorithm_1, MeanEstimation.sample(50, 3, RNG, mu=0.7)),
    PhasedConvex: (phase_lists.algorithm_2, Linear.sample(50, 3, RNG)),
    Saddle: (phase_lists.algorithm_3, Quadratic.sample(50, 3, RNG, mu_x=0.5, mu_y=2.0, radius=2.0)),
    SaddleJoint: (phase_lists.algorithm_3_tight, Quadratic.sample(50, 3, RNG, mu_x=3.0, mu_y=2.0, radius=0.05)),
    PhasedPrimal: (phase_lists.algorithm_4, Bilinear.sample(50, 3, RNG)),
    PhasedDual: (phase_lists.algorithm_5, Bilinear.sample(50, 3, RNG)),
    PhasedSaddle: (phase_lists.algorithms_4_and_5, Bilinear.sample(50, 3, RNG)),
    PhasedConvexStronglyConcave: (phase_lists.convex_strongly_concave, Product.sample(50, 3, RNG, mu=1.5)),
    PhasedStronglyConvexConcave: (
        phase_lists.strongly_convex_concave,
        ProductMirror(Product.sample(50, 3, RNG).records, mu=1.5),
    ),
}


def assert_phases(replay):
    """Every private solution within its certified energy of the exact one, the rest equal to 1e-10."""
    assert {part: each.sentence for part, each in replay.differences.found.items()} == {}
    assert max(replay.differences.largest[part] for part in ("scales", "iterates", "output")) <= 1e-10
    assert replay.differences.compared["solutions"]


@pytest.mark.parametrize("algorithm", PHASED)
def test_output_perturbation_equals_exact_solutions(algorithm):
    """At the accuracy that the theorem asks for, and at 1e-20, where little is left to the tolerance."""
    listed, problem = PHASED[algorithm]
    inside = Counter()
    for eps in (1.0, 100.0):
        options = {"listed": listed, "epsilon": eps, "delta": 1e-4}
        configured = algorithm.configure(problem, epsilon=eps, delta=1e-4)
        energies = [phase.energy for phase in listed(problem, eps, 1e-4)]
        np.testing.assert_allclose(configured.phases[:, FIELDS.index("energy")], energies, rtol=1e-12)
        sharp = sharpened(configured, 1e-20)
        for solver, accuracy in ((configured, {}), (sharp, {"energy": 1e-20})):
            for seed in SEEDS:
                run = solver.run(problem, seed=seed, record=True)
                replay = replayed(run, output_perturbation, **options | accuracy)
                assert_phases(replay)
                inside += replay.interior
        run = sharp.quiet().run(problem, seed=0, record=True)
        assert_phases(replayed(run, output_perturbation, **options, energy=1e-20, quiet=True))
    if algorithm in (PhasedConvex, SaddleJoint):  # both kinds of exact solution are met
        assert inside[False]
    if algorithm is not SaddleJoint:
        assert inside[True]


@pytest.mark.parametrize("algorithm", [a for a in PHASED if a not in (StronglyConvex, Saddle, SaddleJoint)])
def test_a_phase_sees_its_own_records_and_released_points_only(algorithm):
    """Another record in block k moves phase k alone, to the bit, where the releases are the same.

    The base draws nothing: one that samples leaves later phases other random numbers of the same law.
    """
    _, problem = PHASED[algorithm]
    base = "gradient_descent" if problem.dim_v == 0 else "extragradient"
    solver = algorithm.configure(problem, epsilon=10.0, delta=1e-4, base=base)
    history = solver.run(problem, seed=0, record=True).history
    blocks, _ = phase_lists.split(len(problem.records))
    K = len(blocks)
    for k, block in enumerate(blocks):
        neighbour = with_record(problem, block.start, -problem.records[block.start])
        moved = (solver.replay(neighbour, history, seed=0).clean != history.clean).any(axis=1)
        assert set(np.flatnonzero(moved) % K) == {k}


@pytest.mark.parametrize("sampling", ["single_pass", "with_replacement"])
def test_nispp_equals_exact_solutions(sampling):
    problem = PHASED[PhasedPrimal][1]
    configured = NISPP.configure(problem, **PRIVACY, batch=8, lam=0.6, sampling=sampling)
    enough = phase_lists.nispp(problem, 8, 0.6, 0.0)[0].energy
    np.testing.assert_allclose(configured.phases[:, FIELDS.index("energy")], enough, rtol=1e-12)
    for solver, accuracy in ((configured, {}), (sharpened(configured, 1e-20), {"energy": 1e-20})):
        for each, seed in with_noise_or_not(solver):
            run = each.run(problem, seed=seed, record=True)
            quiet = each.phases[0, FIELDS.index("sigma_w")] == 0
            replay = replayed(run, nispp_phases, **PRIVACY, **accuracy, quiet=quiet)
            assert_phases(replay)
            assert replay.differences.compared["solutions"] == len(each.phases)
