"""What the check says of each release: nothing on correct code, and the right sentence on planted faults."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import mutants
import numpy as np
import pytest
from games import GAMES
from mutants import Edit
from slices import first

from dpcheck.algorithms.kernels import tape
from dpcheck.catalogue.xu2026 import dp_spider, sto_spider
from dpcheck.catalogue.xu2026 import spider_kernels as spider
from dpcheck.catalogue.xu2026.choice import chances, choice
from dpcheck.catalogue.yang2022 import sgda
from dpcheck.catalogue.zhang2022 import algorithms
from dpcheck.catalogue.zhang2022.output_perturbation import FIELDS
from dpcheck.checks.context import Context
from dpcheck.checks.expected import expected_verdicts
from dpcheck.checks.releases import Case, actual_noise, as_declared, cases, differences, releases
from dpcheck.checks.sandwich import sandwich, share, shares
from dpcheck.events import Disjoint, Gaussian, Repeated
from dpcheck.solvers import ALGORITHMS, algorithm

CONTEXT = Context(jobs=1)


@cache
def all_cases(name: str) -> dict[str, Case]:
    return {case.label: case for case in cases(name)}


def judged(name, label="repaired", **fields):
    """The finding on the releases of a case, its solver changed in these fields."""
    case = all_cases(name)[label]
    case = replace(case, solver=replace(case.solver, **fields)) if fields else case
    return as_declared("id", case, case.solver.run(case.problem, seed=2, record=True), 2)


def noise(name, label="repaired"):
    case = all_cases(name)[label]
    return actual_noise(CONTEXT, "id", case, case.solver.run(case.problem, seed=2, record=True))


# Correct code


@pytest.mark.thorough
@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("seed", [1, 2])
def test_correct_code_gives_the_expected_verdicts(name, seed):
    found = {finding.id: finding.verdict for finding in releases(Context(jobs=1, seed=seed), name)}
    assert found == {id: expected_verdicts()[id] for id in found}
    assert {id.split(".")[1] for id in found} == set(algorithm(name).variants)


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("seed", [0, 7])
def test_shares_are_as_expected(name, seed):
    for entry in GAMES[name]():
        found = share(f"{name}.{entry.label}.share", entry, shares(Context(jobs=1, seed=seed), entry))
        assert found.verdict == expected_verdicts()[found.id], found.reason


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_release_is_named_once(name):
    for case in all_cases(name).values():
        run = case.solver.run(case.problem, seed=1, record=True)
        named = case.solver.layout(case.problem, run.history)
        assert [each.row for each in named] == list(range(len(run.history.clean)))
        assert len({str(each) for each in named}) == len(named)
        for each in named:  # no number beyond its block was released
            if each.what != "the choice":
                assert not run.history.released[each.row, each.width(case.problem) :].any()


# Noise and minibatches that are not the declared ones


RELEASE_V, DRAW = (
    "release(g_v, reals.sigma_v, reals.sensitivity_v, rng, tape)",
    "sample(scheme, n, batch, deck, rng, index, tape)",
)
SGDA = {
    "no noise on v": (
        RELEASE_V, "release(g_v, 0.0, reals.sensitivity_v, rng, tape)",
        "the release of v at step 1 has noise 0, a multiplier of 0",
    ),
    "noise times 0.9 once": (
        "release(g_w, reals.sigma_w, reals.sensitivity_w, rng, tape)",
        "release(g_w, reals.sigma_w * (0.9 if t == 3 else 1.0), reals.sensitivity_w, rng, tape)",
        "the release of w at step 4 has noise",
    ),
    "v is not released": (RELEASE_V, "", "the run makes 10 releases, where its declared events are 20"),
    "one record more": (
        DRAW, DRAW.replace("batch", "batch - 1"),
        "the release of w at step 1 reads 31 records; its declared minibatch has 32",
    ),
    "with replacement": (
        DRAW, DRAW.replace("scheme", "0"), "reads a record twice; its minibatch is declared without",
    ),
    "all records": (
        "mean(gradient, data, index[:count], batch, x, clip, g)", "mean(gradient, data, np.arange(n), n, x, clip, g)",
        "that are not in its minibatch",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", first(2, SGDA))
def test_faults_of_a_step_are_named(fault, monkeypatch):
    old, new, said = SGDA[fault]
    monkeypatch.setattr(algorithm("dp_sgda"), "kernel", staticmethod(mutants.interpreted(Edit("sgda", old, new)).sgda))
    found = judged("dp_sgda")
    assert found.verdict == "violated"
    assert said in found.reason


OTHERS = {
    "dp_rgda": (
        "rgda", Edit("release_both", "release(g[d:], sigma, sensitivity, rng, tape)",
                     "release(g[d:], 0.0, sensitivity, rng, tape)"), "of v on",
    ),
    "nseg": (
        "run", Edit("run", "release(g, reals.sigma, reals.sensitivity, rng, tape)",
                    "release(g, reals.sigma * (1 - 0.1 * half), reals.sensitivity, rng, tape)", "nseg"),
        "in the second half of step 1",
    ),
    "privatediff": (
        "run", Edit("ascend", "reals.sigma_y", "0.9 * reals.sigma_y", "privatediff"), "of v in round 0 has noise",
    ),
}  # fmt: skip
RELEASE_Z, ABOVE = (
    "release(z_v, sigma_v, sensitivity_v, rng, tape)",
    "above_threshold(objective, path[:seen], limits, reals.sigma_select, rng, tape)",
)
SILENT = Edit("publish", RELEASE_Z, RELEASE_Z.replace("sigma_v", "0.0"))
IN_VARIANTS = [  # algorithm, variant, kernel, what is changed, what is said
    ("phased_minimax_output_perturbation", "as_printed", "run", SILENT, "the release of v in phase 8 has noise 0"),
    ("phased_dual", "as_printed", "run", SILENT, "the release of v in phase 1 has noise 0"),
    ("dp_rgda", "repaired.theorem_2", "rgda", Edit("follow", "spent[USED_UP] += S2", ""), "declared disjoint"),
    ("sto_spider", "repaired", "run",
     Edit("run", ABOVE, ABOVE.replace("reals.sigma_select", "0.0"), "sto_spider"),
     "the release of the choice at the end has noise 0, a multiplier of 0"),
    *(pytest.param(name, "repaired", *fault, marks=pytest.mark.thorough) for name, fault in OTHERS.items()),
]  # fmt: skip


@pytest.mark.parametrize(("name", "variant", "kernel", "edit", "said"), first(1, IN_VARIANTS))
def test_faults_of_other_algorithms_are_named(name, variant, kernel, edit, said, monkeypatch):
    monkeypatch.setattr(algorithm(name), "kernel", staticmethod(getattr(mutants.interpreted(edit), kernel)))
    found = judged(name, variant)
    assert found.verdict == "violated"
    assert said in found.reason


def test_noise_missing_on_the_differences_of_the_estimator_is_named(monkeypatch):
    edit = Edit("estimate", "bounds.sigma_2 * bound", "0.9 * bounds.sigma_2 * bound")
    monkeypatch.setattr(spider, "estimate", mutants.interpreted(edit).estimate)
    monkeypatch.setattr(algorithm("dp_spider"), "kernel", staticmethod(mutants.interpreted(of=dp_spider).run))
    found = judged("dp_spider")
    assert found.verdict == "violated"
    assert "the release of w at step 2 has noise" in found.reason


@pytest.mark.parametrize("name", ["phased_output_perturbation", "phased_primal", "nispp"])
def test_phases_that_share_records_are_named(name):
    case = all_cases(name)["repaired" if name == "nispp" else "as_printed"]
    phases = case.solver.phases.copy()
    phases[1, FIELDS.index("first")] -= 1
    found = judged(name, case.label, phases=phases)
    assert found.verdict == "violated"
    assert "in phase 1 and the release" in found.reason
    assert "declared disjoint" in found.reason


# Noise that is not what the tape says


ADD_NOISE = "for i in range(g.size):\n    g[i] += sigma * rng.standard_normal()"
RELEASE = {
    "one number for all coordinates": (
        ADD_NOISE, "one = rng.standard_normal()\n" + ADD_NOISE.replace("rng.standard_normal()", "(g[i] * 0.0 + one)"),
        "depends on other coordinates",
    ),
    "a tenth less": (ADD_NOISE, ADD_NOISE.replace("sigma", "0.9 * sigma"), "scale"),
    "uniform": (ADD_NOISE, ADD_NOISE.replace("rng.standard_normal()", "(rng.random() - 0.5) * 12.0**0.5"), "shape"),
    "none": (ADD_NOISE, ADD_NOISE.replace("sigma", "0.0"), "repeat"),
}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("fault", RELEASE)
def test_other_noise_than_recorded_is_seen(fault, monkeypatch):
    old, new, said = RELEASE[fault]
    monkeypatch.setattr(tape, "release", mutants.interpreted(Edit("release", old, new)).release)
    monkeypatch.setattr(algorithm("dp_sgda"), "kernel", staticmethod(mutants.interpreted(of=sgda).sgda))
    found = noise("dp_sgda")
    assert found.verdict == "violated"
    assert said in found.reason


# The private choice


def test_the_law_of_the_choice_is_that_of_its_noise():
    """Against 200,000 draws; three standard errors each."""
    scores, scale, size = np.array([-2.0, 1.0, -4.0]), 1.3, 200_000
    rng = np.random.default_rng(0)
    passes = scores + rng.laplace(scale=4 * scale, size=(size, 3)) >= rng.laplace(scale=2 * scale, size=(size, 1))
    chosen = np.where(passes.any(1), passes.argmax(1), 3)
    shares = np.bincount(chosen, minlength=4) / size
    np.testing.assert_allclose(chances(scores, scale), shares, atol=3 * 0.5 / np.sqrt(size))


CHOICE = {
    "no noise on the scores": Edit("above_threshold", "4 * scale", "0.0"),
    "no noise on the threshold": Edit("above_threshold", "2 * scale", "0.0"),
    "half the noise": Edit("above_threshold", "4 * scale", "2 * scale"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("fault", CHOICE)
def test_a_choice_with_other_noise_is_seen(fault, monkeypatch):
    monkeypatch.setattr(sto_spider.StoSpider, "kernel", staticmethod(mutants.compiled(CHOICE[fault]).run))
    assert choice(CONTEXT, "id", all_cases("sto_spider")["repaired"]).verdict == "violated"


# How far releases move


def shared_out(name, label="as_printed"):
    entry = next(entry for entry in GAMES[name]() if entry.label == label)
    return share("id", entry, shares(CONTEXT, entry))


def broken_schedule(monkeypatch, old, new):
    broken = mutants.mutated(Edit("StronglyConvex.schedule", old, new)).StronglyConvex
    broken.kernel = staticmethod(algorithms.StronglyConvex.kernel)
    monkeypatch.setattr(algorithms, "StronglyConvex", broken)


def test_an_understated_sensitivity_is_named(monkeypatch):
    broken_schedule(monkeypatch, "4 * L / (mu * n)", "2 * L / (mu * n)")
    found = shared_out("output_perturbation")
    assert found.verdict == "violated"
    assert "the release of w in phase 1 by 1.163 times its declared sensitivity" in found.reason


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("L**2 / (mu * n**2)", "100 * L**2 / (mu * n**2)", "no release moves with the canary"),
        ("4 * L / (mu * n)", "400 * L / (mu * n)", "by 0.005814 of its declared sensitivity"),
    ],
)
def test_a_share_that_falls_is_no_longer_consistent(old, new, said, monkeypatch):
    broken_schedule(monkeypatch, old, new)
    found = shared_out("output_perturbation")
    assert found.verdict == "inconclusive"
    assert said in found.reason


def test_a_release_that_stays_is_named(monkeypatch):
    """The ascent's gradient at every third step is lost."""
    edit = Edit("sgda", RELEASE_V, f"g_v[:] *= t % 3 > 0\n{RELEASE_V}")
    monkeypatch.setattr(algorithm("dp_sgda"), "kernel", staticmethod(mutants.interpreted(edit).sgda))
    found = shared_out("dp_sgda", "repaired.without_replacement")
    assert found.verdict == "inconclusive"
    assert "7 releases of a run are 0 whatever the records are, where the game has 0" in found.reason


