"""What changed between two runs: what is told, what chance alone does not make it tell, and what the command says."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcheck import cli
from dpcheck.report.findings import Finding, Report
from dpcheck.report.history import compare, find, history, keep_run, revision
from dpcheck.running.store import open_store

Table = dict[str, list[dict[str, Any]]]


def report(*findings: Finding, tables: Table | None = None, seed: int = 0) -> Report:
    return Report(findings, ("mean",), "quick", seed, "0", 1.0, tables or {})


def audited(hits: int, other: int, trials: int = 1000, name: str = "mean", verdict: str = "consistent") -> Finding:
    event = {"hits": hits, "other_hits": other, "trials": trials}
    return Finding(f"{name}.output", "privacy", name, verdict, "", audited=np.log(max(hits, 1) / max(other, 1)),
                   claimed=1.0, evidence={"audit": {"delta": 0.0, "event": event}})  # fmt: skip


def changed(before: Report, after: Report) -> list[tuple[str, str]]:
    return [(change.id, change.what) for change in compare(before, after).changes]


def test_verdicts_findings_and_certificates() -> None:
    one = Finding("a.b", "privacy", "a", "consistent", "", certified=0.5, claimed=1.0)
    assert changed(report(one), report(one)) == []
    assert changed(report(one), report(replace(one, verdict="violated"))) == [("a.b", "verdict")]
    assert changed(report(one), report(replace(one, certified=0.5 + 1e-12))) == []
    assert changed(report(one), report(replace(one, certified=0.501))) == [("a.b", "certified")]
    assert changed(report(one), report(replace(one, certified=None))) == [("a.b", "certified")]
    assert changed(report(one), report()) == [("a.b", "finding")] == changed(report(), report(one))


def test_what_an_audit_stands_on() -> None:
    """A smaller confidence or a larger delta is a weaker statement, whatever its numbers are."""
    one = audited(300, 150)
    for name, value in (("delta", 1e-3), ("confidence", 0.5)):
        weaker = replace(one, evidence={"audit": one.evidence["audit"] | {name: value}})
        assert changed(report(one), report(weaker)) == [("mean.output", name)]


def test_audited_limits_move_beyond_chance_or_not() -> None:
    assert changed(report(audited(300, 150)), report(audited(310, 145))) == []
    assert changed(report(audited(300, 150)), report(audited(700, 100))) == [("mean.output", "audited epsilon")]
    (change,) = compare(report(audited(300, 150)), report(audited(700, 100))).changes
    assert change.interval is not None
    low, high, other_low, other_high = change.interval
    assert low < np.log(2) < high < other_low < np.log(7) < other_high
    assert changed(report(audited(300, 0)), report(audited(280, 0))) == []


@pytest.mark.parametrize("level", [0.05])
def test_false_alarms_over_runs_of_one_mechanism(level: float) -> None:
    """Null hypothesis: both runs are of one law. All numbers together are called changed in 5 % of pairs at most."""
    rng, alarms, pairs = np.random.default_rng(0), 0, 300
    for _ in range(pairs):
        runs = []
        for _ in range(2):
            findings = [audited(*rng.binomial(1000, [0.3, 0.15]).tolist(), name=f"m{k}") for k in range(5)]
            rows = [{"n": n, "seed": s, "gap": g, "outcome": "finished"}
                    for n in (10, 20) for s, g in enumerate(rng.normal(size=6).tolist())]  # fmt: skip
            values = rng.normal(size=(3, 8))
            means = [{"n": k, "measured": float(each.mean()), "error": float(each.std(ddof=1) / np.sqrt(8))}
                     for k, each in enumerate(values)]  # fmt: skip
            runs.append(report(*findings, tables={"rows": rows, "means": means}))
        alarms += bool(compare(*runs).changes)
    assert compare(*runs).numbers == 10
    assert alarms <= pairs * level + 3 * np.sqrt(pairs * level)


def test_a_law_that_changed_is_told() -> None:
    rng = np.random.default_rng(1)

    def rows(mean: float) -> Table:
        return {"rows": [{"n": 10, "seed": s, "gap": g, "outcome": "finished"}
                         for s, g in enumerate(rng.normal(mean, size=20).tolist())]}  # fmt: skip

    assert changed(report(tables=rows(0.0)), report(tables=rows(3.0))) == [("rows", "gap at n = 10")]


def fit(value: float, width: float = 0.1) -> Finding:
    factors = [{"factor": "n", "exponent": value, "low": value - width, "high": value + width}]
    evidence = {"fit": {"confidence": 0.95, "independent": 30, "factors": factors}}
    return Finding("a.rate", "rate", "a", "supported", "", evidence=evidence)


def test_exponents_are_compared_with_their_intervals() -> None:
    assert changed(report(fit(-0.5)), report(fit(-0.45))) == []
    assert changed(report(fit(-0.5)), report(fit(-0.1))) == [("a.rate", "exponent of n")]
    assert changed(report(fit(-0.5, 0.4)), report(fit(-0.1, 0.4))) == []


def test_evidence_that_says_nothing_is_not_compared() -> None:
    """Reports that anybody may have written."""
    for evidence in (
        {"audit": {"event": {"hits": -1, "other_hits": 0, "trials": 5}}}, {"audit": {"event": {"hits": "1"}}},
        {"audit": 3}, {"fit": {"confidence": 2, "factors": [1]}}, {"fit": {"confidence": 0.9, "factors": [{}]}},
        {"measured": "inf", "error": 1}, {"audit": {"delta": 2, "event": {"hits": 1, "other_hits": 0, "trials": 5}}},
    ):  # fmt: skip
        one = Finding("a.b", "privacy", "a", "consistent", "", audited=1.0, evidence=evidence)
        assert compare(report(one), report(one)).numbers == 0


# The command


def test_compare_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    report(audited(300, 150)).to_json("a.json")
    report(audited(700, 100, verdict="violated")).to_json("b.json")
    assert cli.main(["compare", "a.json", "a.json"]) == 0
    assert "nothing changed" in capsys.readouterr().out
    assert cli.main(["compare", "a.json", "b.json", "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "dpcheck.compare/1"
    assert [(each["id"], each["what"]) for each in found["changes"]] == [
        ("mean.output", "verdict"), ("mean.output", "audited epsilon")
    ]  # fmt: skip
    assert cli.main(["compare", "a.json", "missing.json"]) == 2
    assert (
        "a run must be REPORT.json, FOLDER, FOLDER:NUMBER or FOLDER:COMMIT, got missing.json" in capsys.readouterr().err
    )


def test_reports_of_one_audit_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = []
    for scale in ("1", "5"):
        files.append(str(tmp_path / f"{scale}.json"))
        asked = ["audit", "kept_laplace:noisy", "--data", scale, "--neighbour", "0", "--epsilon", "5"]
        (tmp_path / "kept_laplace.py").write_text("def noisy(data, rng):\n    return data + rng.laplace()\n")
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(str(tmp_path))
            assert cli.main([*asked, "--trials", "2000", "--json-output", files[-1]]) == 0
    capsys.readouterr()
    assert cli.main(["compare", *files]) == 1
    assert "audit: audited epsilon" in capsys.readouterr().out


def test_a_report_that_cannot_be_read_hides_no_other_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    store = open_store("runs")
    for hits in (300, 700):
        keep_run(store, report(audited(hits, 100)))
        store.add_run("then", "dpcheck check", "", '{"schema": "dpcheck.report/999"}')
    store.close()
    assert [(run["findings"], run["changed"]) for run in history("runs")] == [
        (1, None), ("unreadable", None), (1, 1), ("unreadable", None)
    ]  # fmt: skip
    assert cli.main(["history", "runs"]) == 0
    assert capsys.readouterr().out.count("unreadable") == 2
    assert cli.main(["compare", "runs:1", "runs:2"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("beside", [False, True])
def test_a_folder_that_cannot_be_written_is_listed_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beside: bool
) -> None:
    """Read as a file that nobody changes, but not where work that is not yet in it lies beside it."""
    monkeypatch.chdir(tmp_path)
    store = open_store("runs")
    keep_run(store, report(audited(300, 100)))
    store.close()
    if beside:
        (tmp_path / "runs" / "dpcheck.sqlite-wal").touch()
    opened, connect = [], sqlite3.connect

    def recorded(file: object, **options: Any) -> sqlite3.Connection:
        opened.append(str(file))
        return connect(file, **options)  # type: ignore[call-overload,no-any-return]

    monkeypatch.setattr("dpcheck.running.store.sqlite3.connect", recorded)
    monkeypatch.setattr("dpcheck.running.store.os.access", lambda path, mode: False)
    assert [run["findings"] for run in history("runs")] == [1]
    assert [file.endswith("?immutable=1") for file in opened] == [not beside]


def git(*arguments: str) -> None:
    settings = ("user.name=a", "user.email=a@b", "commit.gpgsign=false")
    subprocess.run(["git", *(part for name in settings for part in ("-c", name)), *arguments], check=True)


def test_runs_are_found_by_number_and_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    git("init", "-q")
    commits = []
    for hits in (300, 700):
        (tmp_path / "file").write_text(str(hits))
        git("add", "file")
        git("commit", "-qm", "change")
        commits.append(revision())
        store = open_store("runs")
        keep_run(store, report(audited(hits, 100)))
        store.close()
    (tmp_path / "file").write_text("changed")
    assert revision() == f"{commits[1]}+"
    assert len(commits[0]) >= 12
    assert find("runs").name == f"runs:2 ({commits[1]})"
    assert find("runs:1").report.findings == find(f"runs:{commits[0][:8]}").report.findings
    assert changed(find("runs:1").report, find("runs").report) == [("mean.output", "audited epsilon")]
    assert [run["changed"] for run in history("runs")] == [None, 1]
    assert [run["commit"] for run in history("runs")] == commits


@pytest.mark.parametrize("trap", ["fsmonitor", "filter", "process", "hook", "program"])
def test_the_commit_of_a_hostile_folder_runs_none_of_its_code(
    trap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A watcher, filters, a hook and a program that leave a file behind, which plain git starts."""
    monkeypatch.chdir(tmp_path)
    git("init", "-q")
    Path("a.py").write_text("1\n")
    Path(".gitattributes").write_text("*.py filter=trap\n")
    git("add", ".")
    git("commit", "-qm", "one")
    mark, script = tmp_path / "ran", tmp_path / ".git" / "trap"
    script.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    script.chmod(0o755)
    if trap == "hook":
        script.rename(tmp_path / ".git" / "hooks" / "post-index-change")
    elif trap == "program":
        script.rename(tmp_path / "git")
        monkeypatch.setenv("PATH", os.pathsep + os.environ["PATH"])
    else:
        name = {"fsmonitor": "core.fsmonitor", "filter": "filter.trap.clean", "process": "filter.trap.process"}[trap]
        git("config", name, str(script))
    Path("a.py").write_text("2\n")  # of the same size, so that git has to read it
    assert revision().endswith("+")
    assert not mark.exists()
    subprocess.run(["git", "status", "--porcelain"], check=False, capture_output=True)
    assert mark.exists()
