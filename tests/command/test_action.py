"""The action and the hooks of this repository: valid, used by what the documentation gives to copy, and run here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
import yaml
from test_own_mechanisms import LEAK, valid_sarif

import dpcheck
from dpcheck.report.findings import Finding, Report
from dpcheck.report.history import comment

ROOT = Path(dpcheck.__file__).resolve().parent.parent
DOCS = ROOT / "docs" / "ci"
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
STEPS = {step.get("name", step.get("uses")): step for step in ACTION["runs"]["steps"]}
# what GitHub's page on the syntax of metadata says of a composite action
TEXT = {"type": "string", "minLength": 1}
SCHEMA = {
    "type": "object", "required": ["name", "description", "runs"], "additionalProperties": False,
    "properties": {
        "name": TEXT, "description": TEXT, "branding": {"type": "object"},
        "inputs": {"additionalProperties": {
            "type": "object", "required": ["description"], "additionalProperties": False,
            "properties": {"description": TEXT, "default": {"type": "string"}},
        }},
        "runs": {"required": ["using", "steps"], "properties": {
            "using": {"const": "composite"},
            "steps": {"items": {
                "type": "object", "additionalProperties": False,
                "properties": dict.fromkeys(("name", "if", "uses", "run", "shell"), TEXT)
                | {key: {"type": "object", "additionalProperties": {"type": "string"}} for key in ("env", "with")},
                "oneOf": [{"required": ["uses"], "not": {"required": ["shell"]}},
                          {"required": ["run", "shell"], "not": {"required": ["with"]}}],
            }},
        }},
    },
}  # fmt: skip


def test_the_action_is_valid_and_hands_no_text_of_others_to_a_shell():
    jsonschema.validate(ACTION, SCHEMA)
    text = (ROOT / "action.yml").read_text()
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == ACTION["inputs"].keys()
    for step in STEPS.values():
        assert "${{" not in step.get("run", "")
        assert re.fullmatch(r"[\w-]+/[\w/-]+@v\d+", step.get("uses", "a/b@v1"))


def test_a_pull_request_is_compared_with_its_base_whatever_the_branches_are_called():
    """A fork's branch is often called main, too; no name of a branch holds a colon, which ends the key of each."""
    steps = {step["uses"].partition("@")[0]: step.get("with", {}) for step in STEPS.values() if "uses" in step}
    restored, saved = steps["actions/cache/restore"], steps["actions/cache/save"]
    assert saved["key"] == restored["key"] and restored["key"].startswith("dpcheck-${{ github.ref }}:")
    base = "github.base_ref && format('refs/heads/{0}', github.base_ref) || github.ref"
    assert restored["restore-keys"] == f"dpcheck-${{{{ {base} }}}}:"


def test_the_hooks_are_valid():
    assert HOOKS.keys() == {"dpcheck-audit", "dpcheck-check"}
    for hook in HOOKS.values():
        assert {"id", "name", "entry", "language"} <= hook.keys()
        assert (hook["language"], hook["pass_filenames"]) == ("python", False)


def test_what_the_documentation_gives_to_copy_uses_them():
    workflow = yaml.safe_load((DOCS / "workflow.yml").read_text())
    (step,) = [step for step in workflow["jobs"]["audit"]["steps"] if "dpcheck@" in step["uses"]]
    assert step["uses"] == f"OWNER/dpcheck@v{dpcheck.__version__}"
    assert step.get("with", {}).keys() <= ACTION["inputs"].keys()
    assert workflow["permissions"] == {
        "contents": "read", "pull-requests": "write", "security-events": "write", "actions": "read"
    }  # fmt: skip
    (repository,) = yaml.safe_load((DOCS / "pre-commit-config.yaml").read_text())["repos"]
    assert repository["rev"] == f"v{dpcheck.__version__}"
    assert {hook["id"] for hook in repository["hooks"]} <= HOOKS.keys()


# Its steps, with their own text


