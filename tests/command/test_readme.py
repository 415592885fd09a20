"""The README and the pages of docs do what they show.

Run as a script it renews the report that docs/report.md shows:
``COLUMNS=100 dpcheck check dp_sgda | python tests/command/test_readme.py``
"""

from __future__ import annotations

import doctest
import importlib.metadata
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import dpcheck
from dpcheck.cli import _parse

ROOT = Path(__file__).resolve().parents[2]
GUIDES = ("architecture.md", "kernel.md", "ci.md")  # tests of their own read these
NAMES = (
    "README.md",
    *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")) if path.name not in GUIDES),
)
PAGES = {name: (ROOT / name).read_text("utf-8") for name in NAMES}
README, REPORT = PAGES["README.md"], PAGES["docs/report.md"]
MARKED = re.compile(r"(?<=<!-- report: begin -->\n).*(?=<!-- report: end -->)", re.S)
LIKE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# What the text around these examples says of how they end: a violation is found, a rate is not the claimed one, ...
CODES = {
    "README.md": {"audit test_mechanism.py:noisy_mean": 1},
    "docs/own_algorithm.md": {"check my_sgd.py": 1},
    "docs/rates.md": {"rate gaps.csv": 1},
    "docs/theorems.md": {
        "show yang2022.theorem_1": 2,
        "prove Y17": 0,
        "prove lemma.py": 1,
        "prove 'log(n)": 1,
        "prove 'n": 2,
    },
}


def all_blocks(page: str) -> list[tuple[str, str]]:
    return re.findall(r"^```(\w+)\n(.*?)^```$", page, re.M | re.S)


def blocks(page: str, language: str) -> list[str]:
    return [body for name, body in all_blocks(page) if name == language]


@pytest.fixture(scope="module", params=NAMES)
def page(request, tmp_path_factory):
    """A page's name, and where its examples run, in order: a folder with the files that it shows."""
    found = tmp_path_factory.mktemp("page")
    for body in blocks(PAGES[request.param], "python"):
        name = re.match(r"# (\S+\.py)\n", body)
        if name:
            (found / name.group(1)).parent.mkdir(parents=True, exist_ok=True)
            (found / name.group(1)).write_text(body)
    return request.param, found


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "PATH": os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]]),
        "COLUMNS": "160",
    }
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_every_page_is_reached_from_the_readme():
    assert len(README.splitlines()) <= 150
    linked = set(re.findall(r"\]\((docs/\w+\.md)\)", README))
    assert linked == {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")}


@pytest.mark.parametrize("name", NAMES)
def test_every_block_is_of_a_kind_that_is_tested(name):
    assert {language for language, _ in all_blocks(PAGES[name])} <= {"sh", "console", "python", "text", "toml"}
    assert len(blocks(PAGES[name], "text")) == (name == "docs/report.md")
    assert not blocks(PAGES[name], "sh") or name in ("README.md", "docs/report.md", "docs/cluster.md")
    for body in blocks(PAGES[name], "python"):
        assert body.startswith((">>> ", "# "))


def test_the_cluster_page_uses_options_that_exist():
    """A cluster is not at hand, so that its commands are read and not run."""
    lines = [line for body in blocks(PAGES["docs/cluster.md"], "sh") for line in body.splitlines()]
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("dpcheck ")]
    assert len(commands) >= 6
    for arguments in commands:
        assert _parse(arguments).command == arguments[0]


def test_report_commands(checked):
    """The long command is the one that ``checked`` ran; what it wrote is what the next one reads."""
    check, report = blocks(REPORT, "sh")[0].strip().splitlines()
    assert shlex.split(check)[3:] == [
        "--json-output", "report.json", "--junit-output", "report.xml", "--sarif-output", "report.sarif",
        "--html-output", "report.html",
    ]  # fmt: skip
    done = shell(report, checked.folder)
    again = checked.folder / "again.xml"
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert again.read_text() == (checked.folder / "report.xml").read_text()
    again.unlink()
    assert (len(blocks(README, "sh")), len(blocks(REPORT, "sh"))) == (2, 1)


