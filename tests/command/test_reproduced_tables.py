"""Tables made of an experiment's runs, the page that shows them, and what its first sentences count."""

from __future__ import annotations

import csv
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import reproduce_page

from dpcheck.experiments import NAMES, find, page, runner
from dpcheck.experiments.experiment import CERTIFIED, CLIPPED, EPSILON, NONE, PUBLISHED, UNCLIPPED, Cell
from dpcheck.experiments.page import text
from dpcheck.experiments.picture import draw
from dpcheck.experiments.runner import Result, Trial, trials
from dpcheck.experiments.table import DIVERGED, PARTS, Table

ROOT = Path(__file__).resolve().parents[2]
SENSING = find("xu2026.table_2")


# Tables from runs


def made_up(values, *, published=10.0, noise=CERTIFIED, runs=1):
    cell = Cell({"method": "a"}, {}, {"Phi": published})
    experiment = replace(SENSING, cells=(cell,), metrics=("Phi",), runs=runs)
    return experiment, [Result(Trial(cell, noise, seed), {"Phi": value, EPSILON: 2.0 + seed}, 1.0)
                        for seed, value in enumerate(values)]  # fmt: skip


def test_means_errors_and_differences_by_hand():
    experiment, results = made_up([11.0, 12.0, 13.0, 14.0])
    found = Table(experiment, results).measured(experiment.cells[0], "Phi", CERTIFIED)
    spread = math.sqrt(5 / 3)
    assert found.mean == 12.5
    assert found.error == pytest.approx(spread / 2)
    assert found.difference == pytest.approx(2.5 / (spread * math.sqrt(1 / 4 + 1)))  # one run is behind the printed one
    assert found.epsilon == 5.0  # the largest
    exact = Table(replace(experiment, runs=0), results).measured(experiment.cells[0], "Phi", CERTIFIED)
    assert exact.difference == pytest.approx(2.5 / (spread / 2))
    assert Table(experiment, results).measured(experiment.cells[0], "Phi", PUBLISHED) is None


def test_one_run_has_no_error_and_no_difference():
    experiment, results = made_up([11.0])
    (row,) = Table(experiment, results).rows
    assert row["difference, certified noise"] is None and row["cause"] == ""
    assert Table(experiment, results).shown()[0]["certified noise"] == "11.000"


def test_a_difference_beyond_two_errors_has_a_cause():
    experiment, results = made_up([20.0, 20.1, 19.9])
    (row,) = Table(experiment, results).rows
    assert row["difference, certified noise"] > 2 and row["cause"]
    assert Table(experiment, results).causes == {"a": row["cause"]}
    near, few = made_up([9.0, 11.5, 10.0])
    assert Table(near, few).causes == {}


@pytest.mark.parametrize("name", NAMES)
def test_tables_follow_from_the_kept_runs(name):
    """Means, errors and certificates of every row, from the CSV by plain Python."""
    experiment = find(name)
    if not runner.kept_path(experiment).exists():
        pytest.skip("nothing of it is kept")
    with runner.kept_path(experiment).open(encoding="utf-8") as stream:
        lines = list(csv.DictReader(stream))
    found = Table(experiment, runner.kept_runs(experiment)).rows
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
    for result in runner.kept_runs(experiment):
        if result.trial.noise == CERTIFIED:
            claimed = result.trial.cell.plan.get("epsilon", 2.0)
            assert result.values[EPSILON] <= claimed * (1 + 1e-9)
        if result.trial.noise == NONE:
            assert result.values[EPSILON] == math.inf


@pytest.mark.parametrize("format", ["csv", "markdown", "latex", "json", "terminal"])
def test_formats(format):
    experiment, results = made_up([20.0, 20.1, 19.9])
    said = text(experiment, results, format)
    assert "20" in said and "10" in said
    if format == "json":
        found = json.loads(said)
        assert found["rows"][0]["measured, certified noise"] == pytest.approx(20.0)
        assert len(found["runs"]) == 3


