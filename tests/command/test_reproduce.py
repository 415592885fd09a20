"""``dpcheck reproduce``: named experiments, cells, a store that goes on, chosen settings, and the command."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import keep_runs
import numpy as np
import pandas as pd
import pytest
import tables

from dpcheck import InputError
from dpcheck.cli import main
from dpcheck.experiments import NAMES, auc_runs, find, runner, zhang2025
from dpcheck.experiments.experiment import CERTIFIED, CLIPPED, EPSILON, NONE, PUBLISHED, UNCLIPPED, settings_for
from dpcheck.experiments.page import listing
from dpcheck.experiments.runner import FILE, chosen, run_all, trials
from dpcheck.problems.auc import AUC, auc_score
from dpcheck.running.executor import _AHEAD

ROOT = Path(__file__).resolve().parents[2]
needs_data = pytest.mark.skipif("DPCHECK_DATA" not in os.environ, reason="the data sets are not bundled")
SENSING = find("xu2026.table_2")


def shortened(experiment, steps=8):
    """The experiment of matrix sensing with so few steps that a run takes no time."""
    cells = tuple(replace(cell, plan={**cell.plan, "steps": steps}) for cell in experiment.cells)
    return replace(experiment, cells=cells)


def counted(experiment):
    """The experiment, and the runs that it made since."""
    made = []

    def measure(plan, noise, seed):
        made.append((plan["method"], noise, seed))
        return experiment.measure(plan, noise, seed)

    measure.__module__ = experiment.measure.__module__
    return replace(experiment, measure=measure), made


# Declarations


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_is_declared_whole(name):
    experiment = find(name)
    assert experiment.id == name
    assert experiment.settings and all(each.source for each in experiment.settings)
    names = [cell.name for cell in experiment.cells]
    assert len(set(names)) == len(names)
    for cell in experiment.cells:
        assert set(cell.published) <= set(experiment.metrics)
        assert tuple(cell.keys) == experiment.keys
        json.dumps(cell.plan, allow_nan=False)  # it is part of a key of the store


def test_printed_numbers_are_those_of_the_papers():
    """Spot checks against the tables as they are typeset, at a first, a middle and a last place."""
    printed = {cell.name: cell.published["AUC"] for cell in find("yang2022.table_2").cells if cell.published}
    assert len(printed) == 54
    assert printed["ijcnn1, linear, nseg, epsilon inf"] == 92.191
    assert printed["ijcnn1, linear, dp_sgda, epsilon 0.1"] == 91.110
    assert printed["mnist, mlp, dp_sgda, epsilon 1"] == 98.705
    assert printed["fashion_mnist, mlp, dp_sgda, epsilon 10"] == 97.213
    further = {cell.name: cell.published["AUC"] for cell in find("yang2022.table_5").cells}
    assert further["mnist, linear, nseg, 0.0001, epsilon 10"] == 91.335
    assert further["fashion_mnist, mlp, dp_sgda, 1e-06, epsilon 0.1"] == 95.692
    digits = {cell.name: cell.published["AUC"] for cell in find("zhang2025.table_1").cells}
    assert digits["mnist, imbalanced, dp_sgda, epsilon 0.5"] == pytest.approx(77.39)
    assert digits["fashion_mnist, balanced, privatediff, epsilon 10"] == pytest.approx(96.60)
    assert SENSING.cells[1].published["Phi"] == 13.7046


def test_table_5_has_the_cells_of_table_2_at_its_delta():
    second = {cell.name: cell for cell in find("yang2022.table_2").cells}
    same = [cell for cell in find("yang2022.table_5").cells if cell.keys["delta"] == 1e-6]
    assert len(same) == 45
    for cell in same:
        keys = {key: value for key, value in cell.keys.items() if key != "delta"}
        twin = second[replace(cell, keys=keys).name]
        assert (cell.plan, cell.published) == (twin.plan, twin.published)


# Cells by words


def test_cells_are_chosen_by_values_of_their_keys():
    experiment = find("yang2022.table_2")
    both = chosen(experiment, "ijcnn1,epsilon=1")
    assert {(cell.keys["data"], cell.keys["epsilon"]) for cell in both} == {("ijcnn1", 1.0)}
    several = chosen(experiment, "linear, epsilon=0.5, epsilon=5, dp_sgda, mnist")
    assert [cell.keys["epsilon"] for cell in several] == [0.5, 5.0]
    assert chosen(experiment, "epsilon=1.0") == chosen(experiment, "epsilon=1")
    for wrong in ("cifar", "epsilon=2", "colour=red"):
        with pytest.raises(InputError, match="--only must name cells"):
            chosen(experiment, wrong)
    with pytest.raises(InputError, match="leave cells"):
        chosen(experiment, "mnist,nispp")


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_runs_something_unasked(name):
    assert chosen(find(name), None)


# Running and going on


@pytest.mark.thorough
def test_runs_do_not_depend_on_jobs_and_are_made_once(tmp_path):
    experiment, made = counted(shortened(SENSING))
    asked = trials(experiment, experiment.cells[:2], 2)
    alone = run_all(experiment, asked, jobs=1)
    together = run_all(experiment, asked, folder=str(tmp_path / "runs"), jobs=2)
    assert [each.values for each in alone] == [each.values for each in together]
    assert (tmp_path / "runs" / FILE).exists()
    assert len(made) == 2 * len(asked)
    again = run_all(experiment, asked, folder=str(tmp_path / "runs"))
    assert [each.values for each in again] == [each.values for each in alone]  # infinity and all bits included
    assert len(made) == 2 * len(asked)


def test_the_figure_runs_nothing_that_the_table_has(tmp_path):
    table, first = counted(shortened(SENSING))
    figure, second = counted(shortened(find("xu2026.figure_1")))
    run_all(table, trials(table, table.cells[:1], 1), folder=str(tmp_path))
    run_all(figure, trials(figure, figure.cells[:1], 1), folder=str(tmp_path))
    assert first and not second


def test_another_setting_is_another_run(tmp_path):
    for steps in (8, 9):
        experiment, made = counted(shortened(SENSING, steps))
        run_all(experiment, trials(experiment, experiment.cells[:1], 1), folder=str(tmp_path))
        assert len(made) == 2


KILLED = """
import sys, time
from dataclasses import replace
from dpcheck.experiments import find
from dpcheck.experiments.runner import key, opened, run_all, trials
experiment = find("xu2026.table_2")
cells = tuple(replace(cell, plan={**cell.plan, "steps": 12}) for cell in experiment.cells)
experiment = replace(experiment, cells=cells)
measure = experiment.measure
def noted(plan, noise, seed):
    sys.stdout.write(f"begins {plan['method']} {noise} {seed}\\n")  # in one piece, beside another thread's
    sys.stdout.flush()
    time.sleep(0.02)
    return measure(plan, noise, seed)