# The halves


def test_the_halves_are_judged_by_half_of_the_claim(monkeypatch):
    """With the noise of the whole claim a half is certified at 0.70 of 0.5."""
    monkeypatch.setattr("dpcheck.checks.sandwich.family", lambda *_: {})
    for name in ("phased_primal", "phased_dual"):
        first = next(iter(GAMES[name]()))
        assert (first.epsilon, first.delta) == (0.5, 5e-6)
    factor = "gaussian_factor(5, sizes.delta, sizes.epsilon)"
    broken = mutants.mutated(Edit("Half.schedule", f"2 * {factor}", factor)).PhasedPrimal
    broken.kernel = staticmethod(algorithms.PhasedPrimal.kernel)
    monkeypatch.setattr(algorithms, "PhasedPrimal", broken)
    found = {
        f.id.split(".")[-1]: f for f in sandwich(CONTEXT, "phased_primal", next(iter(GAMES["phased_primal"]())), 1000)
    }
    assert found["transcript"].verdict == "violated"
    assert found["transcript"].claimed == 0.5 < found["transcript"].certified < 1
    assert "the canary moves the release of w in phase 1 by" in found["transcript"].reason


# Events


def test_events_are_compared_in_number_and_kind():
    case = all_cases("dp_sgda")["repaired"]
    run = case.solver.run(case.problem, seed=1, record=True)
    assert not list(differences(run))
    (repeated,) = run.events
    step = repeated.event
    for events in (
        (Repeated(step, 9),),
        (replace(repeated, event=replace(step, batch=step.batch + 1)),),
        (replace(repeated, event=replace(step, population=step.population + 1)),),
        (replace(repeated, event=replace(step, mechanisms=step.mechanisms[:1])),),
        (Repeated(step, 9), replace(step, mechanisms=(Gaussian(1.0), step.mechanisms[1]))),
        (Repeated(Gaussian(step.mechanisms[0].noise_multiplier), 20),),
    ):
        assert list(differences(replace(run, events=events)))


def test_a_disjoint_event_is_as_many_releases():
    case = all_cases("phased_primal")["as_printed"]
    run = case.solver.run(case.problem, seed=1, record=True)
    (whole,) = run.events
    assert isinstance(whole, Disjoint)
    assert list(differences(replace(run, events=(Disjoint(whole.events[1:]),))))
