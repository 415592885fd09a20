"""Stages of the check on base solvers, testers and the accountant's two directions: what is wrong is named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpcheck import checks
from dpcheck.accounting import Certificate
from dpcheck.algorithms.kernels import transcripts
from dpcheck.algorithms.kernels.parts import WITHOUT_REPLACEMENT
from dpcheck.catalogue.bases import BASES, Solution, optimum
from dpcheck.checks import bases as stage_of_bases
from dpcheck.checks import score_tester
from dpcheck.checks import testers as stage_of_testers
from dpcheck.checks.accounting import directions as stage_of_directions
from dpcheck.checks.accounting.directions import directions, disjoint
from dpcheck.checks.accounting.second_route import directions as compositions
from dpcheck.checks.accounting.second_route import interval_of
from dpcheck.checks.bases import of_base, passes, settings
from dpcheck.checks.expected import expected_verdicts
from dpcheck.checks.inside import draws, law, stage
from dpcheck.checks.inside.cases import cases
from dpcheck.checks.inside.defaults import compared
from dpcheck.checks.inside.small_runs import CASES
from dpcheck.errors import InputError, StoreError
from dpcheck.events import Disjoint, Gaussian, Repeated, Sampled
from dpcheck.report.findings import Finding
from dpcheck.solvers import ALGORITHMS

# Base solvers


@pytest.mark.parametrize("name", BASES)
def test_base_solvers_pass(name):
    assert of_base("x", name, minimisation=BASES[name].setting == "minimisation").verdict == "consistent"


def test_every_phased_algorithm_has_a_finding_on_its_base():
    known = expected_verdicts()
    for name in ALGORITHMS:
        minimisers = [base for base in BASES.values() if f"{name}.base.{base.name}" in known]
        phased = any(id.startswith(f"{name}.as_printed.inside.solutions") for id in known) or name == "nispp"
        assert bool(minimisers) == phased, name


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda found: replace(found, x=found.x + 0.1), "certifies energy 0.001"),
        (lambda found: replace(found, gradients=3 * found.gradients), "where its steps take"),
        (lambda found: replace(found, reached=False), "does not reach energy"),
    ],
)
def test_a_base_solver_that_errs_is_named(spoil, told, monkeypatch):
    monkeypatch.setattr(stage_of_bases, "optimum", lambda *given, **more: spoil(optimum(*given, **more)))
    found = of_base("output_perturbation", "gradient_descent", minimisation=True)
    assert found.verdict == "violated"
    assert told in found.reason
    assert found.place.startswith("dpcheck/catalogue/bases/gradient_descent.py:")


def test_a_base_solver_that_stops_is_named(monkeypatch):
    def stops(*_, **__) -> Solution:
        raise InputError("most must be large enough")

    monkeypatch.setattr(stage_of_bases, "optimum", stops)
    assert "most must be large enough" in of_base("x", "gda", minimisation=False).reason


@pytest.mark.parametrize("name", ["gradient_descent", "gda", "extragradient"])
def test_the_steps_in_numpy_are_those_of_the_kernels(name):
    """The very number of passes, where no two certificates are within rounding of the accuracy."""
    for setting in settings(minimisation=name == "gradient_descent"):
        found = optimum(name, setting.problem, energy=1e-5, regulariser=setting.r, centre=setting.centre)
        assert found.gradients == passes(name, setting, 1e-5) * len(setting.problem.records)


# The accountant's two directions


def test_the_two_directions_differ_on_what_is_looked_at():
    event = Sampled((Gaussian(5.0),), "poisson", 4, 3, "add_or_remove_one")
    for count in (1, stage_of_directions.STEPS):
        worse, better = sorted((each for each in compositions((Repeated(event, count),))), key=lambda c: -_epsilon(c))
        assert _epsilon(worse) > 1.02 * _epsilon(better)


def _epsilon(composed):
    from dpcheck.checks.accounting.second_route import _interval

    return _interval(composed, stage_of_directions.DELTA).low


def test_an_epsilon_below_that_of_the_worse_direction_is_seen(monkeypatch):
    events = (Repeated(Sampled((Gaussian(5.0),), "without_replacement", 4, 3), 10),)
    assert next(directions("x", events)).verdict == "consistent"
    due = interval_of((replace(events[0].event, scheme="poisson", neighbours="add_or_remove_one"),), 1e-6).low
    monkeypatch.setattr(stage_of_directions, "certify", lambda *_, **__: Certificate(0.95 * due, 1e-6, ""))
    found = next(directions("x", events))
    assert found.verdict == "violated"
    assert "worse order of two neighbours" in found.reason


def test_nothing_is_said_where_nothing_is_sampled():
    assert not list(directions("x", (Gaussian(1.0),)))


def test_the_worst_of_disjoint_parts_decides(monkeypatch):
    events = (Disjoint((Gaussian(3.0), Gaussian(3.0))),)
    assert next(disjoint("x", events)).verdict == "consistent"
    monkeypatch.setattr(Disjoint, "worst", property(lambda self: max(self.events, key=lambda z: z.noise_multiplier)))
    assert next(disjoint("x", events)).verdict == "violated"


# The testers


def test_all_testers_pass_and_one_that_never_rejects_is_named(monkeypatch):
    stage_of_testers._first_wrong.cache_clear()
    assert next(stage_of_testers.testers("x")).verdict == "consistent"
    for name in ("audit_noise_sample", "audit_sampling", "audit_constants"):
        original = getattr(stage_of_testers, name)
        with monkeypatch.context() as patch:
            patch.setattr(
                stage_of_testers, name,
                lambda *given, original=original, **more: replace(original(*given, **more), verdict="consistent"),
            )  # fmt: skip
            stage_of_testers._first_wrong.cache_clear()
            found = next(stage_of_testers.testers("x"))
        assert found.verdict == "violated"
        assert found.reason.startswith(f"{name} calls ")
    stage_of_testers._first_wrong.cache_clear()


def test_where_a_looks_verdict_turns_is_looked_at(monkeypatch):
    monkeypatch.setattr(stage_of_testers.Look, "breaks", property(lambda _: False))
    assert any("accepts epsilon" in told for told in stage_of_testers.membership())


def test_the_score_of_transcripts_is_compared_with_densities(monkeypatch):
    """A score of the wrong sign, and one that leaves out how a record may be drawn twice."""
    assert list(score_tester.scores()) == []
    right = transcripts.log_ratio
    as_drawn_once = lambda *given: right(*given[:-1], given[-1]._replace(kind=WITHOUT_REPLACEMENT))  # noqa: E731
    for wrong in (lambda *given: -right(*given), as_drawn_once):
        monkeypatch.setattr(transcripts, "log_ratio", wrong)
        assert "whose likelihood ratio is" in next(score_tester.scores())


# What stands inside a run, beside the cases of test_check_inside.py


def test_perturbations_are_enough_to_tell_their_length():
    """A length uniform in [0, r] in place of its power 1/d would be rejected."""
    found = [
        c for case in CASES["dp_rgda"]() if case.free and case.label == "repaired" for c in stage._perturbations(case)
    ]
    assert law.perturbations(found, ball=True).ok
    assert not law.perturbations([each * np.linalg.norm(each) for each in found], ball=True).ok


@pytest.mark.parametrize("scheme", ["with_replacement", "without_replacement", "poisson"])
def test_draws_of_another_law_are_seen(scheme, monkeypatch):
    """The last record is never drawn; a Poisson sample's rate is off by a part in eight."""
    assert draws.draws.__wrapped__(scheme).ok

    def other(code, population, batch, deck, rng, out):
        if code == draws.POISSON:
            found = np.flatnonzero(rng.random(population) < 1 - np.exp(-batch / population))
        else:
            found = rng.choice(population - 1, batch, replace=code == draws.WITH_REPLACEMENT)
        out[: found.size] = found
        return found.size

    monkeypatch.setattr(draws, "draw", other)
    assert not draws.draws.__wrapped__(scheme).ok


