"""Every step of recorded runs of every algorithm, once more in plain NumPy; and faults that this finds.

A fault that is planted in a kernel turns a finding red, which says what differs and where.
"""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from importlib import import_module

import mutants
import numpy as np
import pytest
from mutants import Edit
from slices import first

from dpcheck.algorithms.kernels import jit as named
from dpcheck.algorithms.kernels import parts
from dpcheck.catalogue.xu2026 import dp_spider
from dpcheck.catalogue.zhang2022.output_perturbation import Phased
from dpcheck.checks.context import Context
from dpcheck.problems import bilinear, example
from dpcheck.solvers import ALGORITHMS, algorithm
from reference import defaults, draws
from reference import minibatch_law as law
from reference import recorded_runs as stage
from reference.derivatives import departures, gradient_of, of_the_value, project
from reference.small_runs import CASES, families

CONTEXT = Context()
REPLAYS = ("defaults", "derivatives", "descent", "minibatch_law", "phases", "recorded_runs", "replay",
           "small_runs", "spider")  # fmt: skip


def finding(name, id):
    """Return the finding of this id, without the name, from the stage as it is now: of its own variant's runs alone."""
    cases, label = CASES[name], id.partition(".inside.")[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(CASES, name, lambda: [case for case in cases() if case.label == label])
        return next(finding for finding in stage.inside(CONTEXT, name) if finding.id == f"{name}.{id}")


def test_every_algorithm_is_replayed():
    assert set(CASES) == set(ALGORITHMS)
    for name in CASES:
        labels = {case.label.partition(".")[0] for case in CASES[name]()}
        assert labels == set(algorithm(name).variants), name


# What is compared of every run, and what of some algorithms besides.
EVERYWHERE = {"ending", "feasible", "gradients", "iterates", "minibatches", "output", "scales"}
UNIFORM = {"dp_sgda", "dp_sgda_clipped", "dp_spider", "privatediff"}  # they return an iterate at random
PERTURBED = {"dp_rgda", "sto_spider"}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_step_is_that_of_the_replay(name):
    """And nothing that a run shows is left out of the comparison."""
    findings = list(stage.inside(CONTEXT, name))
    assert [f"{found.id}: {found.reason}" for found in findings if found.verdict != "consistent"] == []
    ids = [found.id for found in findings]
    assert len(set(ids)) == len(ids)
    phased = issubclass(algorithm(name), Phased)
    for label in {case.label for case in CASES[name]()}:
        begin = f"{name}.{label}.inside."
        parts = {id.removeprefix(begin) for id in ids if id.startswith(begin)}
        due = EVERYWHERE.union(
            ["solutions"] * phased, ["uniform"] * (name in UNIFORM), ["perturbations"] * (name in PERTURBED),
            ["sampling"] * (not phased or label == "repaired.with_replacement"),
        )  # fmt: skip
        assert parts == due, label
    assert f"{name}.inside.problems" in ids
    assert (f"{name}.inside.schedule" in ids) == (name in defaults.DEFAULTS)


@pytest.mark.parametrize("name", ["dp_sgda", "dp_sgda_clipped", "nseg", "dptd"])
def test_numbers_that_reach_the_solver_under_another_name_are_seen(name, monkeypatch):
    """The replay follows the numbers that were asked for, and not what the solver has of them."""
    for chosen in algorithm(name).schedules.values():
        crossed = {**chosen.fields, "clip_w": "clip_v", "clip_v": "clip_w"}
        monkeypatch.setattr(chosen, "fields", crossed)
    label = f"{next(iter(CASES[name]())).label}.inside.gradients"
    assert finding(name, label).verdict == "violated"


@pytest.mark.thorough
@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_small_runs_take_every_branch(name):
    """Otherwise their comparison would say little: clipping, projection and both kinds of ending are met.

    The solutions of the joint variant are all on the edge, where the noise is small enough to show it.
    """
    clipped, interior, moved, endings, compared = Counter(), Counter(), 0, set(), Counter()
    for case in CASES[name]():
        for replay in case.replays():
            clipped += replay.clipped
            interior += replay.interior
            moved += replay.moved_by_projection
            endings.add(replay.run.outcome)
            compared += replay.differences.compared
    assert moved > 0
    assert (clipped[True] and clipped[False]) or interior[True] or name == "minimax_output_perturbation_joint"
    assert compared["iterates"] and compared["output"]
    if name in ("ada_dp_spider", "sto_spider", "dp_rgda"):
        assert endings == {"certified", "uncertified"}


def classes_of_fields_alone(module):
    """Yield the NamedTuples of a module whose body is a docstring and fields without values."""
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.ClassDef) and [ast.unparse(base) for base in node.bases] == ["NamedTuple"]:
            docstring, *fields = node.body
            bare = all(isinstance(each, ast.AnnAssign) and each.value is None for each in fields)
            if bare and isinstance(docstring, ast.Expr) and isinstance(docstring.value, ast.Constant):
                yield node.name


