"""CONTRIBUTING and the page on the architecture: every path, command and name in them exists; the picture is true."""

from __future__ import annotations

import importlib.util
import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache

import grimp
import layers
import pytest
from files import ROOT, others, sources

from dpcheck import cli
from dpcheck.audits.bugs.bug import catalogue
from dpcheck.bounds import registry
from dpcheck.solvers import ALGORITHMS

GUIDES = {name: (ROOT / name).read_text("utf-8") for name in ("CONTRIBUTING.md", "docs/architecture.md")}
PICTURE = re.search(r"```mermaid\n(.*?)```", GUIDES["docs/architecture.md"], re.S)[1]
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


def test_the_table_of_layers_is_the_measured_one():
    """The table in CONTRIBUTING is what ``tests/layers.py`` writes, and has every folder of tests."""
    assert layers.BEGIN + layers.table(layers.kept()) + layers.END in GUIDES["CONTRIBUTING.md"]
    assert {*layers.LAYERS} == {file.parent.name for file in (ROOT / "tests").glob("*/test_*.py")}


# The picture of the layers


def boxes() -> dict[str, str]:
    """Each module or folder of dpcheck -> its box in the picture."""
    listed = re.findall(r'(\w+)\["\w+: ([\w, ]+)"\]', PICTURE)
    return {module: box for box, modules in listed for module in modules.split(", ")}


def imports() -> set[tuple[str, str]]:
    """Imports between boxes, those for types and within functions included, as the linter counts them."""
    graph, box = grimp.build_graph("dpcheck", cache_dir=None), boxes()
    found = set()
    for module in graph.modules - {"dpcheck"}:
        for imported in graph.find_modules_directly_imported_by(module) - {"dpcheck"}:
            found.add((box[module.split(".")[1]], box[imported.split(".")[1]]))
    return {(one, other) for one, other in found if one != other}


def reached(start: str, arrows: Iterable[tuple[str, str]]) -> set[str]:
    """Where the arrows lead from a box."""
    found, ends = set[str](), [start]
    while ends:
        end = ends.pop()
        for one, other in arrows:
            if one == end and other not in found:
                found.add(other)
                ends.append(other)
    return found


def needed(arrows: set[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The arrows that do not follow from others."""
    for one, other in arrows:
        if other not in reached(one, arrows - {(one, other)}):
            yield one, other


def test_every_module_has_a_box():
    found = {path.stem if path.suffix == ".py" else path.name for path in (ROOT / "dpcheck").iterdir()}
    assert {*boxes()} == found - {"__init__", "__pycache__", "py.typed"}


def test_arrows_are_the_imports_and_none_leads_back():
    found = imports()
    assert not [box for box in {*boxes().values()} if box in reached(box, found)]
    assert sorted(re.findall(r"(\w+) --> (\w+)", PICTURE)) == sorted(needed(found))


def test_the_contracts_of_the_linter_hold_in_the_picture():
    """Contracts within one box have no arrow to look at."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    arrows, box = {*re.findall(r"(\w+) --> (\w+)", PICTURE)}, boxes()
    forbidden = [each for each in contracts if each["type"] == "forbidden"]
    assert {"kernels", "audits", "bounds"} <= {
        name.split(".")[1] for each in forbidden for name in each["source_modules"]
    }
    for each in forbidden:
        (source,) = {box[name.split(".")[1]] for name in each["source_modules"]}
        named = [name.split(".")[1] for name in each["forbidden_modules"] if name.startswith("dpcheck.")]
        apart = {*box.values()} if "*" in named else {box[name] for name in named}
        allowed = [line.partition(" -> dpcheck.")[2] for line in each.get("ignore_imports", ())]
        apart -= {box[name] for name in allowed if name in box}
        assert not (apart - {source}) & reached(source, arrows), each["name"]
    (checks,) = (each for each in contracts if each["type"] == "protected")
    importers = {box[name.split(".")[1]] for name in checks["allowed_importers"]}
    assert checks["protected_modules"] == ["dpcheck.checks"]
    assert {one for one, other in arrows if other == "checks"} <= importers
