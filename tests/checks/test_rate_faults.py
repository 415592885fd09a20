"""Faults planted in schedules and loops, which turn the rate experiments red; minutes each: ``-m experiment``.

Null hypothesis of each planted fault: the finding that should see it says what is expected of correct code. Findings
err with probability .01 each; the seed is fixed, so the outcomes are too.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

import mutants
import numpy as np
import pytest
import rate_faults
import sympy
import tables
from mutants import Edit
from rate_shares import of_seed_0

from dpcheck.bounds.registry import theorem
from dpcheck.bounds.symbols import d
from dpcheck.catalogue.xu2026 import rate_escape
from dpcheck.catalogue.zhang2022 import algorithms
from dpcheck.checks import experiment as declarations
from dpcheck.checks.expected import expected_verdicts
from dpcheck.checks.experiment import level
from dpcheck.checks.rate_points import Point
from dpcheck.checks.rate_words import MARGIN, TO_ZERO, judged
from dpcheck.checks.rates import _CONFIDENCE, _frame, _slopes, experiments
from dpcheck.solvers import algorithm

AS_GOOD = ("supported", "attained", "not exceeded")


class Fault(NamedTuple):
    """edits : what is changed;  where : in the "schedule", the "kernel", the "module", or in "algorithms" as well.

    red : kinds of findings, one of which must be red, any where it is empty;  all_red : whether none stays good
    """

    algorithm: str
    part: str
    edits: Edit | tuple[Edit, ...]
    where: str = "schedule"
    red: tuple[str, ...] = ()
    all_red: bool = False


STEP_1, PERTURBED = "self.alpha / (2 * self.L)", "t % counts.period == 0 or (repaired > 0 and perturbed)"
NOISE_1 = "z * share_v * 2 * self.C_v / S1, z * share_u * 2 * self.C_u / S2"
PACKED = "reals, counts = Reals, Counts"
SPIDERS = {"Repaired.noise": "dp_spider", "Stochastic.noise": "sto_spider"}
PERIODIC = "self.calibrated(self.refreshes, self.steps - self.refreshes)"
SELECTING = "self.calibrated(min(self.refreshes, self.steps), self.steps - 1, (pure(self.scale),))"
NO_PERTURBATION = Edit("rgda", "move_in_ball(x, reals.r, rng)", "")


def scaled(definition, multipliers, factor):
    """Both noise multipliers times ``factor``."""
    return Edit(
        definition, multipliers, f"tuple(multiplier * ({factor}) for multiplier in {multipliers})", SPIDERS[definition]
    )


def spread(factor):
    """Both noise multipliers of Ada-DP-SPIDER times ``factor`` in the run, which its threshold knows nothing of."""
    more = ", ".join(f"{name}=self.{name} * ({factor})" for name in ("sigma_1", "sigma_2"))
    packed = (
        f"{PACKED}\ndef packed(self, problem):\n    from dpcheck.algorithms.run import fill, pack\n"
        f"    return pack(fill(Reals, self, {more}), fill(Counts, self))\n"
    )
    return Edit("AdaDPSpider", PACKED, packed)


XU_2026 = {
    "dp_rgda, step times n^-0.15": (Edit("EmpiricalRepaired.eta", STEP_1, f"self.sizes.n**-0.15 * {STEP_1}"),),
    "dp_rgda, step times n^-0.25": (Edit("EmpiricalRepaired.eta", STEP_1, f"self.sizes.n**-0.25 * {STEP_1}"),),
    "dp_rgda, noise times sqrt d": (
        Edit("EmpiricalRepaired.noise", NOISE_1, NOISE_1.replace("z *", "math.sqrt(self.sizes.d) * z *")),
    ),
    "dp_rgda, noise that does not shrink with n": (
        Edit("EmpiricalRepaired.noise", NOISE_1, NOISE_1.replace("S1", "1000").replace("S2", "200")),
    ),
    "dp_rgda, no refresh": (Edit("rgda", PERTURBED, "t == 0"), "kernel"),
    "dp_rgda, a difference from x itself": (
        Edit("estimate", "copy(room.last_x, room.old[:d])", "copy(z[:d], room.old[:d])"),
        "kernel",
    ),
    "dp_rgda, no ascent": (Edit("ascend", "y[i] + reals.lam * u[i]", "y[i]"), "kernel"),
    "dp_spider, first iterate returned": (Edit("run", "below(T, rng)", "below(T, rng) * 0", "dp_spider"), "module"),
    "dp_spider, no refresh": (Edit("run", "t % q == 0", "t == 0", "dp_spider"), "module"),
    "ada_dp_spider, last iterate returned": (Edit("run", "copy(anchor, w)", "", "ada_dp_spider"), "module"),
    "ada_dp_spider, first iterate returned": (
        Edit("run", "copy(w, out)", "copy(data.start, out)", "ada_dp_spider"),
        "module",
    ),
    "ada_dp_spider, noise times sqrt d in the run": (spread("problem.dim_w ** 0.5"), "module"),
    "ada_dp_spider, noise that does not shrink with n in the run": (spread("len(problem.records) / 2000"), "module"),
    "sto_spider, last iterate returned": (
        Edit("run", "chosen if chosen >= 0 else seen - 1", "seen - 1", "sto_spider"),
        "module",
    ),
    "dp_spider, noise times sqrt d": (scaled("Repaired.noise", PERIODIC, "self.sizes.d ** 0.5"),),
    "ada_dp_spider, threshold times n^0.25": (
        Edit("Adaptive.chi", "return self.noise_level", "return self.noise_level * (self.sizes.n / 2000) ** 0.25"),
    ),
    "sto_spider, noise times sqrt d": (scaled("Stochastic.noise", SELECTING, "self.sizes.d ** 0.5"),),
    "sto_spider, noise that does not shrink with n": (scaled("Stochastic.noise", SELECTING, "self.sizes.n / 2000"),),
}


STEP_2A = "max(math.sqrt(self.sizes.n), self.sizes.privacy_error * self.sizes.n)"
PRINTED_2A = "printed_noise(G, sizes.n, self.steps, sizes.epsilon, sizes.delta)"
NSEG_STEP = "1 / (L * math.sqrt(n) * max(1, a * math.sqrt(n)))"
UPDATE_V, AVERAGE = "v[i] += steps[1, t] * g_v[i]", "mean(gradient, data, index[:count], batch, x, clip, g)"


def slower(power):
    return Edit("Theorem2a.slowest", STEP_2A, f"self.sizes.n**{power} * {STEP_2A}")


def nseg_slower(power):
    return Edit("Extragradient.eta", NSEG_STEP, NSEG_STEP.replace("1 /", f"n**-{power} /"))


STATISTICAL = ("dp_sgda", "2a.statistical")
YANG_2022 = {
    "step n^-.15": Fault(*STATISTICAL, slower(0.15), all_red=True),
    "step n^-.25": Fault(*STATISTICAL, slower(0.25), all_red=True),
    "step n^-.5": Fault(*STATISTICAL, slower(0.5), all_red=True),
    "step n^-.25 without smoothness": Fault("dp_sgda", "2b.statistical", slower(0.25), all_red=True),
    "noise sqrt d": Fault(
        "dp_sgda", "2a.privacy", Edit("Theorem2a.noise", PRINTED_2A, f"math.sqrt(sizes.d) * {PRINTED_2A}"), all_red=True
    ),
    "noise that does not shrink": Fault(
        "dp_sgda", "2a.privacy", Edit("printed_noise", "n * epsilon", "40_000 * epsilon"), all_red=True
    ),
    "last iterate": Fault(*STATISTICAL, Edit("Theorem2a.output", 'return "average"', 'return "last"')),
    "falling steps n^-.25": Fault(
        "dp_sgda", "theorem_5.as_printed", Edit("Theorem3.falling", "2 / (pl * t)", "2 / (pl * t * self.steps**0.25)")
    ),
    "repaired steps that begin at 1": Fault(
        "dp_sgda", "theorem_5.repaired", Edit("Theorem3Repaired.late", "late = True", "late = False")
    ),
    "first iterate": Fault(
        *STATISTICAL, Edit("sgda", "out[i] += x[i] / T", "out[i] = x[i] if t == 0 else out[i]"), "kernel", all_red=True
    ),
    "v not updated": Fault(*STATISTICAL, Edit("sgda", UPDATE_V, "v[i] += 0 * g_v[i]"), "kernel", all_red=True),
    "wrong sign in v": Fault(*STATISTICAL, Edit("sgda", UPDATE_V, UPDATE_V.replace("+", "-")), "kernel", all_red=True),
    "divided by n": Fault(*STATISTICAL, Edit("sgda", AVERAGE, AVERAGE.replace("batch", "n")), "kernel", all_red=True),
    "without extrapolation": Fault("nseg", "turning", Edit("run", "u if half == 0 else z", "u", "nseg"), "kernel"),
    "step by .15": Fault("nseg", "statistical", nseg_slower(0.15), all_red=True),
    "step by .25": Fault("nseg", "statistical", nseg_slower(0.25), all_red=True),
    "about the wrong centre": Fault(
        "nispp", "with_replacement", Edit("publish", "copy(z_w, centre[:d])", ""), "kernel", all_red=True
    ),
    "the last phase for the mean": Fault(
        "nispp", "single_pass", Edit("NISPP.average", "average = True", "average = False"), "module"
    ),
}

PHASED = "phased_output_perturbation"
RELEASED, FACTORS = "publish(z, data, steps[k], centre, rng, out, tape)", 'row[f"sensitivity_{part}"] * factor'
IN_PHASES = {
    "noise times sqrt(d)": ("sensitivity * factor", "sensitivity * factor * math.sqrt(sizes.d)"),
    "noise that does not shrink with n": ("sensitivity * factor", "sensitivity * factor * n / 4096"),
    "mu with the wrong power of n, by -.25": ("L / D", "(n / 4096) ** -0.25 * L / D"),
    "mu with the wrong power of n, by -.15": ("L / D", "(n / 4096) ** -0.15 * L / D"),
    "mu_k without 2^k": ("mu * 2**k", "mu"),
    "one phase missing": ("enumerate(blocks(n), 1)", "enumerate(blocks(n)[1:], 2)"),
}
ZHANG_2022 = {
    name: (PHASED, Edit("PhasedConvex.schedule", *change), "module") for name, change in IN_PHASES.items()
} | {
    "the proximal term stays about the start": (PHASED, Edit("publish", "copy(z_w, centre[:d])", ""), "algorithms"),
    "the first phase's point is returned": (
        PHASED, Edit("run", RELEASED, RELEASED.replace("out", "out if k == 0 else out.copy()")), "algorithms",
    ),
    "noise on w alone": (
        "minimax_output_perturbation", Edit("Saddle.schedule", FACTORS, f'{FACTORS} * (part == "w")'), "module",
    ),
    "noise of Algorithm 4 without the other part's mu": (
        "phased_primal", Edit("Half.schedule", "math.sqrt(mu_k * mu)", "mu_k"), "module",
    ),
    "noise of Corollary B.6 without the minimum": (
        "phased_convex_strongly_concave", Edit("OneSided.schedule", "min(mu_k, curved)", "mu_k"), "module",
    ),
}  # fmt: skip

SGDA, DIFF = "dp_sgda_clipped", "privatediff"
STEP_2 = "1 / (16 * (l / mu + 1) ** 2 * l)"
PRINTED_2 = "printed_noise(C, sizes.n, self.steps, sizes.epsilon, sizes.delta)"
CERTIFIED = "self.certified_noise(clips, self.sampling, self.batch, self.steps)"
ASCENT, MEAN = "ascent_steps(self.problem, self.inner, self.repaired)", "z * rate * self.nu * 2 * G / self.batch"
TRACKING, EITHER = "(1 - (alpha if i < d else beta) * nu) * average[i] + g[i]", ("prediction", "rate")
PRINTED_PART, SHORT = "rate of theorem_2.as_printed", "short_threshold"
ZHANG_2025 = {
    "step n^-.15": (SGDA, PRINTED_PART, Edit("Printed.eta_w", STEP_2, f"self.sizes.n**-0.15 * {STEP_2}", SGDA)),
    "step n^-.25": (SGDA, PRINTED_PART, Edit("Printed.eta_w", STEP_2, f"self.sizes.n**-0.25 * {STEP_2}", SGDA)),
    "noise sqrt d": (
        SGDA, "rate of theorem_2", (
            Edit("Printed.noise", PRINTED_2, f"math.sqrt(sizes.d) * {PRINTED_2}", SGDA),
            Edit("Repaired.noise", CERTIFIED, f"[math.sqrt(self.sizes.d) * s for s in {CERTIFIED}]", SGDA),
        ),
    ),
    "noise without n": (
        SGDA, PRINTED_PART, Edit("Printed.noise", PRINTED_2, PRINTED_2.replace("sizes.n", "20000"), SGDA),
    ),
    "last iterate": (SGDA, "rate of theorem_2", Edit("Printed.output", 'fixed("uniform")', 'fixed("last")', SGDA)),
    "noise without epsilon": (DIFF, SHORT, Edit("Printed.noise", "n * self.sizes.epsilon", "n * 0.4", "threshold_C3")),
    "ascent of one tiny step": (
        DIFF, "without_noise",
        Edit("Printed.eta_y", ASCENT, "1e-3 * ascent_steps(self.problem, 1, self.repaired)", "threshold_C3"),
    ),
    "noise of the sum": ("dptd", "dptd", Edit("Repaired.noise", MEAN, MEAN.removesuffix(" / self.batch"), "dptd")),
    "no refresh": (DIFF, SHORT, Edit("run", "r % counts.restart == 0", "r == 0", DIFF), "module"),
    "wrong previous point": (
        DIFF, SHORT, Edit("run", "copy(old, old_point)", "copy(start, old_point)", DIFF), "module",
    ),
    "noise without the threshold": (DIFF, SHORT, Edit("run", "sigma * C", "sigma", DIFF), "module"),
    "no tracking": ("dptd", "dptd", Edit("run", TRACKING, "g[i]", "dptd"), "module"),
}  # fmt: skip

FAULTS = {
    name: Fault(name.partition(",")[0], "theorem_1" if name.startswith("dp_rgda") else "table_1", *given)
    for name, given in XU_2026.items()
}
for group in (
    YANG_2022,
    {
        name: Fault(name_of, "noise" if name.startswith("noise of") else "privacy", *more, red=("prediction",))
        for name, (name_of, *more) in ZHANG_2022.items()
    },
    {name: Fault(*given, red=EITHER) for name, given in ZHANG_2025.items()},
):
    FAULTS |= {f"{fault.algorithm}, {name}": fault for name, fault in group.items()}


def edits_of(fault):
    return fault.edits if isinstance(fault.edits, tuple) and not isinstance(fault.edits, Edit) else (fault.edits,)


def into_kernel(monkeypatch, name, *edits):
    """Give the algorithm a kernel that has the edits."""
    chosen = algorithm(name)
    changed = getattr(mutants.compiled(*edits), chosen.kernel.py_func.__name__)
    monkeypatch.setattr(chosen, "kernel", staticmethod(changed))


@pytest.mark.thorough
def test_what_the_faults_change_is_there_once():
    """Their own tests are long and run seldom: an edit that no longer fits should show at once."""
    for fault in FAULTS.values():
        rate_faults.assert_there_once(*edits_of(fault))
    rate_faults.assert_there_once(NO_PERTURBATION)


@pytest.mark.experiment
@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_turn_the_check_red(name, monkeypatch):
    fault = FAULTS[name]
    if fault.where == "kernel":
        into_kernel(monkeypatch, fault.algorithm, *edits_of(fault))
    elif fault.where == "schedule":
        rate_faults.plant_in_schedule(monkeypatch, fault.algorithm, *edits_of(fault))
    else:
        rate_faults.plant(monkeypatch, *edits_of(fault))
        if fault.where == "algorithms":  # whose classes these are made of
            rate_faults.plant(monkeypatch, of=algorithms)
    red = rate_faults.assert_red(found := rate_faults.findings(fault.algorithm, part=fault.part))
    print(name, [(each.id, each.verdict) for each in red])
    assert not fault.red or {each.id.split(".")[1] for each in red} & {*fault.red}
    assert not fault.all_red or not any(each.verdict in AS_GOOD for each in found)


@pytest.mark.experiment
def test_a_perturbation_that_is_left_out_is_caught(monkeypatch):
    """At every saddle, that with privacy's noise included: there the noise alone leaves in few runs of a hundred."""
    into_kernel(monkeypatch, "dp_rgda", NO_PERTURBATION)
    found = rate_faults.findings("dp_rgda", part="escape")
    red = {finding.id for finding in rate_faults.assert_red(found) if finding.verdict == "contradicted"}
    assert red == {f"dp_rgda.escape.{saddle.name}" for saddle in rate_escape.SADDLES}