def test_replays_share_nothing_with_the_kernels():
    """No file that recomputes imports a kernel or the compiler.

    It may import the names of what a kernel under test is given: a class of fields alone computes nothing.
    """
    shared = (
        "dpcheck.algorithms.kernels", "dpcheck.catalogue.bases", "dpcheck.catalogue.xu2026.rgda",
        "dpcheck.catalogue.xu2026.spider_kernels", "dpcheck.catalogue.yang2022.sgda", "dpcheck.problems.linear_scores",
        "dpcheck.problems.mlp", "numba",
    )  # fmt: skip
    allowed = {f"dpcheck.algorithms.kernels.jit.{name}" for name in classes_of_fields_alone(named)}
    assert "dpcheck.algorithms.kernels.jit.Place" in allowed
    assert "dpcheck.algorithms.kernels.jit.named" not in allowed
    for file in REPLAYS:
        tree = ast.parse(inspect.getsource(import_module(f"reference.{file}")))
        imports = {
            f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name
            for node in ast.walk(tree)
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for alias in node.names
        }
        assert not [each for each in imports - allowed if each.startswith(shared)], file


# Faults: what is changed, the algorithm and the kernel that runs it, and the finding that has to see it.

RELEASE_V = "release(g_v, reals.sigma_v, reals.sensitivity_v, rng, tape)"
UPDATE_W = "for i in range(dim_w):\n    w[i] -= steps[0, t] * g_w[i]"
UPDATE_W_FIRST = (
    f"{UPDATE_W}\nproject(w, data.domain_w)\nmean(gradient, data, index[:count], batch, x, clip, g)\n{RELEASE_V}"
)
FAULTS = {
    "descent in v": (
        Edit("sgda", "v[i] += steps[1, t] * g_v[i]", "v[i] -= steps[1, t] * g_v[i]"),
        "dp_sgda", "sgda", "repaired.inside.iterates"),
    "y updated with the new x": (
        Edit("sgda", f"{RELEASE_V}\n{UPDATE_W}", UPDATE_W_FIRST), "dp_sgda", "sgda", "repaired.inside.gradients"),
    "average in place of the last": (
        Edit("sgda", "output == AVERAGE", "output != UNIFORM"), "dp_sgda", "sgda", "repaired.inside.output"),
    "last in place of the average": (
        Edit("run", "out[i] += z[i] / T", "out[i] = z[i]", "nseg"), "nseg", "run", "repaired.poisson.inside.output"),
    "uniform iterate always the last": (
        Edit("sgda", "below(T, rng) if output == UNIFORM else T - 1", "T - 1"),
        "dp_sgda_clipped", "sgda", "repaired.inside.uniform"),
    "PrivateDiff returns the last round": (
        Edit("run", "1 + below(rounds, rng)", "rounds", "privatediff"),
        "privatediff", "run", "repaired.inside.uniform"),
    "PrivateDiff returns the start": (
        Edit("run", "1 + below(rounds, rng)", "0", "privatediff"), "privatediff", "run", "repaired.inside.output"),
    "DP-SPIDER returns the last iterate": (
        Edit("run", "below(T, rng)", "T - 1", "dp_spider"), "dp_spider", "run", "repaired.inside.uniform"),
    "refresh skipped": (
        Edit("run", "t % q == 0", "t == 0", "dp_spider"), "dp_spider", "run", "repaired.inside.minibatches"),
    "restart skipped": (
        Edit("run", "r % counts.restart == 0", "r == 0", "privatediff"),
        "privatediff", "run", "repaired.inside.gradients"),
    "no refresh after a perturbation": (
        Edit("rgda", "t % counts.period == 0 or (repaired > 0 and perturbed)", "t % counts.period == 0"),
        "dp_rgda", "rgda", "repaired.inside.minibatches"),
    "stale gradient": (
        Edit("run", "u if half == 0 else z", "u", "nseg"), "nseg", "run", "repaired.poisson.inside.gradients"),
    "stale difference": (
        Edit("estimate", "copy(z[:d], room.last_x)", ""), "dp_rgda", "rgda", "as_printed.inside.gradients"),
    "projection left out": (
        Edit("sgda", "project(w, data.domain_w)", ""), "dp_sgda", "sgda", "repaired.inside.feasible"),
    "projection left out of averages": (
        Edit("run", "project(moved[:d], data.domain_w)", "", "dptd"), "dptd", "run", "repaired.inside.iterates"),
    "projection of the release left out": (
        Edit("publish", "project(z_w, domain_w)", ""),
        "minimax_output_perturbation", "run", "as_printed.inside.output"),
    "minibatch with repeats": (
        Edit("run", "sample(scheme, n, batch, deck, rng, index, tape)",
             "sample(0, n, batch, deck, rng, index, tape)", "nseg"),
        "nseg", "run", "repaired.without_replacement.inside.minibatches"),
    "the same records again and again": (
        Edit("run", "sample(Draw.WITHOUT_REPLACEMENT, n, batch, deck, rng, index, tape)",
             "sample(Draw.WITHOUT_REPLACEMENT, batch + 1, batch, deck, rng, index, tape)", "dptd"),
        "dptd", "run", "repaired.inside.sampling"),
    "averages not renewed": (
        Edit("run", "(1 - (alpha if i < d else beta) * nu) * average[i]", "average[i]", "dptd"),
        "dptd", "run", "repaired.inside.iterates"),
    "phases about the start": (
        Edit("publish", "copy(z_w, centre[:d])", ""), "phased_primal", "run", "as_printed.inside.solutions"),
    "dual half about the primal one's end": (
        Edit("run", "k == 0 or fresh > 0", "k == 0"),
        "phased_minimax_output_perturbation", "run", "as_printed.inside.solutions"),
    "weights of the regulariser exchanged": (
        Edit("run", "constants[R_W], constants[R_V] = r_w, r_v", "constants[R_W], constants[R_V] = r_v, r_w"),
        "phased_dual", "run", "as_printed.inside.solutions"),
    "mean of phases left out": (
        Edit("run", "counts.average > 0", "counts.average < 0"), "nispp", "run", "repaired.single_pass.inside.output"),
    "anchor not returned to": (
        Edit("run", "copy(anchor, w)", "", "ada_dp_spider"), "ada_dp_spider", "run", "repaired.inside.iterates"),
    "certificate without its rounds": (
        Edit("run", "rounds == counts.Q", "rounds == 1", "ada_dp_spider"),
        "ada_dp_spider", "run", "repaired.inside.iterates"),
    "noise near saddles too large": (
        Edit("run", "reals.r * rng.standard_normal()", "3 * reals.r * rng.standard_normal()", "sto_spider"),
        "sto_spider", "run", "repaired.inside.perturbations"),
    "perturbation too long": (
        Edit("rgda", "move_in_ball(x, reals.r, rng)", "move_in_ball(x, 4 * reals.r, rng)"),
        "dp_rgda", "rgda", "repaired.inside.iterates"),
}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_turns_its_finding_red(fault, monkeypatch):
    edit, name, kernel, id = FAULTS[fault]
    broken = mutants.interpreted(edit)
    monkeypatch.setattr(algorithm(name), "kernel", staticmethod(getattr(broken, kernel)))
    assert finding(name, id).verdict == "violated"


