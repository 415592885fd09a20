"""DP-SGDA against plain NumPy, its declared privacy events and its invariants."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest
from chunks import map_chunks
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.descent import descent_ascent
from reference.replay import replayed

from dpcheck import InputError, certify, solve, theorem
from dpcheck.algorithms.problem import with_record
from dpcheck.catalogue.yang2022.dp_sgda import DPSGDA, printed_batch, printed_noise
from dpcheck.events import Gaussian, Repeated, Sampled
from dpcheck.problems import example
from dpcheck.problems.auc import AUC
from dpcheck.problems.bilinear import Bilinear
from dpcheck.problems.quadratic import Quadratic

RNG = np.random.default_rng(5)


def small_auc(n=40, d=3):
    X = RNG.normal(size=(n, d))
    X /= np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
    return AUC.from_data(X, np.where(np.arange(n) % 3, -1.0, 1.0), positive_share=0.3)


PROBLEMS = {
    "auc": small_auc(),
    "bilinear": Bilinear.sample(40, 3, RNG, coupling=1.5, radius=0.4),
    "quadratic": Quadratic.sample(40, 3, RNG, mu_x=0.5, mu_y=2.0, radius=0.3),
}


def configured(problem, **changes):
    fields = {
        "eta_w": np.linspace(0.5, 0.1, 30), "eta_v": np.full(30, 0.2), "sigma_w": 0.3,
        "sigma_v": 0.6, "batch": 7,
    }  # fmt: skip
    return DPSGDA(**(fields | changes))


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("sampling", ["with_replacement", "without_replacement", "poisson"])
@pytest.mark.parametrize("sigma", [0.0, 0.5])
@pytest.mark.parametrize("output", ["average", "last"])
def test_equals_plain_numpy(name, sampling, sigma, output):
    """The kernel and a NumPy replay of its minibatches and noise agree to 1e-10."""
    problem = PROBLEMS[name]
    solver = configured(
        problem, sampling=sampling, sigma_w=sigma, sigma_v=2 * sigma, output=output, clip_w=0.8, clip_v=0.5
    )
    run = solver.run(problem, seed=3, record=True)
    if sigma == 0:
        np.testing.assert_array_equal(run.history.released, run.history.clean)
    replay = replayed(run, descent_ascent)
    assert replay.differences.first == {}
    assert max(replay.differences.largest.values()) <= 1e-10
    assert replay.differences.compared["gradients"] == 2 * solver.steps + 1


def test_recording_does_not_change_the_run():
    problem = PROBLEMS["auc"]
    solver = configured(problem)
    bare, recorded = solver.run(problem, seed=1), solver.run(problem, seed=1, record=True)
    np.testing.assert_array_equal(bare.x, recorded.x)
    assert bare.history.released.size == bare.history.path.size == 0


def test_same_bits_for_any_number_of_workers():
    problem = PROBLEMS["quadratic"]
    solver = configured(problem)

    def work(rng, size):
        return solver.outputs(problem, rng, size)

    one, four = (np.concatenate(map_chunks(work, 1050, seed=9, chunk=100, jobs=jobs)) for jobs in (1, 4))
    np.testing.assert_array_equal(one, four)
    assert len(np.unique(one[:, 0])) == 1050


def test_without_the_compiler_the_kernels_do_the_same():
    """NUMBA_DISABLE_JIT=1 runs the same functions as plain Python, to rounding."""
    program = (
        "import numpy as np\n"
        "from dpcheck.problems.bilinear import Bilinear\n"
        "from dpcheck.catalogue.yang2022.dp_sgda import DPSGDA\n"
        "p = Bilinear.sample(20, 2, np.random.default_rng(0))\n"
        "for s in ('with_replacement', 'without_replacement', 'poisson'):\n"
        "    a = DPSGDA(np.full(9, .3), np.full(9, .3), .1, .2, 4, s, clip_w=.9)\n"
        "    print(*a.run(p, seed=2).x)\n"
    )
    outputs = []
    for disable in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "NUMBA_DISABLE_JIT": disable},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        outputs.append(np.array(done.stdout.split(), float))
    np.testing.assert_allclose(outputs[0], outputs[1], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", PROBLEMS)
def test_iterates_stay_in_the_domains(name):
    problem = PROBLEMS[name]
    run = configured(problem, sigma_w=5.0, sigma_v=5.0).run(problem, seed=0, record=True)
    for part, domain in (
        (run.history.path[:, : problem.dim_w], problem.domain_w),
        (run.history.path[:, problem.dim_w :], problem.domain_v),
    ):
        touched = False
        for start, stop, kind, radius in domain:
            block = part[:, int(start) : int(stop)]
            size = np.linalg.norm(block, axis=1) if kind == 0 else np.abs(block).max(1)
            assert size.max() <= radius * (1 + 1e-12)
            touched |= size.max() > radius * (1 - 1e-9)
        assert touched  # the noise is large enough for the projection to matter


@pytest.mark.parametrize("name", PROBLEMS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_gradients_respect_the_proved_constants(name, data):
    """Lipschitz and smoothness constants hold at random feasible points (never above 1)."""
    problem = PROBLEMS[name]
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))

    def point():
        parts = []
        for size, domain in ((problem.dim_w, problem.domain_w), (problem.dim_v, problem.domain_v)):
            x = np.empty(size)
            for start, stop, kind, radius in domain:
                u = rng.normal(size=int(stop - start))
                x[int(start) : int(stop)] = radius * u / np.linalg.norm(u) if kind == 0 else radius * np.sign(u)
            parts.append(x * rng.choice([1.0, rng.random()]))
        return parts

    def gradient(w, v):
        out_w, out_v = np.empty(problem.dim_w), np.empty(problem.dim_v)
        problem.gradient(problem.params, problem.arranged[i], w, v, out_w, out_v)
        return out_w, out_v

    i = int(rng.integers(len(problem.records)))
    (w, v), (w2, v2) = point(), point()
    (g_w, g_v), (h_w, h_v) = gradient(w, v), gradient(w2, v2)
    assert np.linalg.norm(g_w) <= problem.lipschitz_w * (1 + 1e-12)
    assert np.linalg.norm(g_v) <= problem.lipschitz_v * (1 + 1e-12)
    moved = np.linalg.norm(np.concatenate([g_w - h_w, g_v - h_v]))
    apart = np.linalg.norm(np.concatenate([w - w2, v - v2]))
    assert moved <= problem.smoothness * apart * (1 + 1e-9)


def test_lipschitz_constants_of_auc_are_attained():
    """At h = B, a = -B, v = 2B with the heavier class G_w and G_v are reached, not only bounded."""
    p, B = 0.2, 1.0
    problem = AUC.from_data(np.eye(2), [1.0, -1.0], positive_share=p, radius=B)
    out_w, out_v = np.empty(4), np.empty(1)
    w = np.array([-B, 0.0, B, 0.0])
    problem.gradient(problem.params, problem.arranged[0], w, np.array([2 * B]), out_w, out_v)
    assert np.linalg.norm(out_w) == pytest.approx(problem.lipschitz_w)
    w = np.array([B, 0.0, 0.0, 0.0])
    problem.gradient(problem.params, problem.arranged[0], w, np.array([2 * B]), out_w, out_v)
    assert abs(out_v[0]) == pytest.approx(problem.lipschitz_v)


def test_events_say_what_was_done():
    problem = PROBLEMS["auc"]
    solver = configured(problem, clip_w=0.5)
    (event,) = solver.events(problem)
    assert event.count == 30
    step = event.event
    assert (step.scheme, step.population, step.batch) == ("without_replacement", 40, 7)
    z_w, z_v = (mechanism.noise_multiplier for mechanism in step.mechanisms)
    assert z_w == pytest.approx(0.3 * 7 / (2 * 0.5))
    assert z_v == pytest.approx(0.6 * 7 / (2 * problem.lipschitz_v))


def test_declared_sensitivity_is_reached_and_never_exceeded():
    """One record moves the minibatch mean by 2G/m at the worst pair, and by no more elsewhere."""
    ones = np.array([[1.0, 1.0]])
    problem = Bilinear(np.repeat(-ones, 10, axis=0), coupling=0.0)
    other = with_record(problem, 9, ones[0])
    solver = configured(problem, sigma_w=0.0, sigma_v=0.0, batch=10)
    runs = [solver.run(p, seed=0, record=True).history.paired().clean for p in (problem, other)]
    assert np.abs(runs[0] - runs[1]).max() == pytest.approx(2 * problem.lipschitz_w / 10)


def test_clipping_bounds_a_wild_record():
    wild = with_record(PROBLEMS["auc"], 0, np.array([1e6, 0.0, 0.0, 1.0]))
    solver = configured(wild, sigma_w=0.0, sigma_v=0.0, batch=40, clip_w=0.5, clip_v=0.25)
    clean = solver.run(wild, seed=0, record=True).history.paired().clean
    calm = solver.run(PROBLEMS["auc"], seed=0, record=True).history.paired().clean
    dim_w = wild.dim_w
    assert np.linalg.norm(clean[0, :dim_w] - calm[0, :dim_w]) <= 2 * 0.5 / 40 + 1e-12
    assert np.linalg.norm(clean[0, dim_w:] - calm[0, dim_w:]) <= 2 * 0.25 / 40 + 1e-12


def test_as_printed_follows_remark_1():
    problem = PROBLEMS["bilinear"]
    settings = {"epsilon": 0.5, "delta": 1e-4, "variant": "as_printed", "steps": 9}
    solver = DPSGDA.configure(problem, **settings)
    assert solver.sampling == "with_replacement"
    assert solver.batch == printed_batch(40, 9, 0.5) == math.ceil(40 * math.sqrt(0.5 / 36))
    G = 1.5 * 0.4 + 1
    assert solver.sigma_w == pytest.approx(8 * G * math.sqrt(9 * math.log(1e4)) / (40 * 0.5))
    assert solver.sigma_w == printed_noise(problem.lipschitz_w, 40, 9, 0.5, 1e-4)
    assert solver.notes == (DPSGDA.understated,)
    assert DPSGDA.configure(problem, sampling="without_replacement", **settings).notes == ()


def test_leaving_remark_1_is_reported():
    problem = PROBLEMS["bilinear"]
    run = solve("dp_sgda", problem, epsilon=2.0, delta=0.01, variant="as_printed", batch=1, steps=3)
    assert [note.split(",")[0] for note in run.notes] == [
        "Theorem 2a assumes epsilon <= 1 (Remark 1); here epsilon = 2",
        "Theorem 2a assumes delta <= 1/n^2 (Remark 1); here delta = 0.01",
        "Theorem 2a assumes m >= n sqrt(epsilon/(4 T)) (Remark 1); here T = 3",
        DPSGDA.understated.split(",")[0],
        "batch = 1",
        "steps = 3",
        f"the noise is certified at epsilon = {certify(run.events, delta=0.01).epsilon:.4g}",
    ]


@pytest.mark.parametrize("sampling", ["without_replacement", "with_replacement", "poisson"])
def test_repaired_noise_is_what_the_accountant_asks_for(sampling):
    problem = PROBLEMS["auc"]
    run = solve("dp_sgda", problem, epsilon=1.0, delta=1e-5, steps=20, batch=4, sampling=sampling)
    certified = certify(run.events, delta=1e-5).epsilon
    assert 0.97 < certified <= 1.0


BAD = {
    "epsilon must be a finite number > 0, got 0.0": {"epsilon": 0.0},
    "epsilon must be a finite number > 0, got -1": {"epsilon": -1},
    "delta must lie in (0, 1), got 1.5": {"delta": 1.5},
    "delta must lie in (0, 1), got 0": {"delta": 0},
    "batch must be at most the number of records, 40, got 41": {"batch": 41},
    "steps must be a whole number >= 1, got 2.5": {"steps": 2.5},
    "sampling must be one of with_replacement, without_replacement, poisson, got once": {"sampling": "once"},
    "output must be one of average, last, uniform, got best": {"output": "best"},
    "variant must be one of as_printed, repaired, got mended": {"variant": "mended"},
    "clip_w must be > 0, got -1": {"clip_w": -1, "variant": "as_printed", "clip_v": 1.0},
}


@pytest.mark.parametrize("message", BAD)
def test_bad_parameters_are_named(message):
    arguments = {"epsilon": 1.0, "delta": 1e-3, "steps": 3} | BAD[message]
    with pytest.raises(InputError) as caught:
        solve("dp_sgda", PROBLEMS["bilinear"], **arguments)
    assert str(caught.value) == message


BAD_DATA = {
    "X must be finite, got nan at row 1, column 0": ([[0.1], [np.nan]], [1, -1]),
    "X must be finite, got inf at row 0, column 0": ([[np.inf], [0.1]], [1, -1]),
    "y must hold labels -1 and 1, both present, got labels [1.0]": ([[0.1], [0.2]], [1, 1]),
    "y must have one label a row of X (2), got 3": ([[0.1], [0.2]], [1, -1, 1]),
    "X must hold at least one record, got shape (0, 3)": (np.empty((0, 3)), []),
    "X must have shape (n, k), got shape (3,)": ([1.0, 0.0, 0.0], [1, -1, 1]),
    "X must have |x| <= 1, got 2.0": ([[2.0], [0.1]], [1, -1]),
    "X must hold numbers, got str of <U5": ("adult", [1, -1]),
}


@pytest.mark.parametrize("message", BAD_DATA)
def test_bad_data_is_named(message):
    with pytest.raises(InputError) as caught:
        AUC.from_data(*BAD_DATA[message])
    assert str(caught.value) == message


def test_events_describe_the_whole_run():
    run = solve("dp_sgda", PROBLEMS["bilinear"], epsilon=1.0, delta=1e-3, steps=5)
    (event,) = run.events
    assert isinstance(event, Repeated)
    assert isinstance(event.event, Sampled)
    assert all(isinstance(mechanism, Gaussian) for mechanism in event.event.mechanisms)


def test_theorem_2b_is_for_problems_that_are_not_smooth():
    problem = PROBLEMS["bilinear"]
    solver = DPSGDA.configure(problem, epsilon=0.5, delta=1e-4, theorem="2b")
    slowest = max(math.sqrt(40), math.sqrt(problem.dim_w * math.log(1e4)) / 0.5)
    assert (solver.steps, solver.batch, solver.output) == (1_600, 1, "average")
    assert set(solver.eta_w) == set(solver.eta_v) == {1 / (40 * slowest)}
    assert DPSGDA.configure(example("td_mlp"), epsilon=1.0, delta=1e-4, theorem="2b", steps=9).steps == 9


def test_theorem_3_takes_the_steps_of_its_proof():
    """As printed those that the theorem's own record has; repaired from where they are within the proof's limits."""
    problem = Quadratic.sample(40, 2, np.random.default_rng(0), mu_x=0.5, mu_y=1.0, coupling=1.0)
    L, pl, settings = problem.smoothness, 0.5, {"epsilon": 0.5, "delta": 1e-4, "theorem": "3", "pl": 0.5}
    printed = DPSGDA.configure(problem, variant="as_printed", **settings)
    for t in (1, 7, 40):
        stated = theorem("yang2022.theorem_3").schedule(kappa=L, mu=pl, L=L, t=t)
        assert (printed.eta_w[t - 1], printed.eta_v[t - 1]) == pytest.approx((stated["eta_w"], stated["eta_v"]))
    assert (printed.steps, printed.output) == (40, "last")
    assert DPSGDA.configure(problem, variant="as_printed", **(settings | {"theorem": 3})).output == "last"
    assert printed.eta_w[0] > 1 / (L + L**2) < 1 / L < printed.eta_v[0]
    repaired = DPSGDA.configure(problem, **settings)
    assert repaired.eta_w.max() < 1 / (L + L**2)
    assert repaired.eta_v.max() < 1 / L
    ratio = repaired.eta_v / printed.eta_v / (repaired.eta_w / printed.eta_w) ** (2 / 3)
    np.testing.assert_allclose(ratio, 1)  # both at the same t + t_0
    long = DPSGDA.configure(problem, steps=20_000, batch=40, **settings).quiet().run(problem, seed=0, at=[0, 19_999])
    first, last = (problem.gap(x[:2], x[2:]) for x in long.history.path)
    assert last < 0.02 * first


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"theorem": "4"}, "theorem must be 2a, 2b or 3, got 4"),
        ({"theorem": "3"}, "pl must be given with theorem 3, and not without, got None"),
        ({"pl": 0.5}, "pl must be given with theorem 3, and not without, got 0.5"),
        ({"theorem": "3", "pl": -1.0}, "pl must be a finite number > 0, got -1.0"),
        ({"theorem": "3", "pl": 0.5}, "problem must be strongly concave in v, got bilinear"),
    ],
)
def test_schedules_that_there_are_not(settings, message):
    with pytest.raises(InputError) as raised:
        DPSGDA.configure(PROBLEMS["bilinear"], epsilon=0.5, delta=1e-4, **settings)
    assert str(raised.value) == message