@pytest.mark.parametrize(("name", "option"), [("nispp", "lam"), ("privatediff", "C3"), ("privatediff", "eta_y")])
def test_a_wrong_default_is_named(name, option, monkeypatch):
    from dpcheck.solvers import algorithm

    for number in {getattr(schedule, option) for schedule in algorithm(name).schedules.values()}:
        monkeypatch.setattr(number, "own", lambda schedule, own=number.own: own(schedule) * 1.1)
    differs, _ = compared(name)
    assert f"The default {option} is" in differs[0]


def test_runs_reach_records_through_differences():
    """Somewhere a record moves several releases along DP-RGDA's tree, which a cosine's records do not."""
    from dpcheck.checks.inside.readers import moves

    case = next(case for case in cases("dp_rgda") if case.label == "repaired.theorem_2")
    run = case.solver.run(case.problem, seed=1, record=True)
    assert max(rows.sum() for rows in moves(run, np.asarray(case.others.records), 1).values()) > 2


# Stages that stop


def test_wrong_input_to_a_stage_is_a_finding_and_a_store_that_fails_is_not():
    def stage_of(error):
        def work():
            yield Finding("nseg.a", "rate", "a", "supported", "")
            raise error

        return checks._run("nseg", "nseg: rate of theorem 2", work)

    _, stopped = stage_of(InputError("measured must be finite"))
    assert (stopped.id, stopped.verdict) == ("nseg.rate_of_theorem_2.stopped", "violated")
    assert "measured must be finite" in stopped.reason
    with pytest.raises(StoreError):
        list(stage_of(StoreError("the store must be writable")))
