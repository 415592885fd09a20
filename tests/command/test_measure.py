"""``dpcheck measure``: what its table holds, that it goes on where it was stopped, what ``dpcheck rate`` says of it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from io import StringIO

import numpy as np
import pandas as pd
import pytest

from dpcheck import InputError
from dpcheck.algorithms.measure import Experiment, metrics_of, text
from dpcheck.cli import main
from dpcheck.commands import inputs
from dpcheck.commands.algorithms import Table
from dpcheck.problems.mean_estimation import MeanEstimation
from dpcheck.solvers import ALGORITHMS, algorithm, configure

QUICK = ("output_perturbation", "--vary", "n=2^5..2^7", "--seeds", "3")


@pytest.fixture
def call(capsys, monkeypatch, tmp_path):
    """Run the command in this process, from an empty folder: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        return code, *capsys.readouterr()

    return run


def frame(out: str) -> pd.DataFrame:
    return pd.read_csv(StringIO(out))


# The table


def test_a_row_is_a_run_on_a_data_set_of_its_own(call):
    code, out, err = call("measure", *QUICK)
    assert (code, err) == (0, "dpcheck: output_perturbation ...\n")
    table = frame(out)
    assert list(table) == [
        "algorithm", "problem", "variant", "n", "d", "epsilon", "delta", "seed", "gap", "primal", "gradient_norm",
        "lambda_min", "excess", "evaluations", "outcome",
    ]  # fmt: skip
    assert table["n"].tolist() == [32] * 3 + [64] * 3 + [128] * 3
    assert table["seed"].tolist() == [0, 1, 2] * 3
    assert (table["delta"] == table["n"] ** -2.0).all()
    assert table["excess"].nunique() == 9
    row = Experiment.of("output_perturbation", vary={"n": [32]}, seeds=2).rows[1]
    rng, seed = row.streams  # the second row again, by hand
    problem = MeanEstimation.sample(32, 3, rng)
    run = configure("output_perturbation", problem, epsilon=1, delta=32**-2.0).run(problem, seed=seed)
    for name, value in metrics_of(problem, run).items():
        assert table[name][1] == value, name
    assert table["evaluations"][1] == run.evaluations
    assert table["excess"][1] == problem.excess(run.x[None])


def test_rows_do_not_depend_on_what_else_is_measured_or_on_workers(call):
    rows = {tuple(line.split(",")) for line in call("measure", *QUICK, "--jobs", "1")[1].splitlines()}
    alone = call("measure", "output_perturbation", "n=64", "--seeds", "2")[1]
    assert {tuple(line.split(",")) for line in alone.splitlines()} < rows
    for jobs in ("2", "5"):
        assert {tuple(line.split(",")) for line in call("measure", *QUICK, "--jobs", jobs)[1].splitlines()} == rows


def test_streams_of_other_rows_are_other_streams():
    """Also where n, d and the seed are the same: no two settings share their random numbers."""
    experiments = [
        Experiment.of("dp_sgda", vary={"n": [10, 20], "epsilon": [1, 2]}, seeds=3),
        Experiment.of("dp_sgda", variant="as_printed", fixed={"steps": 5}, vary={"n": [10]}, seeds=3),
        Experiment.of("nseg", problem="quadratic", vary={"n": [10]}, seeds=3),
    ]
    drawn = [row.streams[0].random() for each in experiments for row in each.rows]
    assert len(set(drawn)) == len(drawn) == 18
    assert len({row.streams[1] for each in experiments for row in each.rows}) == 18


def test_settings_have_one_order_however_they_are_given(call):
    first = call("measure", "dp_sgda", "steps=9", "batch=4", "--vary", "n=20,40", "--vary", "epsilon=1,2", "--seeds=1")
    other = call("measure", "--vary", "epsilon=1,2", "dp_sgda", "--seeds=1", "batch=4", "--vary=n=20,40", "steps=9")
    assert first == other
    table = frame(first[1])
    assert list(table)[3:10] == ["n", "d", "epsilon", "delta", "batch", "steps", "seed"]
    assert table[["n", "epsilon"]].to_numpy().tolist() == [[20, 1], [20, 2], [40, 1], [40, 2]]
    varied = call("measure", "dp_sgda", "n=20", "batch=4", "--vary", "steps=9", "--seeds=1")[1]
    assert varied.splitlines() == first[1].splitlines()[:2]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_is_measured_on_its_example(name):
    fixed = {"n": 60, "d": 2, **algorithm(name).tiny}
    experiment = Experiment.of(name, fixed=fixed, seeds=1)
    assert experiment.metrics
    line = dict(zip(experiment.columns, experiment.measure(experiment.rows[0]), strict=True))
    assert all(np.isfinite(float(line[metric])) for metric in experiment.metrics)
    assert line["outcome"] in ("finished", "certified", "uncertified")


def test_numbers_read_back_to_the_bit():
    for value in (0.1, 1 / 3, 5e-324, 1e300, -2.5):
        assert float(text(value)) == value
    assert [text(each) for each in (1.0, 7, True, "svrg", None)] == ["1", "7", "true", "svrg", "null"]


# Levels


@pytest.mark.parametrize(
    ("written", "levels"),
    [
        ("2^10..2^14", [1024, 2048, 4096, 8192, 16384]),
        ("1000,2000,4000", [1000, 2000, 4000]),
        (".25..4", [0.25, 0.5, 1, 2, 4]),
        ("100..400,1e3", [100, 200, 400, 1000]),
        ("2^-1", [0.5]),
        ("-3,0", [-3, 0]),
        ("8..8", [8]),
    ],
)
def test_levels(written, levels):
    (found,) = inputs.levels([f"n={written}"]).values()
    assert found == levels
    assert all(isinstance(level, int) == float(level).is_integer() for level in found)