@pytest.mark.thorough
def test_examples(page, monkeypatch, capsys):
    """Each in its turn, as a reader would: later ones of a page use the files of earlier ones."""
    name, folder = page
    codes = {}
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    for language, body in all_blocks(PAGES[name]):
        if language == "python" and body.startswith(">>>"):
            test = doctest.DocTestParser().get_doctest(body, {}, name, name, 0)
            assert doctest.DocTestRunner(optionflags=LIKE).run(test).failed == 0, capsys.readouterr().out
        if language != "console":
            continue
        for line, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", body, re.M):
            done = shell(line, folder)
            quiet = line.startswith("dpcheck check ") and done.returncode < 2  # stderr has no more than its progress
            shown = done.stdout + re.sub(r"^dpcheck: .+ \.\.\.\n", "", "" if quiet else done.stderr, flags=re.M)
            codes[" ".join(line.split()[1:3])] = done.returncode
            assert done.returncode in (0, 1, 2), done.stderr
            assert doctest.OutputChecker().check_output(expected, shown, LIKE), f"$ {line}\n{shown}"
    assert codes | CODES.get(name, {}) == codes


FINDINGS = re.findall(r"^\| (\w+) \| (.+?) \| (.+?) \| (.+?) \| `(dpcheck .+?)` \|$", README, re.M)


@pytest.mark.thorough
@pytest.mark.parametrize(("paper", "statement", "reading", "witness", "line"), FINDINGS)
def test_what_was_found_is_found(paper, statement, reading, witness, line):
    """The statement is at its place, the command refutes it, its first reading too, and the witness is in the note."""
    _, _, target, explain = shlex.split(line)
    (result,) = dpcheck.prove(target, jobs=1)
    assert (result.claim.paper, result.verdict, explain) == (paper, "refuted", "--explain")
    assert statement.startswith(f"{result.claim.location}: ")
    assert next(iter(result.evidence["readings"].items())) == (reading, "refuted")
    assert witness in " ".join(result.note.split())


def test_the_theorem_to_copy(tmp_path):
    from dpcheck import InputError

    (body,) = (body for body in blocks(PAGES["docs/extending.md"], "python") if body.startswith("# bounds/"))
    path = tmp_path / body.split()[1]
    path.parent.mkdir(parents=True)
    path.write_text(body)
    spec = importlib.util.spec_from_file_location("readme_theorem", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (theorem,) = module.THEOREMS
    assert (theorem.id, theorem.paper) == (f"{path.parent.name}.{path.stem}", path.parent.name)
    assert theorem.bound(n=100, d=4, epsilon=0.5) == pytest.approx(0.08)
    with pytest.raises(InputError, match="epsilon must satisfy epsilon <= 1"):
        theorem.bound(n=100, d=4, epsilon=2)


@pytest.mark.parametrize("name", [*NAMES, "CONTRIBUTING.md", *(f"docs/{name}" for name in GUIDES)])
def test_paths_exist(name):
    text = (ROOT / name).read_text("utf-8")
    for path in re.findall(r"`((?:dpcheck|bounds|audits|tests|docs)/[\w./]+)`", text):
        assert (ROOT / path).exists(), path
    for path in re.findall(r"\]\(([^)#:]+)\)", text):
        assert ((ROOT / name).parent / path).exists(), path


def test_commands_of_the_guides_are_accepted():
    """Those for contributors too, whose names in capitals stand for anything."""
    for name in ("CONTRIBUTING.md", "docs/architecture.md"):
        for line in re.findall(r"`dpcheck (\w+ [^`<]+)`", (ROOT / name).read_text("utf-8")):
            arguments = shlex.split(line.replace("\n", " "))
            assert "--help" in arguments or _parse(arguments).command == arguments[0], line


def test_exit_codes_are_those_of_the_command():
    from dpcheck.cli import EXIT_CODES

    shown = re.findall(r"^\| (\d+) \|", REPORT.partition("## Exit codes")[2], re.M)
    assert shown == re.findall(r"\b(\d+) [a-z]", EXIT_CODES)


def masked(line: str) -> str:
    """Without figures and spacing, which differ from one processor to the next."""
    return " ".join(re.sub(r"[-+]?\d[\d.]*(e[-+]?\d+)?", "#", line).split())


def test_report_is_what_the_tool_prints(checked):
    """Word by word, up to figures, and to which audits come closest, which follows from them."""
    texts = (re.sub(r"(?<=x  )\S+$", "ID", text, flags=re.M) for text in (blocks(REPORT, "text")[0], checked.out))
    shown, printed = (masked(text).split() for text in texts)
    assert shown == printed


if __name__ == "__main__":
    block = f"```text\n{sys.stdin.read()}```\n"
    (ROOT / "docs/report.md").write_text(MARKED.sub(lambda _: block, REPORT), "utf-8")
