"""The kernel for a file of one's own: stated, proved and compiled in one go; what is empty is refused."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from dpcheck import cli
from dpcheck.bounds import registry
from dpcheck.bounds.coq.scripts import NOTHING_STATED, export
from dpcheck.errors import InputError

needs_coq = pytest.mark.skipif(shutil.which("coqc") is None, reason="Coq is not installed")
OWN = """
from fractions import Fraction
from sympy import *
from dpcheck.bounds.claim import Claim, claim, proved
from dpcheck.bounds.evidence import *
from dpcheck.bounds.judge import judge

x, y = symbols("x y", positive=True)
true = Claim("true", "m", "c", "means", "l", judge(AtMost("means", 2*x*y, (x + y)**2)))
"""
FALSE = """
false = Claim("false", "m", "c", "less", "l", judge(Inequality("less", x, Rational(99, 100), Domain({x: (0, 1)}))))
"""
EMPTY = """
count = Claim("count", "m", "c", "two", "l", judge(Enumerated("two", lambda: Fraction(2), (), Fraction(2))))
"""


def file(folder: Path, text: str) -> str:
    (folder / "own.py").write_text(text, "utf-8")
    return str(folder / "own.py")


def test_a_claim_of_which_nothing_is_stated_is_refused_by_coq(tmp_path: Path, capsys: Any) -> None:
    target = file(
        tmp_path, OWN + EMPTY + "def fails():\n    raise KeyError(1)\nlost = Claim('lost', 'm', 'c', '', 'l', fails)\n"
    )
    assert cli.main(["prove", target, "--export-coq", str(tmp_path / "out"), "--jobs", "1"]) == 1
    said = capsys.readouterr().err
    assert "nothing of count is stated in Coq" in said
    assert "nothing of lost is stated in Coq" in said
    assert "nothing of true" not in said
    text = {name: (tmp_path / "out" / f"{name}.v").read_text("utf-8") for name in ("true", "count", "lost")}
    assert "Theorem true_step_1 :" in text["true"] and NOTHING_STATED not in text["true"]
    assert text["count"].count(NOTHING_STATED) == text["lost"].count(NOTHING_STATED) == 1


def test_what_is_exported_without_its_theorems_says_nothing(tmp_path: Path) -> None:
    results = registry.prove(file(tmp_path, OWN), jobs=1)
    paths = export(results, tmp_path / "out")
    assert NOTHING_STATED in paths[1].read_text("utf-8")


def test_the_kernel_is_for_files() -> None:
    with pytest.raises(InputError, match=r"what Coq proves must be a FILE.py"):
        registry.prove("Y17", kernel=True)


@pytest.mark.thorough
@needs_coq
def test_coq_proves_the_steps_of_a_file(tmp_path: Path) -> None:
    true, false, count = registry.prove(file(tmp_path, OWN + FALSE + EMPTY), jobs=1, kernel=True)
    assert (true.verdict, true.trust, true.kernel) == ("proved", "kernel", "all")
    assert (false.verdict, false.trust, false.kernel) == ("refuted", "kernel", "steps only")  # that it fails
    assert (count.verdict, count.trust, count.kernel) == ("proved", "file, by hand", "")


@pytest.mark.experiment
@needs_coq
def test_coq_compiles_what_is_exported(tmp_path: Path, capsys: Any) -> None:
    folder, target = tmp_path / "out", file(tmp_path, OWN + FALSE + EMPTY)
    assert cli.main(["prove", target, "--kernel", "--export-coq", str(folder), "--jobs", "1"]) == 1
    said = capsys.readouterr().err
    assert "Coq accepts no proof of 1 of the 1 steps of count" in said
    assert "Coq refuses count.v" in said
    assert not any(words in said for words in ("of true", "true.v", "of false", "false.v"))
    assert "~ (x <= 99 / 100)" in (folder / "false.v").read_text("utf-8")
    assert (folder / "true.vo").exists() and not (folder / "count.vo").exists()
