"""Texts of anybody, in every place of a report and in every format: shown, and nothing else comes of them.

The formats are those of the commands: one that is added is tried, and fails here until what is neutral in it is said.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from dpcheck.cli import main
from dpcheck.commands import terminal
from dpcheck.commands.command import FORMATS
from dpcheck.reading import rows_of
from dpcheck.report.findings import Finding, Report, render, rows
from dpcheck.report.history import comment
from dpcheck.shown import TABLE_FORMATS, csv_text, is_numeral, short, table

HOSTILE = [
    # a spreadsheet
    "=cmd|' /C calc'!A0", "+1+cmd|x", "-2+3", "@SUM(1)", "\t=1+1", "\r=1", "\n=1", " =1", "'=1", "''", '=1,"=2',
    "\uff1d1", '"=1"', ";=1", "-inf", "-0.5", "+", "=",
    # Markdown and HTML
    "<script>alert(1)</script>", "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<!--", "<b",
    "&lt;b&gt;", "&#106;avascript", "[a](javascript:alert(1))", "![a](https://e.example/x.png)", "[a][b]",
    "[a]: javascript:x", "<https://e.example>", "https://e.example", "www.e.example", "x@e.example", "@everyone", "#1",
    "`a`", "`<i>", "``", "a|b", "a\\|b", "\\", "**b**", "_b_", "__init__", "a_b_c", "~~a~~", "$x$", "# a", "- a",
    "1. a", "> a", "---", "|---|", "\n\n<b>", "- [x] a", ":tada:", '" onmouseover=alert(1) "', "' onclick='x",
    "{{ 7 * 7 }}", "javascript:alert(1)", "data:text/html,x", "{% x %}",
    # a CI service
    "::error::x", "x\n::error file=a::x", "x\r::error::x", "  ::stop-commands::x", "%0A::error::x", "##[error]x",
    "x ##[group]", "::", "x::y,line=3::z", "]]>", "<![CDATA[",
    # a terminal
    "\x1b[2J", "\x1b]8;;http://e.example\x07a\x1b]8;;\x07", "\x1b]0;title\x07", "\x9b2J", "a\rb", "a\x08b", "\x1b[8m",
    "\x00", "\u202eabc", "\u2066a\u2069", "\u200fa", "a\u200e\u061cb", "a\u2028b", "\x85", "\ud800", "\ufffe",
    "[/]", "[red]", "\x7f", "\x0c", "\x0b",
    # LaTeX, and what is long or nothing
    "\\input{/etc/passwd}", "[2em]", "*", "^^5c", "%", "a & b \\\\", "", " ", "word " * 400,
]  # fmt: skip
PLACES = ["/etc/passwd", "../../x.py", "a/../../x.py", "C:\\x.py", "..\\x.py", "\\\\h\\x.py", "//h/x.py",
          "file:///x.py", "https://e.example/x.py", "javascript:x", "a,b%0A::x", "a\n::error::x", "\x1b[2J", "~/x",
          "a b.py", "é.py"]  # fmt: skip
CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def hostile(text: str, place: str = "a.py") -> Report:
    """A report with a text in every place that holds one."""
    finding = Finding(
        text, text, text, text, text, expected=text, evidence={text: [text, {text: text}]}, place=f"{place}:3"
    )
    known = Finding(
        f"{text}.output", "privacy", text, "violated", text, audited=1.5, certified=2.0, claimed=1.0, place=f"{place}:3"
    )
    rate = dict.fromkeys(("experiment", "theorem", "factor", "verdict"), text)
    rates = [rate | {"measured": -0.5, "low": -0.6, "high": -0.4}]
    tables = {text: [{text: text, "n": 1.5}], "Measured rates": rates}
    return Report((known, finding), (text, "a"), text, 0, text, 1.0, tables, {text: text}, {text: 1.0}, (text,))


def joined(texts: Sequence[str], place: str = "a.py") -> Report:
    """A report of many texts."""
    parts = [hostile(text, place) for text in texts]
    tables = {title: table for part in parts for title, table in part.tables.items()}
    findings = tuple(finding for part in parts for finding in part.findings)
    return Report(findings, tuple(texts), "quick", 0, "0", 1.0, tables)


def one_line(text: str) -> str:
    return " ".join(text.split())


class Page(HTMLParser):
    """The tags and attributes that a browser sees in a page, and the text between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.attributes, self.cells = list[str](), list[tuple[str, str]](), list[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.cells:
            self.cells[-1] += data


def neutral_csv(shown: str, report: Report) -> None:
    cells = [cell for line in csv.reader(io.StringIO(shown)) for cell in line]
    assert not [cell for cell in cells if re.match(r"\s*[=+\-@\uff1d]|[\t\r]", cell) and not is_numeral(cell)]
    texts = [[one_line(short(cell)) for cell in row.values()] for row in rows(report)]
    assert rows_of(shown)[1:] == texts


def neutral_markdown(shown: str, report: Report) -> None:
    page = Page(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(shown))
    assert {*page.tags} == {"table", "thead", "tbody", "tr", "th", "td"}
    assert not re.search(
        r"://|www\.\w|(?<!\w)@\w|(?<!\w)#\d", shown.replace("&#8203;", "|")
    )  # which a code host makes links of
    texts = [one_line(short(cell)) for row in rows(report) for cell in row.values()]
    found = [cell.strip().replace("\u200b", "") for cell in page.cells]
    assert found[len(rows(report)[0]) :] == texts


def neutral_latex(shown: str, report: Report) -> None:
    ours = r"\\(?:[&%$#_{}]|text(?:backslash|ascii\w+)\{\}|begin\{tabular\}|end\{tabular\}|(?:top|mid|bottom)rule|\\\n)"
    rest = re.sub(ours, " ", shown)
    assert not re.search(r"[\\$#_^~%]", rest)
    columns = len(rows(report)[0]) - 1
    lines = shown.splitlines()[2:-2]
    assert [len(re.findall(r"(?<!\\)&", line)) for line in lines if not line.endswith("rule")] == [columns] * 3
    assert not re.search(r"\\\\\n\s*[\[*]", shown)


def neutral_html(shown: str, report: Report) -> None:
    page, plain = Page(shown), Page(render(hostile("a"), "html"))
    assert page.tags.count("script") == plain.tags.count("script") == 2
    assert {*page.tags} <= {*plain.tags} and not {*page.tags} & {"img", "iframe", "object", "embed", "base"}
    assert {name for name, _ in page.attributes} <= {name for name, _ in plain.attributes}
    assert not [name for name, _ in page.attributes if name.startswith("on") or name in ("src", "action")]
    assert all(value.startswith("#") for name, value in page.attributes if name in ("href", "xlink:href"))


def neutral_json(shown: str, report: Report) -> None:
    assert shown.isascii() and "##[" not in shown
    assert Report.from_json(shown).to_json() == report.to_json()


def neutral_sarif(shown: str, report: Report) -> None:
    assert shown.isascii() and "##[" not in shown
    (run,) = json.loads(shown)["runs"]
    for result in run["results"]:
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"[\w.%~-]+(/[\w.%~-]+)*", uri, re.A), uri
        assert ".." not in uri.split("/") and not re.match(r"(?i)[a-z]+:|%5c", uri)


