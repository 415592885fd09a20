"""What the command prints fits the terminal, says the result first and cuts nothing off."""

from __future__ import annotations

import pytest

from dpcheck.audits.bugs.bug import catalogue
from dpcheck.cli import COMMANDS, main
from dpcheck.commands.lookups import listing
from dpcheck.report.terminal import listed, wrapped

RUN = ["certify", "--multiplier", "1.1", "--sampling", "none", "--steps", "10"]


def printed(capsys, monkeypatch, *arguments, width):
    monkeypatch.setenv("COLUMNS", str(width))
    code = 0
    try:
        code = main(list(arguments))
    except SystemExit as end:  # of a help
        code = end.code
    assert code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize(
    "command", [["list"], ["list", "theorems"], ["bugs"], ["reproduce"], RUN, []], ids=lambda each: "_".join(each[:2])
)
def test_every_line_fits_the_terminal(capsys, monkeypatch, command, width):
    lines = printed(capsys, monkeypatch, *command, width=width).splitlines()
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize("command", COMMANDS)
def test_the_words_of_every_help_fit(capsys, monkeypatch, command):
    text = printed(capsys, monkeypatch, command, "--help", width=80)
    words = [line for line in text.splitlines() if line and not line.startswith(" ") and "usage" not in line]
    assert max(map(len, words)) <= 80


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


def test_nothing_is_lost_where_lines_are_broken():
    entries = [("name", "a text of several words that has to go on"), ("a" * 50, "short"), ("none", "")]
    for width in (20, 60, 200):
        lines = listed(entries, width)
        assert "".join("".join(lines).split()) == "".join("".join(name + text for name, text in entries).split())
    assert listed([("a", "b c")], 80, longest=3) == ["  a    b c"]
    assert listed([("a" * 50, "b c")], 80) == ["  " + "a" * 50, "      b c"]
    assert wrapped("  one two", 8) == ["  one", "      two"]
    assert wrapped("", 8) == [""]


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
