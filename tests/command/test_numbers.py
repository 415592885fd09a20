"""Numbers in the documentation are those of a kept table, or of a call: either changes, and this is red.

A case is a page and the sentence that must stand there, made of what the table or the call gives now.
"""

from __future__ import annotations

import inspect
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tables
from files import ROOT
from rate_laws import LARGE, most_support
from rate_laws import Grid as Wider
from scipy.stats import binom, binomtest

import dpcheck
from dpcheck.accounting import certify
from dpcheck.audits import named_part, search, step_gradient, step_sampling, training_step
from dpcheck.audits.looks import CHANCE
from dpcheck.audits.running import encoder
from dpcheck.audits.tables import _LOOK, _TESTED, _fewest
from dpcheck.bounds.registry import claims
from dpcheck.checks.rate_words import OFTEN
from dpcheck.events import Gaussian

CERTIFY = "dpcheck/accounting/__init__.py"
WORDS = dict(enumerate("none one two three four five six seven eight nine ten eleven".split()))  # noqa: SIM905
WORDS |= {16: "sixteen", 20: "twenty"}


def stopped_early() -> tuple[str, str]:
    """The README's first audit."""
    audit = dpcheck.audit_privacy(
        lambda ages, rng: sum(ages) / len(ages) + rng.laplace(scale=14.4),
        [23, 35, 35, 47, 18], [23, 35, 35, 47, 90], epsilon=0.5,
    )  # fmt: skip
    most = inspect.signature(dpcheck.audit_privacy).parameters["trials"].default
    tested = audit.event.trials
    moved = (90 - 18) / 5
    assert moved / audit.epsilon == 2 * 14.4  # the scale of Laplace noise that the claim needs
    return (
        f"The audit stopped after {audit.trials} of at most {most:,} runs: {audit.trials - tested} chose the witness, "
        f"{tested} fresh ones tested it.",
        f"moves the mean by {moved:g}, so that the claim needs twice this noise.",
    )


def suite() -> str:
    layers = tables.read("layers")
    assert set(layers["cores"]) == {2}
    return f"about {5 * round(layers['seconds'].sum() / 300)} minutes on two cores"


def strength() -> tuple[str, ...]:
    found = tables.read("strength")
    low = found["off"] == "below"
    held, missed = found[~low]["found"], found[low]["found"]
    assert set(found["audits"]) == {100}
    for row in found[~low].itertuples():
        assert binomtest(row.found, row.audits, CHANCE, alternative="less").pvalue > 0.02
    return (
        f"for {WORDS[len(found)]} mechanisms, 100 audits each, too: for {WORDS[len(held)]}, among them",
        f"{held.min()} to {held.max()} were found, which is {100 * CHANCE:.0f} up to chance",
        f"were found in {missed.min()} to {missed.max()}.",
    )


def simulated_strength() -> tuple[str, str]:
    source = (ROOT / "tests/audits/test_strength.py").read_text("utf-8")
    points = re.findall(r"\([^()]+\)", re.search(r"POINTS = \[(.+?)\]", source, re.S)[1])
    return f"in at least {100 * CHANCE:.0f} of 100 such audits", f"at {WORDS[len(points)]} claims and two budgets"


def counted(audit: str) -> str:
    rows = pd.concat([tables.read(f"false_alarms_{audit}"), tables.read(f"false_alarms_further_{audit}")])
    assert set(rows["repeats"]) == {2000}
    assert rows["alarms"].max() <= binom.isf(1e-3, 2000, 0.05)
    assert len(rows) in (20, 22)
    return f"0 to {math.ceil(1000 * rows['share'].max()) / 10:.1f} % by `{audit}`"


def tables_runs() -> str:
    least, most = (_fewest(5.0, 0.0, 0.025 / k) for k in (1, _TESTED))
    return f"at least {_LOOK} on either side at epsilon = 1, and {least} to {most:,} at 5 (by how much differs)"


