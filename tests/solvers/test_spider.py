"""The SPIDER baselines: declared privacy, the private choice, escape from a saddle; their problems in numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from reference.replay import Replay
from reference.spider import second_order_score, sto_spider
from scipy.integrate import trapezoid
from scipy.stats import laplace

from dpcheck import InputError, certify, solve
from dpcheck.accounting import privacy_curve
from dpcheck.algorithms.problem import Problem, with_record
from dpcheck.catalogue.xu2026.ada_dp_spider import AdaDPSpider
from dpcheck.catalogue.xu2026.dp_spider import DPSpider
from dpcheck.catalogue.xu2026.sto_spider import Limits, StoSpider, pure, scale_of, score_all
from dpcheck.events import Gaussian, Laplace
from dpcheck.problems import example
from dpcheck.problems.bilinear import Bilinear
from dpcheck.problems.double_well import DoubleWell
from dpcheck.problems.matrix_sensing import MatrixSensing
from dpcheck.problems.sensing import Sensing

RNG = np.random.default_rng(11)
PROBLEMS = {
    "double_well": DoubleWell.sample(30, 3, RNG, descent=0.8, bound=0.7, radius=1.3),
    "sensing": Sensing.sample(30, 3, RNG, rank=1, bound_a=0.9, bound_b=0.8, radius=2.0),
}
COMMON = {"b1": 20, "b2": 6, "eta": 0.1, "L0": 0.6, "Ls": 0.9, "sigma_1": 0.1, "sigma_2": 0.3}
# Small enough that clipping, escapes, certificates and exhausted budgets all happen.
SOLVERS = {
    "dp_spider": DPSpider(steps=30, period=7, **COMMON),
    "ada_dp_spider": AdaDPSpider(
        steps=60, refreshes=12, kappa=1e-3, chi=0.03, R=0.08, Gamma=4, Q=3, **COMMON
    ),
    "sto_spider": StoSpider(
        steps=30, refreshes=9, kappa=4e-3, gamma=0.2, Gamma=6, r=0.15, alpha=0.15, curvature=0.3, sigma_select=0.3,
        **COMMON,
    ),
}  # fmt: skip
EVERY = pytest.mark.parametrize("name", SOLVERS)


class Drawn(Replay):
    """A replay that draws again, from the run's stream, what the run draws beside its minibatches."""

    def __init__(self, run, seed):
        super().__init__(run)
        self.rng, self.answers = np.random.default_rng(seed), []

    def minibatch(self, size, *args, **kwargs):
        self.rng.random(size)
        return super().minibatch(size, *args, **kwargs)

    def release(self, value, *args):
        self.rng.standard_normal(len(value))
        return super().release(value, *args)

    def shaken(self, w, v, eta, r, *, returned):
        return self.rng.standard_normal(len(w))

    def selected(self, scale, seen):
        """Dwork and Roth 2014, Algorithm 1, at epsilon = 1/b, threshold 0 and sensitivity 1."""

        def laplace(width):
            first, second = self.rng.standard_exponential(2)
            return width * (first - second)

        threshold = laplace(2 * scale)
        passes = (t for t, w in enumerate(seen) if second_order_score(self, w) + laplace(4 * scale) >= threshold)
        chosen, score = super().selected(scale, seen)
        self.answers += [chosen, next(passes, -1)]
        return chosen, score


def test_the_private_choice_is_above_threshold():
    """The very answer, from the noise of the run's stream; near saddles the run moves by that noise as well."""
    answers = []
    for seed in range(4):
        for problem in PROBLEMS.values():
            replay = Drawn(SOLVERS["sto_spider"].run(problem, seed=seed, record=True), seed)
            sto_spider(replay)
            assert replay.differences.first == {}
            assert replay.answers[0] == replay.answers[1]
            answers.append(replay.answers[0])
    assert len(set(answers)) > 3


@EVERY
def test_neighbours_reach_the_declared_sensitivity_and_never_exceed_it(name):
    """On matrix sensing, where a record is in the differences too; its worst exchange comes near the bound."""
    problem, solver = PROBLEMS["sensing"], SOLVERS[name]
    records = [np.append(problem.bound_a * np.eye(3), side * problem.bound_b) for side in (1, -1)]
    start = np.array([1.0, 0, 0, 0, 1, 0])  # <A, U V'> = 0: opposite gradients
    there = replace(with_record(problem, 0, records[0]), initial=start)
    neighbour = with_record(there, 0, records[1])
    largest = {True: 0.0, False: 0.0}  # of the refreshes, of the differences
    for seed in range(5):
        history = solver.run(there, seed=seed, record=True).history
        moved = np.linalg.norm(solver.replay(neighbour, history, seed=seed).clean - history.clean, axis=1)
        assert (moved <= history.noise[:, 1] * (1 + 1e-9) + 1e-12).all()
        share = (moved / np.maximum(history.noise[:, 1], 1e-300))[: len(history.drawn)]
        fresh = history.drawn[:, 6] >= 0
        largest = {kind: max(found, share[fresh == kind].max()) for kind, found in largest.items()}
    assert largest[True] == pytest.approx(1)
    assert largest[False] > 0.7


