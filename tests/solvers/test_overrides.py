"""Overrides of a schedule, alone and in pairs: a configuration with a note on each, or one line that refuses."""

from __future__ import annotations

import inspect
import itertools
import math
import random
import re

import pytest

from dpcheck import InputError, solve
from dpcheck.algorithms.schedule import said
from dpcheck.problems import example
from dpcheck.solvers import ALGORITHMS, algorithm, configure

VARIANTS = [(name, variant) for name in ALGORITHMS for variant in algorithm(name).variants]
COUNTS = {"steps", "batch", "rounds", "restart", "inner", "period", "S1", "S2", "K", "t_thres", "escapes", "b1", "b2",
          "refreshes", "Gamma", "Q", "most"}  # fmt: skip
WORDS = {
    "sampling": ["poisson", "with_replacement", "without_replacement", "single_pass"],
    "output": ["last", "uniform", "average"],
    "base": ["gradient_descent", "gda", "saddle_svrg"],
    "theorem": ["1", "2", "2a", "2b", 3],
    "private": [False],
}
GOOD = {True: [1, 2, 7, 10**3, 10**30], False: [1e-9, 0.3, 1, 50.0, 1e300]}
BAD = [0, -1, float("nan"), float("inf"), "x", True, None, 2.5]
PAIRS = 40  # a variant


def values(option):
    return WORDS.get(option, GOOD[option in COUNTS])


def cases(name, variant):
    record = algorithm(name)
    options = record.schedule_of(record.variants[-1], {}).options
    yield from ({option: value} for option in options for value in (*values(option), *BAD))
    pairs = [
        {first: one, second: other}
        for first, second in itertools.combinations(options, 2)
        for one in values(first)
        for other in values(second)
    ]
    yield from random.Random(name + variant).sample(pairs, min(PAIRS, len(pairs)))
    if "pl" in options:
        yield from ({"theorem": "3", "pl": 0.25, option: value} for option in options for value in values(option))


@pytest.fixture
def uncalibrated(monkeypatch):
    """The noise of whatever is calibrated is 3 sensitivities: a search for it takes most of the time."""

    def three(events, *, epsilon, delta):
        events(1.0)
        return 3.0

    monkeypatch.setattr("dpcheck.accounting.calibrate", three)


@pytest.mark.thorough
@pytest.mark.usefixtures("uncalibrated")
@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_any_override_configures_or_is_refused_in_one_line(name, variant):
    configured, refused = 0, {}
    for overrides in cases(name, variant):
        problem = example("polyak" if "pl" in overrides else algorithm(name).example)
        try:
            solver = configure(name, problem, epsilon=1.0, delta=1e-4, variant=variant, **overrides)
            solver.packed(problem), solver.events(problem), solver.rows(problem)
        except InputError as error:
            refused[str(error)] = overrides
        else:
            configured += 1
            for note in solver.notes:
                assert "\n" not in note
                assert "None" not in note
    assert configured > 0 < len(refused)
    assert all("\n" not in message and " must " in message for message in refused)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_number_that_can_be_given_is_described(name):
    """Each option is an attribute in the docstring of its schedule, or of a class that this extends."""
    for schedule in algorithm(name).schedules.values():
        described = set()
        for each in schedule.__mro__:
            lines = re.findall(r"^(\w+(?:, \w+)*) : ", inspect.cleandoc(each.__doc__ or ""), re.M)
            described.update(option for line in lines for option in line.split(", "))
        assert set(schedule.options) <= described


def test_a_number_is_the_given_one_wherever_another_follows_from_it():
    """A number is computed once, from what is given; what nobody reads is not computed."""
    problem = example("quadratic")
    schedule = algorithm("privatediff").scheduled(problem, epsilon=1.0, delta=1e-4, rounds=8)
    own = algorithm("privatediff").scheduled(problem, epsilon=1.0, delta=1e-4)
    assert schedule.restart == math.ceil(own.sizes.privacy_error ** (2 / 3) * 8) < own.restart
    assert "noise" not in vars(schedule)
    assert schedule.noise is schedule.noise


def test_an_override_that_meets_a_schedule_that_varies_is_reported_with_its_ends():
    notes = solve("privatediff", eta_y=0.1, inner=5, rounds=4, private=False).notes
    told = {note.split(" = ")[0]: note for note in notes if "by itself has" in note}
    assert list(told) == ["eta_y", "inner", "rounds"]
    assert told["eta_y"].endswith(" 0.707107 to 0.00854701")
    assert told["inner"] == "inner = 5, where the schedule by itself has 117"
    notes = solve("dp_sgda", "polyak", theorem="3", pl=0.25, eta=0.01, private=False).notes
    assert any(note.startswith("eta = 0.01, where the schedule by itself has ") and " to " in note for note in notes)


@pytest.mark.parametrize(
    ("name", "overrides"),
    [
        ("nispp", {"lam": 3.0, "batch": 7}),
        ("dptd", {"a": 0.1, "b": 2.0}),
        ("dp_rgda", {"C": 3.0, "F0": 2.0, "failure": 0.2}),
        ("sto_spider", {"selection": 0.5, "rho": 3.0, "F0": 2.0, "failure": 0.2}),
        ("ada_dp_spider", {"rho": 3.0, "F0": 2.0, "failure": 0.2}),
        ("privatediff", {"inner": 5, "failure": 0.1}),
        ("dp_sgda", {"sampling": "poisson", "output": "last", "batch": 5}),
    ],
)  # fmt: skip
def test_overrides_that_are_no_fields_of_the_run_are_reported_too(name, overrides):
    notes = configure(name, example(algorithm(name).example), epsilon=1.0, delta=1e-4, **overrides).notes
    for option, value in overrides.items():
        (note,) = (note for note in notes if note.startswith(f"{option} = "))
        assert note.startswith(f"{option} = {said(value)}, where the schedule by itself has ")


def test_what_the_schedule_has_by_itself_is_not_reported():
    for name, overrides in (("nispp", {"batch": 15}), ("dptd", {"a": 0.25}), ("sto_spider", {"selection": 0.25})):
        problem = example(algorithm(name).example)
        assert not list(algorithm(name).scheduled(problem, epsilon=1.0, delta=1e-4, **overrides).departures())


def test_overrides_are_named_where_the_schedule_has_no_numbers_of_its_own():
    """A network is not smooth, so that Theorem 2a has no step size for it."""
    notes = configure("dp_sgda", example("wgan"), epsilon=1.0, delta=1e-4, steps=9, eta=0.1, private=False).notes
    assert notes[-1] == "the schedule by itself has no numbers for this problem; given: steps, eta"


@pytest.mark.usefixtures("uncalibrated")
@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_any_budget_configures_or_is_refused_in_one_line(name, variant):
    problem, refused = example(algorithm(name).example), []
    for epsilon, delta in itertools.product((1e-300, 1e-3, 1e3, 1e300), (1e-300, 1e-9, 1 - 1e-12)):
        try:
            configure(name, problem, epsilon=epsilon, delta=delta, variant=variant)
        except InputError as error:
            refused.append(str(error))
    assert all("\n" not in message and " must " in message for message in refused)