# The file


def test_rows_that_the_file_has_are_not_measured_again(call, tmp_path, monkeypatch):
    """Neither after more seeds and levels are asked for; the order is that of a file made at once."""
    file = tmp_path / "t.csv"
    small = ("measure", "output_perturbation", "--vary", "n=32,128", "--seeds", "2", "--output", "t.csv")
    assert call(*small)[:2] == (0, "")
    before = file.read_text().splitlines()
    measured = []
    real = Experiment.measure
    monkeypatch.setattr(
        Experiment, "measure", lambda self, row, watch=None: measured.append(row.key) or real(self, row, watch)
    )
    assert call(*small)[0] == 0
    assert measured == []
    assert call("measure", *QUICK, "--output", "t.csv")[0] == 0
    assert len(measured) == 9 - 4
    assert file.read_text() == call("measure", *QUICK)[1]
    assert set(before) < set(file.read_text().splitlines())
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_a_line_that_was_cut_off_is_measured_again(call, tmp_path):
    file = tmp_path / "t.csv"
    call("measure", *QUICK, "--output", "t.csv")
    whole = file.read_bytes()
    for length in (0, len(whole) // 2, len(whole) - 1):
        if length:
            assert not whole[:length].endswith(b"\n")
        file.write_bytes(whole[:length])
        assert call("measure", *QUICK, "--output", "t.csv")[0] == 0
        assert file.read_bytes() == whole


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("dp_sgda steps=3 --seeds 1", "got t.csv: columns algorithm, problem, variant, n, d, epsilon, delta, seed, "),
        ("output_perturbation --epsilon 2 --vary n=2^5..2^7 --seeds 3", "in line 2 algorithm = output_perturbation, "),
        ("output_perturbation --vary n=2^5..2^7 --seeds 2", "seed = 2"),
        ("output_perturbation --vary n=2^5..2^6 --seeds 3", "n = 128"),
    ],
)
def test_a_file_of_other_settings_is_refused_and_left_as_it_is(call, tmp_path, arguments, words):
    call("measure", *QUICK, "--output", "t.csv")
    before = (tmp_path / "t.csv").read_bytes()
    code, out, err = call("measure", *arguments.split(), "--output", "t.csv")
    assert (code, out) == (2, "")
    assert re.fullmatch(r"dpcheck: error: --output must be a new file, or hold rows of this command alone, .+\n", err)
    assert words in err
    assert (tmp_path / "t.csv").read_bytes() == before


def test_a_failure_keeps_what_was_measured(tmp_path, monkeypatch):
    """The seventh run fails: the others are in the file, and its settings are named."""
    experiment = Experiment.of("output_perturbation", vary={"n": [32, 64, 128]}, seeds=3)
    real = MeanEstimation.sample

    def sample(n, d, rng):
        if n == 128:
            raise InputError("n must be smaller, got 128")
        return real(n, d, rng)

    monkeypatch.setattr(experiment.family, "sample", sample)
    table = Table(experiment, str(tmp_path / "t.csv"))
    with pytest.raises(
        InputError, match=r"^n must be smaller, got 128 \(in the run with n = 128, d = 3, .*seed = 0\)$"
    ):
        table.fill(jobs=1)
    assert len((tmp_path / "t.csv").read_text().splitlines()) == 1 + 6


# The whole loop

LONG = [
    "measure", "dp_sgda", "steps=40000", "private=false", "--vary", "n=2^9..2^10", "--seeds", "4", "--output",
    "t.csv", "--jobs", "2",
]  # fmt: skip


def lines_of(file) -> int:
    return len(file.read_text().splitlines()) if file.exists() else 0


@pytest.mark.thorough
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_interrupted_or_killed_it_goes_on_and_ends_with_the_same_bytes(tmp_path):
    """Ctrl-C stops the runs at work, keeps the others and says how to go on; a kill loses no finished row either."""
    file, command = tmp_path / "t.csv", [sys.executable, "-m", "dpcheck", *LONG]
    for how in (signal.SIGINT, signal.SIGKILL):
        before, late = max(lines_of(file), 1), time.monotonic() + 120
        process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        while lines_of(file) < before + 2 and time.monotonic() < late:
            time.sleep(0.005)
        process.send_signal(how)
        out, err = process.communicate(timeout=120)
        assert before + 2 <= lines_of(file) < 9
        assert out == ""
        if how == signal.SIGINT:
            assert process.returncode == 130
            said = r"^dpcheck: interrupted after (\d) of 8 runs, in t\.csv; the same command goes on from there$"
            done = re.search(said, err, re.M)
            assert done
            assert int(done[1]) == lines_of(file) - 1
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    at_once = subprocess.run(
        [sys.executable, "-m", "dpcheck", *LONG[:-4], "--jobs", "1"], cwd=tmp_path, check=True, capture_output=True
    )
    assert file.read_bytes() == at_once.stdout


@pytest.mark.thorough
def test_measured_then_judged(call):
    """Theorem 3.3 of Zhang et al. in its privacy regime: the empirical excess of Algorithm 1 is of order n^-2 there."""
    told = call(
        "measure", "output_perturbation", "--vary", "n=2^6..2^13", "--delta", "1e-6", "--seeds", "100", "--output",
        "gaps.csv",
    )  # fmt: skip
    assert told[0] == 0
    fit = ("rate", "gaps.csv", "--response", "gap", "--factors", "n")
    code, out, _ = call(*fit, "--claimed", "n=-2")
    assert (code, out.split(":")[0]) == (0, "supported")
    _, out, _ = call(*fit, "--claimed", "n=-5/2")
    assert out.split(":")[0] != "supported"
