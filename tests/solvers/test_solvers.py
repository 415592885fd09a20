"""What every algorithm of the registry must hold to, whatever it computes.

Each is run in every variant on the example problem its class names, at small sizes.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from chunks import map_chunks

from dpcheck import InputError, check, prove, solve
from dpcheck.algorithms.problem import ball, with_record
from dpcheck.algorithms.solver import rows_of
from dpcheck.catalogue.zhang2022.output_perturbation import FIELDS, Phased
from dpcheck.events import Disjoint, Gaussian, Laplace, Repeated, Sampled
from dpcheck.problems import PROBLEMS, example
from dpcheck.problems.product import Product
from dpcheck.problems.quadratic import Quadratic
from dpcheck.solvers import ALGORITHMS, algorithm, configure

EPSILON, DELTA = 1.0, 1e-5
CASES = [(name, variant) for name in ALGORITHMS for variant in algorithm(name).variants]


@cache
def case(name, variant):
    problem = example(algorithm(name).example)
    return problem, configure(name, problem, epsilon=EPSILON, delta=DELTA, variant=variant)


def multipliers(events):
    """Every noise multiplier that these events hold, in the order of release."""
    for event in events:
        if isinstance(event, Repeated):
            inner = list(multipliers((event.event,)))
            for _ in range(event.count):
                yield from inner
        elif isinstance(event, Sampled):
            yield from (part.noise_multiplier for part in event.mechanisms)
        elif isinstance(event, Disjoint):
            yield from multipliers(event.events)
        else:
            assert isinstance(event, (Gaussian, Laplace))
            yield event.noise_multiplier


@pytest.mark.parametrize(("name", "variant"), CASES)
def test_same_bits_for_one_and_four_workers(name, variant):
    problem, solver = case(name, variant)

    def work(rng, size):
        return solver.outputs(problem, rng, size)

    one, four = (np.concatenate(map_chunks(work, 8, seed=9, chunk=2, jobs=jobs)) for jobs in (1, 4))
    np.testing.assert_array_equal(one, four)
    assert len(np.unique(one, axis=0)) == 8


@pytest.mark.parametrize(("name", "variant"), CASES)
def test_recording_and_marks_do_not_change_the_run(name, variant):
    problem, solver = case(name, variant)
    bare, recorded = solver.run(problem, seed=1), solver.run(problem, seed=1, record=True)
    np.testing.assert_array_equal([*bare.x, *bare.y], [*recorded.x, *recorded.y])
    assert bare.history.released.size == 0
    assert len(recorded.history.path) > 0


@pytest.mark.parametrize(("name", "variant"), CASES)
def test_events_cover_what_the_kernel_drew(name, variant):
    """Not more releases than declared, and none with less noise for its sensitivity than declared."""
    problem, solver = case(name, variant)
    history = solver.run(problem, seed=2, record=True).history
    events = solver.events(problem)
    releases, draws, _ = solver.rows(problem)
    assert 0 < len(history.released) <= releases
    assert len(history.drawn) <= draws
    sigma, sensitivity = history.noise.T
    drawn = np.sort(np.where(sensitivity > 0, sigma / np.maximum(sensitivity, 1e-300), np.inf))
    declared = np.sort(list(multipliers(events)))[: len(drawn)]
    assert (drawn >= declared * (1 - 1e-9)).all()


@pytest.mark.parametrize(("name", "variant"), CASES)
def test_a_kept_iterate_rests_on_no_more_releases_than_its_events_count(name, variant):
    """Changing every release from ``rows_of(events(problem, t))`` on leaves iterate t as it was."""
    problem, solver = case(name, variant)
    history = solver.run(problem, seed=6, record=True).history
    for at in (0, 1, len(history.iterations) // 2, len(history.iterations) - 1):
        if at >= len(history.iterations):
            continue
        seen = rows_of(solver.events(problem, int(history.iterations[at])))[0]
        changed = replace(
            history, released=history.released + 0.1 * (np.arange(len(history.released)) >= seen)[:, None]
        )
        again = solver.replay(problem, changed, seed=6)
        np.testing.assert_array_equal(again.path[at], history.path[at])


@pytest.mark.parametrize(("name", "variant"), CASES)
def test_neighbours_move_a_release_by_its_declared_sensitivity_at_most(name, variant):
    """Records are exchanged for one another, and all earlier releases are the same on both sides."""
    problem, solver = case(name, variant)
    if variant == "as_printed" and solver.understated:
        pytest.skip(solver.understated)
    rng = np.random.default_rng(0)
    for trial in range(6):
        history = solver.run(problem, seed=trial, record=True).history
        first, second = rng.choice(len(problem.records), 2, replace=False)
        neighbour = with_record(problem, int(first), problem.records[second])
        moved = np.linalg.norm(solver.replay(neighbour, history, seed=trial).clean - history.clean, axis=1)
        assert (moved <= history.noise[:, 1] * (1 + 1e-9) + 1e-12).all()


@pytest.mark.parametrize(("name", "variant"), CASES)
def test_a_replay_on_the_same_data_is_the_run(name, variant):
    problem, solver = case(name, variant)
    history = solver.run(problem, seed=3, record=True).history
    again = solver.replay(problem, history, seed=3)
    np.testing.assert_allclose(again.clean, history.clean, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(again.path, history.path)


@pytest.mark.parametrize(("name", "variant"), CASES)
def test_solve_reports_progress_and_history(name, variant):
    seen = []
    run = solve(
        name, epsilon=EPSILON, delta=DELTA, variant=variant, watch=lambda done, total: seen.append((done, total))
    )
    done, total = seen[-1]
    assert 0 < done <= total == rows_of(run.events)[0]
    frame = run.to_frame()
    assert frame["iteration"].is_monotonic_increasing
    assert len(frame) >= 1


PROGRAM = """
import json
import sys
from dpcheck.problems import PROBLEMS, example
from dpcheck.solvers import algorithm, configure
found = {}
for name, variant in json.load(sys.stdin):
    problem = example(algorithm(name).example)
    solver = configure(name, problem, epsilon=1.0, delta=1e-5, variant=variant, **algorithm(name).tiny)
    run = solver.run(problem, seed=2)
    found[f"{name} {variant}"] = [*run.x, *run.y]