GH = """#!/bin/sh
# stands for GitHub's own: one comment at most, which it keeps in a file
echo "$*" >> calls
case "$*" in
  *--paginate*) [ -f posted ] && echo 7 && echo 8 ; exit 0 ;;
  *) for last in "$@"; do :; done; cp "${last#body=@}" posted ;;
esac
"""


@pytest.fixture
def runner(tmp_path):
    """Runs a step of the action in a scratch repository with three mechanisms, one of which leaks."""
    for name in ("mechanisms.py", "pyproject.toml"):
        shutil.copy(DOCS / name, tmp_path)
    tools = tmp_path / ".tools"
    tools.mkdir()
    (tools / "gh").write_text(GH)
    (tools / "gh").chmod(0o755)

    def run(name, **inputs):
        known = {f"inputs.{key}": value["default"] for key, value in ACTION["inputs"].items()}
        known |= {f"inputs.{key}": value for key, value in inputs.items()}
        known |= {"github.token": "t", "github.repository": "a/b", "github.event.number": "5"}
        step = STEPS[name]
        given = {
            key: re.sub(r"\$\{\{ (\S+) \}\}", lambda match: known[match[1]], text)
            for key, text in step.get("env", {}).items()
        }
        path = os.pathsep.join([str(tools), sysconfig.get_path("scripts"), os.environ["PATH"]])
        environment = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT), "GITHUB_STEP_SUMMARY": "summary.md"} | given
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], cwd=tmp_path, env=environment,
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    return run


def replaced(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.thorough
def test_a_leak_is_red_with_the_right_annotation_and_a_comment_that_is_kept_up_to_date(runner, tmp_path):
    code, results = tmp_path / "mechanisms.py", tmp_path / "dpcheck-results"
    replaced(code, "1 / 60", "1 / 3")
    assert runner("audit").returncode == 0  # as on the main branch
    assert runner("compare").returncode == 0
    assert "none is worse" in (results / "comment.md").read_text()
    replaced(code, "1 / 3", "1 / 60")
    done = runner("audit")
    assert done.returncode == 1, done.stderr
    errors = [line for line in done.stdout.splitlines() if line.startswith("::error")]
    assert len(errors) == 1
    assert errors[0].startswith(f"::error file=mechanisms.py,line={LEAK},title=dpcheck%3A leaking_mean.output::")
    assert len(valid_sarif((results / "privacy.sarif").read_text())) == 3
    assert {path.suffix for path in results.glob("privacy.*")} == {".sarif", ".xml", ".html"}
    assert runner("compare").returncode == 0
    lines = (results / "comment.md").read_text().splitlines()
    assert lines[:2] == ["<!-- dpcheck -->", "### Privacy audits: 1 of 3 worse"]
    assert re.fullmatch(
        r"\| `leaking_mean` \| 1 \| ≥ 0\.\d+ \| ≥ [\d.]+ \| \*\*violated\*\*, was consistent.*", lines[5]
    )
    assert (tmp_path / "summary.md").read_text().count("### Privacy audits") == 2
    for _ in range(2):
        assert runner("comment").returncode == 0
        assert (tmp_path / "posted").read_text() == (results / "comment.md").read_text()
    calls = [call for call in (tmp_path / "calls").read_text().splitlines() if "--paginate" not in call]
    assert [("PATCH" in call, call.split()[-3]) for call in calls] == [
        (False, "repos/a/b/issues/5/comments"), (True, "repos/a/b/issues/comments/7")
    ]  # fmt: skip


@pytest.mark.thorough
def test_with_a_baseline_before_is_what_is_known(runner, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "dpcheck", "audit", "--all", "--write-baseline", "known.json"], cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert runner("audit", baseline="known.json").returncode == 0
    assert runner("compare", baseline="known.json").returncode == 0
    text = (tmp_path / "dpcheck-results" / "comment.md").read_text()
    assert "none is worse" in text and "new" not in text and "| `leaking_mean` | 1 | ≥ 4" in text


def test_a_comment_that_may_not_be_written_and_an_audit_that_was_not_made_fail_nothing_more(runner, tmp_path):
    (tmp_path / "dpcheck-results").mkdir()
    assert (runner("compare").returncode, runner("comment").returncode) == (0, 0)
    assert not (tmp_path / "calls").exists()
    (tmp_path / "dpcheck-results" / "comment.md").write_text("words of another run")
    assert runner("audit", file="none.toml").returncode == 2
    assert runner("comment").returncode == 0 and not (tmp_path / "calls").exists()
    (tmp_path / "dpcheck-results" / "comment.md").write_text("words")
    (tmp_path / ".tools" / "gh").write_text("#!/bin/sh\nexit 1\n")
    done = runner("comment")
    assert done.returncode == 0 and done.stdout.startswith("::notice::")


def test_the_version_that_is_asked_for_is_installed(runner, tmp_path, monkeypatch):
    (tmp_path / ".tools" / "python").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / ".tools" / "python").chmod(0o755)
    monkeypatch.setenv("GITHUB_ACTION_PATH", "/the/action")
    assert runner("install").stdout == "-m pip install /the/action\n"
    assert runner("install", version="0.1.0").stdout == "-m pip install dpcheck==0.1.0\n"