@EVERY
def test_events_hold_the_budget(name):
    """Refreshes and differences at most, whatever the data: exactly as many for DP-SPIDER."""
    solver, problem = SOLVERS[name], PROBLEMS["double_well"]
    events = solver.events(problem)
    refreshes, differences = events[0].count, events[1].count
    assert events[0].event.mechanisms == (Gaussian(0.1 * 20 / 2),)
    assert events[1].event.mechanisms == (Gaussian(0.3 * 6 / 2),)
    assert (refreshes, differences) == {
        "dp_spider": (5, 25), "ada_dp_spider": (12, 59), "sto_spider": (9, 29),
    }[name]  # fmt: skip
    assert solver.events(problem, 0)[0].count == solver.events(problem, 0)[1].count == 0
    assert len(events) == (3 if name == "sto_spider" else 2)
    assert len(solver.events(problem, 5)) == 2  # the selection comes at the end
    for place in PROBLEMS.values():
        for seed in range(5):
            drawn = solver.run(place, seed=seed, record=True).history.drawn
            assert (drawn[:, 6] >= 0).sum() <= refreshes
            assert (drawn[:, 6] < 0).sum() <= differences


def test_the_print_is_short_of_noise_and_the_repair_is_not():
    """DP-SPIDER, c = 1: certified at several times the claim; the repair keeps the proportion of the two noises."""
    problem = example("double_well")
    printed = solve("dp_spider", problem, epsilon=1.0, delta=1e-5, variant="as_printed", steps=100, period=10, b2=200)
    repaired = solve("dp_spider", problem, epsilon=1.0, delta=1e-5, steps=100, period=10, b2=200)
    root = math.sqrt(math.log(1e5))
    assert printed.solver.sigma_1 == pytest.approx(root * math.sqrt(10) / 1000)
    assert printed.solver.sigma_2 == pytest.approx(root * 10 / 1000)
    assert certify(printed.events, delta=1e-5).epsilon > 2
    assert 0.99 < certify(repaired.events, delta=1e-5).epsilon <= 1
    ratios = [run.solver.sigma_1 / run.solver.sigma_2 for run in (printed, repaired)]
    assert ratios[0] == pytest.approx(ratios[1])


def test_a_pure_guarantee_is_declared_by_an_event_at_least_as_bad():
    """Randomised response is the worst epsilon_0-DP mechanism; the same epsilon's Laplace mechanism is less bad."""
    epsilons = np.linspace(0, 3, 61)
    for pure_epsilon in (0.05, 0.3, 1.0, 2.5):
        response = np.maximum(0, 1 - (1 + np.exp(epsilons)) / (1 + np.exp(pure_epsilon)))
        event = pure(1 / pure_epsilon)
        assert (privacy_curve(event)(epsilons) >= response - 1e-12).all()
        assert (privacy_curve(Laplace(1 / pure_epsilon))(epsilons) < response - 1e-4).any()
        nearly = Laplace(event.noise_multiplier * 1.001)
        assert (privacy_curve(nearly)(np.zeros(1)) < response[:1]).all()
        assert scale_of(1 / event.noise_multiplier) == pytest.approx(1 / pure_epsilon)
    assert pure(0.0) == Laplace(0.0)
    assert 1 / pure(1e-4).noise_multiplier == pytest.approx(2 * (1e4 - math.log(2)))


@settings(deadline=None, max_examples=15)
@given(
    arrays(np.float64, 4, elements=st.floats(-4, 4)),
    arrays(np.float64, 4, elements=st.sampled_from([-1.0, 0.0, 1.0])),
    st.floats(0.3, 3),
)
def test_above_threshold_is_as_private_as_its_scale_says(scores, moves, b):
    """Exact probabilities of every answer, by quadrature over the threshold; scores move by 1 at most."""

    def answers(q):
        thresholds = np.linspace(-60 * b, 60 * b, 60_001)
        weight = laplace.pdf(thresholds, scale=2 * b)
        found = []
        for k in range(len(q)):
            found.append(trapezoid(weight * laplace.sf(thresholds - q[k], scale=4 * b), thresholds))
            weight = weight * laplace.cdf(thresholds - q[k], scale=4 * b)
        return np.array([*found, trapezoid(weight, thresholds)])

    ratio = np.log(answers(scores) / answers(scores + moves))
    assert np.abs(ratio).max() <= (1 / b) * (1 + 1e-6)


