"""The cases are whole, the page is what the table says, and the way that a case goes works without an installation."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest
import tables
from wild import page
from wild.case import OPEN, Case, Outcome, cases

from dpcheck.audits.running.other_python import OtherPython

CASES = cases()
VERDICTS = {"violated", "not certified", "consistent", "inconclusive"}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_a_case_says_all(case: Case) -> None:
    assert case.expected in VERDICTS
    assert case.reported.startswith("https://")
    assert all((case.claim, case.fault, case.seen, case.requires))
    assert case.mended == OPEN or any("{version}" in text for text in case.requires)
    assert case.mended in (OPEN, *case.versions[1:])
    assert len(case.path.read_text("utf-8").splitlines()) <= 62
    assert "def audit(run):" in case.path.read_text("utf-8")


def test_the_table_has_declared_versions_alone_and_is_as_expected() -> None:
    table = tables.read("wild")
    assert {(row.case, str(row.version)) for row in table.itertuples()} <= {
        (case.name, version) for case in CASES.values() for version in case.versions
    }
    for row in table.itertuples():
        expected = CASES[row.case].expected if row.role == "affected" else "consistent"
        assert row.verdict in (expected, "does not install")
        if row.verdict == "violated":
            assert row.part


def test_an_open_fault_of_a_library_has_a_report_that_is_short_and_was_run() -> None:
    """Each needs the library and NumPy alone, and its output is kept of the version that the case names."""
    wanted = {name for name, case in CASES.items() if case.mended == OPEN and case.affected != "as described"}
    printed = {row.case: row for row in tables.read("wild_reports").itertuples()}
    assert {path.stem for path in CASES["opendp_bitvec"].report.parent.glob("*.py")} == wanted == printed.keys()
    for name in wanted:
        text = CASES[name].report.read_text("utf-8")
        tree = ast.parse(text)
        assert len(text.splitlines()) <= 40
        assert (ast.get_docstring(tree) or "").count("Expected") == 1
        assert CASES[name].affected in text
        assert "dpcheck" not in text
        assert str(printed[name].version) == CASES[name].affected
        assert printed[name].printed


def test_the_page_is_what_the_table_says() -> None:
    assert page.PAGE.read_text("utf-8") == page.text(tables.read("wild"))
    assert f"<!-- released: begin -->\n{page.headlines(tables.read('wild'))}\n" in page.README.read_text("utf-8")


def test_a_case_is_audited_in_this_python(tmp_path: Path) -> None:
    """What the command does, for a case of NumPy alone."""
    case = CASES["backpropagation_clipping"]
    outcome = case.audit(lambda name: OtherPython(sys.executable, f"{case.path}:{name}"))
    assert outcome.verdict == "violated"
    assert outcome.measured > outcome.claimed


def test_an_outcome_reads_what_is_compared_as_it_is() -> None:
    assert Outcome.of(("violated", 1.0, 2.0, "words")) == Outcome("violated", 1.0, 2.0, "words")
