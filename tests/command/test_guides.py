"""CONTRIBUTING and the page on the architecture: every path, command and name in them exists."""

from __future__ import annotations

import importlib.util
import re
import shlex
from functools import cache

import pytest
from files import ROOT, others, sources

from dpcheck import cli
from dpcheck.audits.bugs.bug import catalogue
from dpcheck.bounds import registry
from dpcheck.solvers import ALGORITHMS

GUIDES = {name: (ROOT / name).read_text("utf-8") for name in ("CONTRIBUTING.md", "docs/architecture.md")}
ENDINGS = ("py", "md", "json", "jsonl", "toml", "txt", "csv")
TOOLS = (
    "ruff",
    "mypy",
    "lint-imports",
    "sphinx-build",
    "jupyter",
    "python3",
    ".venv/bin/pip",
)  # of the set-up, run by `.ci/run`
EXAMPLES = {"NAME": "nseg"}


def spans(text: str) -> list[str]:
    """What stands in backticks, and the lines of shell blocks."""
    shell = [line.strip() for block in re.findall(r"```sh\n(.*?)```", text, re.S) for line in block.splitlines()]
    prose = re.sub(r"```.*?```", "", text, flags=re.S)
    return [span.replace("\n", " ") for span in re.findall(r"`([^`]+)`", prose)] + [
        line.strip() for line in shell if line.strip()
    ]


def of_kind(kind: str) -> list[tuple[str, str]]:
    return [
        (guide, span) for guide, text in GUIDES.items() for span in dict.fromkeys(spans(text)) if kind_of(span) == kind
    ]


def kind_of(span: str) -> str:
    first = span.split()[0]
    if first in ("pytest", "dpcheck", "python", "git", *TOOLS) and span != first:
        return "command"
    if "<" in span or " " in span or span.startswith("-"):
        return "words"
    return "path" if "/" in span or span.rpartition(".")[2] in ENDINGS else "name"


@pytest.mark.parametrize(("guide", "path"), of_kind("path"))
def test_paths_exist(guide, path):
    inside = [ROOT, *{(ROOT / each).parent for each in spans(GUIDES[guide]) if kind_of(each) == "path"}]
    places = [ROOT] if "/" in path else inside
    assert any((place / path).exists() for place in places), path


@pytest.mark.parametrize("guide", GUIDES)
def test_links_lead_somewhere(guide):
    for path in re.findall(r"\]\(([^)#:]+)\)", GUIDES[guide]):
        assert (ROOT / guide).parent.joinpath(path).exists(), path


@pytest.mark.parametrize(("guide", "line"), of_kind("command"))
def test_commands_can_be_run(guide, line):
    for command in re.split(r" && ", line):
        name, *arguments = shlex.split(command)
        known = {"pytest": pytest_knows, "dpcheck": dpcheck_knows, "python": python_knows, "git": git_finds}
        assert name in TOOLS or known[name](arguments), command


def pytest_knows(arguments: list[str]) -> bool:
    """The files exist, and each word that selects tests occurs in one of them, or is data of theirs."""
    files = [ROOT / each for each in arguments if each.startswith("tests/")]
    text = "".join(file.read_text("utf-8") for file in files if file.is_file()) + everything()
    words = arguments[arguments.index("-k") + 1].split(" or ") if "-k" in arguments else []
    return all(file.exists() for file in files) and all(word in text for word in words)


def dpcheck_knows(arguments: list[str]) -> bool:
    """The command line accepts it, and it names a claim, a theorem, an algorithm or a bug that exists.

    A guide may also speak of a command by its name alone, or of its help.
    """
    if arguments[-1:] == ["--help"] or len(arguments) == 1:
        return all(each in cli.COMMANDS or each == "--help" for each in arguments)
    named = [EXAMPLES.get(each, each) for each in arguments]
    options = cli._parse(named)
    chosen = next((each for each in named[1:] if not each.startswith("-")), None)
    return options.command == named[0] and (chosen is None or chosen in targets())


@cache
def targets() -> set[str]:
    """What commands of the guides may be asked about."""
    stated = {each.id for each in (*registry.claims(), *registry.theorems())}
    return stated | {*registry.PAPERS, *ALGORITHMS, *catalogue()}


def python_knows(arguments: list[str]) -> bool:
    if arguments[0] != "-m":
        return (ROOT / arguments[0]).exists()
    return importlib.util.find_spec(arguments[1]) is not None


def git_finds(arguments: list[str]) -> bool:
    """``git grep -n TEXT FOLDER`` without git, which an sdist does not have."""
    command, _, text, folder = arguments
    assert command == "grep"
    return any(text in file.read_text("utf-8") for file in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize(("guide", "name"), of_kind("name"))
def test_names_occur_in_the_code(guide, name):
    for part in re.findall(r"\w+", name):
        assert re.search(rf"\b{part}\b", everything()), name


@cache
def everything() -> str:
    """The text of the package, of its tests and of what sets the project up, but for these pages and this file."""
    names = [name for name in (*sources(), *others()) if name.endswith((".py", ".toml", ".txt", ".json"))]
    return "\n".join((ROOT / name).read_text("utf-8") for name in names if name != "tests/command/test_guides.py")
