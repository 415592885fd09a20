"""What is expected of a check: verdicts and certificates on file, and the command that proposes a change of them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import propose_verdicts
import pytest
import tables
from games import GAMES
from propose_verdicts import main, updated

from dpcheck.accounting import certify
from dpcheck.checks import expected
from dpcheck.checks.expected import expected_certificates, expected_verdicts, missing, with_expected
from dpcheck.checks.games import DELTA, Entry
from dpcheck.events import scaled
from dpcheck.report.findings import Finding, Report
from dpcheck.solvers import ALGORITHMS

FILE: dict[str, dict[str, Any]] = {
    "verdicts": {"a.p.one": "violated", "a.r.one": "consistent or inconclusive", "b.p.one": "consistent"},
    "certified": {"a.p.one": 2.0, "a.p.two": 1.0},
}


def found(id: str, verdict: str = "consistent", certified: float | None = None, kind: str = "privacy") -> Finding:
    return with_expected(Finding(id, kind, "what", verdict, "why", certified=certified))


@pytest.fixture
def file(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file, and no claims."""
    monkeypatch.setattr(propose_verdicts, "on_file", lambda: FILE)
    monkeypatch.setattr(propose_verdicts, "of_claims", dict)
    monkeypatch.setattr(expected, "expected_verdicts", lambda: FILE["verdicts"])
    for module in (expected, propose_verdicts):
        monkeypatch.setattr(module, "expected_certificates", lambda: FILE["certified"])


# The certificates on file


def audited(entry: Entry) -> tuple[str, ...]:
    return ("transcript",) if entry.brief else ("transcript", "iterates", "output")


@pytest.mark.parametrize("name", ["minimax_output_perturbation", "phased_primal", "output_perturbation", "nispp"])
def test_certificates_are_those_of_the_declared_events(name: str) -> None:
    """Each at the delta that the algorithm itself promises."""
    for entry in GAMES[name]():
        certified = certify(entry.events, delta=entry.delta).epsilon
        for what in audited(entry):
            assert expected_certificates()[f"{name}.{entry.label}.{what}"] == pytest.approx(certified, rel=1e-5)


def test_every_game_has_its_certificates() -> None:
    for name in ALGORITHMS:
        for entry in GAMES[name]():
            for what in audited(entry):
                assert f"{name}.{entry.label}.{what}" in expected_certificates()


def test_a_certificate_that_falls_by_a_third_is_red() -> None:
    """Noise raised by 3/2 is still private, and the claim stands: the finding is red by its certificate alone."""
    entry = next(iter(GAMES["minimax_output_perturbation"]()))
    id = "minimax_output_perturbation.as_printed.transcript"
    for factor, ok in ((1.0, True), (1.001, True), (1.45, False), (0.98, False)):
        certified = certify(scaled(entry.events, factor), delta=DELTA).epsilon
        finding = with_expected(Finding(id, "privacy", "what", "consistent", "why", certified=certified))
        assert finding.certificate_ok is ok
        assert replace(finding, expected="consistent").ok is ok
    assert 0.3 < certify(scaled(entry.events, 1.45), delta=DELTA).epsilon < 0.34
    assert finding.surprise == "expected a certified epsilon of 0.484"


# The command


@pytest.mark.usefixtures("file")
def test_the_command_prints_and_writes_what_differs(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: dict[str, Any] = {}

    def check(names: Any, **given: Any) -> Report:
        asked.update(given, names=names)
        findings = (found("a.p.one", "consistent", 2.0), found("a.p.two", "violated", 1.0))
        return Report(findings, ("a",), "quick", 0, "0", 1.0)

    monkeypatch.setattr(propose_verdicts, "check", check)
    monkeypatch.setattr(propose_verdicts.resources, "files", lambda name: tmp_path)
    assert main(["a", "--seed", "3"]) == 1
    assert (asked["names"], asked["seed"], asked["jobs"]) == (["a"], 3, None)
    assert capsys.readouterr().out.splitlines() == [
        "verdicts: a.p.one: violated -> consistent",
        "verdicts: a.p.two: nothing -> violated",
    ]
    assert list(tmp_path.iterdir()) == []
    assert main(["a", "--write"]) == 1
    written = json.loads((tmp_path / "expected.json").read_text("utf-8"))
    assert written["verdicts"] == {
        "a.p.one": "consistent", "a.p.two": "violated", "a.r.one": "consistent or inconclusive", "b.p.one": "consistent"
    }  # fmt: skip
    monkeypatch.setattr(propose_verdicts, "check", lambda names, **given: Report((), ("b",), "quick", 0, "0", 1.0))
    assert main([]) == 0


def test_the_file_as_written_is_the_file() -> None:
    """So that ``--write`` changes nothing but what it prints."""
    text = expected.resources.files("dpcheck.checks").joinpath("expected.json").read_text("utf-8")
    assert json.dumps(updated(json.loads(text), []), indent=1) + "\n" == text


def test_what_is_expected_and_not_yielded_is_missing() -> None:
    ids = {id for id in expected_verdicts() if id.startswith("phased_primal.")}
    assert {each.id for each in missing([], ["phased_primal"], [])} == ids
    assert "phased_primal.as_printed.transcript" in ids


# Whole runs at many seeds


def test_whole_runs_had_the_expected_verdicts_at_every_seed() -> None:
    """``tests/verdict_runs.py`` measures them; a finding that is new since has no verdict there yet."""
    kept = tables.read("verdicts").set_index("finding")
    known = expected_verdicts()
    runs = [run.split() for run in kept.columns]
    assert len({seed for _, seed in runs}) >= 20
    assert {processor for processor, _ in runs} == {"native", "generic"}
    assert {name.partition(".")[0] for name in kept.index} >= set(ALGORITHMS)
    unexpected = [
        f"{run}: {id} was {verdict}, expected {known[id]}"
        for id, verdicts in kept.iterrows()
        for run, verdict in verdicts.dropna().items()
        if id in known and verdict not in known[id].split(" or ")
    ]
    assert unexpected == []
