"""Where an algorithm's print and its repair differ, the difference that matters, on an instance."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dpcheck import InputError, certify
from dpcheck.algorithms.problem import with_record
from dpcheck.catalogue.xu2026.dp_rgda import DPRGDA
from dpcheck.catalogue.yang2022.dp_sgda import DPSGDA
from dpcheck.catalogue.zhang2025.privatediff import PrivateDiff
from dpcheck.problems import example
from dpcheck.problems.bilinear import Bilinear
from dpcheck.problems.cosine import Cosine
from dpcheck.problems.quadratic import Quadratic
from dpcheck.problems.quartic import Quartic
from dpcheck.solvers import algorithm, configure

RNG = np.random.default_rng(7)


def exchanged(solver, problem, index, record, seed):
    """How far each release moves where one record is replaced and all earlier releases are the same.

    Gives the movements and the sensitivities that the algorithm declares for them, in order of release.
    """
    history = solver.run(problem, seed=seed, record=True).history
    other = solver.replay(with_record(problem, index, record), history, seed=seed)
    return np.linalg.norm(other.clean - history.clean, axis=1), history.noise[:, 1], history


# PrivateDiff


def private_diff(problem, variant, **changes):
    sizes = {"rounds": 7, "restart": 8, "inner": 4, "batch": 5, "eta_x": 0.01, "C1": 0.5, "C2": 0.01, "C3": 0.01}
    return PrivateDiff.configure(problem, epsilon=1.0, delta=1e-3, variant=variant, **(sizes | changes))


def releases_of(variant, moved):
    """The x-releases and the y-releases: as printed y comes second, repaired first."""
    return (moved[::2], moved[1::2]) if variant == "as_printed" else (moved[1::2], moved[::2])


def dual_data():
    """Records (0, c_i), c_i = +-1: grad_x f does not depend on the record, so all it tells comes through y."""
    c = np.resize([1.0, -1.0], 10)
    return Quadratic(np.column_stack([np.zeros(10), c]), mu_x=0.5, mu_y=1.0, radius=2.0)


def worst_difference(variant):
    """Largest movement of a difference over its declared 2C/m."""
    problem, worst = dual_data(), 0.0
    solver = private_diff(problem, variant).quiet()  # no noise hides y, and the sensitivities are what they were
    for seed in range(10):
        for index in range(2):
            moved, declared, _ = exchanged(solver, problem, index, -problem.records[index], seed)
            (x, _), (bound, _) = releases_of(variant, moved), releases_of(variant, declared)
            worst = max(worst, float((x[1:] / bound[1:]).max()))  # round 0 releases a gradient, not a difference
    return worst


def test_privatediff_as_printed_leaks_the_record_through_the_maximiser():
    """Lemma 8 holds y_{r+1} fixed; it moves with the record, and all m differences with it: 2C, m times 2C/m."""
    assert worst_difference("as_printed") == pytest.approx(5.0, rel=1e-6)


def test_privatediff_repaired_tells_no_more_than_the_released_maximiser():
    assert worst_difference("repaired") <= 1e-12


def test_privatediff_as_printed_moves_its_maximiser_beyond_lemma_9():
    """C0 >= G_y and M >= |f| hold; but C0^2 falls faster than C0, and minibatches of m move it by 1/m, not 1/n."""
    c = np.resize([0.1, -0.1], 10)
    problem = Quadratic(np.column_stack([np.zeros(10), c]), mu_x=1.0, mu_y=1.0, coupling=0.1, bound=0.1, radius=0.1)
    R, B = problem.radius, problem.bound
    M = 0.5 * max(problem.mu_x, problem.mu_y) * R**2 + problem.coupling * R**2 + B * R
    worst = {}
    for variant in PrivateDiff.variants:
        solver = private_diff(problem, variant, C1=problem.lipschitz_w, M=M)
        assert problem.lipschitz_v <= solver.C0
        worst[variant] = 0.0
        for seed in range(10):
            moved, declared, _ = exchanged(solver, problem, 0, -problem.records[0], seed)
            _, ratios = releases_of(variant, moved / declared)
            worst[variant] = max(worst[variant], float(ratios.max()))
    assert worst["as_printed"] > 1.5
    assert worst["repaired"] <= 1 + 1e-9


def test_privatediff_repaired_noises_no_difference_beyond_twice_a_gradient():
    """|grad - grad'| <= 2 C1: a threshold beyond it adds noise and clips nothing. The print has C2 |dx| + C3.

    Noise and sensitivity are both in units of the threshold: what is certified does not depend on it.
    """
    problem = Quadratic.sample(40, 2, np.random.default_rng(0))
    C1, thresholds, events = problem.lipschitz_w, {}, {}
    for variant in PrivateDiff.variants:
        for C3 in (0.01 * C1, 100 * C1):
            solver = private_diff(problem, variant, C1=C1, C3=C3)
            noise, _ = releases_of(variant, solver.run(problem, seed=0, record=True).history.noise)
            assert noise[1:, 0] == pytest.approx(solver.sigma_2 * solver.batch / 2 * noise[1:, 1])
            thresholds[variant, C3] = noise[1:, 1] * solver.batch / 2  # round 0 releases a gradient
            events[variant, C3] = solver.events(problem)
        assert events[variant, 0.01 * C1] == events[variant, 100 * C1]
    assert thresholds["as_printed", 100 * C1].min() >= 100 * C1
    assert thresholds["repaired", 100 * C1] == pytest.approx(2 * C1)
    assert thresholds["repaired", 0.01 * C1].max() < 2 * C1
    capped = private_diff(problem, "repaired", C1=C1, C3=100 * C1)
    moved, declared, _ = exchanged(capped, problem, 0, -problem.records[0], 0)
    assert (moved <= declared * (1 + 1e-9)).all()


# DP-RGDA


def recursive(problem, variant, **changes):
    n = len(problem.records)
    sizes = {"steps": 12, "period": 4, "S1": n, "S2": n, "t_thres": 3, "C_v": 100.0, "C_u": 100.0, "eta": 0.2}
    return DPRGDA.configure(problem, epsilon=1.0, delta=1e-3, variant=variant, **(sizes | changes))


@pytest.mark.parametrize(("variant", "factor"), [("as_printed", 21.0), ("repaired", 1.0)])
def test_dp_rgda_as_printed_moves_a_clipped_mean_by_all_of_its_length(variant, factor):
    """21 signs with mean 1/21, one of them flipped: the mean clipped to C flips sign, S times 2C/S.

    The mean of clipped gradients moves by 2C/S, neither more nor less.
    """
    signs = np.resize([1.0, -1.0], 21)[:, None]
    problem = Cosine(signs)
    solver = recursive(problem, variant, C_v=0.01)
    moved, declared, _ = exchanged(solver, problem, 0, -signs[0], 0)
    # the second release is of grad_y: at the start sin w = v = 0, so that it is the record
    assert declared[1] == pytest.approx(2 * 0.01 / 21)
    assert moved[1] / declared[1] == pytest.approx(factor)


def test_dp_rgda_as_printed_never_moves_y():
    """K = 1 and s_t = argmin over {0}: y_{t+1} = y_{t,0} = y_t. Repaired K >= 2 and s_t >= 1."""
    problem = Cosine.sample(30, 2, RNG)
    finals = {}
    for variant in DPRGDA.variants:
        solver = recursive(problem, variant, alpha=0.01)
        run = solver.run(problem, seed=0, record=True)
        assert len(run.history.path) > 1
        finals[variant] = np.abs(run.history.path[:, problem.dim_w :] - problem.start[problem.dim_w :]).max()
        assert (solver.K == 1) == (variant == "as_printed")
    assert finals["as_printed"] == 0.0
    assert finals["repaired"] > 0.0


@pytest.mark.parametrize("anchors", [False, True])
def test_dp_rgda_as_printed_says_when_it_returns_its_start(anchors):
    """It returns x_{m_s}, an anchor; before the first there is none, and x is the start, as it is for m_s = 0."""
    problem = Cosine.sample(30, 2, RNG)
    solver = recursive(problem, "as_printed", steps=6, K=2, t_thres=100)
    # every length is below alpha or none is; every step of an escape ends it
    solver = replace(solver, alpha=1e9 if anchors else 1e-9, D_bar=1e-12, sigma_v=1e-3, sigma_u=1e-3)
    run = solver.run(problem, seed=0, record=True)
    path, start = run.history.path[:, : problem.dim_w], problem.start[: problem.dim_w]
    assert run.outcome == "uncertified"
    assert run.history.returned == (4 if anchors else 0)  # anchored at 0, 2 and 4
    np.testing.assert_array_equal(run.x, path[run.history.returned])
    assert np.array_equal(run.x, start) == (not anchors)
    assert [note for note in run.notes if "x is the start" in note] == (
        [] if anchors else ["x is the start: no later iterate became an anchor"]
    )
    assert np.abs(path[1:] - start).max(axis=1).min() > 0  # though the run moved


def test_dp_rgda_as_printed_takes_the_escape_of_its_lemmas_and_sizes_that_no_threshold_moves():
    problem, epsilon, delta = Cosine.sample(200, 2, RNG), 0.5, 1e-6
    solver = DPRGDA.configure(problem, epsilon=epsilon, delta=delta, variant="as_printed")
    d, L, M = 2, problem.smoothness, max(problem.lipschitz_w, problem.lipschitz_v)
    clipped = DPRGDA.configure(problem, epsilon=epsilon, delta=delta, variant="as_printed", C_v=0.1 * M)
    assert (solver.C_v, clipped.C_v) == (M, 0.1 * M)
    for name in ("steps", "period", "S2"):  # Lemma 5 has them from M, a bound on f's gradients, not from a threshold
        assert getattr(solver, name) == getattr(clipped, name)
    L_Phi, rho = L * (1 + L / problem.concavity), problem.hessian_lipschitz
    r_0 = 0.1 * solver.r / math.sqrt(d)
    threshold = 2 * math.log(solver.eta_H * math.sqrt(rho * solver.alpha) * L_Phi / (4 * rho * r_0)) / solver.eta_H
    assert solver.t_thres == math.ceil(threshold)
    assert solver.D_bar == pytest.approx((1 / (2 * L_Phi * solver.eta_H * solver.t_thres)) ** 2)


def test_dp_rgda_as_printed_certifies_a_strict_saddle():
    """No noise, all records, and a curvature 5 % beyond alpha_H: the printed t_thres is over before a step counts."""
    problem = Quartic.sample(200, 3, np.random.default_rng(0), curvature=0.45, radius=1.0)
    curvature = np.linalg.eigvalsh(problem.primal_hessian(np.zeros(3)))[0]
    alpha = (curvature / 1.05) ** 2 / problem.hessian_lipschitz
    certified = dict.fromkeys(DPRGDA.variants, 0)
    for variant in DPRGDA.variants:
        solver = DPRGDA.configure(
            problem, epsilon=0.5, delta=1e-4, variant=variant, alpha=alpha, steps=3000, S1=200, S2=200, period=1,
            escapes=3000, private=False, C_v=1e3, C_u=50.0,
        )  # fmt: skip
        for seed in range(10):
            run = solver.run(problem, seed=seed)
            strict = np.linalg.eigvalsh(problem.primal_hessian(run.x))[0] < -math.sqrt(
                problem.hessian_lipschitz * alpha
            )
            certified[variant] += run.outcome == "certified" and strict
    assert certified == {"as_printed": 10, "repaired": 0}


def test_dp_rgda_repaired_says_how_far_its_escape_is_from_a_proof():
    problem = Cosine.sample(200, 2, RNG)
    settings = {"epsilon": 0.5, "delta": 1e-6, "C_v": 5.0, "C_u": 0.1}
    (note,) = DPRGDA.configure(problem, **settings).notes
    assert note.startswith("an unbroken escape is no proof: Lemmas 6 and 7, repaired, ask for C >= ")
    for part in ("t_thres >= ", "D_bar <= ", "estimates within "):
        assert part in note
    X = 2 * math.sqrt(2) / 0.1
    C = 12 * math.log(4 * X)  # eta_H = 1/L_Phi
    short = DPRGDA.configure(problem, C=1.001 * C, private=False, **settings)
    asked = math.ceil(short.t_thres * math.log(4 * X) / math.log(X)) + 1
    kept = DPRGDA.configure(
        problem, C=1.001 * C, private=False, t_thres=asked, D_bar=(short.r / asked) ** 2, **settings
    )
    assert len(short.notes) == 1
    assert kept.notes == ()


def test_dp_rgda_counts_one_refresh_an_iteration_at_most():
    """Period 1 and an escape an iteration: as many refreshes as there are iterations, not twice as many."""
    problem = Cosine.sample(200, 2, RNG)
    solver = DPRGDA.configure(problem, epsilon=0.5, delta=1e-6, steps=30, period=1, K=2)
    assert solver.escapes == 30
    refreshes, differences = solver.events(problem)
    assert (refreshes.count, differences.count) == (30, 60)
    assert [each.count for each in replace(solver, period=10, escapes=5).events(problem)] == [8, 60]


def test_dp_rgda_reports_a_perturbation_beyond_its_lemma():
    problem, settings = Cosine.sample(200, 2, RNG), {"epsilon": 0.5, "delta": 1e-6}
    with pytest.raises(InputError, match="t_thres must be given where r is far beyond"):
        DPRGDA.configure(problem, r=50.0, **settings)
    assert any(
        note.startswith("Lemma 7 assumes r <= ")
        for note in DPRGDA.configure(problem, r=50.0, t_thres=9, **settings).notes
    )


# DP-SGDA


def test_dp_sgda_as_printed_draws_a_record_twice():
    """Line 4 draws with replacement: k copies of the record move the mean by 2kG/m, and Lemma 2 counts one."""
    ones = np.ones((12, 2))
    problem = Bilinear(ones / math.sqrt(2), coupling=0.0)  # grad_w is the record's first part
    for variant, most in (("as_printed", 2), ("repaired", 1)):
        solver = DPSGDA.configure(problem, epsilon=1.0, delta=1e-3, variant=variant, steps=40, batch=6)
        moved, _, history = exchanged(solver, problem, 0, -problem.records[0], 0)
        copies = (history.drawn == 0).sum(axis=1)
        # |b| = 1/sqrt 2 on both sides
        np.testing.assert_allclose(moved[::2], 2 * copies / (6 * math.sqrt(2)), rtol=0, atol=1e-12)
        assert copies.max() >= most if variant == "as_printed" else copies.max() == 1


# The printed noise


@pytest.mark.parametrize(
    ("name", "sizes", "low", "high"),
    [
        ("dp_sgda", {}, 0.2, 0.6),
        ("dp_sgda_clipped", {}, 0.2, 0.6),
        ("dptd", {"steps": 30}, 0.4, 0.7),
        ("dp_rgda", {"steps": 12}, 4.0, 8.0),
    ],
)
def test_what_the_accountant_says_of_the_printed_noise(name, sizes, low, high):
    """Epsilon certified over epsilon claimed, on the sensitivities that the paper declares: below 1 it is wasted.

    The repaired noise is what the accountant asks for, no less and at most 1 % more.
    """
    problem = example(algorithm(name).example)
    found = {}
    for variant in algorithm(name).variants:
        solver = configure(name, problem, epsilon=1.0, delta=1e-5, variant=variant, **sizes)
        found[variant] = certify(solver.events(problem), delta=1e-5).epsilon
    assert low < found["as_printed"] < high
    assert 0.99 < found["repaired"] <= 1