def neutral_github(shown: str, report: Report) -> None:
    commands = [line for line in shown.splitlines() if line.lstrip().startswith("::")]
    assert all(re.match(r"::(error|notice) (file=[^:,]+,line=\d+,)?title=[^:,]*::", line) for line in commands)
    assert len(commands) <= len(report.findings)
    assert not [line for line in shown.splitlines() if "##[" in line and line not in commands]
    files = re.findall(r"^::\w+ file=([^,]+),", shown, re.M)
    assert not [file for file in files if (file.startswith(("/", "\\", "~")) and file != "~/x") or ".." in file]


def neutral_junit(shown: str, report: Report) -> None:
    suite = ET.fromstring(shown)
    assert [case.get("name") for case in suite.findall("testcase")] == [f.id for f in report.findings]
    assert {element.tag for element in suite.iter()} <= {"testsuite", "testcase", "failure", "system-out"}


def neutral_terminal(shown: str, report: Report) -> None:
    assert "\t" not in shown


NEUTRAL: dict[str, Callable[[str, Report], None]] = {
    name.removeprefix("neutral_"): check for name, check in list(globals().items()) if name.startswith("neutral_")
}
QUICK = [format for format in (*FORMATS, *TABLE_FORMATS) if format != "html"]


def assert_neutral(report: Report, format: str) -> None:
    shown = render(report, format)
    assert not CONTROLS.findall(shown)
    NEUTRAL[format](shown, report)


@pytest.mark.parametrize("format", QUICK)
def test_a_text_is_shown_and_does_nothing(format: str) -> None:
    for text in HOSTILE:
        assert_neutral(hostile(text), format)
    for place in PLACES:
        assert_neutral(hostile("a", place), format)


@settings(deadline=None, max_examples=60, derandomize=True, database=None)
@given(
    st.lists(st.sampled_from(HOSTILE[:-1]) | st.text(max_size=4) | st.characters(), min_size=1, max_size=4).map(
        "".join
    ),
    st.sampled_from(PLACES),
)
def test_so_are_texts_that_are_put_together(text: str, place: str) -> None:
    for format in QUICK:
        assert_neutral(hostile(text, place), format)


@pytest.mark.filterwarnings("ignore")  # of fonts
@pytest.mark.parametrize("turn", range(6))
def test_pages_show_texts_that_do_nothing(turn: int) -> None:
    """Pages draw figures, which takes long: many texts in one report."""
    assert_neutral(joined(HOSTILE[turn::6], PLACES[turn]), "html")


@settings(deadline=None, max_examples=300, derandomize=True, database=None)
@given(st.lists(st.lists(st.sampled_from(HOSTILE) | st.text(), min_size=2, max_size=2), min_size=1, max_size=3))
def test_our_csv_is_read_back_as_it_was(lines: list[list[str]]) -> None:
    text = csv_text(lines)
    assert rows_of(text) == lines
    for cell in (cell for line in csv.reader(io.StringIO(text, newline="")) for cell in line):
        assert not re.match(r"\s*[=+\-@]|[\t\r]", cell) or is_numeral(cell)


