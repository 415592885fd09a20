"""No assumption of a theorem is passed over: every run answers each, or it is on the list of what no run can know."""

from __future__ import annotations

import importlib
import math
from dataclasses import replace

import numpy as np
import pytest

from dpcheck import solve
from dpcheck.algorithms import promises
from dpcheck.algorithms.promises import Promise, catalogued
from dpcheck.bounds.registry import theorem, theorems
from dpcheck.problems import PROBLEMS, example
from dpcheck.solvers import ALGORITHMS, algorithm, broken, configure

# Theorems that an algorithm is configured from, besides the one it takes by itself.
CHOICES = {
    "dp_sgda": [{}, {"theorem": "2b", "steps": 50}, {"theorem": "3", "pl": 0.25}],
    "dp_rgda": [{}, {"theorem": "2", "alpha": 3.0}],
}
# Their algorithms are the baselines of other papers: none of the catalogue's theorems is about them.
BASELINES = {"ada_dp_spider", "dp_spider", "dptd", "nispp", "nseg", "sto_spider"}
CASES = [
    (name, variant, choice)
    for name in ALGORITHMS
    if name not in BASELINES
    for variant in algorithm(name).variants
    for choice in CHOICES.get(name, [{}])
]


def case(name, variant, choice, problem=None, **budget):
    if problem is None:
        problem = example("polyak" if "pl" in choice else algorithm(name).example)
    budget = {"epsilon": 0.5, "delta": 1e-6} | budget
    chosen = algorithm(name)
    schedule = chosen.scheduled(problem, **budget, variant=variant, **choice | {"private": False})
    return chosen.of(schedule), problem, schedule


def unknown(paper):
    """The assumptions of a paper that no run can answer, with the reason."""
    return importlib.import_module(f"dpcheck.catalogue.{paper}").UNKNOWN


def everything():
    """(case, promise, assumption) of all algorithms, variants and theorems."""
    for name, variant, choice in CASES:
        solver, *asked = case(name, variant, choice)
        for promise in solver.promises(*asked):
            for assumption in catalogued(promise.theorem).assumptions:
                yield (name, variant, choice), promise, assumption


def test_every_assumption_is_tested_looked_up_or_listed_as_unknown():
    answered = {"number": 0, "looked up": 0, "unknown": 0}
    for (name, variant, _), promise, assumption in everything():
        where = f"{name}, {variant}: {assumption.name} of {promise.theorem}"
        if assumption.relation is not None:
            alone = replace(theorem(promise.theorem), assumptions=(assumption,))
            known = {letter: value for letter, value in promise.values.items() if 0 < value < math.inf}
            assert known == promise.values, where
            alone.violated(**promise.values)  # raises where a letter is without a number
            answered["number"] += 1
        else:
            listed = assumption.name in unknown(theorem(promise.theorem).paper)
            assert (assumption.name in promise.conditions) != listed, where
            answered["unknown" if listed else "looked up"] += 1
    assert min(answered.values()) > 20


APART = ("bok2024.", "dong2022.", "koskela2024.")  # of steps and runs in general, not of an algorithm of the catalogue


def test_every_theorem_about_an_algorithm_is_promised_by_a_run():
    """Left out are those on what no single run shows, and a theorem printed twice."""
    here = {promise.theorem for _, promise, _ in everything()}
    known = {each.id for each in theorems() if not each.id.endswith("_existential")}
    assert here == {name for name in known if not name.startswith(APART)} - {
        *(f"zhang2022.table_2_{base}" for base in ("accelerated_svrg", "catalyst", "extragradient", "jin", "svrg")),
        "xu2026.theorem_3",  # Theorem 1 again, in the appendix
        "yang2022.theorem_4", "yang2022.theorem_5",  # of any solution of Theorem 3's, and the sum of both
        "zhang2025.theorem_3", "zhang2025.theorem_4",  # lower bounds, for any algorithm
    }  # fmt: skip
    for name in BASELINES:
        problem = example(algorithm(name).example)
        schedule = algorithm(name).scheduled(problem, epsilon=0.5, delta=1e-6)
        assert tuple(configure(name, problem, epsilon=0.5, delta=1e-6).promises(problem, schedule)) == ()


def test_what_is_unknown_is_asked_for_by_some_theorem_of_its_paper():
    asked = {
        (promise.theorem.split(".")[0], assumption.name) for _, promise, assumption in everything()
        if assumption.relation is None
    }  # fmt: skip
    papers = {paper for paper, _ in asked}
    assert {(paper, name) for paper in papers for name in unknown(paper)} <= asked
    assert all(reason for paper in papers for reason in unknown(paper).values())


