"""DP-SGDA: its declared events and sensitivity, its schedules, and what it refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcheck import InputError, certify, solve
from dpcheck.algorithms.problem import with_record
from dpcheck.catalogue.yang2022.dp_sgda import DPSGDA, printed_batch, printed_noise
from dpcheck.problems import example
from dpcheck.problems.auc import AUC
from dpcheck.problems.bilinear import Bilinear
from dpcheck.problems.quadratic import Quadratic

BILINEAR = Bilinear.sample(40, 3, np.random.default_rng(5), coupling=1.5, radius=0.4)


def configured(**changes):
    fields = {
        "eta_w": np.linspace(0.5, 0.1, 30), "eta_v": np.full(30, 0.2), "sigma_w": 0.3,
        "sigma_v": 0.6, "batch": 7,
    }  # fmt: skip
    return DPSGDA(**(fields | changes))


def test_events_say_what_was_done():
    problem = BILINEAR
    solver = configured(clip_w=0.5)
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
    solver = configured(sigma_w=0.0, sigma_v=0.0, batch=10)
    runs = [solver.run(p, seed=0, record=True).history.paired().clean for p in (problem, other)]
    assert np.abs(runs[0] - runs[1]).max() == pytest.approx(2 * problem.lipschitz_w / 10)


def test_as_printed_follows_remark_1():
    problem = BILINEAR
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
    problem = BILINEAR
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
    run = solve("dp_sgda", BILINEAR, epsilon=1.0, delta=1e-5, steps=20, batch=4, sampling=sampling)
    assert 0.97 < certify(run.events, delta=1e-5).epsilon <= 1.0


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
        solve("dp_sgda", BILINEAR, **arguments)
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


def test_theorem_2b_is_for_problems_that_are_not_smooth():
    solver = DPSGDA.configure(example("td_mlp"), epsilon=1.0, delta=1e-4, theorem="2b", steps=9)
    assert (solver.steps, solver.output) == (9, "average")


def test_theorem_3_takes_the_steps_of_its_proof():
    """Repaired from where they are within the proof's limits."""
    problem = Quadratic.sample(40, 2, np.random.default_rng(0), mu_x=0.5, mu_y=1.0, coupling=1.0)
    L, settings = problem.smoothness, {"epsilon": 0.5, "delta": 1e-4, "theorem": "3", "pl": 0.5}
    printed = DPSGDA.configure(problem, variant="as_printed", **settings)
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
        DPSGDA.configure(BILINEAR, epsilon=0.5, delta=1e-4, **settings)
    assert str(raised.value) == message
