"""A file of one's own mechanisms: declared, audited together, reported in every format, in CI's own steps."""

from __future__ import annotations

import json
import math
import re
import shutil
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest

import dpcheck
from dpcheck.cli import main
from dpcheck.commands.baseline import BASELINE, Baseline
from dpcheck.commands.mechanisms import read_mechanisms
from dpcheck.report.findings import Finding, Report, render

DOCS = Path(dpcheck.__file__).resolve().parent.parent / "docs" / "ci"
# The official schema, as OASIS publishes it under the address that is its "id".
SCHEMA = json.loads(Path(__file__).with_name("sarif-schema-2.1.0.json").read_text("utf-8"))
LEAK = next(i for i, line in enumerate((DOCS / "mechanisms.py").read_text().splitlines(), 1) if "leaking" in line)
ENTRY = '[[tool.dpcheck.mechanisms]]\nmechanism = "mechanisms:noisy_sum"\ndata = [0, 1]\nneighbour = [0, 0]\n'


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A scratch repository with three mechanisms, one of which leaks."""
    for name in ("mechanisms.py", "pyproject.toml"):
        shutil.copy(DOCS / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "mechanisms", raising=False)
    yield tmp_path
    sys.modules.pop("mechanisms", None)


def valid_sarif(text):
    sarif = json.loads(text)
    jsonschema.Draft4Validator(SCHEMA).validate(sarif)
    return sarif["runs"][0]["results"]


def test_all_mechanisms_are_audited_and_reported_in_every_format(project, capsys):
    outputs = [f"--{name}-output=out.{name}" for name in ("json", "junit", "sarif", "html", "github")]
    assert main(["audit", "--all", *outputs]) == 1
    out = capsys.readouterr().out
    assert "leaking_mean leaks: epsilon >= " in out
    assert "at confidence 0.95 over all 3 mechanisms, 0.9833 each (Bonferroni)" in re.sub(r"\s+", " ", out)
    found = Report.from_json(Path("out.json").read_text())
    assert [f.verdict for f in found.findings] == ["consistent", "consistent", "violated"]
    assert ["; hint: " in f.reason for f in found.findings] == [False, False, True]
    assert [f.evidence["audit"]["confidence"] for f in found.findings] == [pytest.approx(1 - 0.05 / 3)] * 3
    cases = ET.parse("out.junit").getroot().findall("testcase")
    assert [case.find("failure") is None for case in cases] == [True, True, False]
    results = valid_sarif(Path("out.sarif").read_text())
    places = [each["locations"][0]["physicalLocation"] for each in results]
    assert {place["artifactLocation"]["uri"] for place in places} == {"mechanisms.py"}
    assert [each["level"] for each in results] == ["none", "none", "error"]
    assert places[2]["region"]["startLine"] == LEAK
    page = Path("out.html").read_text()
    assert 'class="result broken"' in page
    assert "leaking_mean leaks" in page
    assert (
        Path("out.github")
        .read_text()
        .startswith(f"::error file=mechanisms.py,line={LEAK},title=dpcheck%3A leaking_mean")
    )


def test_the_error_is_shared_out_over_the_file(tmp_path):
    file = tmp_path / "own.toml"
    file.write_text(
        "[tool.dpcheck]\nconfidence = 0.9\n" + "".join(f'{ENTRY}name = "m{i}"\nepsilon = 1\n' for i in range(5))
    )
    found = read_mechanisms(str(file))
    assert math.isclose(sum(1 - found.confidence_of_each for _ in found.mechanisms), 0.1)


def test_a_baseline_makes_findings_known_and_keeps_them_red(project, capsys):
    assert main(["audit", "--all", "--write-baseline", "known.json"]) == 0
    capsys.readouterr()
    assert main(["audit", "--all", "--baseline", "known.json", "--format", "github"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("::notice file=mechanisms.py")
    assert "leaking_mean leaks" in out
    assert "Regression: as expected" in out
    text = Path("mechanisms.py").read_text()
    Path("mechanisms.py").write_text(text.replace("1 / 60", "1 / 3"))  # repaired: a change too, until it is known
    sys.modules.pop("mechanisms")
    assert main(["audit", "--all", "--baseline", "known.json", "--format", "github"]) == 1
    assert "consistent (expected violated)" in capsys.readouterr().out


WORSE = {
    "a leak that grew": ("mechanisms.py", "1 / 6,", "1 / 6000,", "beyond chance more"),
    "a claim that is another": ("pyproject.toml", "epsilon = 1.0", "epsilon = 0.9", "the claimed epsilon is 0.9"),
    "a mechanism of another name": ("pyproject.toml", 'mechanism = "mechanisms:leaking_mean"',
                                    'mechanism = "mechanisms:leaking_mean"\nname = "mean"', "removed or renamed"),
    "an entry whose day has passed": ("known.json", '"until": null', '"until": "2020-01-31"', "ended on 2020-01-31"),
}  # fmt: skip


@pytest.mark.parametrize("change", WORSE)
def test_what_is_worse_than_the_baseline_fails(project, capsys, change):
    code = Path("mechanisms.py")
    code.write_text(code.read_text().replace("1 / 60,", "1 / 6,"))  # epsilon 2, where 1 is claimed
    assert main(["audit", "--all", "--write-baseline", "known.json"]) == 0
    file, old, new, words = WORSE[change]
    text = Path(file).read_text()
    assert old in text
    Path(file).write_text(text.replace(old, new))
    sys.modules.pop("mechanisms")
    capsys.readouterr()
    assert main(["audit", "--all", "--baseline", "known.json", "--format", "json"]) == 1
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert any(words in finding["reason"] and not finding["ok"] for finding in findings)


def test_words_and_last_days_of_a_baseline_stay_when_it_is_written_again(project, capsys):
    assert main(["audit", "--all", "--write-baseline", "known.json"]) == 0
    known = json.loads(Path("known.json").read_text())
    known["findings"]["leaking_mean.output"] |= {"reason": "mended in March", "until": "2999-03-31"}
    Path("known.json").write_text(json.dumps(known))
    assert main(["audit", "--all", "--write-baseline", "known.json"]) == 0
    assert json.loads(Path("known.json").read_text()) == known
    assert main(["audit", "--all", "--baseline", "known.json"]) == 0


def test_a_baseline_of_verdicts_alone_is_still_read(project, capsys):
    verdicts = {"noisy_sum.output": "consistent", "noisy_count.output": "consistent", "leaking_mean.output": "violated"}
    Path("known.json").write_text(json.dumps({"schema": "dpcheck.baseline/1", "findings": verdicts}))
    assert main(["audit", "--all", "--baseline", "known.json"]) == 0


def test_a_baseline_before_is_read_in_todays_words(tmp_path):
    words = {"nseg.rate.table_1": "supported", "mine.rate": "supported", "xu2026.002:Def3": "conditional"}
    file = tmp_path / "known.json"
    now = ["not exceeded", "supported", "conditional or misprint or proved"]
    for schema, wanted in (("dpcheck.baseline/2", now), (BASELINE, [*words.values()])):
        file.write_text(
            json.dumps({"schema": schema, "findings": {id: {"verdict": word} for id, word in words.items()}})
        )
        read = Baseline.read(str(file)).entries
        assert [read[id]["verdict"] for id in words] == wanted


@pytest.mark.parametrize(
    "entry", [7, {}, {"verdict": 1}, {"verdict": "violated", "until": "soon"}, {"verdict": "violated", "reason": 3},
              {"verdict": "violated", "audited": "many"}],
)  # fmt: skip
def test_a_wrong_baseline_is_refused(project, capsys, entry):
    Path("known.json").write_text(json.dumps({"schema": BASELINE, "findings": {"a.output": entry}}))
    assert main(["audit", "--all", "--baseline", "known.json"]) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.strip().splitlines())) == ("", 1)


def test_expected_goes_before_the_baseline(project, capsys):
    text = Path("pyproject.toml").read_text()
    Path("pyproject.toml").write_text(text + 'expected = "violated"\n')
    assert main(["audit", "--all"]) == 0
    assert "as expected" in capsys.readouterr().out


def test_one_mechanism_has_the_same_outputs(project, capsys):
    one = ["audit", "mechanisms:leaking_mean", "--data", "[0, 1, 1]", "--neighbour", "[0, 1, 0]", "--epsilon", "1",
           "--trials", "5000", "--vectorized"]  # fmt: skip
    assert main([*one, "--sarif-output", "a.sarif", "--json-output", "a.json", "--junit-output", "a.xml"]) == 1
    assert capsys.readouterr().out.startswith("violated: epsilon >= ")
    (result,) = valid_sarif(Path("a.sarif").read_text())
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == LEAK
    assert json.loads(Path("a.json").read_text())["schema"] == "dpcheck.audit/1"
    assert ET.parse("a.xml").getroot().get("failures") == "1"


@pytest.mark.parametrize(
    "text",
    [
        "", "[tool.dpcheck", ENTRY, ENTRY.replace("data = [0, 1]\n", "") + "epsilon = 1\n",
        ENTRY + "epsilon = 1\nepsillon = 2\n", ENTRY + 'epsilon = 1\nexpected = "fine"\n',
        (ENTRY + "epsilon = 1\n") * 2, "[tool.dpcheck]\nconfidence = 1.5\n" + ENTRY + "epsilon = 1\n",
        "[tool.dpcheck]\nlevel = 1\n" + ENTRY + "epsilon = 1\n", ENTRY + 'epsilon = 1\nname = "a.b"\n',
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused(project, capsys, text):
    Path("pyproject.toml").write_text(text)
    assert main(["audit", "--all"]) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1) and " must " in err


@pytest.mark.parametrize("arguments", [["--all", "--baseline", "pyproject.toml"], ["--all", "none.toml"],
                                       ["--all", "--sarif-output", "none/a.sarif"]])  # fmt: skip
def test_wrong_input_is_refused(project, capsys, arguments):
    code = main(["audit", *arguments])
    out, err = capsys.readouterr()
    assert (code, out, len(err.strip().splitlines())) == (2, "", 1)


# Formats


def test_sarif_of_any_finding_is_valid_and_has_a_place():
    """GitHub refuses a result without a file; also where a finding is about no one place of the code."""
    for place in (None, "dpcheck/a b.py:3", "/elsewhere/a.py:4", "a.py:0"):
        found = Finding("a.b", "missing", "s", "inconclusive", "r", expected="consistent", place=place)
        report = Report((found,), ("a",), "quick", 0, "0.1", 1.0)
        (result,) = valid_sarif(render(report, "sarif"))
        physical = result["locations"][0]["physicalLocation"]
        assert physical["region"]["startLine"] >= 1
        assert physical["artifactLocation"]["uri"] not in ("", ".")


def test_annotations_escape_what_ends_them():
    found = Finding("a:b,c", "privacy", "100%\nsure", "violated", "r::error::", place="a,b.py:3")
    line = render(Report((found,), ("a",), "quick", 0, "0.1", 1.0), "github").splitlines()[0]
    assert line == (
        "::error file=a%2Cb.py,line=3,title=dpcheck%3A a%3Ab%2Cc::100%25%0Asure: violated "
        "(expected no broken guarantee). r::error::"
    )


@pytest.mark.parametrize("name", ["seeded", "vectorized"])
def test_a_word_is_not_taken_for_true(project, capsys, name):
    (project / "pyproject.toml").write_text(f'{ENTRY}epsilon = 1.0\n{name} = "no"\n')
    assert main(["audit", "--all"]) == 2
    assert capsys.readouterr().err == (
        f"dpcheck: error: pyproject.toml: mechanism 1.{name} must be true or false, got 'no'\n"
    )
