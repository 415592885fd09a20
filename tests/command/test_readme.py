"""The README's commands and examples do what it shows.

Run as a script it renews the report that the README shows:
``dpcheck check dp_sgda | python tests/command/test_readme.py``
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

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
TEXT = README.read_text("utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.M | re.S)
MARKED = re.compile(r"(?<=<!-- report: begin -->\n).*(?=<!-- report: end -->)", re.S)
TRIMMED = "[...]"
LIKE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(language: str) -> list[str]:
    return [body for name, body in BLOCKS if name == language]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where all examples run, in order; it holds the files that the README shows."""
    found = tmp_path_factory.mktemp("readme")
    for body in blocks("python"):
        name = re.match(r"# (\S+\.py)\n", body)
        if name:
            (found / name.group(1)).parent.mkdir(parents=True, exist_ok=True)
            (found / name.group(1)).write_text(body)
    return found


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "PATH": os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]]),
        "COLUMNS": "160",
    }
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_every_block_is_of_a_kind_that_is_tested():
    assert {name for name, _ in BLOCKS} == {"sh", "console", "python", "text", "toml"}
    assert len(blocks("text")) == 1  # the report
    for body in blocks("python"):
        assert body.startswith((">>> ", "# "))


def test_first_command(checked):
    """Install and check; the last part is run by ``checked``."""
    make, install, check = blocks("sh")[0].strip().split(" && ")
    assert make == "python3 -m venv .venv"
    assert install == ".venv/bin/pip install ."
    assert check == ".venv/bin/dpcheck check dp_sgda"
    assert (ROOT / "pyproject.toml").is_file()
    assert importlib.util.find_spec("venv") is not None
    assert checked.code == 0


def test_second_command():
    """The tests' own command; its last part is running now. Editable, so that it tests the files of the clone."""
    install, tests = blocks("sh")[1].strip().split(" && ")
    assert install == ".venv/bin/pip install -e '.[test]'"
    assert tests == ".venv/bin/pytest"
    requirements = importlib.metadata.requires("dpcheck")
    extra = {re.match(r"[\w-]+", line).group() for line in requirements if re.search(r"extra == .test.", line)}
    for name in extra:
        assert importlib.metadata.version(name)
    assert "pytest" in extra


def test_report_commands(checked):
    """The long command is the one that ``checked`` ran; what it wrote is what the next one reads."""
    check, report = blocks("sh")[2].strip().splitlines()
    assert shlex.split(check)[3:] == [
        "--json-output", "report.json", "--junit-output", "report.xml", "--sarif-output", "report.sarif",
        "--html-output", "report.html",
    ]  # fmt: skip
    done = shell(report, checked.folder)
    again = checked.folder / "again.xml"
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert again.read_text() == (checked.folder / "report.xml").read_text()
    again.unlink()
    assert len(blocks("sh")) == 3


def examples() -> list[str]:
    return [body for name, body in BLOCKS if (name == "python" and body.startswith(">>>")) or name == "console"]


def test_examples(folder, monkeypatch, capsys):
    """Each in its turn, as a reader would: later ones use the files of earlier ones.

    The text around them says how they end: the audit finds a violation, the rate is not the claimed one.
    """
    codes = {}
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    for body in examples():
        if body.startswith(">>>"):
            test = doctest.DocTestParser().get_doctest(body, {}, "README", str(README), 0)
            assert doctest.DocTestRunner(optionflags=LIKE).run(test).failed == 0, capsys.readouterr().out
            continue
        for line, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", body, re.M):
            done = shell(line, folder)
            shown = done.stdout + re.sub(r"^dpcheck: .+ \.\.\.\n", "", done.stderr, flags=re.M)  # without progress
            codes[" ".join(line.split()[1:3])] = done.returncode
            assert done.returncode in (0, 1, 2), done.stderr
            assert doctest.OutputChecker().check_output(expected, shown, LIKE), f"$ {line}\n{shown}"
    assert codes["audit mechanism:noisy_mean"] == 1
    assert codes["check my_sgd.py"] == 1
    assert codes["rate gaps.csv"] == 1
    assert codes["show yang2022.theorem_1"] == 2
    assert codes["prove Y17"] == 0


def test_the_theorem_to_copy(folder):
    from dpcheck import InputError

    (path,) = folder.glob("bounds/*/*.py")
    spec = importlib.util.spec_from_file_location("readme_theorem", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (theorem,) = module.THEOREMS
    assert theorem.id == f"{path.parent.name}.{path.stem}"
    assert theorem.bound(n=100, d=4, epsilon=0.5) == pytest.approx(0.08)
    with pytest.raises(InputError, match="epsilon must satisfy epsilon <= 1"):
        theorem.bound(n=100, d=4, epsilon=2)


def test_paths_exist():
    for path in re.findall(r"`((?:dpcheck|bounds|audits|tests)/[\w./]+)`", TEXT):
        assert (ROOT / path).exists(), path
    for path in re.findall(r"\]\(([^)#:]+)\)", TEXT):
        assert (ROOT / path).exists(), path


def test_exit_codes_are_those_of_the_command():
    from dpcheck.cli import EXIT_CODES

    shown = re.findall(r"^\| (\d+) \|", TEXT.partition("## Exit codes")[2], re.M)
    assert shown == re.findall(r"\b(\d+) [a-z]", EXIT_CODES)


def masked(line: str) -> str:
    """Without figures and spacing, which differ from one processor to the next."""
    return " ".join(re.sub(r"[-+]?\d[\d.]*(e[-+]?\d+)?", "#", line).split())


def test_report_is_what_the_tool_prints(checked):
    shown = blocks("text")[0].splitlines()
    assert TRIMMED in shown
    printed = [masked(line) for line in checked.out.splitlines()]
    words = {word for line in printed for word in line.split()}
    for before, line in zip(["", *shown], shown, strict=False):
        if not line or line == TRIMMED:
            continue
        if not before:
            assert masked(line) in printed, line  # a heading
        assert set(masked(line).split()) <= words, line


def trim(report: str, rows: int = 2) -> str:
    """All of the sandwich and the verdict, and the first rows of every other part."""
    parts = report.strip().split("\n\n")
    kept = []
    for part in parts:
        lines = [line.rstrip() for line in part.splitlines()]
        if part not in (parts[0], parts[-1]) and not part.startswith("Privacy"):
            # a row that is folded over several lines begins with a sign and a verdict
            starts = [i for i, line in enumerate(lines[1:], 1) if re.match(r"[✓•✗] ", line)] or range(2, len(lines))
            if len(starts) > rows:
                lines = [*lines[: starts[rows]], TRIMMED]
        kept.append("\n".join(lines))
    return "\n\n".join(kept)


if __name__ == "__main__":
    block = f"```text\n{trim(sys.stdin.read())}\n```\n"
    README.write_text(MARKED.sub(lambda _: block, TEXT), "utf-8")
