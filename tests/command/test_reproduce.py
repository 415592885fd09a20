"""``dpcheck reproduce``: named experiments, cells, a store that goes on, kept runs and the tables made of them."""

from __future__ import annotations

import csv
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tables

from dpcheck import InputError
from dpcheck.cli import main
from dpcheck.commands.reproduce import experiment_text
from dpcheck.executors.base import _AHEAD
from dpcheck.experiments import (
    NAMES,
    auc_runs,
    choices,
    choosing,
    find,
    kept,
    page,
    runner,
    starts,
    zhang2025_table_1,
)
from dpcheck.experiments.experiment import CERTIFIED, EPSILON, NONE, PUBLISHED, Cell, Trial
from dpcheck.experiments.headlines import headlines
from dpcheck.experiments.measured import measured
from dpcheck.experiments.picture import draw
from dpcheck.experiments.rendering import listing, not_run, to_dict
from dpcheck.experiments.runner import FILE, Result, chosen, run_all, trials
from dpcheck.experiments.table import causes, rows, shown_rows
from dpcheck.problems.auc import AUC, auc_score

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


def test_an_unknown_name_is_answered_with_a_near_one():
    with pytest.raises(InputError, match=r"xu2026\.table_2"):
        find("xu2026.table2")


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


def test_a_start_brings_its_epsilon(capsys):
    """That of the cell, and not the usual 1."""
    small = ["steps=2", "S1=20", "S2=10", "K=2"]
    assert main(["solve", "dp_rgda", *small, "--like", "xu2026.table_2:dp_rgda", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["claimed"] == 2.0 and found["like"] == "xu2026.table_2: dp_rgda"


def test_latex_has_the_sentences_as_comments():
    experiment = find("xu2026.table_2")
    text = experiment_text(experiment, kept.read(experiment), "latex")
    after = text[text.index(r"\end{tabular}") :].splitlines()[1:]
    assert after and all(line.startswith("% ") for line in after)
    assert any(line.startswith("% (a) ") for line in after)


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


def test_the_time_left_follows_from_costs():
    stages = []
    experiment = shortened(SENSING)
    run_all(experiment, trials(experiment, experiment.cells[:1], 1), jobs=1, watch=lambda *told: stages.append(told))
    assert [done for _, done, _ in stages] == [0, 1, 2]
    assert "of work" in stages[0][0] and "left" in stages[1][0] and stages[2][0] == experiment.id


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
asked, store = trials(experiment, cells, 10), opened(experiment, sys.argv[1])
for trial in asked:
    if store.get(key(experiment, trial)) is not None:
        print("kept", trial.cell.plan["method"], trial.noise, trial.seed)
store.close()
results = run_all(replace(experiment, measure=noted), asked, folder=sys.argv[1], jobs=int(sys.argv[2]))
print("end", [sorted(each.values.items()) for each in results], flush=True)
"""


@pytest.mark.thorough
@pytest.mark.parametrize("wanted", [pytest.param(2), pytest.param(20, marks=pytest.mark.experiment)])
def test_a_killed_run_goes_on_with_the_same_bits(tmp_path, wanted, keep):
    """Killed without notice at random moments and started again, on one thread and on two: the bits of a run that was
    left alone, and nothing that was stored is run again."""
    script = tmp_path / "run.py"
    script.write_text(KILLED)
    start = [sys.executable, str(script)]
    whole = subprocess.run([*start, str(tmp_path / "whole"), "1"], capture_output=True, text=True, check=True).stdout
    rng, kills, twice, kept_runs, begun, end = np.random.default_rng(0), 0, 0, set(), [], ""
    while not end:
        arguments = [*start, str(tmp_path / "parts"), str(1 + kills % 2)]
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
    assert len(set(begun)) == 80 <= len(begun) <= 80 + 2 * _AHEAD * kills
    assert kept_runs  # there was something to go on from
    if wanted == 20:
        row = {"command": "reproduce", "runs": 80, "kills": kills, "begun": len(begun), "kept at the last kill":
               len(kept_runs), "kept and run again": twice, "same bits": same}  # fmt: skip
        keep("reproduce_kills", pd.DataFrame([row]))


# Tables from runs


def made_up(values, *, published=10.0, noise=CERTIFIED, runs=1):
    cell = Cell({"method": "a"}, {}, {"Phi": published})
    experiment = replace(SENSING, cells=(cell,), metrics=("Phi",), runs=runs)
    return experiment, [Result(Trial(cell, noise, seed), {"Phi": value, EPSILON: 2.0 + seed}, 1.0)
                        for seed, value in enumerate(values)]  # fmt: skip


def test_means_errors_and_differences_by_hand():
    experiment, results = made_up([11.0, 12.0, 13.0, 14.0])
    found = measured(experiment, experiment.cells[0], "Phi", CERTIFIED, results)
    spread = math.sqrt(5 / 3)
    assert found.mean == 12.5
    assert found.error == pytest.approx(spread / 2)
    assert found.difference == pytest.approx(2.5 / (spread * math.sqrt(1 / 4 + 1)))  # one run is behind the printed one
    assert found.epsilon == 5.0  # the largest
    exact = measured(replace(experiment, runs=0), experiment.cells[0], "Phi", CERTIFIED, results)
    assert exact.difference == pytest.approx(2.5 / (spread / 2))
    assert measured(experiment, experiment.cells[0], "Phi", PUBLISHED, results) is None


def test_one_run_has_no_error_and_no_difference():
    experiment, results = made_up([11.0])
    (row,) = rows(experiment, results)
    assert row["difference, certified noise"] is None and row["cause"] == ""
    assert shown_rows(experiment, results)[0]["certified noise"] == "11.000"


def test_a_difference_beyond_two_errors_has_a_cause():
    experiment, results = made_up([20.0, 20.1, 19.9])
    (row,) = rows(experiment, results)
    assert row["difference, certified noise"] > 2 and row["cause"]
    assert causes(experiment, results) == {"a": row["cause"]}
    near, few = made_up([9.0, 11.5, 10.0])
    assert causes(near, few) == {}


@pytest.mark.parametrize("name", NAMES)
def test_tables_follow_from_the_kept_runs(name):
    """Means, errors and certificates of every row, from the CSV by plain Python."""
    experiment = find(name)
    if not kept.path(experiment).exists():
        pytest.skip("nothing of it is kept")
    with kept.path(experiment).open(encoding="utf-8") as stream:
        lines = list(csv.DictReader(stream))
    found = rows(experiment, kept.read(experiment))
    assert found
    for row in found:
        metric = row.get("metric", experiment.metrics[0])
        keys = {key: row[key] if isinstance(row[key], str) else f"{row[key]:g}" for key in experiment.keys}
        mine = [line for line in lines if all(line[key] == keys[key] for key in keys)]
        for noise, name in ((CERTIFIED, ", certified noise"), (PUBLISHED, ""), (NONE, "")):
            group = [line for line in mine if line["noise"] == noise]
            if not group:
                continue
            assert sorted(int(line["seed"]) for line in group) == list(range(len(group)))
            values = [float(line[metric]) for line in group]
            mean = sum(values) / len(values)
            assert row[f"measured{name}"] == pytest.approx(mean, rel=1e-12)
            if len(values) > 1:
                spread = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
                assert row[f"standard error{name}"] == pytest.approx(spread / math.sqrt(len(values)), rel=1e-9)
            assert row[f"certified epsilon{name}"] == max(float(line[EPSILON]) for line in group)


@pytest.mark.parametrize("name", NAMES)
def test_certified_noise_keeps_the_claim(name):
    """Every kept run with certified noise is certified at what its cell claims."""
    experiment = find(name)
    for result in kept.read(experiment):
        if result.trial.noise == CERTIFIED:
            claimed = result.trial.cell.plan.get("epsilon", 2.0)
            assert result.values[EPSILON] <= claimed * (1 + 1e-9)
        if result.trial.noise == NONE:
            assert result.values[EPSILON] == math.inf


@pytest.mark.parametrize("format", ["csv", "markdown", "latex", "json", "terminal"])
def test_formats(format):
    experiment, results = made_up([20.0, 20.1, 19.9])
    said = experiment_text(experiment, results, format)
    assert "20" in said and "10" in said
    if format == "json":
        found = json.loads(said)
        assert found["rows"][0]["measured, certified noise"] == pytest.approx(20.0)
        assert len(found["runs"]) == 3


def test_what_was_not_run_is_listed_with_why_and_cost():
    experiment = find("zhang2025.table_1")
    said = dict(not_run(experiment, []))
    assert any("CIFAR" in part for part in said)
    assert any("of one core" in why for why in said.values())
    assert to_dict(experiment, [])["not run"]


# The choices


def test_settings_are_the_best_of_what_was_tried():
    """No setting is typed: each is the candidate with the largest AUC on the rows held out."""
    for cell in find("yang2022.table_2").cells:
        group = choices.tried().get(choices.group(cell.plan))
        if group:
            best = max(auc for auc, _ in group)
            assert any(auc == best and candidate.items() <= cell.plan["settings"].items() for auc, candidate in group)
            private = cell.plan["epsilon"] is not None
            wanted = choosing.candidates(cell.plan["data"], cell.plan["model"], private)
            assert [candidate for _, candidate in group] == wanted


def test_privatediff_takes_the_best_step_of_those_that_were_tried():
    """What is chosen on thinned Fashion-MNIST serves the other data too."""
    tried = {group[3]: pairs for group, pairs in choices.tried().items() if group[2] == "privatediff"}
    assert len(tried) == len(zhang2025_table_1.EPSILONS) + 1
    assert all(
        [candidate["eta_x"] for _, candidate in pairs] == list(zhang2025_table_1.STEPS) for pairs in tried.values()
    )
    for cell in find("zhang2025.table_1").cells:
        if cell.keys["algorithm"] == "privatediff":
            _, best = max(tried[f"{cell.keys['epsilon']:g}"], key=lambda pair: pair[0])
            assert best.items() <= cell.plan["settings"].items()


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
    stored = {(each.trial.cell.name, each.trial.noise, each.trial.seed): each for each in kept.read(experiment)}
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
    assert "published" in out and "±" in out and "noise as published:" in out
    assert (tmp_path / "picture.png").stat().st_size > 5000
    assert main(command) == 0
    assert capsys.readouterr().out == out
    assert len(made) == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["reproduce", "nothing"], "experiment must be one of"),
        (["reproduce", "--only", "ijcnn1"], "--only must come with an experiment"),
        (["reproduce", "xu2026.table_2", "--seeds", "0"], "seeds must"),
        (["reproduce", "xu2026.table_2", "--only", "cifar"], "--only must name cells"),
        (["reproduce", "xu2026.table_2", "--plot", "x.nothing"], "--plot must end in"),
        (["solve", "nseg", "--like", "xu2026.table_2"], "--like must name a cell"),
        (["solve", "nispp", "--like", "xu2026.table_2", "--radius", "2"], "--radius must come with --data"),
        (["report", "xu2026.table_2", "--format", "sarif"], "--format must be one of"),
    ],
)
def test_wrong_use_ends_with_one_line(capsys, arguments, words):
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert said.out == "" and words in said.err and said.err.count("\n") == 1


def test_a_store_that_is_no_folder_is_refused(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    assert main(["reproduce", "xu2026.table_2", "--store", str(tmp_path / "file")]) == 2
    assert "--store must be a folder" in capsys.readouterr().err


def test_report_shows_kept_runs(capsys, tmp_path):
    assert main(["report", "xu2026.table_2", "--format", "markdown"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("| method | metric | published |")
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
    found = starts.start("xu2026.table_2:dp_rgda", "dp_rgda", None, 0)
    assert (found.epsilon, found.delta, found.settings["K"]) == (2.0, 1e-6, 5)
    assert set(found.score(found.problem.initial)) == {"Phi", "gradient norm", "lambda_min"}


# The page


def test_the_page_has_the_tables_of_the_kept_runs():
    """``python -m dpcheck.experiments.page docs/reproduce.md`` changes nothing."""
    written = (ROOT / "docs" / "reproduce.md").read_text("utf-8")
    assert page.renewed(written) == written
    assert len(re.findall(r"<!-- kept: (\S+) -->", written)) == len(NAMES) + 1  # and the headlines


def printed_rows(name):
    """The text of an experiment's section of the page, and its table's rows by heading."""
    section = (
        (ROOT / "docs" / "reproduce.md").read_text("utf-8").split(f"<!-- kept: {name} -->")[1].split("<!-- end")[0]
    )
    lines = section.split("\n\n")[2].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return section, [dict(zip(cells[0], row, strict=True)) for row in cells[2:]]


@pytest.mark.parametrize("name", [name for name in NAMES if kept.path(find(name)).exists()])
def test_the_page_says_what_the_kept_runs_say(name):
    """Every number of the page that was measured, from the CSV by plain Python; and every difference beyond two
    standard errors has a letter, which a sentence below the table explains."""
    experiment = find(name)
    with kept.path(experiment).open(encoding="utf-8") as stream:
        lines = list(csv.DictReader(stream))
    section, printed = printed_rows(name)
    assert printed
    for row in printed:
        keys = {key: "inf" if row[key] == "no privacy" else row[key] for key in experiment.keys}
        mine = [line for line in lines if all(line[key] == keys[key] for key in keys)]
        for noises, heading, certified in (
            ((NONE, PUBLISHED), "measured", "epsilon of the noise"), ((CERTIFIED,), "certified noise", "its epsilon"),
        ):  # fmt: skip
            values = [float(line[row.get("metric", experiment.metrics[0])]) for line in mine if line["noise"] in noises]
            assert bool(values) == bool(row.get(heading))
            if values:
                mean, *error = (float(part) for part in row[heading].split(" ± "))
                assert mean == pytest.approx(np.mean(values), rel=0.05 if abs(mean) >= 1e5 else 1e-3, abs=5e-4)
                if len(set(values)) > 1 and error:
                    assert error[0] == pytest.approx(np.std(values, ddof=1) / math.sqrt(len(values)), rel=0.06)
                else:
                    assert len(values) == 1 or np.ptp(values) <= 1e-12 * abs(mean)
                epsilon = max(float(line[EPSILON]) for line in mine if line["noise"] in noises)
                assert float(row[certified].replace("none", "inf")) == pytest.approx(epsilon, rel=6e-3)
        far = any(abs(float(row.get(each) or 0)) > 2.05 for each in ("difference", "its difference"))
        why = row.get("why", "")  # a column that is empty everywhere is left out
        assert bool(why) >= far
        for letter in filter(None, why.split(", ")):
            assert re.search(rf"^- \({letter}\) \S", section, re.MULTILINE), letter


def test_no_cause_rests_on_a_run_that_was_not_made():
    """A step is named as the cause where a run without noise shows it, of the same algorithm on the same rows."""
    experiment = find("zhang2025.table_1")
    results = kept.read(experiment)

    def setting(keys):
        return keys["data"], keys["classes"], keys["algorithm"]

    silent = {setting(run.trial.cell.keys) for run in results if run.trial.noise == NONE}
    named = {setting(row) for row in rows(experiment, results) if "without noise" in (row["cause"] or "")}
    assert named and named <= silent
    without = [run for run in results if run.trial.noise != NONE]
    assert not any("without noise" in (row["cause"] or "") for row in rows(experiment, without))


def test_code_changes_are_other_runs():
    """What is stored by one version of a kernel is not taken for what another one measures."""
    assert runner.code(SENSING) != runner.code(find("yang2022.table_2"))


def test_a_stated_spread_stands_in_for_the_measured_one():
    experiment, results = made_up([11.0, 12.0, 13.0, 14.0])
    stated = measured(replace(experiment, runs=5, spread=0.1), experiment.cells[0], "Phi", CERTIFIED, results)
    assert stated.difference == pytest.approx(2.5 / math.sqrt(5 / 3 / 4 + 0.1**2 / 5))


def test_a_figure_without_some_of_its_panels_is_drawn():
    experiment = find("yang2022.figure_1")
    cells = [cell for cell in experiment.cells if cell.keys["panel"] == "a"]
    results = [Result(each, {"AUC": 90.0, "sigma": 1.0, EPSILON: 1.0}, 1.0) for each in trials(experiment, cells, 2)]
    assert len(draw(experiment, results).axes) == 3


def test_the_headline_on_zhang_s_baseline_counts_what_the_kept_runs_say():
    with kept.path(find("zhang2025.table_1")).open(encoding="utf-8") as stream:
        lines = [line for line in csv.DictReader(stream) if line["algorithm"] == "dp_sgda"]
    shares = [float(line[EPSILON]) / float(line["epsilon"]) for line in lines if line["noise"] == PUBLISHED]
    aucs: dict[tuple[str, float], list[float]] = {}
    for line in lines:
        if line["noise"] == CERTIFIED and line["classes"] == "balanced":
            aucs.setdefault((line["data"], float(line["epsilon"])), []).append(float(line["AUC"]))
    printed = {
        (cell.keys["data"], cell.keys["epsilon"]): cell.published["AUC"] for cell in find("zhang2025.table_1").cells
        if cell.keys["classes"] == "balanced" and cell.keys["algorithm"] == "dp_sgda"
    }  # fmt: skip
    above = [float(np.mean(values)) - printed[key] for key, values in aucs.items()]
    said = next(sentence for sentence in headlines() if "Zhang" in sentence)
    assert f"{min(shares):.2f} to {max(shares):.2f} of the claimed epsilon" in said
    assert f"{sum(points > 0 for points in above)} of {len(above)} private cells" in said
    assert f"by up to {max(above):.1f} points" in said


def test_the_headline_on_privatediff_counts_what_the_kept_runs_say():
    aucs: dict[tuple[str, ...], list[float]] = {}
    certified: list[tuple[float, float, float]] = []
    with kept.path(find("zhang2025.table_1")).open(encoding="utf-8") as stream:
        for line in csv.DictReader(stream):
            if line["classes"] == "imbalanced" and line["epsilon"] != "inf":
                if (line["algorithm"], line["noise"]) == ("privatediff", PUBLISHED):
                    claimed, shown = float(line["epsilon"]), float(line[EPSILON])
                    certified.append((shown / claimed, shown, claimed))
                aucs.setdefault(tuple(line[key] for key in ("algorithm", "data", "epsilon", "noise")), []).append(
                    float(line["AUC"])
                )
    mean = {key: float(np.mean(values)) for key, values in aucs.items()}
    cells = [key[1:3] for key in mean if key[0] == "privatediff" and key[3] == PUBLISHED]
    apart = {
        noise: [mean["privatediff", *cell, PUBLISHED] - mean["dp_sgda", *cell, noise] for cell in cells]
        for noise in (PUBLISHED, CERTIFIED)
    }
    said = next(sentence for sentence in headlines() if "ahead of DP-SGDA" in sentence)
    assert f"in {len(cells)} of {len(cells)} private cells" in said  # as printed
    for noise, words in ((PUBLISHED, "as each is published, it"), (CERTIFIED, "with certified noise it")):
        ahead, behind = sum(each > 0.5 for each in apart[noise]), sum(each < -0.5 for each in apart[noise])
        assert f"{words} is ahead in {ahead} and behind in {behind}." in said
    assert "certified at {1:.1f} where {2:g} is claimed".format(*max(certified)) in said


def test_headlines_count_by_points_what_the_kept_runs_say():
    """From the CSV by plain Python: a mean far below the printed number with a large error reaches nothing."""
    experiment = find("yang2022.table_2")
    runs = kept.read(experiment)
    for model, name in (("linear", "linear scores"), ("mlp", "perceptrons")):
        short = []
        for cell in experiment.cells:
            values = [run.values["AUC"] for run in runs if run.trial.cell is cell and run.trial.noise == CERTIFIED]
            if values and cell.keys["model"] == model and "AUC" in cell.published:
                short.append(cell.published["AUC"] - float(np.mean(values)))
        said = f"{sum(each <= 0.5 for each in short)} of {len(short)} private cells of {name}"
        assert any(said in sentence and f"up to {max(short):.0f} points" in sentence for sentence in headlines())