def test_a_stated_spread_stands_in_for_the_measured_one():
    experiment, results = made_up([11.0, 12.0, 13.0, 14.0])
    stated = Table(replace(experiment, runs=5, spread=0.1), results).measured(experiment.cells[0], "Phi", CERTIFIED)
    assert stated.difference == pytest.approx(2.5 / math.sqrt(5 / 3 / 4 + 0.1**2 / 5))


def test_a_figure_without_some_of_its_panels_is_drawn():
    experiment = find("yang2022.figure_1")
    cells = [cell for cell in experiment.cells if cell.keys["panel"] == "a"]
    results = [Result(each, {"AUC": 90.0, "sigma": 1.0, EPSILON: 1.0}, 1.0) for each in trials(experiment, cells, 2)]
    assert len(draw(experiment, results).axes) == 3


# The page


def test_the_page_is_made_of_the_kept_runs():
    """``python tests/reproduce_page.py`` changes nothing; table and sentences fit a screen."""
    written = reproduce_page.PAGE.read_text("utf-8")
    assert reproduce_page.renewed(written.replace("of 10", "of 11")) == written
    shown = re.search(r"<!-- kept: headlines -->(.*?)<!-- end -->", written, re.DOTALL)[1]
    assert len(re.findall("^- ", shown, re.MULTILINE)) == 3 and len(shown.splitlines()) < 30


def printed_rows(experiment):
    """The text of an experiment, and its table's rows by heading."""
    section = text(experiment, runner.kept_runs(experiment), "markdown")
    lines = section.split("\n\n")[1].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return section, [dict(zip(cells[0], row, strict=True)) for row in cells[2:]]


@pytest.mark.parametrize("name", [name for name in NAMES if runner.kept_path(find(name)).exists()])
def test_tables_say_what_the_kept_runs_say(name):
    """Every number that was measured, from the CSV by plain Python; and every difference beyond two standard errors
    has a letter, which a sentence below the table explains."""
    experiment = find(name)
    with runner.kept_path(experiment).open(encoding="utf-8") as stream:
        lines = list(csv.DictReader(stream))
    section, printed = printed_rows(experiment)
    assert printed
    for row, numbers in zip(printed, Table(experiment, runner.kept_runs(experiment)).rows, strict=True):
        keys = {key: "inf" if row[key] == "no privacy" else row[key] for key in experiment.keys}
        mine = [line for line in lines if all(line[key] == keys[key] for key in keys)]
        for noises, heading, certified in (
            ((NONE, PUBLISHED), "paper's noise", "epsilon of paper's noise"),
            ((CERTIFIED,), "certified noise", "epsilon of certified noise"),
        ):
            values = [float(line[row.get("metric", experiment.metrics[0])]) for line in mine if line["noise"] in noises]
            assert bool(values) == bool(row.get(heading))
            if values:
                middle, *ends = (float(part) for part in re.findall(r"-?[\d.]+(?:e[+-]\d+)?", row[heading]))
                wanted = [np.median(values), min(values), max(values)][: 1 + len(ends[:2])]
                assert [middle, *ends[:2]] == pytest.approx(wanted, rel=0.05 if abs(middle) >= 1e5 else 1e-3, abs=5e-4)
                assert ends or np.ptp(values) <= 1e-12 * abs(middle)
                fallen = sum(value < np.median(values) - DIVERGED for value in values) * ("AUC" in experiment.metrics)
                assert ends[2:] == [fallen] * bool(fallen) and ("diverged" in row[heading]) == bool(fallen)
                epsilon = max(float(line[EPSILON]) for line in mine if line["noise"] in noises)
                assert float(row[certified].replace("none", "inf")) == pytest.approx(epsilon, rel=6e-3)
        far = any(abs(numbers[each] or 0) > 2.05 for each in ("difference", "difference, certified noise"))
        why = row.get("why", "")  # a column that is empty everywhere is left out
        assert bool(why) >= far
        for letter in filter(None, why.split(", ")):
            assert re.search(rf"^- \({letter}\) \S", section, re.MULTILINE), letter