print(json.dumps(found))
"""


@cache
def interpreted():
    """The outputs of small runs of everything, as plain Python."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, input=json.dumps(CASES),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "variant"), CASES)
def test_without_the_compiler_the_kernels_do_the_same(name, variant):
    """NUMBA_DISABLE_JIT=1 runs the same functions as plain Python, to rounding."""
    problem = case(name, variant)[0]
    tiny = configure(name, problem, epsilon=EPSILON, delta=DELTA, variant=variant, **algorithm(name).tiny)
    run = tiny.run(problem, seed=2)
    np.testing.assert_allclose([*run.x, *run.y], interpreted()[f"{name} {variant}"], rtol=1e-9, atol=1e-11)


def test_wrong_names_are_refused_with_the_right_ones():
    with pytest.raises(InputError, match=r"algorithm must be one of .*dp_sgda"):
        solve("sgd")
    with pytest.raises(InputError, match="problem must be one of"):
        solve("dp_sgda", "mnist")
    with pytest.raises(InputError, match="problem must be a problem or the name of one, got 3"):
        solve("dp_sgda", 3)
    with pytest.raises(InputError, match=r"learning_rate must be an option of dp_sgda \(steps, "):
        solve("dp_sgda", learning_rate=1.0)
    with pytest.raises(InputError, match="names must be a name, an Algorithm or a path, or several, got 3"):
        check(3)
    with pytest.raises(InputError, match="jobs must be a whole number >= 1, got 0"):
        check("dp_sgda", jobs=0)
    with pytest.raises(InputError, match="what is to be proved must be text"):
        prove(3)


class Free(Quadratic):
    """A quadratic game whose w may be anything."""

    @property
    def domain_w(self):
        return ball(self.dim_w, math.inf)


@pytest.mark.parametrize("name", ["phased_primal", "phased_dual", "phased_minimax_output_perturbation"])
def test_a_schedule_that_needs_a_radius_refuses_a_free_domain(name):
    with pytest.raises(InputError, match="problem must bound w, got one that leaves it free"):
        solve(name, Free(example("quadratic").records))


CONVEX = [name for name in ALGORITHMS if issubclass(algorithm(name), Phased)]


@pytest.mark.parametrize("name", CONVEX)
def test_what_rests_on_convexity_refuses_problems_without(name):
    """There one record can move a minimiser from well to well: far beyond the declared sensitivity."""
    solver, refused = algorithm(name), 0
    for problem in map(example, PROBLEMS):
        if (problem.dim_v == 0) != getattr(solver, "minimisation", False):
            continue
        if problem.convexity < 0 or problem.concavity < 0:
            with pytest.raises(InputError, match=f"problem must be (convex in w|concave in v), got {problem.name}"):
                solver.configure(problem, epsilon=EPSILON, delta=DELTA)
            refused += 1
    assert refused > 0


def test_algorithm_5_holds_the_part_that_it_does_not_release_near_zero():
    """Line 4: mu/2 |w|^2, wherever the problem starts; the first solution is that of the equations, to its accuracy."""
    problem = Product.sample(200, 3, np.random.default_rng(0), mu=1.0)
    assert np.linalg.norm(problem.start[: problem.dim_w]) > 0.1
    run = solve("phased_dual", problem, epsilon=0.5, delta=1e-4, record=True)
    row = dict(zip(FIELDS, run.solver.phases[0], strict=True))
    m = problem.records[: int(row["last"])].mean(0)
    v = {}
    for name, centre in (("0", np.zeros(problem.dim_w)), ("start", problem.start[: problem.dim_w])):
        v[name] = m @ centre / (1 + row["r_v"] + m @ m / row["r_w"])  # where both gradients are 0
    near = math.sqrt(row["energy"] / row["mu_v"])
    assert abs(run.history.clean[0, 0] - v["0"]) <= near < abs(v["start"] - v["0"])


@pytest.mark.parametrize("name", ["privatediff", "dp_rgda", "dp_sgda"])
def test_a_schedule_takes_the_records_modulus_only_where_there_is_no_public_one(name):
    """The mean may be more strongly concave than each record, by private numbers: the schedule is the same."""

    class Mean(Quadratic):
        empirical_concavity = 50.0

    rng, schedules = np.random.default_rng(0), []
    options = {"theorem": "3", "pl": 0.5} if name == "dp_sgda" else {"r": 0.1, "t_thres": 3, "D_bar": 1.0}
    options = {} if name == "privatediff" else options
    records = Quadratic.sample(60, 2, rng).records
    for problem in (Quadratic(records), Mean(records)):
        solver = configure(name, problem, epsilon=0.3, delta=1e-5, **options)
        reals, counts, steps = solver.packed(problem)
        schedules.append(np.concatenate([reals, counts, steps.ravel()]))
    np.testing.assert_array_equal(*schedules)