def test_an_assumption_without_an_answer_is_an_error():
    promise = Promise("yang2022.theorem_2a", "Theorem 2a", {"n": 9, "epsilon": 0.5, "delta": 1e-3, "T": 9, "m": 9}, {})
    with pytest.raises(LookupError, match=r"no answer to A1 of yang2022.theorem_2a"):
        list(promise.broken())


# One run that breaks an assumption for each of those that a run can break, and how the note ends.
BROKEN = {
    ("yang2022.theorem_2a", "A1"): ("dp_sgda", {"clip_w": 0.1}, "clip_w = 0.1 cuts gradients of up to 3"),
    ("yang2022.theorem_2a", "A3"): ("dp_sgda", {"problem": "wgan", "eta": 0.1}, "wgan is not"),
    ("yang2022.theorem_2a", "convex-concave"): ("dp_sgda", {"problem": "cosine"}, "cosine is not convex in w"),
    ("yang2022.theorem_2a", "bounded"): ("dp_sgda", {"problem": "cosine"}, "W is unbounded"),
    ("yang2022.theorem_2a", "start"): ("dp_sgda", {"problem": "product"}, "it starts at |w| = 0.5"),
    ("yang2022.theorem_2a", "sampling"): ("dp_sgda", {"sampling": "poisson"}, "each record is drawn by itself"),
    ("yang2022.theorem_2a", "epsilon"): ("dp_sgda", {"epsilon": 2.0}, "epsilon = 2"),
    ("yang2022.theorem_2a", "delta"): ("dp_sgda", {"delta": 0.1}, "delta = 0.1, n = 100"),
    ("yang2022.theorem_2a", "m"): ("dp_sgda", {"batch": 1}, "T = 100, epsilon = 0.5, m = 1, n = 100"),
    ("yang2022.theorem_3", "W"): ("dp_sgda", {"problem": "polyak"}, "w is projected onto W, of radius 3"),
    ("yang2022.theorem_3", "late start"): ("dp_sgda", {"problem": "polyak", "variant": "as_printed"}, " at first"),
    ("yang2022.theorem_3", "mu"): ("dp_sgda", {"problem": "polyak", "pl": 40.0}, "mu = 40"),
    ("zhang2025.theorem_2", "A1"): ("dp_sgda_clipped", {}, "w is projected onto W, of radius 1"),
    ("zhang2025.theorem_2", "thresholds"): ("dp_sgda_clipped", {"clip_v": 0.1}, "clip_v = 0.1 is below 3"),
    ("zhang2025.theorem_2", "epsilon"): ("dp_sgda_clipped", {"epsilon": 7.0}, "d = 3, delta = 1e-06, epsilon = 7"),
    ("zhang2025.theorem_2", "n"): (
        "dp_sgda_clipped", {"epsilon": 0.1}, "d = 3, delta = 1e-06, epsilon = 0.1, n = 100",
    ),
    ("zhang2025.theorem_6", "thresholds"): ("privatediff", {"C3": 0.1}, "C3 = 0.1 is below "),
    ("zhang2025.theorem_6", "steps"): ("privatediff", {"eta_y": 0.1}, "the first is 0.1"),
    ("zhang2025.theorem_6", "theta"): ("privatediff", {"failure": 0.4}, "theta = 0.4"),
    ("zhang2025.theorem_6", "T_2"): ("privatediff", {"inner": 3}, "T_2 = 3"),
    ("zhang2025.theorem_6", "m"): ("privatediff", {"batch": 1, "restart": 1}, "T = 1, epsilon = 0.5, m = 1, n = 100"),
    ("xu2026.theorem_1", "A3"): (
        "dp_rgda", {"problem": "quadratic", "r": 0.1, "t_thres": 3, "D_bar": 0.01, "steps": 8},
        "the primal function has no Lipschitz Hessian",
    ),
    ("xu2026.theorem_1", "start"): ("dp_rgda", {}, "it starts at |w| = 4.443"),
    ("xu2026.theorem_1", "escape"): ("dp_rgda", {"r": 0.1, "t_thres": 9}, "r and t_thres are given"),
    ("xu2026.theorem_1", "epsilon"): ("dp_rgda", {"epsilon": 1.0}, "epsilon = 1"),
    ("xu2026.theorem_2", "noise"): (
        "dp_rgda", {"theorem": "2", "variant": "as_printed", "alpha": 3.0}, "it is that of Algorithm 3",
    ),
    ("xu2026.theorem_1", "q"): ("dp_rgda", {"steps": 5, "period": 9}, "T = 5, q = 9"),
    ("zhang2022.theorem_3_4", "epsilon"): ("phased_output_perturbation", {"epsilon": 2.0}, "epsilon = 2"),
    ("zhang2022.theorem_4_5", "delta"): ("phased_primal", {"delta": 0.1}, "delta = 0.1, n = 200"),
    ("zhang2022.corollary_b_6", "bounded"): ("phased_convex_strongly_concave", {}, "it starts at |w| = 0.5"),
}  # fmt: skip