def score_of(problem: Problem, w: np.ndarray, limits: Limits) -> float:
    """What Sto-SPIDER's private choice sees of one iterate."""
    found = np.empty(1)
    score_all(SOLVERS["sto_spider"].parts(problem), w[None], limits, found)
    return float(found[0])


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_the_selection_score_has_sensitivity_one(seed):
    """Any two records exchanged, clipped or not, at any point of W."""
    rng = np.random.default_rng(seed)
    problem = PROBLEMS["sensing"]
    record = rng.normal(size=10) * 10.0 ** rng.uniform(-1, 1)
    free = replace(problem, bound_a=math.inf, bound_b=math.inf)
    neighbour = with_record(free, int(rng.integers(30)), record)
    w = rng.normal(size=6) * rng.uniform(0, 1.5)
    limits = Limits(10 ** rng.uniform(-2, 1), 10 ** rng.uniform(-2, 1), rng.uniform(0, 2), rng.uniform(0, 2))
    found = [score_of(place, w, limits) for place in (free, neighbour)]
    assert abs(found[0] - found[1]) <= 1 + 1e-9


def test_the_score_is_the_closed_form_where_nothing_is_clipped():
    """Central differences against the problem's own Hessian: an error of h^2."""
    problem = PROBLEMS["double_well"]
    w = np.array([0.9, 0.1, -0.2])
    n, L0, Ls = 30, problem.lipschitz_w, 1.01 * problem.smoothness
    norm, least = np.linalg.norm(problem.primal_gradient(w)), np.linalg.eigvalsh(problem.primal_hessian(w))[0]
    for alpha, curvature in ((0.1, 5.0), (50.0, 0.2)):
        found = score_of(problem, w, Limits(L0, Ls, alpha, curvature))
        expected = min((alpha - norm) * n / (2 * L0), (least + curvature) * n / (2 * Ls * math.sqrt(3)))
        assert found == pytest.approx(expected, rel=1e-6)


LARGE = DoubleWell.sample(40_000, 3, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("dp_spider", {"steps": 400, "period": 20, "b2": 1000}),
        ("ada_dp_spider", {"steps": 2500, "b2": 1000}),
        ("sto_spider", {"steps": 400, "b2": 1000}),
    ],
)
def test_all_leave_the_saddle_they_start_at(name, options):
    """From the saddle to within reach of a minimum; those that certify are right by the closed forms."""
    problem = LARGE
    assert problem.saddle_point()[1] == pytest.approx(-1, abs=1e-3)
    solver = solve(name, problem, epsilon=1.0, delta=1e-6, seed=0, at=1, **options).solver
    for seed in range(2):
        run = solver.run(problem, seed=seed)
        if name == "dp_spider":  # its output is a uniform iterate, its last one has arrived
            w = solver.run(problem, seed=seed, at=[options["steps"] - 1]).history.path[0]
            assert abs(abs(w[0]) - 1) < 0.05
            continue
        assert run.outcome == "certified"
        alpha = 4 * solver.chi if name == "ada_dp_spider" else solver.alpha
        assert alpha < 0.12
        assert np.linalg.norm(problem.primal_gradient(run.x)) <= 1.2 * alpha
        assert np.linalg.eigvalsh(problem.primal_hessian(run.x))[0] > 0
        assert problem.gap(run.x, run.y) < 0.01


def test_the_setting_of_xu_et_al():
    """Appendix D on the value function itself: no constants, everything clipped at 1."""
    minimax = MatrixSensing.sample(60, 5, np.random.default_rng(0))
    problem = Sensing.of(minimax)
    with pytest.raises(InputError, match="L0 must be finite and > 0, got inf"):
        solve("dp_spider", problem, epsilon=2.0, delta=1e-6)
    given = {"epsilon": 2.0, "delta": 1e-6, "steps": 40, "b1": 30, "b2": 10, "eta": 0.02, "L0": 1.0}
    run = solve("dp_spider", problem, period=10, **given)
    assert run.solver.Ls == math.inf  # differences are clipped at 2 L0
    with pytest.raises(InputError, match="problem must have a Lipschitz Hessian"):
        solve("ada_dp_spider", problem, Ls=1.0, **given)
    runs = [run, *(solve(name, problem, Ls=1.0, rho=1.0, **given) for name in ("ada_dp_spider", "sto_spider"))]
    for run in runs:
        assert certify(run.events, delta=1e-6).epsilon <= 2
        assert np.isfinite(run.x).all()
        assert run.notes[0] == "gradients of norm up to inf are clipped to L0 = 1"


