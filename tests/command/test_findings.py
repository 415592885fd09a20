"""Findings and reports: when a verdict is the expected one, and the same content in every format."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pages import Page

import dpcheck
from dpcheck import InputError, checks, cli
from dpcheck.bounds import registry
from dpcheck.checks import place_for
from dpcheck.checks.expected import expected_verdicts
from dpcheck.report.findings import Finding, Report, render
from dpcheck.report.results import BROKEN, Catalogue, to_json_text
from dpcheck.source import shown_place

FINE = (
    "consistent",
    "inconclusive",
    "proved",
    "conditional",
    "misprint",
    "unresolved",
    "supported",
    "not asymptotic",
    "attained",
    "not exceeded",
    "untested",
)
WORDS = (*FINE, *sorted(BROKEN))


CATALOGUE = Catalogue({"yang2022": "Yang et al."}, ("dp_sgda", "nseg"))


def finding(verdict="consistent", **fields):
    return Finding(
        **({"id": "a.b", "kind": "privacy", "subject": "what", "verdict": verdict, "reason": "why"} | fields)
    )


def report(*findings, **fields):
    given = {
        "findings": findings, "algorithms": ("dp_sgda",), "profile": "quick", "seed": 3, "version": "0.1",
        "seconds": 1.5, "catalogue": CATALOGUE,
    }  # fmt: skip
    return Report(**(given | fields))


TEXT = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), max_size=12)
EPSILON = st.none() | st.floats(0, allow_nan=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
FINDINGS = st.builds(
    Finding, TEXT, st.sampled_from(["privacy", "claim", "noise", "rate"]), TEXT, st.sampled_from(WORDS), TEXT,
    st.none() | st.sampled_from(WORDS), EPSILON, EPSILON, EPSILON, EPSILON, st.dictionaries(TEXT, JSON, max_size=3),
)  # fmt: skip
REPORTS = st.lists(FINDINGS, max_size=4).map(lambda found: report(*found))


def test_without_a_record_only_a_broken_guarantee_is_an_alarm():
    assert [word for word in WORDS if not finding(word).ok] == sorted(BROKEN)
    assert sorted(BROKEN) == ["contradicted", "refuted", "violated"]


@pytest.mark.parametrize("expected", WORDS)
@pytest.mark.parametrize("verdict", WORDS)
def test_with_a_record_every_other_verdict_is_an_alarm(verdict, expected):
    """A breach that is expected is none; a claim that no longer falls is one."""
    assert finding(verdict, expected=expected).ok == (verdict == expected)


def test_a_report_of_the_schema_before_is_read_in_todays_words():
    """A theorem's factor was "supported"; a user's rate, a prediction and whatever else was so still is."""
    old = [
        finding("supported", id="dp_sgda.rate.theorem_2a", kind="rate", expected="supported or inconclusive"),
        finding("contradicted", id="dp_sgda.rate.theorem_5.as_printed", kind="rate", expected="not asymptotic"),
        finding("not asymptotic", id="phased_dual.gradients.al_svre", kind="rate"),
        finding("supported", id="mine.rate", kind="rate", expected="supported"),
        finding("supported", id="dp_sgda.prediction.theorem_2a", kind="rate"),
        finding("inconclusive", id="dp_sgda.bound.theorem_2a", kind="bound"),
    ]
    rows = [{"theorem": "yang2022.theorem_2a", "verdict": word} for word in ("supported", "contradicted")]
    text = report(*old, tables={"Measured rates": rows, "dp_sgda: risks": rows}).to_json()
    found = Report.from_json(text.replace("dpcheck.report/2", "dpcheck.report/1"))
    assert [each.verdict for each in found.findings] == [
        "not exceeded", "contradicted", "untested", "supported", "supported", "inconclusive",
    ]  # fmt: skip
    assert [each.expected for each in found.findings][:4] == ["not exceeded or untested", "untested", None, "supported"]
    assert [row["verdict"] for row in found.tables["Measured rates"]] == ["not exceeded", "contradicted"]
    assert [row["verdict"] for row in found.tables["dp_sgda: risks"]] == ["supported", "contradicted"]
    assert [each.verdict for each in Report.from_json(text).findings] == [each.verdict for each in old]


def test_several_verdicts_may_be_expected():
    for verdict in WORDS:
        found = finding(verdict, expected="violated or inconclusive")
        assert found.ok == (verdict in ("violated", "inconclusive"))
        assert report(found).inconclusive == (verdict in ("unresolved", "not asymptotic", "untested"))


@pytest.mark.parametrize(
    ("certified", "ok"), [(0.484, True), (0.4845, True), (0.332, False), (0.6, False), (None, False)]
)
def test_a_certificate_that_moves_is_an_alarm(certified, ok):
    found = finding("consistent", certified=certified, expected_certified=0.484, expected="consistent")
    assert found.ok == ok
    assert ("expected a certified epsilon of 0.484" in render(report(found), "terminal")) == (not ok)


def test_a_failed_finding_names_the_place_of_the_code():
    found = finding("violated", place="dpcheck/catalogue/yang2022/nseg.py:49")
    (result,) = json.loads(render(report(found), "sarif"))["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == (
        "dpcheck/catalogue/yang2022/nseg.py",
        49,
    )
    for format in ("terminal", "junit"):
        assert found.place in render(report(found), format)


def test_sarif_locations_are_relative_to_a_base_that_is_declared():
    """What lies in the checkout is relative, as code hosts ask for; what does not stands in the message."""
    places = ("docs/my file.py:3", f"{Path.cwd()}/b.py:7", "/elsewhere/a.py:4")
    (run,) = json.loads(render(report(*(finding(place=place) for place in places)), "sarif"))["runs"]
    found = [each["locations"][0]["physicalLocation"]["artifactLocation"] for each in run["results"]]
    assert [each["uri"] for each in found] == ["docs/my%20file.py", "b.py", "pyproject.toml"]
    assert {each["uriBaseId"] for each in found} == {"%SRCROOT%"}
    assert ["/elsewhere" in each["message"]["text"] for each in run["results"]] == [False, False, True]
    assert set(run["originalUriBaseIds"]) == {"%SRCROOT%"}
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


XU = "dpcheck/catalogue/xu2026"
PLACES = [
    ({"kind": "noise"}, f"{XU}/dp_spider.py", "@kernel"),
    ({"kind": "schedule"}, f"{XU}/dp_spider.py", "class Repaired"),
    ({"kind": "privacy", "certified": 1.2, "claimed": 1.0}, f"{XU}/dp_spider.py", "class Repaired"),
    ({"kind": "privacy", "certified": 0.3, "expected_certified": 0.4}, f"{XU}/dp_spider.py",
     "class Repaired"),
    ({"kind": "rate", "id": "dp_spider.prediction.table_1", "evidence": {"theorem": "xu2026.theorem_1"}},
     f"{XU}/dp_spider.py", "class Repaired"),
    ({"kind": "rate", "evidence": {"theorem": "yang2022.theorem_2a"}}, "bounds/yang2022/theorem_2.py",
     'id="yang2022.theorem_2a"'),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "file", "word"), PLACES)
def test_a_finding_points_to_what_it_is_about(fields, file, word):
    found = place_for(finding(**fields), "dp_spider")
    name, _, line = found.rpartition(":")
    assert name.removeprefix("dpcheck/") == file.removeprefix("dpcheck/")
    source = Path(dpcheck.__file__).resolve().parent.parent / name
    assert word in source.read_text("utf-8").splitlines()[int(line) - 1]


def test_every_claim_points_to_where_it_is_decided():
    """To a function of a paper's folder, or to the claim's entry where the prover judges its relations."""
    for claim in registry.claims():
        name, _, line = shown_place(claim.place()).rpartition(":")
        assert Path(name).parent.name in registry.PAPERS, (claim.id, name)
        found = (Path(dpcheck.__file__).resolve().parent.parent / name).read_text("utf-8").splitlines()[int(line) - 1]
        assert re.match(r"(@|def |.*\bClaim\()", found), (claim.id, found)


def test_the_report_is_ok_where_every_finding_is():
    good, breach = finding("proved"), finding("refuted", expected="refuted")
    assert report().ok
    assert report(good, breach).ok
    assert not report(good, breach, finding("violated")).ok
    assert not report(finding("consistent", expected="violated"), good).ok


def test_undecided_findings_count_unless_they_are_on_record():
    assert not report(finding("consistent"), finding("violated")).inconclusive
    for word in ("inconclusive", "unresolved", "not asymptotic"):
        assert report(finding("consistent"), finding(word)).inconclusive
        assert not report(finding(word, expected=word)).inconclusive
        assert report(finding(word, expected="consistent")).inconclusive


@pytest.mark.parametrize(
    ("claimed", "certified", "slack"),
    [(1.0, 0.25, 4.0), (1.0, 2.0, 0.5), (1.0, math.inf, 0.0), (None, 1.0, None), (1.0, None, None), (1.0, 0.0, None)],
)
def test_slack_is_claimed_over_certified(claimed, certified, slack):
    assert finding(claimed=claimed, certified=certified).slack == slack


def test_the_recorded_verdicts_are_words_of_the_right_kind():
    claims = {"proved", "refuted", "conditional", "misprint", "unresolved", "consistent", "inconclusive"}
    for id, word in expected_verdicts().items():
        assert set(word.split(" or ")) <= set(claims if id.startswith("yang2022.") else WORDS), id


@settings(deadline=None, max_examples=50)
@given(REPORTS)
def test_json_gives_the_report_back(original):
    """Also where epsilon is infinite, which JSON cannot say."""
    text = original.to_json()
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    again = Report.from_json(text)
    assert again == original
    assert again.to_json() == text
    assert (again.ok, again.inconclusive) == (original.ok, original.inconclusive)


def test_json_of_what_json_lacks():
    """Infinities and NaN as strings at any depth; epsilons come back as numbers, evidence as it was written."""
    evidence = {"curve": [math.inf, (-math.inf, np.float64("nan"))], 3: np.int64(4), "flag": np.bool_(True)}
    original = report(finding("violated", audited=math.inf, certified=math.nan, evidence=evidence))
    (found,) = json.loads(original.to_json())["findings"]
    assert found["evidence"] == {"curve": ["inf", ["-inf", "nan"]], "3": 4, "flag": True}
    assert (found["audited"], found["certified"], found["claimed"]) == ("inf", "nan", None)
    (again,) = Report.from_json(original.to_json()).findings
    assert again.audited == math.inf
    assert math.isnan(again.certified)
    assert again.claimed is None
    assert to_json_text(np.float64(0.1)) == "0.1"


def test_a_report_on_disk(tmp_path):
    original = report(finding())
    text = original.to_json(tmp_path / "report.json")
    assert (tmp_path / "report.json").read_text() == text + "\n"
    original.to_html(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text("utf-8") == render(original, "html")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "report.json"]
    with pytest.raises(InputError, match=r"^output must be a writable file, got .*: No such file or directory$"):
        original.to_json(tmp_path / "missing" / "report.json")


def test_frame():
    frame = report(
        finding("violated", audited=1.5, certified=2.0, claimed=1.0), finding("proved", id="c", expected="proved")
    ).to_frame()
    assert list(frame["id"]) == ["a.b", "c"]
    assert list(frame["ok"]) == [False, True]
    assert frame["expected"].isna().tolist() == [True, False]
    assert frame.loc[0, ["audited", "certified", "claimed", "slack"]].tolist() == [1.5, 2.0, 1.0, 0.5]
    assert frame["slack"].isna().tolist() == [False, True]


@settings(deadline=None, max_examples=50)
@given(REPORTS)
def test_junit_fails_exactly_what_differs_from_the_record(original):
    suite = ET.fromstring(render(original, "junit"))
    cases = suite.findall("testcase")
    assert suite.attrib["tests"] == str(len(original.findings))
    assert suite.attrib["failures"] == str(sum(not each.ok for each in original.findings))
    assert [case.attrib["name"] for case in cases] == [each.id for each in original.findings]
    assert [case.find("failure") is None for case in cases] == [each.ok for each in original.findings]
    assert [case.find("system-out").text for case in cases] == [
        f"{each.verdict}: {each.reason}" for each in original.findings
    ]


@settings(deadline=None, max_examples=50)
@given(REPORTS)
def test_sarif_has_an_error_for_exactly_what_differs_from_the_record(original):
    (run,) = json.loads(render(original, "sarif"))["runs"]
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert len(run["results"]) == len(original.findings)
    for result, each in zip(run["results"], original.findings, strict=True):
        on_record = each.verdict in BROKEN and each.ok
        assert result["level"] == ("note" if on_record else "none" if each.ok else "error")
        # the format allows a level other than "none" for failed results alone
        assert (result["kind"] == "fail") == (result["level"] != "none")
        assert result["ruleId"] == each.kind
        assert result["ruleId"] in rules
        assert each.reason in result["message"]["text"]
        assert result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] == each.id


@settings(deadline=None, max_examples=50)
@given(REPORTS)
def test_html_is_well_formed_and_shows_every_finding(original):
    page = Page(render(original, "html"))
    assert page.open == []
    for each in original.findings:
        assert {each.verdict, each.subject.strip(), each.reason.strip()} - {""} <= {word.strip() for word in page.words}
    expecting = any({each.expected, each.expected_certified} != {None} for each in original.findings)
    assert ("badge changed" in page.classes) == (expecting and not original.ok)


LONG = "a sentence of many words that goes on and on, until no terminal has room for all of it, and further still, "
SENTENCES = tuple(
    f"{name} is shown as this code measured it before; the first part was measured again and came out alike. "
    f"`dpcheck check {name} --profile full` measures all of it."
    for name in ("dp_sgda", "privatediff", "nseg", "dp_rgda")
)
PARTS = ("as_printed.with_replacement.transcript", "repaired.without_replacement.iterates", "adult.repaired.output")
MANY = st.builds(
    Finding,
    st.builds("{}.{}".format, st.sampled_from(["dp_sgda", "yang2022"]), st.sampled_from(PARTS)),
    st.sampled_from(["privacy", "claim", "noise", "sampling", "rate"]), st.just(LONG * 3), st.sampled_from(WORDS),
    st.just(LONG * 9), st.none() | st.sampled_from(WORDS), EPSILON, EPSILON, EPSILON, EPSILON,
    st.just({}) | st.just({"statement": LONG}), place=st.none() | st.just("bounds/yang2022/theorem_1.py:30"),
)  # fmt: skip


def screen(text, width=80):
    """The lines that a terminal of this width shows."""
    return sum(max(1, math.ceil(len(line) / width)) for line in text.splitlines())


@settings(deadline=None, max_examples=50)
@given(st.lists(MANY, min_size=1, max_size=30))
def test_whatever_is_found_of_an_algorithm_fits_one_screen(found):
    assert screen(render(report(*found, shown=SENTENCES, stages={"audits": 1.5}), "terminal", width=80)) <= 40


def test_a_stage_that_stops_is_a_finding_and_the_others_go_on(monkeypatch):
    """Nothing that the stopped stage would have yielded is listed beside it."""

    def two(context, name, tables):
        def stops():
            yield finding(id="nseg.first.part")
            raise RuntimeError("nseg made 18 releases and declares 9")

        yield "releases", stops
        yield "schedule", lambda: [finding(id="nseg.second.part")]

    monkeypatch.setattr(checks, "stages", two)
    monkeypatch.setattr("dpcheck.checks.shipped.decided", lambda context, paper: [])
    found = checks.check("nseg")
    own = [each for each in found.findings if each.id.startswith("nseg.")]
    assert [(each.id, each.ok) for each in own] == [
        ("nseg.first.part", True), ("nseg.releases.stopped", False), ("nseg.second.part", True)
    ]  # fmt: skip
    assert "nseg made 18 releases and declares 9" in own[1].reason
    assert own[1].place is not None


@pytest.mark.parametrize("verdict", ["banana", "Violated", "consistent "])
def test_a_word_that_is_no_verdict_is_no_success(verdict: str) -> None:
    one = Finding("a.b", "privacy", "a", verdict, "")
    assert not one.ok
    assert one.surprise == "expected a verdict, and this word is none"
    assert not replace(one, expected=verdict).ok


def test_what_is_called_consistent_has_no_epsilon_above_its_claim() -> None:
    one = Finding("a.b", "privacy", "a", "consistent", "", audited=1.0, claimed=1.0)
    assert one.ok
    for edited in (replace(one, audited=1.01), replace(one, claimed=0.5), replace(one, audited=float("nan"))):
        assert not edited.ok
        assert edited.surprise == "expected no epsilon above the claim in what is consistent"


def test_a_report_without_findings_is_no_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "report.json"
    Report((), (), "quick", 0, "0", 1.0).to_json(path)
    assert cli.main(["report", str(path)]) == 2
    assert capsys.readouterr().err == (
        f"dpcheck: error: {path}: REPORT.json must hold findings, of which to say something, got none\n"
    )


def test_a_key_that_is_there_twice_is_refused() -> None:
    with pytest.raises(InputError, match="have each field once, got verdict twice"):
        Report.from_json('{"findings": [{"verdict": "violated", "verdict": "consistent"}]}')
