"""Sums with noise along a tree, and the algorithm that uses them: DP-RGDA for the risk of the population."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcheck import InputError, certify
from dpcheck.algorithms.problem import with_record
from dpcheck.catalogue.xu2026 import rgda as tree
from dpcheck.catalogue.xu2026.dp_rgda import DPRGDA
from dpcheck.problems.auc import AUC
from dpcheck.problems.cosine import Cosine
from dpcheck.solvers import configure

EPSILON, DELTA = 2.0, 1e-5
PROBLEM = Cosine.sample(3000, 2, np.random.default_rng(0))


def classification():
    """Gradients differ by more where a record is longer."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 2)), np.where(rng.random(3000) < 0.4, 1.0, -1.0)
    return AUC.from_data(X / np.linalg.norm(X, axis=1).max(), y, positive_share=0.4)


def grow(increments, noise=None):
    """All sums, base and increments 1 to j; row j - 1 of ``noise`` goes to the node that increment j closes."""
    count, d = increments.shape
    height = tree.levels(count)
    clean, nodes, base, out = np.zeros((height, d)), np.zeros((height, d)), np.full(d, 3.0), np.empty(d)
    sums = []
    for j in range(1, count + 1):
        level = tree.close(j, increments[j - 1], clean, nodes)
        if noise is not None:
            nodes[level] += noise[j - 1]
        tree.add_prefix(j, nodes, base, out)
        sums.append(out.copy())
    return np.array(sums)


@settings(deadline=None)  # the first example compiles
@given(st.integers(1, 70), st.integers(0, 2**32 - 1))
def test_without_noise_the_sums_are_the_sums(count, seed):
    increments = np.random.default_rng(seed).normal(size=(count, 3))
    np.testing.assert_allclose(grow(increments), 3 + increments.cumsum(0), rtol=0, atol=1e-12)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 9, 64, 100])
def test_few_noises_a_sum_and_few_nodes_an_increment(count):
    """Noise j is the j-th unit vector, so that a sum shows its noises; and so does an increment its nodes."""
    most = math.floor(math.log2(count)) + 1
    assert tree.levels(count) == most
    noises = (grow(np.zeros((count, count)), np.eye(count)) - 3).sum(1)
    np.testing.assert_array_equal(noises, [bin(j).count("1") for j in range(1, count + 1)])
    clean, nodes, held = np.zeros((most, count)), np.zeros((most, count)), np.zeros(count)
    for j, increment in enumerate(np.eye(count), start=1):
        held += nodes[tree.close(j, increment, clean, nodes)]
    assert held.max() == most


def configured(problem=PROBLEM, **changes):
    """A period of 3 x 5 - 1 differences, each in 4 nodes at most."""
    sizes = {"theorem": "2", "alpha": 0.02, "steps": 20, "period": 5, "K": 3, "escapes": 4}
    sizes |= {"r": 0.1, "t_thres": 3, "D_bar": 0.01}
    return DPRGDA.configure(problem, epsilon=EPSILON, delta=DELTA, **(sizes | changes))


def test_a_record_is_in_the_releases_of_one_minibatch_and_they_add_up_to_epsilon():
    """The moves of all releases, over their noise, are together at most the one shift that is accounted for."""
    problem = classification()
    solver = configured(problem, C_v=0.5, C_u=0.01)
    (event,) = solver.events(problem)
    assert certify((event,), delta=DELTA).epsilon == pytest.approx(EPSILON, rel=2e-3)
    assert certify((event,), delta=DELTA).epsilon <= EPSILON
    history = solver.run(problem, seed=0, record=True).history
    used = history.drawn[history.drawn >= 0]
    assert len(set(used)) == len(used)
    most, shifts = 0, []
    for record in history.drawn[:, 0]:  # one of every minibatch
        neighbour = with_record(
            problem, int(record), np.append(-problem.records[record, :2], problem.records[record, 2])
        )
        moved = np.linalg.norm(solver.replay(neighbour, history, seed=0).clean - history.clean, axis=1)
        assert (moved <= history.noise[:, 1] * (1 + 1e-9)).all()
        most = max(most, int((moved[::2] > 1e-12).sum()))  # of v; u takes the odd rows
        shifts.append(np.linalg.norm(moved / history.noise[:, 0]))
    assert most == 4  # the nodes that the first difference of a whole period is in
    of_v, of_u = (sigma / (2 * C / S) for sigma, C, S in (
        (solver.sigma_v, solver.C_v, solver.S1), (solver.sigma_u, solver.C_u, solver.S2)
    ))  # fmt: skip
    together = [1 / math.hypot(*[1 / z] * 2 * count) for z, count in ((of_v, 1), (of_u, most))]
    assert event.worst.noise_multiplier == pytest.approx(min(together))
    assert 0.3 / event.worst.noise_multiplier < max(shifts) <= (1 + 1e-9) / event.worst.noise_multiplier


