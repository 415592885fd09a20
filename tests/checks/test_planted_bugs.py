"""The check of DP-SGDA catches planted faults, each by the finding that should see it.

Findings inside a run are deterministic or err with probability below 0.001 each; audits of transcripts
hold their error at 5 %. All seeds are fixed, so the outcomes are too.
"""

from __future__ import annotations

from functools import partial

import mutants
import pytest
from mutants import Edit
from reference.recorded_runs import inside as inside_of

from dpcheck.algorithms.schedule import Schedule
from dpcheck.catalogue.yang2022 import dp_sgda as solvers
from dpcheck.catalogue.yang2022 import sgda
from dpcheck.catalogue.yang2022.dp_sgda import DPSGDA
from dpcheck.catalogue.yang2022.further import step
from dpcheck.checks import sandwich
from dpcheck.checks.context import Context
from dpcheck.checks.games import Game, WorstCase
from dpcheck.checks.releases import releases as releases_of
from dpcheck.problems.bilinear import Bilinear

CONTEXT = Context(jobs=2)
inside, releases = partial(inside_of, name="dp_sgda"), partial(releases_of, name="dp_sgda")

NOISE_W = "release(g_w, reals.sigma_w, reals.sensitivity_w, rng, tape)"
NOISE_V = "release(g_v, reals.sigma_v, reals.sensitivity_v, rng, tape)"
DRAW = "sample(scheme, n, batch, deck, rng, index, tape)"

# Edits of the loop.
NO_NOISE_ON_V = (Edit("sgda", NOISE_V, "release(g_v, 0.0, reals.sensitivity_v, rng, tape)"),)
NOISE_OVER_M_TWICE = (
    Edit("sgda", NOISE_W, "release(g_w, reals.sigma_w / batch, reals.sensitivity_w, rng, tape)"),
    Edit("sgda", NOISE_V, "release(g_v, reals.sigma_v / batch, reals.sensitivity_v, rng, tape)"),
)
FIXED_BATCH_FOR_POISSON = (Edit("sgda", DRAW, DRAW.replace("scheme", "1 if scheme == Draw.POISSON else scheme")),)
NOISE_USED_TWICE = (Edit("sgda", NOISE_W, NOISE_W.replace("rng", "np.random.default_rng(t // 2)")),)
ONE_NOISE_FOR_BOTH = tuple(
    Edit("sgda", noise, noise.replace("rng", "np.random.default_rng(t)")) for noise in (NOISE_W, NOISE_V)
)
NO_PROJECTION = (Edit("sgda", "project(w, data.domain_w)", ""),)
STEP = "w[i] -= steps[0, t] * g_w[i]"
RAW_RECORD_IN_THE_STEP = (Edit("sgda", STEP, f"{STEP} * (1 + 1e-3 * data.records[index[0], 0])"),)

# Edits of the clipped mean.
SUM = "add_clipped(one, d, clip, batch, out)"
CANARY_UNCLIPPED = (Edit("mean", SUM, SUM.replace("clip,", "np.array([np.inf, clip[1]]) if index[j] == 0 else clip,")),)
NOTHING_CLIPPED = (Edit("add_clipped", "clip_factor(g[:d], clip[0])", "1.0"),)
REALISED_BATCH = (Edit("mean", SUM, SUM.replace("batch", "index.size")),)
OF_THE_MEAN = (CANARY_UNCLIPPED, NOTHING_CLIPPED, REALISED_BATCH)

INSIDE = {
    "noise left out of v": (NO_NOISE_ON_V, "repaired.releases"),
    "noise over m twice": (NOISE_OVER_M_TWICE, "repaired.poisson.releases"),
    "fixed batch under Poisson accounting": (
        FIXED_BATCH_FOR_POISSON,
        "repaired.poisson.inside.minibatches or repaired.poisson.inside.sampling",
    ),
    "noise used in two steps": (NOISE_USED_TWICE, "repaired.noise"),
    "one noise for both gradients": (ONE_NOISE_FOR_BOTH, "repaired.noise"),
    "no projection": (NO_PROJECTION, "repaired.inside.feasible"),
    "raw record in the step": (RAW_RECORD_IN_THE_STEP, "repaired.inside.iterates"),
    "canary unclipped": (CANARY_UNCLIPPED, "sensitivity_w"),
    "nothing clipped": (NOTHING_CLIPPED, "sensitivity_w"),
    "mean over the realised batch": (REALISED_BATCH, "repaired.poisson.inside.gradients"),
}