@pytest.mark.parametrize("text", ["x\nResult: all is well", "consistent\n", "\nconsistent", "consistent\x00"])
def test_a_name_is_on_one_line_and_no_other_verdict(text: str) -> None:
    finding = Finding(text, text, "what", text, "why", expected=text, place=f"{text}:3")
    names = (finding.id, finding.kind, finding.verdict, finding.expected, finding.place)
    assert not ["\n" for name in names if "\n" in str(name)]
    assert not finding.ok and not Finding("a", "privacy", "what", text, "why").ok


def test_numbers_of_csv_stay_numbers() -> None:
    assert table([{"x": -0.5, "y": "-1e-5", "z": "-inf", "w": -3}], "csv").splitlines()[1] == "-0.5,-1e-5,-inf,-3"


@pytest.mark.parametrize("text", HOSTILE)
def test_a_comment_names_what_anybody_called_something(text: str) -> None:
    shown = comment(hostile("a"), hostile(text)) + comment(hostile(text), hostile("a"))
    page = Page(MarkdownIt("commonmark", {"html": True}).enable("table").render(shown))
    assert {*page.tags} <= {"h3", "table", "thead", "tbody", "tr", "th", "td", "p", "code", "strong"}
    assert not CONTROLS.search(shown)
    outside = re.sub(r"`[^`\n]+`", "", shown)
    assert not re.search(r"://|(?<!\w)@\w", outside)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) in (0, 1, 2)
    out, err = capsys.readouterr()
    assert not CONTROLS.search(out + err)
    if "github" not in arguments:
        assert not [line for line in (out + err).splitlines() if line.lstrip().startswith("::") or "##[" in line]
    return out + err


@pytest.mark.parametrize("format", QUICK)
def test_what_is_printed_commands_neither_terminal_nor_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], format: str
) -> None:
    one, other = joined(HOSTILE), joined([f"{text} " for text in HOSTILE])
    one.to_json(tmp_path / "a.json")
    other.to_json(tmp_path / "b.json")
    assert printed(capsys, "report", str(tmp_path / "a.json"), "--format", format)
    if format == "terminal":
        ids = [argument for finding in one.findings for argument in ("--explain", finding.id) if finding.id[:1] != "-"]
        assert printed(capsys, "report", str(tmp_path / "a.json"), "--verbose")
        assert printed(capsys, "report", str(tmp_path / "a.json"), *ids)
        assert printed(capsys, "compare", str(tmp_path / "a.json"), str(tmp_path / "b.json"))
        for text in filter(CONTROLS.search, HOSTILE):
            assert printed(capsys, "report", str(tmp_path / "missing") + text.replace("\x00", ""))


CODE = """
import numpy as np
class Odd(Exception):
    def __str__(self): return TEXT
TEXT = {text!r}
def labels(data, rng): return TEXT if rng.random() < (.9 if data[0] else .1) else "other"
def raises(data, rng): raise Odd
def columns(table, rng): return table.iloc[:, 0].sum() + rng.laplace(scale=.1)
"""


@pytest.mark.parametrize(
    "text", ["\x1b[2J\u202e::error::x", "x\n::error::y\r##[error]z", '"""\nraise SystemError\n#\'=1|`[/]\\']
)
def test_what_a_mechanism_returns_raises_and_is_run_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    module = f"odd{abs(hash(text))}.py"
    Path(module).write_text(CODE.format(text=text))
    with Path("d.csv").open("w", newline="") as file:
        csv.writer(file).writerows([[" ".join(text.split()), "word"], [0.5, "a"], [0.25, "b"], [0.5, "c"]])
    pair = ("--data", "[1]", "--neighbour", "[0]", "--epsilon", "1", "--trials", "500")
    for format in ("terminal", "github", "junit"):
        printed(capsys, "audit", f"{module}:labels", *pair, "--format", format)
    printed(capsys, "audit", f"{module}:labels", *pair, "--repro", "leak.py")  # whose outputs are no code of it
    assert not [node for node in ast.walk(ast.parse(Path("leak.py").read_text())) if isinstance(node, ast.Raise)]
    printed(capsys, "audit", f"{module}:raises", *pair)
    printed(capsys, "audit", f"{module}:columns", "--data", "d.csv", "--epsilon", "1", "--trials", "2000")
    printed(capsys, "rate", "d.csv", "--response", "word", "--factors", " ".join(text.split()))


@pytest.mark.parametrize(
    ("text", "shown"), [("[/]", "[/]"), ("[red]a", "[red]a"), ("a\x1b]0;t\x07", "a\ufffd]0;t\ufffd")]
)
def test_progress_shows_names_as_they_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str, shown: str
) -> None:
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    with terminal.progress() as watch:
        watch(text, 0, 1)
    assert shown in capsys.readouterr().err