SUM = "add_clipped(one, d, clip, batch, out)"
OF_EACH = "for j in range(index.size):\n    gradient(params, records[index[j]], w, v, g_w, g_v)\n    "
CLIPPED_MEAN = (
    f"{OF_EACH}add_clipped(one, d, np.full(2, np.inf), batch, out)\n"
    "first, second = clip_factor(out[:d], clip[0]), clip_factor(out[d:], clip[1])\n"
    "for i in range(out.size):\n    out[i] *= first if i < d else second"
)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("attribute", "edit"),
    [("mean", Edit("mean", OF_EACH + SUM, CLIPPED_MEAN)),
     ("mean", Edit("mean", SUM, SUM.replace("clip,", "clip * np.inf,"))),
     ("mean", Edit("mean", SUM, SUM.replace("batch", "2 * batch"))),
     ("gradient", Edit("gradient", "a * w[i] - record[d + i]", "record[d + i] - a * w[i]", "bilinear"))],
)  # fmt: skip
def test_a_wrong_gradient_is_seen_in_the_run_and_beside_the_value(attribute, edit, monkeypatch):
    broken = getattr(mutants.compiled(edit), attribute)
    monkeypatch.setattr(bilinear.Bilinear, attribute, staticmethod(broken))
    assert finding("dp_sgda", "repaired.inside.gradients").verdict == "violated"
    problems = families("dp_sgda").values()
    assert any(by > 1e-6 for problem in problems for _, by in departures(problem, np.random.default_rng(0)))