def plant(monkeypatch, build, changes):
    """Put the broken kernel, interpreted or compiled, in the place of the true one."""
    broken_kernels = build(*changes)
    if changes in OF_THE_MEAN:
        for problem in (Bilinear, WorstCase):
            monkeypatch.setattr(problem, "mean", staticmethod(broken_kernels.mean))
        return
    monkeypatch.setattr("dpcheck.catalogue.yang2022.dp_sgda.kernels", broken_kernels)
    monkeypatch.setattr(DPSGDA, "kernel", staticmethod(broken_kernels.sgda))


def broken(findings):
    """Ids of the violated findings as they come, without the one that the paper as published is known for."""
    known = "dp_sgda.as_printed.class_counts"
    return (f.id.removeprefix("dp_sgda.") for f in findings if f.verdict == "violated" and f.id != known)


def in_python(monkeypatch):
    """Everything interpreted: then an interpreted mutant may be called from the loop."""
    monkeypatch.setattr(DPSGDA, "kernel", staticmethod(mutants.interpreted(of=sgda).sgda))


@pytest.mark.thorough
@pytest.mark.parametrize("bug", INSIDE)
def test_caught_inside_a_run(bug, monkeypatch):
    changes, finding = INSIDE[bug]
    in_python(monkeypatch)
    plant(monkeypatch, mutants.interpreted, changes)
    stage = step if finding.startswith("sensitivity") else inside if "inside" in finding else releases
    assert any(id in finding.split(" or ") for id in broken(stage(CONTEXT)))


@pytest.mark.thorough
def test_the_unchanged_loop_passes_interpreted_and_compiled(monkeypatch):
    for interpreted in (False, True):
        if interpreted:
            in_python(monkeypatch)
        for stage in (step, inside, releases):
            assert list(broken(stage(CONTEXT))) == []


AUDITED = {
    "noise left out of v": NO_NOISE_ON_V,
    "noise over m twice": NOISE_OVER_M_TWICE,
    "canary unclipped": CANARY_UNCLIPPED,
}


@pytest.fixture(autouse=True)
def no_family(monkeypatch):
    """The bound within the claimed family is left out: it decides no verdict."""
    monkeypatch.setattr(sandwich, "family", lambda *scores_events_delta: {})


def audited(sampling="without_replacement"):
    """The transcript of the repaired variant, as the solver's module makes it now."""
    (entry,) = (entry for entry in solvers.DPSGDA.games() if entry.label == f"repaired.{sampling}")
    found = sandwich.sandwich(CONTEXT, "dp_sgda", entry, 60_000)
    return next(finding for finding in found if finding.id.endswith(".transcript"))


@pytest.mark.thorough
@pytest.mark.parametrize("bug", AUDITED)
def test_caught_by_an_audit(bug, monkeypatch):
    """The audit scores by replays of what runs, with the noise that it says it adds."""
    plant(monkeypatch, mutants.compiled, AUDITED[bug])
    found = audited()
    assert found.verdict == "violated"
    assert found.audited > found.claimed


def half_the_noise(self, bounds, sampling, batch, steps):
    """Stand for ``Schedule.certified_noise``."""
    return [self.certified_pair(sampling, batch, steps) * G / batch for G in bounds]


HALF_SENSITIVITY = Edit(
    "moves", "2 * bounds[0] / batch, 2 * bounds[1] / batch", "bounds[0] / batch, bounds[1] / batch", "noise_share"
)


@pytest.mark.thorough
@pytest.mark.parametrize("sampling", ["without_replacement", "poisson"])
def test_sensitivity_g_in_place_of_2g(sampling, monkeypatch):
    """Believed throughout, only the audit can see it; with the right events, the certificate is above the claim."""
    monkeypatch.setattr(Schedule, "certified_noise", half_the_noise)
    right = solvers.DPSGDA
    monkeypatch.setattr(solvers, "DPSGDA", mutants.solver(HALF_SENSITIVITY))
    believed = audited(sampling)
    assert believed.certified <= 1
    assert believed.audited > 1
    monkeypatch.setattr(solvers, "DPSGDA", right)
    monkeypatch.setattr(Game, "scores", lambda self, problem, rng, size: rng.normal(size=size))  # tell nothing
    accounted = audited(sampling)
    assert accounted.audited < 1
    assert accounted.certified > 1.5
    # of several minibatches without replacement, no pair of neighbours is known to attain the certificate
    assert accounted.verdict == ("violated" if sampling == "poisson" else "inconclusive")
