"""The conda recipe, the citation and the release workflow agree with pyproject.toml."""

from __future__ import annotations

import re
import tomllib

import yaml
from files import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ON_CONDA = {"matplotlib": "matplotlib-base"}


def recipe() -> dict:
    text = (ROOT / ".ci" / "conda" / "meta.yaml").read_text()
    version = re.search(r'set version = "(.*)"', text)[1]
    text = text.replace("{{ version }}", version).replace("{{ PYTHON }}", "python")
    return yaml.safe_load(re.sub(r"\{%.*%\}", "", text))


def test_the_conda_recipe_asks_for_what_the_package_asks_for():
    made = recipe()
    due = {re.match(r"[\w-]+", line)[0]: line for line in PROJECT["dependencies"]}
    due = {line.replace(name, ON_CONDA.get(name, name), 1) for name, line in due.items()}
    assert set(made["requirements"]["run"]) == due | {f"python {PROJECT['requires-python']}"}
    assert str(made["package"]["version"]) == PROJECT["version"]
    assert [f"{name} = {where}" for name, where in PROJECT["scripts"].items()] == made["build"]["entry_points"]


def test_one_version_is_named_everywhere():
    assert f"\nversion: {PROJECT['version']}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"version = {{{PROJECT['version']}}}" in (ROOT / "docs" / "project" / "cite.md").read_text()
    assert f"\n## {PROJECT['version']} - " in (ROOT / "CHANGELOG.md").read_text()


def test_the_workflow_builds_what_the_checklist_says():
    steps = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"]
    assert any(".ci/release" in step.get("run", "") for step in steps["build"]["steps"])
    assert steps["publish"]["permissions"] == {"id-token": "write"}