def test_what_the_algorithms_are_not_made_for():
    game = Bilinear.sample(40, 3, RNG)
    for name in SOLVERS:
        with pytest.raises(InputError, match="problem must have no v: this algorithm minimises over w alone"):
            solve(name, game)
        with pytest.raises(InputError, match="b2 must be at most the number of records, 30, got 31"):
            solve(name, PROBLEMS["double_well"], steps=5, b2=31)
    with pytest.raises(InputError, match="problem must have a Lipschitz Hessian"):
        solve("sto_spider", "mean_estimation", steps=5)
    with pytest.raises(InputError, match=r"selection must lie in \(0, 1\), got 1"):
        solve("sto_spider", PROBLEMS["double_well"], steps=5, selection=1)
    with pytest.raises(InputError, match="refreshes must be a whole number >= 1, got 0"):
        solve("ada_dp_spider", PROBLEMS["double_well"], steps=5, refreshes=0)


# The problems


def test_double_well_in_numbers():
    pair = DoubleWell(np.array([[0.5, -0.5], [-0.5, 0.5]]), descent=0.64)
    np.testing.assert_allclose(pair.minima(), [[0.8, 0], [-0.8, 0]], atol=1e-15)
    assert pair.saddle_point()[1] == pytest.approx(-0.64)
    assert pair.gap(np.zeros(2), np.empty(0)) == pytest.approx(0.64**2 / 4)
    np.testing.assert_array_equal(pair.start, [0, 0])
    tilted = DoubleWell(np.array([[0.9, 0.1]]))  # beyond 2 (1/3)^{3/2} = 0.385
    assert len(tilted.minima()) == 1
    np.testing.assert_allclose(tilted.primal_gradient(tilted.minima()[0]), 0, atol=1e-12)
    with pytest.raises(InputError, match="records must have a mean that leaves Phi two minima"):
        tilted.saddle_point()
    line = DoubleWell(np.array([[0.1], [-0.1]]))
    assert line.smoothness == 3 * 1.5**2 - 1
    assert line.lipschitz_w == pytest.approx(1.5**3 - 1.5 + 1)
    with pytest.raises(InputError, match=r"records must have \|z\| <= 1.0"):
        DoubleWell(np.array([[1.0, 1.0]]))


def test_sensing_is_the_value_function_of_matrix_sensing():
    minimax = MatrixSensing.sample(20, 4, np.random.default_rng(2), rank=2)
    problem, w = Sensing.of(minimax), np.random.default_rng(3).normal(size=16)
    assert problem.primal(w) == pytest.approx(minimax.primal(w), rel=1e-12)
    np.testing.assert_allclose(problem.primal_gradient(w), minimax.primal_gradient(w), rtol=1e-10)
    np.testing.assert_allclose(problem.primal_hessian(w), minimax.primal_hessian(w), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(problem.start, minimax.start[:16])
    assert problem.lipschitz_w == problem.smoothness == problem.hessian_lipschitz == math.inf
    shared = minimax.records.copy()
    shared[1, 0] = 0
    with pytest.raises(InputError, match="problem must have a dual variable for each record, got 19"):
        Sensing.of(replace(minimax, records=shared))


def test_sensing_refuses_what_breaks_its_bounds():
    A = np.append(np.diag([1.0, 0.5]).ravel(), 0.3)[None]
    Sensing(A, np.zeros(4), 2, 1, 1.0, 0.3, 1.0)
    for changes, message in (
        ({"bound_a": 0.9}, r"records must have \|A\| <= 0.9, got 1"),
        ({"bound_b": 0.2}, r"records must have \|b\| <= 0.2, got 0.3"),
        ({"initial": np.ones(4)}, "initial must lie in the ball of radius 1.0, got 2"),
        ({"initial": np.ones(3)}, r"initial must have shape \(4,\), got \(3,\)"),
        ({"rows": 3}, "records must have 1 column and a multiple of 3"),
        ({"rank": 0}, "rank must be a whole number >= 1, got 0"),
        ({"radius": -1.0}, "radius must be > 0, got -1.0"),
    ):
        options = {"records": A, "initial": np.zeros(4), "rows": 2, "rank": 1, "bound_a": 1.0, "radius": 1.0}
        with pytest.raises(InputError, match=message):
            Sensing(**(options | changes))
