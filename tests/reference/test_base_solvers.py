"""Base solvers end where they certify, as soon as their steps in NumPy do; one that errs is named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpcheck.catalogue.bases import BASES, Solution, optimum
from dpcheck.catalogue.zhang2022.output_perturbation import Phased
from dpcheck.errors import InputError
from dpcheck.solvers import ALGORITHMS, algorithm
from reference import base_solvers as stage
from reference.base_solvers import of_base, passes, settings


@pytest.mark.parametrize("name", BASES)
def test_base_solvers_pass(name):
    assert of_base("x", name, minimisation=BASES[name].setting == "minimisation").verdict == "consistent"


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_base_solver_of_every_phased_algorithm_ends_where_it_certifies(name):
    findings = list(stage.bases(name))
    assert [f"{found.id}: {found.reason}" for found in findings if found.verdict != "consistent"] == []
    assert bool(findings) == issubclass(algorithm(name), Phased)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda found: replace(found, x=found.x + 0.1), "certifies energy 0.001"),
        (lambda found: replace(found, gradients=3 * found.gradients), "where its steps take"),
        (lambda found: replace(found, reached=False), "does not reach energy"),
    ],
)
def test_a_base_solver_that_errs_is_named(spoil, told, monkeypatch):
    monkeypatch.setattr(stage, "optimum", lambda *given, **more: spoil(optimum(*given, **more)))
    found = of_base("output_perturbation", "gradient_descent", minimisation=True)
    assert found.verdict == "violated"
    assert told in found.reason
    assert found.place.startswith("dpcheck/catalogue/bases/saddle.py:")


def test_a_base_solver_that_stops_is_named(monkeypatch):
    def stops(*_, **__) -> Solution:
        raise InputError("most must be large enough")

    monkeypatch.setattr(stage, "optimum", stops)
    assert "most must be large enough" in of_base("x", "gda", minimisation=False).reason


@pytest.mark.parametrize("name", ["gradient_descent", "gda", "extragradient"])
def test_the_steps_in_numpy_are_those_of_the_kernels(name):
    """The very number of passes, where no two certificates are within rounding of the accuracy."""
    for setting in settings(minimisation=name == "gradient_descent"):
        found = optimum(name, setting.problem, energy=1e-5, regulariser=setting.r, centre=setting.centre)
        assert found.gradients == passes(name, setting, 1e-5) * len(setting.problem.records)