noted.__module__ = measure.__module__
asked, store = trials(experiment, cells, int(sys.argv[3])), opened(experiment, sys.argv[1])
for trial in asked:
    if store.get(key(experiment, trial)) is not None:
        print("kept", trial.cell.plan["method"], trial.noise, trial.seed)
store.close()
results = run_all(replace(experiment, measure=noted), asked, folder=sys.argv[1], jobs=int(sys.argv[2]))
print("end", [sorted(each.values.items()) for each in results], flush=True)
"""


@pytest.mark.parametrize(
    ("wanted", "seeds"),
    [pytest.param(2, 3, marks=pytest.mark.thorough), pytest.param(20, 10, marks=pytest.mark.experiment)],
)
def test_a_killed_run_goes_on_with_the_same_bits(tmp_path, wanted, seeds, keep):
    """Killed without notice at random moments and started again, on one thread and on two: the bits of a run that was
    left alone, and nothing that was stored is run again."""
    script = tmp_path / "run.py"
    script.write_text(KILLED)
    start, more, runs_due = [sys.executable, str(script)], str(seeds), 8 * seeds
    whole = subprocess.run(
        [*start, str(tmp_path / "whole"), "1", more], capture_output=True, text=True, check=True
    ).stdout
    rng, kills, twice, kept_runs, begun, end = np.random.default_rng(0), 0, 0, set(), [], ""
    while not end:
        arguments = [*start, str(tmp_path / "parts"), str(1 + kills % 2), more]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
            said = []
            if kills < wanted:
                awaited = int(rng.integers(2, 4))  # runs that begin before the blow
                for line in process.stdout:
                    said.append(line)
                    awaited -= line.startswith("begins")
                    if not awaited:
                        break
                time.sleep(float(rng.random()) / 15)  # so that the blow falls anywhere in a run, its storing included
                process.send_signal(signal.SIGKILL)
                kills += 1
            said = [line.split(" ", 1) for line in [*said, *process.stdout] if line.endswith("\n")]
        had = {run for word, run in said if word == "kept"}
        runs = [run for word, run in said if word == "begins"]
        assert kept_runs <= had  # what was stored stays so
        twice += len(had & set(runs)) + len(runs) - len(set(runs))
        kept_runs, begun = had, [*begun, *runs]
        end = next((run for word, run in said if word == "end"), "")
    same = end == whole.splitlines(keepends=True)[-1].split(" ", 1)[1]
    assert (same, twice, kills) == (True, 0, wanted)
    # A blow loses the runs at work, and those that wait to be stored: on a busy machine as many as are handed out.
    assert len(set(begun)) == runs_due <= len(begun) <= runs_due + 2 * _AHEAD * kills
    assert kept_runs  # there was something to go on from
    if wanted == 20:
        row = {"command": "reproduce", "runs": runs_due, "kills": kills, "begun": len(begun), "kept at the last kill":
               len(kept_runs), "kept and run again": twice, "same bits": same}  # fmt: skip
        keep("reproduce_kills", pd.DataFrame([row]))


def test_code_changes_are_other_runs():
    """What is stored by one version of a kernel is not taken for what another one measures."""
    assert keep_runs.code(SENSING) != keep_runs.code(find("yang2022.table_2"))


# The choices


def test_settings_are_the_best_of_what_was_tried():
    """No setting is typed: each is the candidate with the largest median on the rows held out, and every candidate
    has been tried where three seeds are behind the choice."""
    for cell in find("yang2022.table_2").cells:
        for noise in cell.noises:
            scores_of = auc_runs.tried().get(auc_runs.group(cell.plan, noise))
            if not scores_of:
                continue
            medians = {candidate: np.median(auc) for candidate, auc in scores_of.items()}
            best = json.loads(max(medians, key=medians.get))
            assert best.items() <= settings_for(cell.plan, noise).items()
            wanted = auc_runs.candidates(cell.keys["data"], cell.keys["model"], noise)
            if cell.tuning[noise] >= auc_runs.TUNING_SEEDS:
                assert sorted(scores_of) == sorted(map(json.dumps, wanted))


def test_privatediff_takes_the_best_step_of_those_that_were_tried():
    """What is chosen on thinned Fashion-MNIST serves the other data too."""
    tried = {group[3]: scores_of for group, scores_of in auc_runs.tried().items() if group[2] == "privatediff"}
    assert len(tried) == len(zhang2025.EPSILONS) + 1
    assert all([json.loads(each)["eta_x"] for each in scores_of] == list(zhang2025.STEPS)
               for scores_of in tried.values())  # fmt: skip
    for cell in find("zhang2025.table_1").cells:
        if cell.keys["algorithm"] == "privatediff":
            best = json.loads(auc_runs.best(tried[f"{cell.keys['epsilon']:g}"]))
            assert best.items() <= cell.plan["settings"].items()


@pytest.mark.parametrize("lucky", [94.5, 60.0])
def test_no_lucky_run_wins_a_choice(tmp_path, monkeypatch, lucky):
    """The leader is run with further seeds until its median of three leads; one that was lucky once falls behind."""
    steady, wild = json.dumps({"eta": 0.2}), json.dumps({"eta": 0.8})
    scores = {steady: [93.9, 94.0, 93.8], wild: [lucky, 36.3, 20.7]}
    plan = {"data": "d", "model": "m", "algorithm": "a", "epsilon": 1.0, "delta": 1e-6}
    choice = keep_runs.Choice({"d"}, {each: plan | {"name": each} for each in scores}, CERTIFIED)
    made = []

    def measure(plan, noise, seed):
        made.append((plan["name"], seed))
        assert plan["holdout"] and noise == CERTIFIED
        return {"AUC": scores[plan["name"]][seed]}

    monkeypatch.setattr(auc_runs, "CHOICES", tmp_path / "choices.csv")
    monkeypatch.setattr(keep_runs, "every_choice", lambda: [choice])
    monkeypatch.setattr(auc_runs, "measure", measure)
    auc_runs.tried.cache_clear()
    keep_runs.choose(["d"])
    auc_runs.tried.cache_clear()
    assert auc_runs.chosen(plan) == json.loads(steady)
    assert auc_runs.runs_behind(plan) == auc_runs.TUNING_SEEDS == 3
    assert len(made) == (5 if lucky > 93 else 4)  # the others need not be run further
    made.clear()
    keep_runs.choose(["d"])
    auc_runs.tried.cache_clear()
    assert not made  # it is settled


@needs_data
def test_rows_held_out_are_training_rows():
    """And no row is in both parts."""
    plan = dict(find("yang2022.table_2").cells[1].plan)
    (X, _), (test, _) = auc_runs.parts(plan, CERTIFIED, 0)
    (kept_rows, _), (held, _) = auc_runs.parts(plan | {"holdout": True}, CERTIFIED, 0)
    assert len(X) == 39_992 and len(test) == 9_998
    assert len(kept_rows) + len(held) == len(X)
    np.testing.assert_array_equal(np.sort(np.vstack([kept_rows, held]), axis=0), np.sort(X, axis=0))


@needs_data
def test_runs_without_noise_beside_private_ones_take_the_printed_step_without_privacy():
    cell = next(cell for cell in find("yang2022.figure_1").cells if cell.keys["panel"] == "b")
    problem = auc_runs.problem_of(cell.plan, *auc_runs.parts(cell.plan, NONE, 0)[0], 0)
    steps = {noise: auc_runs.solver_of(cell.plan, problem, noise, 0).eta_w[0] for noise in (NONE, PUBLISHED)}
    assert steps[NONE] / steps[PUBLISHED] == pytest.approx(3000 / 500)  # Table 4


@needs_data
def test_controls_have_the_rows_of_certified_noise_and_its_clip_or_none():
    (cell,) = chosen(find("yang2022.table_2"), "ijcnn1,linear,dp_sgda,epsilon=1")
    rows = {noise: auc_runs.parts(cell.plan, noise, 0)[0] for noise in (CERTIFIED, CLIPPED, UNCLIPPED, PUBLISHED)}
    for noise in (CLIPPED, UNCLIPPED):
        np.testing.assert_array_equal(rows[noise][0], rows[CERTIFIED][0])
    assert not np.array_equal(rows[PUBLISHED][0], rows[CERTIFIED][0])
    problem = auc_runs.problem_of(cell.plan, *rows[CERTIFIED], 0)
    noisy, clipped, free = (
        auc_runs.solver_of(cell.plan, problem, noise, 0) for noise in (CERTIFIED, CLIPPED, UNCLIPPED)
    )
    assert noisy.sigma_w > 0 == clipped.sigma_w == free.sigma_w
    assert clipped.clip_w == noisy.clip_w < free.clip_w == math.inf
    for quiet in (clipped, free):
        assert quiet.steps == noisy.steps and list(quiet.eta_w) == list(noisy.eta_w)


@needs_data
def test_all_seeds_have_one_split(monkeypatch):
    """The printed spread is at most 0.1: scores of the best theta on five splits differ by more."""
    plan = {"data": "ijcnn1", "rows": 2.0, "printed_rows": 2.5}
    one, other = (auc_runs.parts(plan, NONE, seed) for seed in (0, 1))
    np.testing.assert_array_equal(one[1][0], other[1][0])
    found = []
    for split in range(5):
        monkeypatch.setattr(auc_runs, "_SPLIT", split)
        train, (X, y) = auc_runs.parts(plan, NONE, 0)
        best = AUC.from_data(*train, positive_share=0.1, radius=10.0).optimum()
        found.append(100 * auc_score(X @ best, y))
    assert np.std(found) > 0.1


@needs_data
def test_norms_of_minibatches_are_a_fraction_of_those_of_records():
    """What noise as published is read off: the mean of 64 gradients, which is what a run without noise computes."""
    (cell,) = chosen(find("yang2022.table_2"), "ijcnn1,linear,dp_sgda,epsilon=1")
    train, _ = auc_runs.parts(cell.plan, PUBLISHED, 0)
    problem = auc_runs.problem_of(cell.plan, *train, 0)
    solver = auc_runs.solver_of(cell.plan, problem, NONE, 0)
    means = auc_runs.largest_norms(cell.plan, solver, problem, 0)
    records = auc_runs.largest_norms({**cell.plan, "batch": 1}, solver, problem, 0)
    assert 3 * means[0] < records[0] <= problem.lipschitz_w
    assert 3 * means[1] < records[1] <= problem.lipschitz_v


# Cells run again

CELLS = [
    ("xu2026.table_2", "dp_rgda", {"steps": 30}), ("xu2026.table_2", "sto_spider", {"steps": 30}),
    ("yang2022.table_2", "ijcnn1,linear,dp_sgda,epsilon=1", {"epochs": 1}),
]  # fmt: skip


@needs_data
def test_reduced_cells_come_out_as_kept(keep, request):
    """Three cells with fewer steps, against ``tests/measured/reproduce_reduced.csv``."""
    found = []
    for name, only, changed in CELLS:
        experiment = find(name)
        (cell,) = chosen(experiment, only)
        values = experiment.measure({**cell.plan, **changed}, CERTIFIED, 0)
        found += [(name, only, metric, values[metric]) for metric in (*experiment.metrics, EPSILON)]
    frame = pd.DataFrame(found, columns=["experiment", "cells", "metric", "value"])
    keep("reproduce_reduced", frame)
    if not request.config.getoption("keep_tables"):
        known = tables.read("reproduce_reduced")
        assert frame.drop(columns="value").equals(known.drop(columns="value"))
        np.testing.assert_allclose(frame["value"], known["value"], rtol=1e-4)


@pytest.mark.experiment
@needs_data
@pytest.mark.parametrize(
    ("name", "only"), [("xu2026.table_2", "dp_rgda"), ("yang2022.table_2", "ijcnn1,linear,dp_sgda,epsilon=1")]
)
def test_a_cell_at_full_size_comes_out_as_kept(name, only):
    experiment = find(name)
    stored = {(each.trial.cell.name, each.trial.noise, each.trial.seed): each for each in runner.kept_runs(experiment)}
    for result in run_all(experiment, trials(experiment, chosen(experiment, only), experiment.seeds), jobs=1):
        twin = stored[result.trial.cell.name, result.trial.noise, result.trial.seed]
        for metric in experiment.metrics:
            assert result.values[metric] == pytest.approx(twin.values[metric], rel=1e-5)


# The command


def test_the_list(capsys):
    assert main(["reproduce"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in NAMES)
    assert main(["reproduce", "--format", "json"]) == 0
    assert [each["experiment"] for each in json.loads(capsys.readouterr().out)["experiments"]] == list(NAMES)
    assert listing()[6]["cells"] == 4


def test_reproduce_from_a_store(capsys, tmp_path, monkeypatch):
    """The command on shortened runs: a table, the same from the store, a picture."""
    experiment, made = counted(shortened(SENSING))
    monkeypatch.setattr("dpcheck.experiments.find", lambda name: experiment)
    command = ["reproduce", "xu2026.table_2", "--seeds", "2", "--only", "dp_rgda", "--store", str(tmp_path / "runs")]
    assert main([*command, "--plot", str(tmp_path / "picture.png")]) == 0
    out = capsys.readouterr().out
    assert "published" in out and "certified noise" in out and "noise as published:" in out
    assert (tmp_path / "picture.png").stat().st_size > 5000
    assert main(command) == 0
    assert capsys.readouterr().out == out
    assert len(made) == 4


def test_report_shows_kept_runs(capsys, tmp_path):
    assert main(["report", "xu2026.table_2", "--format", "markdown"]) == 0
    out = capsys.readouterr().out
    assert "\n| method | metric | published |" in out and "| name | value | source |" in out
    assert main(["report", "xu2026.table_2", "--format", "markdown", "--output", str(tmp_path / "t.md")]) == 0
    assert (tmp_path / "t.md").read_text() == out


@needs_data
def test_solve_like_an_experiment(capsys):
    assert main(["solve", "dp_sgda", "--like", "yang2022.table_2:ijcnn1", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["claimed"], found["delta"], found["n"]) == (1.0, 1e-6, 39_992)
    assert found["certified"] <= 1.0
    (cell,) = chosen(find("yang2022.table_2"), "ijcnn1,linear,dp_sgda,epsilon=1")
    assert 100 * found["test AUC"] == auc_runs.measure(cell.plan, CERTIFIED, 0)["AUC"]
    assert main(["solve", "dp_sgda", "steps=5", "--like", "yang2022.table_2:ijcnn1", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["test AUC"] != found["test AUC"]


def test_a_start_takes_the_cell_with_the_nearest_epsilon():
    found = runner.start("xu2026.table_2:dp_rgda", "dp_rgda", None, 0)
    assert (found.epsilon, found.delta, found.settings["K"]) == (2.0, 1e-6, 5)
    assert set(found.score(found.problem.initial)) == {"Phi", "gradient norm", "lambda_min"}
