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

from dpcheck.experiments import NAMES, find, page, runner
from dpcheck.experiments.experiment import CERTIFIED, EPSILON, NONE, PUBLISHED, Cell, Trial
from dpcheck.experiments.page import text
from dpcheck.experiments.picture import draw
from dpcheck.experiments.runner import Result, trials
from dpcheck.experiments.table import Table

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
    assert Table(experiment, results).shown[0]["certified noise"] == "11.000"


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


@pytest.mark.parametrize("name", [name for name in NAMES if runner.kept_path(find(name)).exists()])
def test_the_page_says_what_the_kept_runs_say(name):
    """Every number of the page that was measured, from the CSV by plain Python; and every difference beyond two
    standard errors has a letter, which a sentence below the table explains."""
    experiment = find(name)
    with runner.kept_path(experiment).open(encoding="utf-8") as stream:
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
    results = runner.kept_runs(experiment)

    def setting(keys):
        return keys["data"], keys["classes"], keys["algorithm"]

    silent = {setting(run.trial.cell.keys) for run in results if run.trial.noise == NONE}
    named = {setting(row) for row in Table(experiment, results).rows if "without noise" in (row["cause"] or "")}
    assert named and named <= silent
    without = [run for run in results if run.trial.noise != NONE]
    assert not any("without noise" in (row["cause"] or "") for row in Table(experiment, without).rows)