def test_no_cause_rests_on_a_run_that_was_not_made():
    """A step is named as the cause where a run without noise shows it, of the same algorithm on the same rows."""
    experiment = find("zhang2025.table_1")
    results = runner.kept_runs(experiment)

    def setting(keys):
        return keys["data"], keys["classes"], keys["algorithm"]

    silent = {setting(run.trial.cell.keys) for run in results if run.trial.noise == NONE}
    named = {setting(row) for row in Table(experiment, results).rows if "without noise" in (row["cause"] or "")}
    assert named and named <= silent
    without = [run for run in results if run.trial.noise != NONE]
    assert not any("without noise" in (row["cause"] or "") for row in Table(experiment, without).rows)


# Headlines and their controls


def planted(printed=95.0, free=96.0, loosest=95.5, clipped=95.4, certified=90.0, spread=0.01):
    """A table of two cells of Yang et al. with five seeds a run: at epsilon 0.1, and at 10 where noise is the least."""
    cells = [
        Cell({"data": "ijcnn1", "model": "linear", "algorithm": "dp_sgda", "epsilon": epsilon},
             {"data": "ijcnn1", "model": "linear", "epsilon": epsilon, "settings": {"eta": eta, "clip_w": 1.0},
              "published": {"eta": eta}, "printed_rows": 1.0}, {"AUC": printed})
        for epsilon, eta in ((0.1, 0.1), (10.0, 1.0))
    ]  # fmt: skip
    experiment = replace(find("yang2022.table_2"), cells=tuple(cells))
    medians = [
        {UNCLIPPED: free, CLIPPED: clipped, PUBLISHED: printed, CERTIFIED: certified},
        {UNCLIPPED: free, CLIPPED: loosest, PUBLISHED: printed, CERTIFIED: loosest},
    ]
    results = [
        Result(Trial(cell, noise, seed), {"AUC": median + (seed - 2) * spread, EPSILON: math.inf}, 1.0)
        for cell, of_noise in zip(cells, medians, strict=True) for noise, median in of_noise.items()
        for seed in range(5)
    ]  # fmt: skip
    return experiment, results


def test_the_parts_of_a_shortfall_add_up():
    experiment, results = planted()
    row, _ = Table(experiment, results).rows
    assert [row[part] for part in PARTS] == pytest.approx([-1.0, 0.5, 0.1, 5.4])
    assert sum(row[part] for part in PARTS) == pytest.approx(95.0 - 90.0)
    one = math.sqrt(math.pi / 2) * np.std([-0.02, -0.01, 0, 0.01, 0.02], ddof=1) / math.sqrt(5)
    wanted = [math.hypot(one, 0.1 / math.sqrt(5)), *[one * math.sqrt(2)] * 3]
    assert [row[f"error of {part}"] for part in PARTS] == pytest.approx(wanted)
    assert "noise not covered" in row["cause"] and "clipping, which" not in row["cause"]


def test_noise_is_not_blamed_where_the_run_without_it_misses_too():
    """Clipping alone explains the miss, and then it does not: headline and cause follow the control."""
    for clipped, blamed in ((90.1, 0), (95.2, 1)):
        experiment, results = planted(free=95.5, clipped=clipped, loosest=clipped)
        row, _ = rows = Table(experiment, results).rows
        said = reproduce_page.reached(rows, "linear scores")
        assert f"and {blamed} for the noise alone" in said
        assert ("costs 5.2 to 5.2 points" in said) == bool(blamed)
        assert ("noise not covered" in row["cause"]) == bool(blamed)
        assert ("clipping, which" in row["cause"]) != bool(blamed)
    without = [result for result in results if result.trial.noise != CLIPPED]
    rows = Table(experiment, without).rows
    said = reproduce_page.reached(rows, "linear scores")
    assert "0 of 0 with no noise" in said and "0 for the noise alone; 1 cannot be told" in said
    assert "unknown" in rows[0]["cause"] and rows[0]["noise"] is None