@pytest.mark.thorough
def test_a_difference_of_the_wrong_clip_is_seen(monkeypatch):
    broken = mutants.interpreted(Edit("estimate", "clip[0] = bound", "clip[0] = 2 * bound"))
    changed = mutants.interpreted(of=dp_spider)
    changed.estimate = broken.estimate
    monkeypatch.setattr(algorithm("dp_spider"), "kernel", staticmethod(changed.run))
    assert finding("dp_spider", "repaired.inside.gradients").verdict == "violated"


# The means of the stage


@pytest.mark.parametrize("name", ["auc", "bilinear", "cosine", "double_well", "product", "quartic", "sensing"])
def test_the_formulas_are_the_derivatives_of_the_values(name):
    problem, rng = example(name), np.random.default_rng(0)
    w, v = rng.normal(size=problem.dim_w), rng.normal(size=problem.dim_v)
    for ours, theirs in zip(
        gradient_of(problem)(problem.records[3], w, v), of_the_value(problem)(problem.records[3], w, v), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("kind", [parts.Shape.BALL, parts.Shape.BOX, parts.Shape.SIMPLEX])
def test_both_projections_agree(kind):
    rng = np.random.default_rng(0)
    for _ in range(50):
        x, domain = rng.normal(size=4), np.array([[0.0, 4.0, kind, rng.uniform(0.1, 2)]])
        theirs = x.copy()
        parts.project(theirs, domain)
        np.testing.assert_allclose(project(x, domain), theirs, rtol=0, atol=1e-12)


def test_perturbations_of_another_law_are_seen():
    rng = np.random.default_rng(0)
    normal = list(rng.normal(size=(40, 3)))
    assert law.perturbations(normal, ball=False).ok
    assert not law.perturbations([2 * x for x in normal], ball=False).ok
    sphere = [x / np.linalg.norm(x) for x in normal]
    ball = [x * rng.random() ** (1 / 3) for x in sphere]
    assert law.perturbations(ball, ball=True).ok
    assert not law.perturbations(sphere, ball=True).ok


# Enough runs to see another law


def test_perturbations_are_enough_to_tell_their_length():
    """A length uniform in [0, r] in place of its power 1/d would be rejected."""
    found = [
        c for case in CASES["dp_rgda"]() if case.free and case.label == "repaired" for c in stage.perturbations(case)
    ]
    assert law.perturbations(found, ball=True).ok
    assert not law.perturbations([each * np.linalg.norm(each) for each in found], ball=True).ok


@pytest.mark.parametrize("scheme", first(1, ["with_replacement", "without_replacement", "poisson"]))
def test_draws_of_another_law_are_seen(scheme, monkeypatch):
    """The last record is never drawn; a Poisson sample's rate is off by a part in eight."""
    assert draws.draws.__wrapped__(scheme).ok

    def other(code, population, batch, deck, rng, out):
        if code == draws.Draw.POISSON:
            found = np.flatnonzero(rng.random(population) < 1 - np.exp(-batch / population))
        else:
            found = rng.choice(population - 1, batch, replace=code == draws.Draw.WITH_REPLACEMENT)
        out[: found.size] = found
        return found.size

    monkeypatch.setattr(draws, "draw", other)
    assert not draws.draws.__wrapped__(scheme).ok