def test_a_node_more_than_is_accounted_for_is_seen():
    """The same with a shorter tree's noise: the shift that a record could cause is beyond the certificate."""
    solver = configured()
    (event,) = solver.events(PROBLEM)
    (short,) = replace(solver, sigma_u=solver.sigma_u * math.sqrt(3 / 4)).events(PROBLEM)
    assert certify((short,), delta=DELTA).epsilon > EPSILON
    assert short.worst.noise_multiplier == pytest.approx(event.worst.noise_multiplier * math.sqrt(3 / 4))


@pytest.mark.parametrize("iterations", [0, 1, 3, 5, 20])
def test_an_earlier_iterate_costs_no_more(iterations):
    """The nodes closed so far; at a full period all of them."""
    events = configured().events(PROBLEM, iterations)
    spent = certify(events, delta=DELTA).epsilon if events else 0.0
    assert spent <= EPSILON
    assert (spent == 0) == (iterations == 0)


def test_the_schedule_is_the_repaired_one():
    n, epsilon = 200_000, 10.0
    problem = Cosine.sample(n, 2, np.random.default_rng(0))
    solver = DPRGDA.configure(problem, epsilon=epsilon, delta=1e-6, theorem=2, alpha=0.1, F0=3.0, escapes=30)
    a, L = math.sqrt(2 * math.log(1e6)) / (n * epsilon), problem.smoothness
    assert solver.eta == 0.1 / L
    assert solver.steps == math.ceil(3.0 * L / 0.1**2)
    assert solver.period == math.ceil(a / 0.1**3 + 1 / (n * 0.1**4))
    refreshes = min(solver.steps, math.ceil(solver.steps / solver.period) + 30)
    assert n // 2 // refreshes == solver.S1
    assert n // 2 // (solver.steps * solver.K - math.ceil(solver.steps / solver.period)) == solver.S2
    own = DPRGDA.configure(problem, epsilon=epsilon, delta=1e-6, theorem=2)
    assert own.alpha == pytest.approx(n ** (-1 / 3) + math.sqrt(a))


def test_an_override_is_compared_with_the_schedule_of_its_theorem():
    solver = configure("dp_rgda", PROBLEM, epsilon=EPSILON, delta=DELTA, theorem=2, alpha=0.5)
    own = configure("dp_rgda", PROBLEM, epsilon=EPSILON, delta=DELTA, theorem=2)
    assert f"alpha = 0.5, where the schedule by itself has {own.alpha:.6g}" in solver.notes


def test_too_few_records_for_one_pass_are_refused():
    with pytest.raises(InputError, match=r"have \d+ records, of which \d+ refreshes and 56 differences use each once"):
        configured(S1=400)
    with pytest.raises(InputError, match=r"a larger alpha takes fewer, got 100"):
        configured(Cosine.sample(100, 2, np.random.default_rng(0)))
    solver = configured()
    with pytest.raises(InputError, match=r"problem must have at least \d+ records, got 30"):
        solver.run(Cosine.sample(30, 2, np.random.default_rng(0)))
    with pytest.raises(InputError, match="theorem must be 1 or 2, got 3"):
        configured(theorem="3")


def test_it_leaves_the_saddle_with_noise():
    """From a strict saddle to where the primal function is lower, in at least 32 of 40 runs."""
    problem = Cosine.sample(200_000, 2, np.random.default_rng(0))
    solver = DPRGDA.configure(problem, epsilon=10.0, delta=1e-6, theorem="2", alpha=0.1, F0=3.0, escapes=30)
    w = solver.outputs(problem, np.random.default_rng(1), 40)[:, : problem.dim_w]
    saddle = problem.primal(problem.saddle_point()[0])
    assert np.mean([problem.primal(each) < saddle - 0.1 for each in w]) >= 0.8


def test_what_would_not_be_private_or_not_move_is_refused():
    for change, message in (({"K": 1}, "K must be at least 2, got 1"), ({"repaired": False}, "once must be False")):
        with pytest.raises(InputError, match=message):
            replace(configured(), **change).run(PROBLEM)
