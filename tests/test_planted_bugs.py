"""The check of DP-SGDA catches planted faults, each by the finding that should see it.

Findings inside a run are deterministic or err with probability below 0.001 each; audits of transcripts
hold their error at 5 %. All seeds are fixed, so the outcomes are too.
"""

from __future__ import annotations

import mutants
import pytest

from dpcheck.checks import dp_sgda_inside, dp_sgda_privacy
from dpcheck.checks.context import Context

CONTEXT = Context(jobs=2)

NOISE_W, NOISE_V = "add_noise(g_w, sigma[0], rng)", "add_noise(g_v, sigma[1], rng)"
DRAW = "draw(scheme, n, batch, deck, rng, index)"
CLIP_W = "scale = clip_factor(one_w, clip[0]) / batch"

NO_NOISE_ON_V = {NOISE_V: "add_noise(g_v, 0.0, rng)"}
NOISE_OVER_M_TWICE = {
    NOISE_W: "add_noise(g_w, sigma[0] / batch, rng)",
    NOISE_V: "add_noise(g_v, sigma[1] / batch, rng)",
}
FIXED_BATCH_FOR_POISSON = {DRAW: "draw(1 if scheme == POISSON else scheme, n, batch, deck, rng, index)"}
NOISE_USED_TWICE = {
    NOISE_W: "reused = rng.standard_normal(size) if t % 2 == 0 else reused",
    NOISE_V: "g_w += sigma[0] * reused[:dim_w]; g_v += sigma[1] * reused[dim_w:]",
}
ONE_NOISE_FOR_BOTH = {
    NOISE_W: "shared = rng.standard_normal(dim_w); g_w += sigma[0] * shared",
    NOISE_V: "g_v += sigma[1] * shared[: g_v.size]",
}
NO_PROJECTION = {"project(w, domain_w)  # line 6": "pass"}
CANARY_UNCLIPPED = {CLIP_W: "scale = (1.0 if index[j] == n - 1 else clip_factor(one_w, clip[0])) / batch"}
NOTHING_CLIPPED = {CLIP_W: "scale = 1.0 / batch"}
REALISED_BATCH = {CLIP_W: "scale = clip_factor(one_w, clip[0]) / count"}
RAW_GRADIENT_IN_THE_STEP = {"w[i] -= eta[0, t] * g_w[i]": "w[i] -= eta[0, t] * g_w[i] * (1.0 + 1e-3 * one_w[i])"}

INSIDE = {
    "noise left out of v": (NO_NOISE_ON_V, "without_replacement.noise_v"),
    "noise over m twice": (NOISE_OVER_M_TWICE, "without_replacement.noise_w"),
    "fixed batch under Poisson accounting": (FIXED_BATCH_FOR_POISSON, "poisson.sampling"),
    "noise used in two steps": (NOISE_USED_TWICE, "without_replacement.noise_w"),
    "one noise for both gradients": (ONE_NOISE_FOR_BOTH, "without_replacement.noise_both"),
    "no projection": (NO_PROJECTION, "without_replacement.feasible"),
    "canary unclipped": (CANARY_UNCLIPPED, "sensitivity_w"),
    "nothing clipped": (NOTHING_CLIPPED, "sensitivity_w"),
    "mean over the realised batch": (REALISED_BATCH, "poisson.gradient"),
    "raw gradient in the step": (RAW_GRADIENT_IN_THE_STEP, "without_replacement.update"),
}


def broken(findings):
    """Ids of the violated findings, without the one that the print is known for."""
    known = "dp_sgda.as_printed.class_counts"
    return {f.id.removeprefix("dp_sgda.") for f in findings if f.verdict == "violated" and f.id != known}


@pytest.mark.parametrize("bug", INSIDE)
def test_caught_inside_a_run(bug, monkeypatch):
    changes, finding = INSIDE[bug]
    monkeypatch.setattr("dpcheck.solvers.dp_sgda.kernels", mutants.interpreted_kernels(changes.items()))
    assert finding in broken(dp_sgda_inside.inside(CONTEXT))


def test_the_unchanged_loop_passes_interpreted_and_compiled(monkeypatch):
    assert broken(dp_sgda_inside.inside(CONTEXT)) == set()
    monkeypatch.setattr("dpcheck.solvers.dp_sgda.kernels", mutants.interpreted_kernels(()))
    assert broken(dp_sgda_inside.inside(CONTEXT)) == set()


AUDITED = {
    "noise left out of v": NO_NOISE_ON_V,
    "noise over m twice": NOISE_OVER_M_TWICE,
    "canary unclipped": CANARY_UNCLIPPED,
}


@pytest.mark.parametrize("bug", AUDITED)
def test_caught_by_an_audit(bug, monkeypatch):
    """The audit scores with the claimed likelihood and knows nothing of the fault.

    That likelihood is blind to a v without noise; the audit of the final output is not.
    """
    monkeypatch.setattr("dpcheck.solvers.dp_sgda.kernels", mutants.compiled_kernels(AUDITED[bug].items()))
    transcript, output = dp_sgda_privacy.sandwich(CONTEXT, "repaired", "without_replacement")
    found = output if bug == "noise left out of v" else transcript
    assert found.verdict == "violated"
    assert found.audited > found.claimed


HALF_NOISE = {"multiplier * 2 * G / batch": "multiplier * G / batch"}
HALF_SENSITIVITY = {"sigma * self.batch / (2 * G)": "sigma * self.batch / G"}


@pytest.mark.parametrize("sampling", ["without_replacement", "poisson"])
def test_sensitivity_g_in_place_of_2g(sampling, monkeypatch):
    """Believed throughout, only the audit can see it; with the right events, the certificate does."""
    monkeypatch.setattr(dp_sgda_privacy, "DPSGDA", mutants.solver((HALF_NOISE | HALF_SENSITIVITY).items()))
    believed = next(iter(dp_sgda_privacy.sandwich(CONTEXT, "repaired", sampling)))
    assert believed.certified <= 1
    assert believed.audited > 1
    monkeypatch.setattr(dp_sgda_privacy, "DPSGDA", mutants.solver(HALF_NOISE.items()))
    accounted = next(iter(dp_sgda_privacy.sandwich(CONTEXT, "repaired", sampling)))
    assert accounted.certified > 1.5
    assert accounted.verdict == "violated"