def point_alone() -> str:
    """Ten times the runs of the page's example, of its mechanism and seed."""

    def release(value: float, rng: Any, size: int) -> Any:
        return value + 3.0 * rng.standard_normal(size)

    epsilon = certify(Gaussian(3.73), 1e-5).epsilon
    audit = dpcheck.audit_privacy(release, 1, 0, epsilon=epsilon, delta=1e-5, trials=200_000, vectorized=True)
    assert audit.verdict == "consistent"
    return (
        "which ten times these runs do not show at delta = 1e-5 alone, where the claim is epsilon = "
        f"{round(epsilon, 3):g}:"
    )


def clean_steps() -> tuple[str, ...]:
    rows = tables.read("clean_libraries")
    assert not rows["violated"].any()
    (audits,) = set(rows["audits"])
    each = rows["CPU seconds"] / audits
    return (
        f"took {each.min():.0f} to {each.max():.0f} CPU seconds",
        f"{WORDS[len(rows)].capitalize()} clean float32 configurations of the libraries below, {audits} audits each",
    )


def parts_of_a_step() -> tuple[str, ...]:
    return (
        f"{step_sampling._MINIBATCHES} minibatches of the loader against the scheme that was accounted, and in "
        f"{step_sampling._COUNTED:,} or more how often each record is drawn",
        f"take {10 * step_sampling.minibatches_to_count(2000, 10, 0.2 * 0.05 / 3, least=1000):,} draws to be seen",
        f"in up to {step_gradient._COORDINATES} coordinates",
        f"of more than {step_gradient._MOST_RECORDS} records, some of them",
        f"so many records that {training_step._KEPT} are drawn on average, and on at most {training_step._MOST_KEPT:,}",
        f"which it may exceed by {100 * training_step._ACCURACY:g}%",
        f"At least {step_gradient._FEWEST_RELEASES} releases are held in memory",
    )


def one_run() -> tuple[str, ...]:
    best = tables.read("one_run_bounds").query("canaries == 1000").set_index("bound")["share"]
    rows = tables.read("one_run_calls").set_index("canaries")
    few, many = rows.loc[100], rows.loc[1000]
    return (
        f"{many['median']:.2f} with 1,000 canaries ({many['low_10']:.2f} to {many['high_90']:.2f} in eight of ten)",
        f"{few['median']:.2f} with 100 ({few['low_10']:.2f} to {few['high_90']:.2f})",
        f"{best['jointly']:.2f} by all points, {best['best point alone']:.2f} by the best point alone and "
        f"{best['Mahloujifar et al.']:.2f} by the bound of Mahloujifar et al. (2025)",
    )


def guesses_that_hang_together() -> tuple[str, ...]:
    kept = tables.read("one_run_beside_independence")
    all_guessed = kept.query("mechanism == 'gaussian mu=1' and canaries == 1000 and guesses == 1000")["accused"].item()
    return (
        f"violated in {100 * all_guessed:.0f} % of runs where 5 % are allowed",
        f"{(kept['accused'] > 0.05).sum()} of the {len(kept)} settings",
    )


def looked_at() -> tuple[str, ...]:
    return (
        f"Of more than {encoder._NUMBERS} numbers",
        f"the first {encoder._GLANCED:,} cells",
        f"the first {encoder._MEMBERS} entries",
        {0.5: "or take longer than half a second"}[named_part._SECONDS],
    )


def loops_beside_numpy() -> tuple[str, ...]:
    kept = tables.read("loops_beside_numpy")
    small, large = kept[kept["loop"] != "of larger arrays"], kept[kept["loop"] == "of larger arrays"]
    assert (large[["dpcheck over bare, NumPy", "dpcheck over bare, JAX"]] < 1.05).all(axis=None)
    added = {name: 100 * (small[f"dpcheck over bare, {name}"] - 1) for name in ("JAX", "NumPy")}
    compiled, eager = (small[small["JAX"].eq("eager") == is_eager]["JAX over NumPy, dpcheck"] for is_eager in (0, 1))
    bare = small[small["JAX"] == "eager"]["JAX over NumPy, bare"]
    return (
        f"dpcheck added {added['JAX'].min():.0f} to {added['JAX'].max():.0f} % to a loop in JAX and "
        f"{added['NumPy'].min():.0f} to {added['NumPy'].max():.0f} % to its twin in NumPy (on larger ones nothing",
        f"took {compiled.min():.1f} to {compiled.max():.0f} times as long as its twin",
        f"took {eager.min():.0f} to {eager.max():.0f} times as long",
        f"without dpcheck it took {bare.median():.0f} times as long.",
    )