def test_noise_is_not_blamed_for_what_chance_explains():
    """Half a point on either side of what counts as reached, with seeds that are a point apart."""
    for spread, said in (
        (0.01, "1 for the noise alone, which costs 0.4 to 0.4"),
        (1.0, "0 for the noise alone; 1 cannot"),
    ):
        experiment, results = planted(clipped=94.7, certified=94.3, spread=spread)
        assert said in reproduce_page.reached(Table(experiment, results).rows, "linear scores")


def test_runs_that_diverge_are_counted_and_do_not_move_the_median():
    """Seeds 94.4, 36.3, 94.5, 20.7, 90.7, whose mean of 67 no run has."""
    experiment, results = planted()
    seeds = iter([94.4, 36.3, 94.5, 20.7, 90.7])
    results = [
        replace(result, values=result.values | {"AUC": next(seeds)})
        if result.trial.noise == CERTIFIED and result.trial.cell is experiment.cells[0] else result
        for result in results
    ]  # fmt: skip
    rows = Table(experiment, results).rows
    assert (rows[0]["median, certified noise"], rows[0]["diverged, certified noise"]) == (90.7, 2)
    assert "2 runs diverged (dp_sgda, ijcnn1, 0.1)" in reproduce_page.reached(rows, "linear scores")
    assert "2 diverged" in Table(experiment, results).shown(details=False)[0]["certified noise"]


def test_a_control_of_other_settings_is_no_control():
    experiment, results = planted()
    old = [replace(result, settings='{"eta": 7}') for result in results]
    assert Table(experiment, results).rows[0]["no noise"] == pytest.approx(95.4)
    assert Table(experiment, old).rows[0]["no noise"] is None
    for noise in (CLIPPED, CERTIFIED):  # of the run without noise, or of the one with
        mixed = [one if one.trial.noise == noise else new for one, new in zip(old, results, strict=True)]
        assert Table(experiment, mixed).rows[0]["no noise"] is None
        assert Table(experiment, mixed).rows[0]["noise"] is None
    assert any(line.startswith("† older tuning") and "epsilon 0.1" in line for line in page.remarks(experiment, old))


def test_each_number_of_an_older_tuning_is_marked_where_it_stands():
    """As many as the page of headlines counts, and none where the settings are those of now."""
    said = re.search(r"Cells measured with an older tuning.*", reproduce_page.headlines())[0]
    for name in ("yang2022.table_2", "zhang2025.table_1"):
        experiment = find(name)
        lines = page.marked(Table(experiment, runner.kept_runs(experiment)), details=False)
        numbers = re.findall(rf"(\d+) of {experiment.place}", said)
        assert sum(text.count("†") for line in lines for text in line.values()) == sum(map(int, numbers)) > 0
        assert not any("†" in line["no noise"] + line["published"] for line in lines)
    experiment, results = planted()
    assert "†" not in str(page.marked(Table(experiment, results), details=True))
    old = [replace(one, settings='{"eta": 7}') if one.trial.noise == CERTIFIED else one for one in results]
    first, *_ = page.marked(Table(experiment, old), details=False)
    assert first["certified noise"].endswith("†") and "†" not in first["paper's noise"]


def test_each_headline_counts_what_the_kept_runs_say():
    """Cells that reach the printed AUC within half a point, by plain Python, beside those that the sentences count."""
    for model, name in (("linear", "linear scores"), ("mlp", "perceptrons")):
        found = {noise: [0, 0] for noise in (CLIPPED, PUBLISHED, CERTIFIED)}
        runs = {}
        for result in runner.kept_runs(find("yang2022.table_2")):
            keys = result.trial.cell.keys
            if keys["model"] == model and keys["epsilon"] != math.inf and result.trial.cell.published:
                runs.setdefault((result.trial.cell.name, result.trial.noise), []).append(result)
        for (_, noise), group in runs.items():
            if noise in found:
                reached = group[0].trial.cell.published["AUC"] - np.median([run.values["AUC"] for run in group]) <= 0.5
                found[noise] = [found[noise][0] + reached, found[noise][1] + 1]
        said = next(line for line in reproduce_page.headlines().splitlines() if name in line)
        shares = re.findall(r"in (\d+) of (\d+) with", said)
        assert [list(map(int, share)) for share in shares] == list(found.values())
