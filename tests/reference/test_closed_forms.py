"""The problems' closed forms: right ones pass, each wrong one is named with its file and by how much."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpcheck import InputError
from dpcheck.algorithms.kernels.parts import BALL, BOX, SIMPLEX
from dpcheck.algorithms.problem import ball, blocks
from dpcheck.problems import PROBLEMS, example
from reference.closed_forms import comparisons, of_problem
from reference.objective import Objective, along, least

FORMS = ("best_response", "primal", "primal_gradient", "primal_hessian", "saddle", "saddle_point", "gap", "minima",
         "weak_gap", "excess", "optimum")  # fmt: skip


def declared(name):
    """The forms of a problem that are compared, and have a number to be wrong in."""
    problem = example(name)
    found = {each.form for each in comparisons(problem)}
    return [form for form in FORMS if form in found and not (form == "best_response" and problem.dim_v == 0)]


CASES = [(name, form) for name in PROBLEMS for form in declared(name)]


def test_every_form_of_the_catalogue_is_compared():
    """What a problem's class defines beyond what it inherits from the defaults is among them."""
    assert {form for _, form in CASES} == set(FORMS)


@pytest.mark.parametrize("name", PROBLEMS)
def test_right_forms_pass_with_room(name):
    for each in comparisons(example(name)):
        assert each.off <= each.room / 20, each


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "form"), CASES)
def test_a_wrong_form_is_named(name, form, monkeypatch):
    """A hundredth off; forms about a population, which are known to what samples err, by more."""
    problem = example(name)
    original = getattr(type(problem), form)
    factor, shift = (1.5, 0.5) if form in ("weak_gap", "excess") else (1.01, 0.003)

    def off(value):
        if isinstance(value, tuple):
            return tuple(off(part) for part in value)
        return np.asarray(value) * factor + shift if np.ndim(value) else value * factor + shift

    monkeypatch.setattr(type(problem), form, lambda *arguments: off(original(*arguments)))
    finding = of_problem("nseg", name, problem)
    assert finding.verdict == "violated"
    if form != "primal_gradient":  # on which minima and saddle points are judged as well
        assert form.split("_")[0] in finding.reason.replace("minimum", "minima").lower()


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_form_of_a_problem_is_wrong(name):
    finding = of_problem("x", name, example(name))
    assert finding.verdict == "consistent", finding.reason


def test_the_place_is_that_of_the_form(monkeypatch):
    problem = example("cosine")
    finding = of_problem("dp_rgda", "cosine", problem)
    assert finding.place.startswith("dpcheck/problems/cosine.py:")
    wrong = type(problem).best_response

    def best_response(self, w):
        return wrong(self, w) + 0.1

    monkeypatch.setattr(type(problem), "best_response", best_response)
    finding = of_problem("dp_rgda", "cosine", problem)
    assert finding.place.startswith("tests/reference/test_closed_forms.py:")
    assert finding.reason.startswith("The best response of cosine moves by 0.1 along its gradient at w = (")


def test_a_start_without_gradients_and_one_outside_are_seen(monkeypatch):
    problem = example("product")
    for start, told in ((np.zeros(4), "where no record has a gradient"), (np.full(4, 2.0), "outside of the domains")):
        monkeypatch.setattr(type(problem), "start", property(lambda self, start=start: start))
        assert told in of_problem("nseg", "product", problem).reason


def test_a_constant_of_polyak_and_lojasiewicz_that_is_too_large_is_seen(monkeypatch):
    problem = example("polyak")
    monkeypatch.setattr(type(problem), "pl", 1.0)
    assert "Polyak-Lojasiewicz constant of polyak of 1 is above" in of_problem("dp_sgda", "polyak", problem).reason


def test_a_form_that_refuses_its_own_example_is_seen(monkeypatch):
    problem = example("quadratic")

    def saddle(self):
        raise InputError("radius must be at least the saddle's norm 2, got 1")

    monkeypatch.setattr(type(problem), "saddle", saddle)
    finding = of_problem("nseg", "quadratic", problem)
    assert finding.reason.startswith("The saddle of quadratic stops with InputError: radius must be at least")
    assert finding.place.startswith("tests/reference/test_closed_forms.py:")


@pytest.mark.thorough
def test_wrong_gradients_are_seen(monkeypatch):
    problem = example("bilinear")
    monkeypatch.setattr(type(problem), "gradient", staticmethod(example("quadratic").gradient))
    monkeypatch.setattr(type(problem), "params", property(lambda self: np.array([0.1, 1.0, 0.1])))
    assert "gradient of a record of bilinear is" in of_problem("nseg", "bilinear", problem).reason


@pytest.mark.parametrize(
    ("domain", "due"),
    [(ball(2, 0.5), 12.5 - 0.5 * 5), (blocks((2, BOX, 0.5)), 0.5 * (2.5**2 + 3.5**2)),
     (blocks((2, SIMPLEX, 1.0)), 0.5 * (3**2 + 3**2)), (ball(2, np.inf), 0.0)],
)  # fmt: skip
def test_minima_over_each_kind_of_domain(domain, due):
    """Of |x - (3, 4)|^2/2, from its distance to the domain; the radius of the ball stops 4.5 short."""
    centre = np.array([3.0, 4.0])
    found = least(lambda x: (0.5 * float((x - centre) @ (x - centre)), x - centre), np.zeros(2), domain)
    expected = {BALL: 0.5 * 4.5**2 if domain[0, 3] < np.inf else 0.0}.get(int(domain[0, 2]), due)
    assert found == pytest.approx(expected, abs=1e-9)


def test_differences_are_of_fourth_order():
    assert along(lambda x: np.sin(x[0]), np.array([0.7]), np.ones(1)) == pytest.approx(np.cos(0.7), abs=1e-11)


def test_the_residual_tells_blocks_apart():
    problem = replace(example("quadratic"), coupling=0.5)
    objective, (w, v) = Objective(problem), problem.saddle()
    assert objective.residual(w, v) < 1e-12
    assert objective.residual(w + 0.1, v, "w") == pytest.approx(0.1)
    assert objective.residual(w + 0.1, v, "v") == pytest.approx(0.05)  # by the coupling alone
