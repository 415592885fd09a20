"""The problems' closed forms against a numerical route, which sees each that is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpcheck import InputError
from dpcheck.algorithms.kernels.parts import Shape
from dpcheck.algorithms.problem import ball, blocks
from dpcheck.problems import PROBLEMS, example
from reference.closed_forms import comparisons, wrong
from reference.instances import INSTANCES, instance
from reference.objective import Objective, along, least

FORMS = ("best_response", "primal", "primal_gradient", "primal_hessian", "saddle", "saddle_point", "gap", "minima",
         "weak_gap", "excess", "optimum")  # fmt: skip


def declared(name):
    """The forms of a problem that are compared, and have a number to be wrong in."""
    problem = example(name)
    found = {each.form for each in comparisons(problem)}
    return [form for form in FORMS if form in found and not (form == "best_response" and problem.dim_v == 0)]


def test_every_form_of_the_catalogue_is_compared():
    """What a problem's class defines beyond what it inherits from the defaults is among them."""
    assert {form for name in PROBLEMS for form in declared(name)} == set(FORMS)


@pytest.mark.parametrize("label", INSTANCES)
def test_every_form_is_what_the_numerical_route_finds_with_room_to_spare(label):
    assert list(wrong(instance(label))) == []
    for each in comparisons(instance(label)):
        assert each.off <= each.room / 20, each


@pytest.mark.thorough
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_wrong_form_is_seen(name, monkeypatch):
    """A hundredth off; forms about a population, which are known to what samples err, by more."""
    problem = example(name)
    for form in declared(name):
        original = getattr(type(problem), form)
        factor, shift = (1.5, 0.5) if form in ("weak_gap", "excess") else (1.01, 0.003)

        def off(value, factor=factor, shift=shift):
            if isinstance(value, tuple):
                return tuple(off(part) for part in value)
            return np.asarray(value) * factor + shift if np.ndim(value) else value * factor + shift

        with monkeypatch.context() as patched:
            patched.setattr(type(problem), form, lambda *given, form=original, off=off: off(form(*given)))
            sentences = list(wrong(problem))
        # Minima and saddle points are judged by the primal gradient as well.
        assert any(form in (sentence.partition(":")[0], "primal_gradient") for sentence in sentences), form


def saddle(self):
    raise InputError("radius must be at least the saddle's norm 2, got 1")


BROKEN = {
    "start without gradients": ("product", "start", property(lambda self: np.zeros(4))),
    "start outside of the domains": ("product", "start", property(lambda self: np.full(4, 2.0))),
    "pl too large": ("polyak", "pl", 1.0),
    "saddle that stops": ("quadratic", "saddle", saddle),
    "gradient of another problem": ("bilinear", "gradient", staticmethod(example("quadratic").gradient)),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_attribute_is_seen_and_named(fault, monkeypatch):
    name, attribute, broken = BROKEN[fault]
    problem = example(name)
    monkeypatch.setattr(type(problem), attribute, broken)
    if attribute == "gradient":
        monkeypatch.setattr(type(problem), "params", property(lambda self: np.array([0.1, 1.0, 0.1])))
    assert next(wrong(problem)).startswith(f"{attribute}:")


@pytest.mark.parametrize(
    ("domain", "due"),
    [(ball(2, 0.5), 12.5 - 0.5 * 5), (blocks((2, Shape.BOX, 0.5)), 0.5 * (2.5**2 + 3.5**2)),
     (blocks((2, Shape.SIMPLEX, 1.0)), 0.5 * (3**2 + 3**2)), (ball(2, np.inf), 0.0)],
)  # fmt: skip
def test_minima_over_each_kind_of_domain(domain, due):
    """Of |x - (3, 4)|^2/2, from its distance to the domain; the radius of the ball stops 4.5 short."""
    centre = np.array([3.0, 4.0])
    found = least(lambda x: (0.5 * float((x - centre) @ (x - centre)), x - centre), np.zeros(2), domain)
    expected = {Shape.BALL: 0.5 * 4.5**2 if domain[0, 3] < np.inf else 0.0}.get(int(domain[0, 2]), due)
    assert found == pytest.approx(expected, abs=1e-9)


def test_differences_are_of_fourth_order():
    assert along(lambda x: np.sin(x[0]), np.array([0.7]), np.ones(1)) == pytest.approx(np.cos(0.7), abs=1e-11)


def test_the_residual_tells_blocks_apart():
    problem = replace(example("quadratic"), coupling=0.5)
    objective, (w, v) = Objective(problem), problem.saddle()
    assert objective.residual(w, v) < 1e-12
    assert objective.residual(w + 0.1, v, "w") == pytest.approx(0.1)
    assert objective.residual(w + 0.1, v, "v") == pytest.approx(0.05)  # by the coupling alone