def beside_jax_privacy() -> tuple[str, str]:
    kept = tables.read("one_run_beside_jax_privacy")
    ahead = kept["dpcheck, in family"] > kept["jax_privacy, in family"]
    even = kept[~ahead]
    assert even[["mu", "canaries", "dpcheck, in family", "jax_privacy, in family"]].to_numpy().tolist() == [
        [0.25, 100, 0, 0]
    ]
    (runs,) = set(kept["runs"])
    assert set(kept["canaries"]) == {100, 1000}
    mus = [f"{mu:g}" for mu in sorted(set(kept["mu"]))]
    return (
        f"the median of `in_family` over {runs} runs [is above](../tests/measured/one_run_beside_jax_privacy.csv) that",
        f"at mu = {', '.join(mus[:-1])} and {mus[-1]}, with 100 canaries and with 1,000; only with 100 at 0.25 both",
    )


def one_term_from_two() -> tuple[str, ...]:
    kept = tables.read("rate_laws").set_index(["levels", "seeds", "largest", "spread", "law"])
    kept = kept.sort_index()
    usual = kept.loc[8, 20, 16384, 0.2]
    clean, sum_of_two = usual.loc[["n^-1/2", "n^-1"], "claim supported"], "1/sqrt(n) + 300/n"
    sizes = LARGE.sizes
    slope = np.polyfit(np.log(sizes), np.log(sizes**-0.5 + 300 / sizes), 1)[0]
    return (
        f"which looks like n^-{-slope:.2f} from n = {sizes[0]:g} to {sizes[-1]:g}, supports n^-.65 in "
        f"{100 * usual.loc[sum_of_two, 'too fast supported']:.0f} % of tables".replace("-0.", "-."),
        f"supported in {100 * clean.min():.0f} to {100 * clean.max():.0f} % of tables with 20 runs a size",
        f"no rule exceeds {most_support(LARGE):.2f} and {most_support(Wider(8, 200)):.2f} ".replace(" 0.", " ."),
        f"whose slower term is {100 / (1 + 300 / 4096**0.5):.0f} % of the mean at the end, supports n^-.65 in "
        f"{100 * kept.loc[(6, 20, 4096, 0.1, sum_of_two), 'too fast supported']:.0f} % of tables",
    )


def least_rejected() -> tuple[str, str]:
    """Of what the report calls attained, and how often other seeds do."""
    kept = tables.read("rate_factors")
    attained = kept[kept["best"] == "attained"]
    low = (attained["share"] < OFTEN).sum()
    return (
        f"{len(attained)} of the {len(kept)} factors that theorems name are attained",
        f"in fewer than nine of ten repeats are {WORDS.get(low, low)} of them",
    )


def planted_in_code() -> str:
    kept = tables.read("rate_faults")
    old = kept["measured"] == "2026-11-23"
    assert kept["red"].notna().all()
    return (
        f"[{len(kept)} rate errors that were planted](../tests/measured/rate_faults.csv) in code turned these findings "
        f"red: {(~old).sum()} on this code, {old.sum()} on that of 23 November"
    )


def composed() -> pd.DataFrame:
    found = tables.read("certificate_sweep")
    found = found[found["kind"] != "short laplace"]
    assert not found["below_truth"].any()
    return found


def grid() -> str:
    found = composed()
    return f"at most {100 * found['largest_excess'].max():.2g}% in [{found['compositions'].sum()} compositions]"


