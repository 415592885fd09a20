"""Faults that the games are made to see; each is planted and turns a finding red."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import mutants
import numpy as np
import pytest
from games import GAMES
from mutants import Edit

from dpcheck.algorithms.kernels import tape
from dpcheck.catalogue.xu2026 import dp_spider
from dpcheck.catalogue.xu2026 import spider_kernels as spider
from dpcheck.catalogue.yang2022 import nseg
from dpcheck.catalogue.zhang2022 import algorithms
from dpcheck.catalogue.zhang2022.algorithms import blocks as disjoint
from dpcheck.checks.context import Context
from dpcheck.checks.games import CONFIDENCE, DELTA, Entry, WorstCase
from dpcheck.checks.sandwich import audit, curve, phases

CONTEXT = Context()


@cache
def entry(name: str, label: str) -> Entry:
    return next(each for each in GAMES[name]() if each.label == label)


def verdicts(chosen: Entry, trials: int = 20_000) -> set[str]:
    """Of the transcript, against the claim and against the certified curve."""
    game = chosen.game
    against_claim = audit(CONTEXT, game.scores, (game.data, game.neighbour), trials, 1)
    return {against_claim.verdict, curve(CONTEXT, "an algorithm", chosen, trials, {}).verdict}


def with_kernel(chosen: Entry, kernel) -> Entry:
    """The entry with another kernel in its algorithm."""
    solver = replace(chosen.game.solver)
    object.__setattr__(solver, "kernel", kernel)
    return replace(chosen, game=replace(chosen.game, solver=solver))


# Two dimensions

ADD_NOISE = "for i in range(g.size):\n    g[i] += sigma * rng.standard_normal()"
BROKEN_NOISE = {
    "one coordinate alone": ADD_NOISE.replace("sigma", "(sigma if i == 0 else 0.0)"),
    "one number for all coordinates": "shared = rng.standard_normal()\n"
                                      + ADD_NOISE.replace("rng.standard_normal()", "shared"),
}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("fault", BROKEN_NOISE)
def test_noise_that_leaves_a_direction_bare_is_seen(fault, monkeypatch):
    edit = Edit("release", ADD_NOISE, BROKEN_NOISE[fault])
    monkeypatch.setattr(tape, "release", mutants.compiled(edit).release)
    broken = with_kernel(entry("nseg", "repaired"), mutants.compiled(of=nseg).run)
    assert "violated" in verdicts(broken, 100_000)


@pytest.mark.thorough
def test_clipping_each_coordinate_by_itself_is_seen(monkeypatch):
    old = "scale = clip_factor(g[:d], clip[0]) / batch\nfor i in range(d):\n    out[i] += scale * g[i]"
    new = "for i in range(d):\n    out[i] += min(max(g[i], -clip[0]), clip[0]) / batch"
    monkeypatch.setattr(WorstCase, "mean", staticmethod(mutants.compiled(Edit("add_clipped", old, new)).mean))
    reached = entry("nseg", "repaired").game.shares(0)[0]  # w moves sqrt(2) times as far as it may, v no farther
    assert reached.max() == pytest.approx(np.sqrt(1.5))


# The dual side, later phases, trees, second refreshes


@pytest.mark.thorough
@pytest.mark.parametrize("label", ["as_printed.v", "as_printed.coupled"])
def test_a_dual_half_without_noise_is_seen_by_a_canary_that_is_in_it(label):
    release = "release(z_v, sigma_v, sensitivity_v, rng, tape)"
    kernel = mutants.compiled(Edit("publish", release, release.replace("sigma_v", "0.0"))).run
    name = "phased_minimax_output_perturbation"
    assert verdicts(with_kernel(entry(name, label), kernel), 3000) == {"violated"}
    assert verdicts(with_kernel(entry(name, "as_printed"), kernel), 3000) == {"consistent"}


@pytest.mark.thorough
@pytest.mark.parametrize("level", [0, 1])
def test_a_level_of_the_tree_without_noise_is_seen(level):
    release = "release_both(nodes[level], d, reals.sigma_u, 2 * C_u / S2, rng, tape)"
    edit = Edit("follow", release, release.replace("sigma_u", f"sigma_u * (level != {level})"))
    kernel = mutants.compiled(edit).rgda
    assert verdicts(with_kernel(entry("dp_rgda", "repaired.theorem_2"), kernel), 3000) == {"violated"}


@pytest.mark.thorough
def test_a_second_refresh_without_noise_is_seen(monkeypatch):
    mean = "objective.mean(gradient, data, big, big.size, x, clip, v)"
    edits = (
        Edit("estimate", mean, f"again = v[0] != 0.0\n{mean}"),
        Edit("estimate", "bounds.sigma_1 * L0", "0.0 if again else bounds.sigma_1 * L0"),
    )
    mutants.put(monkeypatch, spider, mutants.compiled(*edits))
    kernel = mutants.compiled(of=dp_spider).run
    assert verdicts(with_kernel(entry("dp_spider", "repaired"), kernel), 3000) == {"violated"}


def test_blocks_that_overlap_are_seen(monkeypatch):
    def overlapping(n):
        return [(max(first - 1, 0), last) for first, last in disjoint(n)]

    monkeypatch.setattr(algorithms, "blocks", overlapping)
    (found,) = phases(CONTEXT, "phased_output_perturbation")
    assert found.verdict == "violated"
    assert found.reason == "Record 2 moves releases 0 and 1; it is declared to be in one phase."


@pytest.mark.parametrize("name", ["dp_rgda", "nispp", "phased_minimax_output_perturbation", "phased_dual"])
def test_each_record_is_seen_in_one_phase(name):
    for seed in range(3):
        assert [found.verdict for found in phases(Context(seed=seed), name)] == ["consistent"]


# The level


def test_a_whole_run_is_red_by_chance_less_than_once_in_a_thousand():
    """Each audit of a sound game errs with probability 1 - CONFIDENCE at most: the union of all is counted here."""
    audits = sum(2 if each.brief else 4 for name in GAMES for each in GAMES[name]())
    assert audits < 300
    assert audits * (1 - CONFIDENCE) < 1e-3
    assert DELTA < 1e-3