# The comment


def a_run(**verdicts):
    """A run with an audit of each name: its verdict, audited epsilon, and claim."""
    findings = []
    for name, (verdict, audited, claimed) in verdicts.items():
        audit = {"delta": 1e-5, "event": {"hits": int(900 * audited), "other_hits": 90, "trials": 9000}}
        finding = Finding(f"{name}.output", "privacy", name, verdict, "r", audited=audited, claimed=claimed)
        findings.append(replace(finding, evidence={"audit": audit}))
    return Report(tuple(findings), tuple(verdicts), "audit", 0, "1", 1.0)


def test_what_is_worse_comes_first():
    before = a_run(e=("consistent", 1.0, 2.0), a=("consistent", 1.0, 2.0), b=("violated", 3.0, 1.0),
                   c=("consistent", 1.0, 2.0), d=("violated", 3.0, 1.0), f=("consistent", 1.0, 2.0),
                   h=("violated", 2.0, 1.0))  # fmt: skip
    after = a_run(a=("consistent", 1.0, 2.0), b=("violated", 3.0, 1.0), c=("violated", 3.0, 2.0),
                  d=("consistent", 1.0, 1.0), e=("consistent", 1.0, 5.0), g=("inconclusive", 0.0, 1.0),
                  h=("violated", 9.0, 1.0))  # fmt: skip
    text = comment(before, after)
    assert re.findall(r"^\| `(\w)`", text, re.M) == ["c", "h", "e", "f", "b", "d", "g", "a"]
    assert text.startswith("### Privacy audits: 4 of 8 worse")
    assert "| `c` | (2, 1e-05) | ≥ 1 | ≥ 3 | **violated**, was consistent, more than before, beyond chance |" in text
    assert "| `f` | (2, 1e-05) | ≥ 1 |  | gone |" in text and "claim was (2, 1e-05)" in text


@pytest.mark.parametrize(
    "name",
    ["`</code><script>", "a|b", "\\|c", "@everyone", "[x](http://y)", "<!-- dpcheck -->", "a\n# b", "", "``", "\x1b"],
)
def test_a_name_is_text_whatever_it_holds(name):
    """In a code span nothing is markup and nobody is mentioned; what ends it, or its cell, is not there."""
    text = comment(a_run(), a_run(**{name: (name, 1.0, 1.0)}))
    (row,) = [line for line in text.splitlines() if "≥ 1" in line]
    cells = row.strip("|").split("|")
    assert len(text.splitlines()) == 7 and len(cells) == 5 and row.isprintable()
    for cell in (cells[0], cells[4].partition(",")[0]):
        assert re.fullmatch(r" `[^`|\\]+` ?", cell)
