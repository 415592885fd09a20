"""What the command prints fits the terminal, says the result first and cuts nothing off."""

from __future__ import annotations

import pytest

from dpcheck.audits.bugs.bug import catalogue
from dpcheck.cli import main
from dpcheck.commands.lookups import listing


def test_a_list_that_a_program_reads_has_an_entry_a_line(capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    lines = []
    for kind in listing():
        assert main(["list", kind]) == 0
        lines += capsys.readouterr().out.splitlines()
    for each in [each for rows in listing().values() for each in rows]:
        assert any(line.split() == f"{each['id']} {each['title']}".split() for line in lines)
    assert main(["bugs"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("  ") for line in shown) == len(catalogue())


@pytest.mark.parametrize(
    ("arguments", "near"),
    [
        (["bugs", "lower-bound-twic"], "lower-bound-twice"), (["bugs", "histogram"], "histograms"),
        (["solve", "dp_sgda", "--problem", "quadratc"], "quadratic"), (["solve", "dp_sgda", "--data", "a9b"], "a9a"),
        (["solve", "dp_sgd"], "dp_sgda"), (["reproduce", "xu2026.tabel_2"], "xu2026.table_2"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)  # fmt: skip
def test_a_name_that_comes_close_is_offered(capsys, arguments, near):
    assert main(arguments) == 2
    assert f"(did you mean {near}?)" in capsys.readouterr().err
