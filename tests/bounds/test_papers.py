"""Papers: found by their folders, and among the entry points of installed packages."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpcheck.bounds import ledger, registry
from dpcheck.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
PAPER = '''"""A paper of somebody else's.

It has one theorem.
"""
'''
THEOREM = '''"""Theorem 1: an imagined bound."""

from __future__ import annotations

from sympy import log, sqrt

from dpcheck.bounds.claim import Decision, Kind, carries, claim, proved
from dpcheck.bounds.evidence import Inequality, over
from dpcheck.bounds.symbols import c, epsilon, n
from dpcheck.bounds.theorem import Assumption, Parameter, Theorem

THEOREMS = (
    Theorem(
        id="doe2026.theorem_1", title="An imagined bound", paper="doe2026", location="Theorem 1",
        quantity="excess risk", quantity_latex="R", bound_formula=FACTOR / (n * epsilon),
        parameters=(Parameter(n, "records"), Parameter(epsilon, "privacy loss")),
        assumptions=(Assumption("epsilon", "epsilon <= 1", "Theorem 1", epsilon <= 1),),
    ),
)


@claim("doe:root", Kind.LEMMA, location="Lemma 1", root=sqrt(n))
@carries("doe2026.theorem_1", {"bound": 2 / (n * epsilon)})
def root() -> Decision:
    """A logarithm of n is at most {root}."""
    return proved(Inequality("a logarithm is below a root", log(n), sqrt(n), over(n)), note="By its derivative.")
'''


def install(folder: Path, factor: str = "2", name: str = "doe2026", module: str = "doe_papers.doe2026") -> None:
    """Write an installed package with one paper, its metadata beside it as pip leaves it."""
    paper = folder / "doe_papers" / "doe2026"
    paper.mkdir(parents=True)
    (folder / "doe_papers" / "__init__.py").write_text("", "utf-8")
    (paper / "__init__.py").write_text(PAPER, "utf-8")
    (paper / "theorem_1.py").write_text(THEOREM.replace("FACTOR", factor), "utf-8")
    info = folder / "doe_papers-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: doe-papers\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text(f"[dpcheck.papers]\n{name} = {module}\n", "utf-8")


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run dpcheck where this package is installed."""
    call = [sys.executable, "-m", "dpcheck", *arguments]
    environment = {"PYTHONPATH": f"{folder}:{ROOT}", "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    return subprocess.run(call, capture_output=True, text=True, env=environment, cwd=folder)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path; what is imported from it is forgotten afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    registry.paper_of.cache_clear()
    registry._stating.cache_clear()
    for name in [name for name in sys.modules if name.split(".")[0] == "doe_papers"]:
        del sys.modules[name]


def test_the_folders_beside_the_engine_are_the_papers_in_the_order_of_the_ledger() -> None:
    folders = {file.parent.name for file in (ROOT / "bounds").glob("*/__init__.py")} - {"coq", "formulas", "prover"}
    assert set(registry.PAPERS) == folders
    assert [*registry.PAPERS] == [*dict.fromkeys(entry["paper"] for entry in ledger.recorded().values())]


def test_an_installed_package_adds_a_paper(installed: Path) -> None:
    install(installed)
    assert [*registry.papers()] == [*registry.PAPERS, "doe2026"]
    assert registry.theorem("doe2026.theorem_1").bound(n=100, epsilon=0.5) == 0.04
    (found,) = registry.find("doe:root")
    assert found.paper == "doe2026"
    assert registry.find("doe2026") == registry.find("doe2026.doe:root") == registry.find("doe2026.theorem_1")
    assert found.decide().verdict == "proved"
    assert len(registry.claims()) == len(ledger.recorded()) + 1


@pytest.mark.thorough
def test_the_command_shows_and_decides_it(tmp_path: Path) -> None:
    install(tmp_path)
    listed = command(tmp_path, "list", "theorems", "--format", "json")
    assert "doe2026.theorem_1" in {theorem["id"] for theorem in json.loads(listed.stdout)["theorems"]}, listed.stderr
    shown = command(tmp_path, "prove", "doe2026", "--format", "json")
    (claim,) = json.loads(shown.stdout)["claims"]
    assert (claim["id"], claim["paper"], claim["verdict"]) == ("doe:root", "doe2026", "proved")
    assert shown.returncode == 0, shown.stderr


def test_its_claim_falls_when_its_theorem_says_something_else(installed: Path) -> None:
    install(installed, factor="3")
    result = registry.find("doe:root")[0].decide()
    assert result.verdict == "unresolved"
    assert "bound of doe2026.theorem_1 is 1.5 times what this claim states" in result.note


@pytest.mark.parametrize(
    ("name", "module", "words"),
    [
        ("yang2022", "doe_papers.doe2026", "paper yang2022 must be registered once"),
        ("doe2026", "doe_papers.nothing", "doe_papers.nothing, the paper doe2026, must be importable, got ModuleNot"),
        ("roe2026", "doe_papers.doe2026", "what doe_papers.doe2026 states must be of the paper roe2026, got doe2026"),
    ],
)
def test_papers_that_are_refused(installed: Path, name: str, module: str, words: str) -> None:
    install(installed, name=name, module=module)
    with pytest.raises(InputError, match=words):
        registry.claims()


def test_one_claim_is_found_without_the_other_papers() -> None:
    """Nor the other files of its own paper, unless it needs them."""
    code = (
        "import sys, dpcheck; from dpcheck.bounds import registry; (found,) = registry.find('Z54'); "
        "print(found.id, *sorted(name for name in sys.modules if name.startswith('dpcheck.bounds.') and '20' in name))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert run.stdout.split() == ["Z54", "dpcheck.bounds.zhang2022", "dpcheck.bounds.zhang2022.limits"]


@pytest.mark.parametrize("claim", registry.claims(), ids=lambda claim: claim.id)
def test_a_claim_found_alone_is_the_one_of_its_paper(claim: object) -> None:
    assert registry.find(claim.id) == (claim,)  # type: ignore[attr-defined]
