"""Constants that problems declare, projections onto their domains, and runs that stay there; what is wrong is named."""

from __future__ import annotations

import mutants
import numpy as np
import pytest
from mutants import Edit

from dpcheck.catalogue.yang2022.dp_sgda import DPSGDA
from dpcheck.problems import PROBLEMS, example
from dpcheck.problems.hinge_game import HingeGame
from dpcheck.problems.linear import Linear
from dpcheck.problems.quadratic import Quadratic
from dpcheck.solvers import ALGORITHMS
from reference import constant_search
from reference.constants import of_problem, stays


@pytest.mark.parametrize("name", PROBLEMS)
def test_nothing_exceeds_a_constant_of_a_problem(name):
    finding = of_problem("x", name, example(name))
    assert finding.verdict == "consistent", finding.reason


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_stays_in_its_domain(name):
    finding = stays(name)
    assert finding.verdict == "consistent", finding.reason


WRONG = {
    "lipschitz_w": (Linear, "linear", 0.9, "A larger value than the declared lipschitz_w = 0.9 was found: 1."),
    "smoothness": (Quadratic, "quadratic", 1.0, "A larger value than the declared smoothness = 1 was found: 1.4142"),
    "concavity": (Quadratic, "quadratic", 1.1, "A smaller value than the declared concavity = 1.1 was found: 1."),
}


@pytest.mark.parametrize("constant", WRONG)
def test_a_wrong_constant_is_named(constant, monkeypatch):
    kind, name, value, reason = WRONG[constant]
    assert of_problem("an algorithm", name, example(name)).verdict == "consistent"
    monkeypatch.setattr(kind, constant, value)
    found = of_problem("an algorithm", name, example(name))
    assert found.verdict == "violated"
    assert found.reason.startswith(reason.removesuffix("."))


def test_a_constant_of_the_data_is_named(monkeypatch):
    monkeypatch.setattr(Linear, "lipschitz_w", property(lambda self: 2 + self.records[0, 0]))
    found = of_problem("an algorithm", "linear", example("linear"))
    assert (found.verdict, found.reason[:36]) == ("violated", "lipschitz_w depends on the records: ")


def test_the_hinge_game_is_as_smooth_as_it_says():
    """It is least smooth where w is on the bend and v is not; both on it are smoother."""
    game = example("hinge_game")
    found = {each.name: each for each in constant_search.search(game)}["smoothness"]
    assert found.value == pytest.approx(game.smoothness, rel=1e-6)
    assert game.smoothness > np.hypot(game.slope / game.width, game.coupling) * 1.001
    assert isinstance(game, HingeGame)


def test_a_wrong_projection_is_seen(monkeypatch):
    problem = example("quadratic")
    assert constant_search.misprojected(problem) == ""
    for broken in (lambda x, domain: None, lambda x, domain: np.clip(x, -1, 1, out=x), lambda x, domain: x.fill(0.0)):
        monkeypatch.setattr(constant_search, "project", broken)
        assert constant_search.misprojected(problem)


@pytest.mark.thorough
@pytest.mark.parametrize("block", ["w", "v"])
def test_a_projection_that_is_left_out_is_seen(block, monkeypatch):
    assert stays("dp_sgda").verdict == "consistent"
    edit = Edit("sgda", f"project({block}, data.domain_{block})", "")
    monkeypatch.setattr(DPSGDA, "kernel", staticmethod(mutants.compiled(edit).sgda))
    found = stays("dp_sgda")
    assert found.verdict == "violated"
    assert found.reason.startswith("A run on quadratic leaves its domain by ")


@pytest.mark.parametrize("name", ["dptd", "phased_dual", "output_perturbation"])
def test_runs_that_stay_would_leave(name):
    assert "would leave" in stays(name).reason