@pytest.mark.parametrize("broken_one", list(BROKEN))
def test_a_run_that_breaks_an_assumption_says_so_with_its_place(broken_one):
    """The note has the assumption's own sentence and place."""
    id, key = broken_one
    name, changes, end = BROKEN[broken_one]
    assumption = theorem(id).assumption(key)
    changes = {"variant": "repaired" if "repaired" in algorithm(name).variants else "as_printed"} | changes
    kind = changes.pop("problem", None)
    problem = example(kind or algorithm(name).example)
    if kind is None and len(problem.records) > 100 and name in ("dp_sgda", "dp_sgda_clipped", "privatediff"):
        problem = replace(problem, records=problem.records[:100])
    if id == "yang2022.theorem_3":
        changes = {"theorem": "3", "pl": 0.25} | changes
    budget = {"epsilon": 0.5, "delta": 1e-6} | {k: changes.pop(k) for k in ("epsilon", "delta") if k in changes}
    notes = configure(name, problem, **budget, **changes, private=False).notes
    told = [note for note in notes if f" assumes {assumption}; here " in note]
    assert len(told) == 1
    assert end in told[0].split("; here ")[1]


def test_a_run_within_its_theorem_is_silent():
    """DP-SGDA's example at a small epsilon meets all that Theorem 2a assumes, in both variants."""
    for variant in ("as_printed", "repaired"):
        solver, problem, schedule = case("dp_sgda", variant, {})
        assert list(broken(solver, problem, schedule)) == []


@pytest.mark.parametrize("name", PROBLEMS)
def test_dp_sgda_says_where_a_problem_starts_and_ends(name):
    """The start, both domains and the curvature of every problem, against the problem's own words."""
    problem = example(name)
    notes = configure("dp_sgda", problem, epsilon=0.5, delta=1e-6, eta=0.1, steps=9, clip_w=1.0, clip_v=1.0,
                      private=False).notes  # fmt: skip
    ends = [note.split("; here ")[1] for note in notes if "; here " in note]
    assert any(end.startswith("it starts at") for end in ends) == bool(np.any(problem.start))
    unbounded = np.isinf(problem.domain_w[:, 3]).any() or np.isinf(problem.domain_v[:, 3]).any()
    assert any("unbounded" in end for end in ends) == unbounded
    assert any("not convex in w" in end for end in ends) == (problem.convexity < 0)
    assert any("not concave in v" in end for end in ends) == (problem.concavity < 0)


@pytest.mark.parametrize(("name", "certified"), [("dp_spider", 4.1), ("dp_rgda", 7.0)])
def test_a_print_that_is_certified_above_its_claim_says_so(name, certified):
    (note,) = (note for note in solve(name, variant="as_printed").notes if "that is claimed" in note)
    assert note.startswith(f"the noise is certified at epsilon = {certified}")
    assert note.endswith(", above the 1 that is claimed")
    assert not any("that is claimed" in note for note in solve(name, steps=20).notes)


def test_baselines_say_what_the_table_that_lists_them_assumes():
    notes = configure("nseg", example("cosine"), epsilon=0.5, delta=1e-6, clip_w=0.1, steps=9).notes
    assert "Table 1 of Yang et al. assumes f convex in w and concave in v; here cosine is not convex in w" in notes
    assert "Table 1 of Yang et al. assumes f Lipschitz; here clip_w = 0.1 cuts gradients of up to 2.60708" in notes
    notes = configure("nseg", example("wgan"), epsilon=0.5, delta=1e-6, eta=0.1, steps=9).notes
    assert "Table 1 of Yang et al. assumes f smooth; here wgan is not" in notes
    for name in ("nseg", "nispp"):
        notes = configure(name, example("bilinear"), epsilon=0.5, delta=1e-6).notes
        assert not any("assumes" in note for note in notes)


def test_a_run_without_noise_says_so():
    assert "no noise is added, so that no epsilon is certified" in solve("dp_sgda", private=False, steps=5).notes


def test_the_failure_probability_is_no_privacy_parameter():
    """Lemma 12's limit 1/e is on theta, and not on epsilon."""
    low, high = (configure("privatediff", example("quadratic"), epsilon=0.9, delta=1e-6, failure=theta, rounds=4).notes
                 for theta in (0.3, 0.4))  # fmt: skip
    assert not any("1/e" in note for note in low)
    assert sum("theta < 1/e" in note for note in high) == 1
    assert promises.catalogued("zhang2025.theorem_6").assumption("theta").relation.free_symbols.pop().name == "theta"
