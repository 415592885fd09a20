"""``dpcheck audit`` without a neighbour, and the files that it reads data from."""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import pandas as pd
import pytest

from dpcheck.cli import main
from dpcheck.commands.inputs import dataset
from dpcheck.errors import InputError

MODULE = """
import numpy as np
def clipped(d, rng): return np.clip(d, 18, 90).mean() + rng.laplace(scale=72 / len(d))
def unbounded(d, rng): return d.mean() + rng.laplace(scale=72 / len(d))
def little(d, rng): return np.clip(d, 18, 90).mean() + rng.laplace(scale=1 / len(d))
def women(t, rng): return (t["sex"] == "f").sum() + rng.laplace()
def women_and_size(t, rng): return [women(t, rng), len(t)]
"""
PEOPLE = "age,sex\n" + "\n".join(f"{age},{'mf'[age % 2]}" for age in range(18, 91, 3))


@pytest.fixture
def audit(capsys, monkeypatch, tmp_path):
    """Audit a function of ``people.py`` without a neighbour: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.delitem(sys.modules, "people", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "people.py").write_text(MODULE)
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "ages.csv").write_text("age\n" + "\n".join(map(str, range(18, 91, 3))))

    def run(function: str, data: str, *more: str) -> tuple[int, str, str]:
        code = main(["audit", f"people:{function}", "--data", data, "--epsilon", "1", "--trials", "4000", *more])
        return code, *capsys.readouterr()

    return run


def test_a_pair_is_searched_and_said(audit):
    code, out, err = audit("clipped", "ages.csv")
    assert (code, err) == (0, "dpcheck: audit ...\n")
    assert out.startswith("consistent: ") and "\nneighbours: one record replaced\n" in out
    assert max(map(len, out.splitlines())) <= 80
    code, out, _ = audit("unbounded", "ages.csv")
    assert code == 1
    assert out.startswith("violated outside the range of the data: ")
    assert "where the data lie in [18, 90]" in re.sub(r"\s+", " ", out)
    out = audit("little", "ages.csv")[1]
    assert "too small by a factor of" in re.sub(r"\s+", " ", out) and max(map(len, out.splitlines())) <= 80
    assert audit("unbounded", "ages.csv", "--records", "inside")[0] == 0
    assert audit("clipped", "ages.csv", "--records", "any")[0] == 1


@pytest.mark.thorough
def test_the_relation_is_the_one_asked_for(audit):
    assert audit("women_and_size", "people.csv")[0] == 0
    code, out, _ = audit("women_and_size", "people.csv", "--neighbours", "add_or_remove_one", "--format", "json")
    found = json.loads(out)
    assert (code, found["schema"], found["verdict"]) == (1, "dpcheck.audit/1", "violated")
    assert (found["relation"], found["group"], found["records"]) == ("add_or_remove_one", 1, "finite")
    assert re.search("added|removed|at the high end", found["pair"]) and found["pairs"] >= 4
    assert found["smaller"]["audit"]["verdict"] == "violated"
    assert audit("women", "people.csv", "--group", "2", "--neighbours", "both")[0] == 1


@pytest.mark.thorough
def test_all_mechanisms_of_a_file_may_leave_their_neighbours_to_the_search(audit, tmp_path, capsys):
    entry = '[[tool.dpcheck.mechanisms]]\nmechanism = "people:women_and_size"\ndata = "people.csv"\nepsilon = 1.0\n'
    entry += "trials = 4000\n"
    more = 'name = "added"\nneighbours = "add_or_remove_one"\n'
    (tmp_path / "own.toml").write_text(f"{entry}{entry}{more}")
    assert main(["audit", "--all", "own.toml", "--json-output", "out.json"]) == 1
    findings = json.loads((tmp_path / "out.json").read_text())["findings"]
    assert [finding["verdict"] for finding in findings] == ["consistent", "violated"]
    assert findings[1]["evidence"]["audit"]["pair"] in findings[1]["reason"]
    capsys.readouterr()
    (tmp_path / "own.toml").write_text(f'{entry}neighbour = "people.csv"\ngroup = 2\n')
    assert main(["audit", "--all", "own.toml"]) == 2
    assert "leave neighbour out" in capsys.readouterr().err


def test_what_a_store_keeps_is_not_run_again(audit, monkeypatch):
    from dpcheck.audits.running import Runner

    counted, ours = list[int](), Runner.__call__
    monkeypatch.setattr(Runner, "__call__", lambda runner, chunk: counted.append(chunk.size) or ours(runner, chunk))
    first = audit("clipped", "ages.csv", "--store", "kept")
    before = sum(counted)
    assert audit("clipped", "ages.csv", "--store", "kept") == first
    assert 0 < sum(counted) - before < before


@pytest.mark.parametrize("wrong", [
    ("--neighbour", "ages.csv", "--group", "2"), ("--neighbour", "people.csv", "--records", "any"), ("--isolate",),
    ("--sequential",), ("--group", "0"), ("--group", "99"), ("--trials", "50"),
])  # fmt: skip
def test_what_does_not_fit_together_is_refused(audit, wrong):
    code, out, err = audit("clipped", "ages.csv", *wrong)
    assert (code, out) == (2, "")
    assert re.search(r"dpcheck: error: [^\n]+ must [^\n]+\n$", err)


def read(tmp_path, text: str, name: str = "data.csv"):
    (tmp_path / name).write_text(text)
    return dataset(str(tmp_path / name), "data")


def test_a_csv_of_numbers_is_an_array(tmp_path):
    for text in ("1,2\n3,4\n", "a,b\n1,2\n3,4\n", "# by hand\n\n'a','b'\n1,2 # one\n3,4"):
        found = read(tmp_path, text)
        assert type(found) is np.ndarray and found.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    for text in ("a,b\n1,\n3,4", "a,b\n1,NA\n3,4", "a,b\n1,nan\n3,4", "1,\n3,4"):
        assert type(read(tmp_path, text)) is np.ndarray
        np.testing.assert_array_equal(read(tmp_path, text), [[1.0, np.nan], [3.0, 4.0]])


def test_a_csv_with_words_is_a_table(tmp_path):
    found = read(tmp_path, '\ufeffage, town\n23,"Bern, CH"\n,Chur # 1\n')
    assert type(found) is pd.DataFrame and list(found.columns) == ["age", "town"]
    assert found["town"].tolist() == ["Bern, CH", "Chur # 1"]
    assert found["age"].iloc[0] == 23 and np.isnan(found["age"].iloc[1])
    assert read(tmp_path, "word\nja\nnein\n").shape == (2, 1)
    assert read(tmp_path, "1,ja\n2,nein\n").shape == (2, 2)
    for text in ("a,b\n1,ja\n2\n", "a,b\n1,ja,2\n", "a,b\n", ""):
        with pytest.raises(InputError, match="data must have"):
            read(tmp_path, text)


def test_parquet_without_pyarrow_is_refused_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "a.parquet").touch()
    with pytest.raises(InputError, match=r"pip install 'dpcheck\[parquet\]'"):
        dataset(str(tmp_path / "a.parquet"), "data")