def above(scheme: str) -> pd.DataFrame:
    found = tables.read(f"above_{scheme}")
    return found.assign(ratio=found["certified"] / found["known"])


def percent(ratio: float) -> str:
    """How much is above 1, in per cent, rounded up to two figures or to whole ones."""
    excess = 100 * (ratio - 1)
    return f"{math.ceil(excess)}%" if excess > 10 else f"{math.ceil(10 * excess) / 10:g}%"


def without_replacement() -> str:
    found = above("without_replacement")
    most = found.groupby("steps")["ratio"].max()
    assert most[1] < 1.001
    (z, q) = (f"{found[name].min():g} to {found[name].max():g}" for name in ("multiplier", "rate"))
    return (
        f"by up to {percent(most[10])} at 10 steps, {percent(most[100])} at 100, {percent(most[1000])} at 1,000 and "
        f"{percent(most[10_000])} at 10,000 ([multipliers {z}, rates {q}]"
    )


def with_replacement() -> str:
    found = above("with_replacement")
    most = found.groupby("steps")["ratio"].max()
    (z, q) = (f"{found[name].min():g} to {found[name].max():g}" for name in ("multiplier", "rate"))
    return (
        f"above such a pair by up to {percent(most[1])} for one step, {percent(most[10])} for 10, {percent(most[100])} "
        f"for 100 and {percent(most[1000])} for 1,000 ([multipliers {z}, rates {q}"
    )


def allocated() -> tuple[str, str]:
    runs = tables.read("allocation")
    assert runs["allocation_high"].between(runs["pld_accounting_low"], runs["pld_accounting_high"]).all()
    most = above("random_allocation").groupby("multiplier")["ratio"].max()
    first, last = sorted(set(runs["steps"]))
    return (
        f"in [{WORDS[len(runs)]} runs](../tests/measured/allocation.csv) (multipliers {runs['multiplier'].min():g} to "
        f"{runs['multiplier'].max():g}, {first} and {last} steps)",
        f"by up to {percent(most[0.5])} at multiplier 0.5, and {percent(max(most[1.0], most[2.0]))} at 1 and 2",
    )


def looseness() -> tuple[str, str]:
    worst = [above(name)["ratio"].max() for name in ("without_replacement", "with_replacement", "random_allocation")]
    found = composed()
    assert found["largest_excess"].max() < 2e-4
    return (
        f"at most 0.02% in the {found['compositions'].sum()} random compositions",
        f"up to {percent(worst[0])} above for several; with replacement up to {percent(worst[1])} above; "
        f"random allocation to 2 to 8 steps up to {percent(worst[2])} above.",
    )


def overhead() -> tuple[str, ...]:
    rows = tables.read("executor_overhead").set_index("backend")
    threads, processes, dask, ray = (f"{100 * rows['median overhead'][name]:.1f} %" for name in rows.index)
    start = rows["start seconds"]
    chunk = f"{1000 * rows['chunk seconds'].iloc[0]:.0f}"
    return (
        f"chunks of {chunk} ms on {WORDS[rows['workers'].iloc[0]]} workers",
        f"{threads} with threads, {processes} with processes, {dask} with Dask and {ray} with Ray",
        f"Starting Dask took {start['dask']:.2g} s, starting Ray {start['ray']:.1g} s.",
        f"is {2e5 / 3600:.0f} hours on one core, and {2e5 * 1.02 / 32 / 3600:.1f} hours on 32 with an overhead of 2 %",
    )


def killed() -> str:
    rows = tables.read("kills")
    assert (rows["same"] == rows["rounds"]).all()
    return f"In {rows['rounds'].sum()} runs that were killed {rows['kills'].sum()} times at random"


def shares_of_a_search() -> str:
    inside, beyond, apart = (f"{100 * search._SHARES[name]:.0f}" for name in ("inside", "beyond", "not finite"))
    return f"{inside}, {beyond} and {apart} %"


def tables_docstring() -> str:
    least, most = (_fewest(5.0, 0.0, 0.025 / k) for k in (1, _TESTED))
    return f"one of 5 takes at least {least} to {most:,} runs to be refuted"


