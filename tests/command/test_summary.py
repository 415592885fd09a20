"""The two statements of a report: what was found, and whether that was expected."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from dpcheck.algorithms.registry import titles
from dpcheck.cli import _parse
from dpcheck.report.findings import Finding, Report
from dpcheck.report.results import Catalogue, standing
from dpcheck.report.summary import Summary


def leak(id="nseg.as_printed.transcript", **fields):
    fields = {"verdict": "violated", "audited": 4.05, "certified": 25.7, "claimed": 1.0} | fields
    return Finding(id, "privacy", "as printed: whole noisy transcript", reason="a witness", **fields)


def sound(id="nseg.repaired.transcript", **fields):
    fields = {"verdict": "consistent", "audited": 0.4, "certified": 0.999, "claimed": 1.0} | fields
    return Finding(id, "privacy", "repaired: whole noisy transcript", reason="no witness", **fields)


def claim(verdict, id="yang2022.Y17"):
    return Finding(id, "claim", "Lemma 6", verdict, "steps", evidence={"statement": "it holds"})


def summary(*findings, algorithms=("nseg",), seed=0, profile="quick"):
    return Summary(Report(tuple(findings), algorithms, profile, seed, "0.1.0", 1.0, catalogue=Catalogue(*titles())))


def test_the_worst_of_several_audits_is_named():
    found = summary(leak("nseg.as_printed.output", audited=1.5), leak(audited=3.0), leak("nseg.as_printed.iterates"))
    assert found.result == ("nseg as published leaks: epsilon >= 4.05 where 1 is claimed.",)
    assert [f.id.rsplit(".", 1)[1] for f in found.broken] == ["iterates", "transcript", "output"]


def test_the_badge_says_nothing_of_the_result():
    found = summary(sound(expected="violated"), claim("proved"))
    assert (found.badge, found.holds) == ("1 finding changed", True)
    assert found.result[0] == "nseg repaired: audits consistent."


@pytest.mark.parametrize(
    ("findings", "badge"),
    [
        ([sound()], "no new violation"),
        ([sound(expected="consistent")], "as expected"),
        ([sound(expected="consistent"), leak()], "1 new violation"),
        ([sound(expected="violated"), leak(expected="consistent")], "2 findings changed"),
        ([sound(expected="violated"), leak()], "1 finding changed, 1 new violation"),
        ([sound(expected="consistent", expected_certified=0.5)], "1 finding changed"),
    ],
)
def test_badge(findings, badge):
    assert summary(*findings).badge == badge


def test_what_else_is_broken_is_never_left_out():
    rate = Finding("nseg.rate.t", "rate", "rate", "contradicted", "slow")
    noise = Finding("nseg.noise", "noise", "noise", "violated", "less")
    assert summary(sound(), rate, noise).result == (
        "1 of 1 measured rates is contradicted.",
        "1 check is violated (nseg.noise).",
        "nseg repaired: audits consistent.",
    )
    many = [replace(noise, id=f"nseg.noise{number}") for number in range(4)]
    assert summary(leak(), *many).result[1] == "4 further checks are violated (noise)."
    assert [broken for _, broken in summary(sound(), rate, leak()).sentences] == [True, True]
    assert [broken for _, broken in summary(sound(), claim("proved")).sentences] == [False, False]


def test_a_misprint_is_counted_and_alarms_nobody():
    found = summary(sound(), claim("misprint")).sentences
    assert [broken for _, broken in found] == [False, False]
    assert "1 is misprinted" in found[0][0] + found[1][0]


@pytest.mark.parametrize("finding", [leak(), claim("refuted", "zhang2025.004:Lem8(r%T!=0)")])
def test_the_command_that_explains_a_finding_can_be_run(finding):
    line = summary(finding, seed=3, profile="full").command(finding)
    options = _parse(shlex.split(line)[1:])
    if finding.kind == "claim":
        assert (options.target, options.explain) == (["004:Lem8(r%T!=0)"], True)
    else:
        assert (options.names, options.seed, options.profile) == (["nseg"], 3, "full")
        assert options.explain == [finding.id]


def test_no_broken_guarantee_has_the_sign_of_a_good_one():
    assert {standing(word) for word in ("violated", "refuted", "contradicted")} == {"broken"}
    assert len({standing(word).sign for word in ("violated", "conditional", "inconclusive", "proved")}) == 4