@pytest.mark.experiment
@pytest.mark.parametrize(
    ("name", "id", "part", "false"),
    [
        ("output_perturbation", "zhang2022.theorem_3_3", "privacy", lambda formula: formula.subs(d, 1)),
        (SGDA, "zhang2025.theorem_2", PRINTED_PART, lambda formula: formula / d ** sympy.Rational(1, 4)),
    ],
)
def test_a_bound_without_its_power_of_d_is_red(name, id, part, false, monkeypatch):
    stated = theorem(id)
    wrong = replace(stated, bound_formula=false(stated.bound_formula))
    monkeypatch.setattr(declarations, "theorem", lambda asked: wrong if asked == id else theorem(asked))
    red = rate_faults.assert_red(rate_faults.findings(name, part=part))
    rates = {finding.id.split(".")[1]: finding.verdict for finding in red}
    assert rates["rate"] not in AS_GOOD


OLD_WORDS = "2026-11-23"  # when rows were measured whose words for a rate are those of fit_rate, on the code of then


def test_the_kept_table_has_every_fault_and_those_planted_since_in_todays_words():
    kept, expected = tables.read("rate_faults"), expected_verdicts()
    planted = {(fault.algorithm, name.partition(", ")[2]) for name, fault in FAULTS.items()}
    planted |= {(name, "a bound without its power of d is red") for name in ("output_perturbation", SGDA)}
    planted |= {("dp_rgda", "a perturbation that is left out is caught")}
    assert {*kept[["algorithm", "fault"]].itertuples(index=False, name=None)} == planted
    assert kept.red.notna().all()
    for row in kept[kept.measured > OLD_WORDS].itertuples():
        for red in row.red.split("; "):
            id, verdict, wanted = re.fullmatch(r"(\S+): (.+) where (.+) is expected", red).groups()
            assert expected[id] == wanted and verdict not in wanted.split(" or ")