def comment() -> tuple[str, ...]:
    """The example of docs/ci, audited as it stands."""
    command = [sys.executable, "-m", "dpcheck", "audit", "--all", "--format", "json"]
    run = subprocess.run(command, cwd=ROOT / "docs/ci", capture_output=True, text=True, check=False)
    found = {each["id"].split(".")[0]: each["audited"] for each in json.loads(run.stdout)["findings"]}
    assert len(found) == 3
    return tuple(f"≥ {epsilon:.4g} | {'**' * (name == 'leaking_mean')}" for name, epsilon in found.items())


def users_code() -> tuple[str, str]:
    rows = tables.read("users_code")
    faults, clean = rows[rows["fault"]], rows[~rows["fault"]]
    assert faults["found"].all() and not clean["found"].any()
    loops, named = faults[faults["way"] == "check"], faults["part"] & faults["line"].notna()
    return (
        f"Of {len(loops)} loops with a planted fault all were found and {(loops['line'] == 'fault').sum()} of the "
        f"lines named, and of {(clean['way'] == 'check').sum()} without a fault none was called violated",
        f"of {len(faults)} faults in loops, steps, queries and tables all were found, {named.sum()} of them with the "
        f"part and a line, and of {len(clean)} clean twins none",
    )


def by_chance() -> tuple[str, str]:
    runs = tables.read("verdicts").set_index("finding")
    audits = runs.isin(["violated", "consistent", "inconclusive"]).any(axis=1).sum()
    assert tables.read("rate_chances")["chance"].sum() + 1e-6 * audits < 1e-3
    generic = sum(name.startswith("generic") for name in runs)
    return "fewer than one in 1,000 checks", f"at {WORDS[runs.shape[1]]} seeds, {WORDS[generic]} of them compiled"


STATED: dict[Callable[[], str | tuple[str, ...]], str] = {
    stopped_early: "README.md",
    suite: "README.md",
    strength: "docs/audits.md",
    simulated_strength: "docs/audits.md",
    tables_runs: "docs/audits.md",
    point_alone: "docs/audits.md",
    looked_at: "docs/audits.md",
    clean_steps: "docs/training_loop.md",
    parts_of_a_step: "docs/training_loop.md",
    one_run: "docs/training_loop.md",
    guesses_that_hang_together: "docs/audits.md",
    loops_beside_numpy: "docs/training_loop.md",
    beside_jax_privacy: "docs/audits.md",
    one_term_from_two: "docs/rates.md",
    least_rejected: "docs/rates.md",
    planted_in_code: "docs/rates.md",
    killed: "docs/cluster.md",
    shares_of_a_search: "docs/audits.md",
    tables_docstring: "audits/tables.py",
    grid: "docs/algorithms.md",
    without_replacement: "docs/algorithms.md",
    with_replacement: "docs/algorithms.md",
    allocated: "docs/algorithms.md",
    looseness: CERTIFY,
    comment: "docs/ci.md",
    users_code: "docs/own_algorithm.md",
    overhead: "docs/cluster.md",
    by_chance: "docs/report.md",
    lambda: f"decides the {len(claims())} statements": "docs/theorems.md",
}  # fmt: skip
ALARMS = ("audit_privacy", "audit_neighbours", "audit_sequential", "audit_one_run")


def assert_stated(page: str, sentences: str | tuple[str, ...]) -> None:
    text = " ".join((ROOT / page).read_text("utf-8").split())
    for sentence in np.atleast_1d(sentences):
        assert str(sentence) in text


@pytest.mark.parametrize(("stated", "page"), STATED.items(), ids=[getattr(each, "__name__", "") for each in STATED])
def test_a_page_says_what_its_source_gives(stated: Callable[[], str | tuple[str, ...]], page: str) -> None:
    assert_stated(page, stated())


@pytest.mark.parametrize("audit", ALARMS)
def test_false_alarms_are_as_counted(audit: str) -> None:
    assert_stated("docs/audits.md", counted(audit))