def attained_of(each):
    """The rows of the kept table of rates in which a factor of the experiment is attained."""
    kept = tables.read("rates")
    here = kept[(kept.algorithm == each.algorithm) & (kept.experiment == each.name)]
    return here[here.verdict == "attained"]


MEASURED = [
    pytest.param(each, id=each.id, marks=() if each.algorithm == "nseg" else pytest.mark.thorough)
    for each in experiments()
    if len(attained_of(each))
]


@pytest.mark.parametrize("each", MEASURED)
def test_exponents_planted_in_what_was_measured_are_rejected_from_the_kept_number_on(each):
    """What is shipped is multiplied by factor^x: .01 below the number of the table a claim stands, there it falls.

    At .1 to either side nothing is called attained any more.
    """
    points = []
    for cell in each.grid.cells:
        order, _ = each.terms(each.sample(cell, np.random.default_rng(0)), cell)
        points.append(Point(cell, None, np.nan, order, np.nan, np.nan, (), np.empty(0)))
    values = of_seed_0(each, points)
    assert min(map(len, values)) in (each.grid.seeds, 4 * each.grid.seeds)

    def planted(factor, by):
        power = -by if factor in TO_ZERO else by
        changed = [replace(p, values=v * level(p.cell, factor) ** power) for p, v in zip(points, values, strict=True)]
        found = judged(_frame(changed), "measured", _slopes(each, changed, "order"), confidence=_CONFIDENCE)[0]
        return next(one for one in found if one.name == factor)

    for row in attained_of(each).itertuples():
        for side, way in (("too_fast", 1), ("too_slow", -1)):
            least = getattr(row, side)
            assert least <= MARGIN
            assert getattr(planted(row.factor, way * least), side) in (0, None)  # None where nothing is said any more
            assert getattr(planted(row.factor, way * (least - 0.01)), side) != 0
            assert planted(row.factor, way * MARGIN).word != "attained"
