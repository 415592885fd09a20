"""The report for a person at a terminal: one screen with the result first, every row, or one finding explained."""

from __future__ import annotations

import difflib
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from dpcheck.errors import InputError
from dpcheck.report.results import BROKEN, Finding, Results, format_number, standing
from dpcheck.report.summary import Summary
from dpcheck.shown import readable

_STACKED = "    "
_SANDWICH = ("", "audited", "", "certified", "", "claimed", "slack", "family", "finding")
_RIGHT = (False, True, False, True, False, True, True, False)  # flush right: the numbers of a sandwich
_PRIVACY = "Privacy: audited lower bound <= certified epsilon <= claimed epsilon"
# What a screen of 40 lines has room for.
_RESULT = 5  # lines
_WHOLE = 2  # findings with their reasons
_SHORT = 2  # findings on a line each
_REASON = 4  # lines of a reason, and half as many of each where there are several
_TIGHTEST = 4  # rows of the sandwich, and half as many where there are several findings
_SHOWN = 6  # lines on what was not computed
_LONG = 8  # numbers of a list beyond which only their count and the first are shown


def print_report(report: Results, console: Console, *, verbose: bool = False) -> None:
    """Print what was found on one screen; ``verbose`` prints every finding, measured table and stage instead."""
    summary = Summary(report)
    _result(summary, console, most=None if verbose else _RESULT)
    if verbose:
        _everything(summary, console)
    else:
        _screen(summary, console)
    say(console, "")
    counts = ", ".join(f"{count} {word}" for word, count in summary.totals.items())
    many = f"{len(report.findings)} finding{'s' * (len(report.findings) != 1)}"
    listed = "" if verbose else ", listed by --verbose"
    paragraph(
        console, f"{many}{listed}: {counts}. Consistent means that no violation was found, "
        "not that none exists.", style="dim",
    )  # fmt: skip
    if report.shown:
        paragraph(console, " ".join(report.shown), style="dim", most=None if verbose else _SHOWN)
    about = f"dpcheck {report.version}, {summary.title}, profile {report.profile}, seed {report.seed}"
    paragraph(console, f"{about}, {report.seconds:.0f} s", style="dim")
    if not verbose:
        say(console, Text.assemble("Next: ", (summary.next, "cyan")))


def _result(summary: Summary, console: Console, *, most: int | None) -> None:
    """The two statements, apart: what was found, and where verdicts are expected whether it is what was expected."""
    fine = standing("consistent").colour if summary.holds else ""
    sentences = summary.headlines if summary.several else summary.sentences
    result = Text(" ").join(Text(words, standing("violated").colour if broken else fine) for words, broken in sentences)
    paragraph(console, result, first="Result:     ", most=most)
    if summary.expecting:
        style = "bold yellow" if summary.changed else "green"
        paragraph(console, summary.badge, style=style, first="Regression: ")
    if summary.several:
        say(console, "")
        for name, worst, words in summary.algorithms:
            line = Text.assemble(_sign(worst), " ", (name, "bold"), words.removeprefix(name))
            paragraph(console, line, rest=_STACKED, most=2)


def _screen(summary: Summary, console: Console) -> None:
    """Print what needs a look, whole as far as there is room, and the tightest rows of the sandwich."""
    notable = summary.changed or (() if summary.several else summary.worst[:1])
    share = 1 if len(notable) <= 1 else 2
    if notable:
        say(console, "")
    for f in notable[:_WHOLE]:
        _block(f, console, most=_REASON // share)
    for f in notable[_WHOLE:][:_SHORT]:
        _cut(Text.assemble(_word(f), f"  {f.id}  {f.reason}"), console)
    if more := len(notable[_WHOLE + _SHORT :]):
        say(console, f"and {more} more: --verbose")
    tightest = () if summary.several else summary.tightest(_TIGHTEST // share)
    if tightest:
        _heading(console, f"{_PRIVACY}, slack")
        rows = [(_sign(f), *_cells(f), f.id.partition(".")[2] or f.id) for f in tightest]
        if not _grid(console, ("",) * 8, rows, right=_RIGHT):
            for row in rows:
                _cut(Text(" ").join(Text.assemble(cell) for cell in row if cell), console)


def _everything(summary: Summary, console: Console) -> None:
    """Print a row for each finding, what was measured, and how long each stage took."""
    for title in summary.papers.values():
        paragraph(console, title, style="dim")
    rest = [f for f in summary.report.findings if f.ok and standing(f.verdict) != "broken"]
    expected = ", as expected" * summary.expecting
    _blocks("Not as expected" if summary.expecting else "What fails", summary.changed, summary, console)
    _blocks(f"What fails{expected}", [f for f in summary.broken if f.ok], summary, console)
    _sandwiches([f for variant in summary.variants for f in variant.findings], console)
    _blocks("What holds, holds on a condition, or is undecided", rest, summary, console)
    for title, rows in (*summary.report.tables.items(), ("Seconds of each stage", summary.stages)):
        if rows:
            _heading(console, title)
            _table(rows, console)


def _heading(console: Console, words: str) -> None:
    say(console, "")
    paragraph(console, words, style="bold")


def _blocks(heading: str, findings: Sequence[Finding], summary: Summary, console: Console) -> None:
    """Print findings with all that is said of each, and the command that explains it."""
    if findings:
        _heading(console, heading)
    for f in findings:
        _block(f, console)
        say(console, Text(_STACKED + summary.command(f), "cyan"))


def _block(f: Finding, console: Console, *, most: int | None = None) -> None:
    """Print a finding's verdict and id, subject, reason in ``most`` lines, and place."""
    word, id = _word(f), Text(f.id, "bold")
    if len(word) + len(id) + 2 <= console.width:
        say(console, word.append("  ").append(id))
    else:
        say(console, word)
        say(console, Text(_STACKED).append(id))
    paragraph(console, f.subject, first=_STACKED, most=most and most // 2)
    paragraph(console, f.reason, first=_STACKED, most=most)
    if not f.ok and f.place:
        say(console, Text(f"{_STACKED}in {f.place}", "dim"))


def _cut(line: Text, console: Console) -> None:
    line.truncate(console.width, overflow="ellipsis")
    say(console, line)


def _sandwiches(findings: list[Finding], console: Console) -> None:
    """Print audited, certified and claimed epsilon of each finding about privacy, in a row each."""
    if not findings:
        return
    _heading(console, _PRIVACY)
    rows = [(_word(f), *_cells(f), format_number(_family(f)), f.id) for f in findings]
    if not _grid(console, _SANDWICH, rows, right=(*_RIGHT[:-1], True, False)):
        for f in findings:
            say(console, Text.assemble(_word(f), "  ", f.id))
            say(console, _STACKED + _in_words(f))


def _table(rows: list[dict[str, Any]], console: Console) -> None:
    """Print a measured table in columns, or a row after the other where they are wider than the terminal."""
    lines = [[cell if isinstance(cell, str) else format_number(cell) for cell in row.values()] for row in rows]
    right = [not isinstance(cell, str) for cell in rows[0].values()]
    if not _grid(console, list(rows[0]), lines, right=right):
        for row, cells in zip(rows, lines, strict=True):
            line = "  ".join(f"{name} {cell}" for name, cell in zip(row, cells, strict=True) if cell)
            paragraph(console, line, rest=_STACKED)


def _sign(finding: Finding) -> Text:
    return Text(standing(finding.verdict).sign, standing(finding.verdict).colour)


def _word(finding: Finding) -> Text:
    """The verdict with its sign, coloured by what it says of the guarantee, whatever was expected."""
    expectation = _surprise(finding)
    return Text.assemble(
        _sign(finding),
        (f" {finding.verdict}", standing(finding.verdict).colour),
        (expectation and f", {expectation}", "bold yellow"),
    )


class Decided:
    """Say each finding of note when it is decided, and how many others there are when its stage is over."""

    def __init__(self, tell: Callable[[str], object], width: int) -> None:
        self._tell, self._width = tell, width
        self._stage, self._others = "", Counter[str]()

    def stage(self, title: str) -> None:
        """Begin a stage, or go on with it; what was counted of another one is said first."""
        if title != self._stage and self._others:
            counts = ", ".join(f"{count} {verdict}" for verdict, count in self._others.most_common())
            self._say(f"{self._stage}: {counts}")
            self._others.clear()
        self._stage = title

    def finding(self, finding: Finding) -> None:
        """Say what is about an epsilon, broken or unexpected; count the rest, and refuted claims that are expected."""
        broken = finding.verdict in BROKEN and finding.kind != "claim"
        if finding.ok and not broken and finding.certified is None and finding.kind != "privacy":
            self._others[finding.verdict] += 1
            return
        word = "" if finding.ok and standing(finding.verdict) == "good" else f" {finding.verdict}"
        unexpected = f", {_surprise(finding)}" * bool(_surprise(finding))
        words = _in_words(finding) if finding.kind == "privacy" else ""  # the reason of a certificate says its epsilon
        reasons = "; ".join(filter(None, (words, finding.reason)))
        self._say(f"{standing(finding.verdict).sign}{word}{unexpected} {finding.id}: {reasons}")

    def _say(self, text: str) -> None:
        line = " ".join(text.split())
        self._tell(line if len(line) <= self._width else f"{line[: self._width - 4]} ...")


def explanations(report: Results, ids: Sequence[str], *, width: int = 100) -> str:
    """Explain the findings with these ids; InputError for an id that no finding has."""
    known = {f.id: f for f in report.findings}
    for id in ids:
        if id not in known:
            near = difflib.get_close_matches(id, known) or list(known)[:3]
            raise InputError(f"--explain must name a finding (perhaps {', '.join(near)}), got {id}")
    return "\n\n".join(explanation(known[id], width) for id in ids)


def explanation(finding: Finding, width: int) -> str:
    """Say all that is known of a finding, each of its parts under a word."""
    f = finding
    state = "as expected" if f.ok and f.expected else _surprise(f)
    lines = [f.id, f"{standing(f.verdict).sign} {f.verdict}{f' ({state})' * bool(state)}"]
    epsilons = [
        f"{name} {value:.4g}"
        for name, value in (("audited", f.audited), ("certified", f.certified), ("claimed", f.claimed))
        if value is not None
    ]
    for name, text in (("What", f.subject), ("Found", f.reason), ("Epsilon", ", ".join(epsilons)), ("Code", f.place)):
        if text:
            lines += textwrap.wrap(
                text, width, initial_indent=f"  {name + ':':<9}", subsequent_indent=" " * 11, break_on_hyphens=False,
                break_long_words=False,
            )  # fmt: skip
    if f.evidence:
        lines.append("  Evidence:")
        for line in _readable(f.evidence):
            lines += [piece for part in line.splitlines() or [""] for piece in wrapped(f"    {part}", width)]
    return "\n".join(lines)


def _readable(value: Any, name: str = "") -> Iterator[str]:
    """A nested value as indented lines, ``name: value``."""
    head = f"{name}: " if name else ""
    if isinstance(value, dict):
        inner = "  " if name else ""
        if name:
            yield f"{name}:"
        for key, item in value.items():
            yield from (inner + line for line in _readable(item, str(key)))
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for number, item in enumerate(value, 1):
            yield from _readable(item, f"{name} {number}")
    elif isinstance(value, list):
        first = ", ".join(map(_short, value[:_LONG]))
        yield f"{head}{first}{f', ... ({len(value)} in all)' * (len(value) > _LONG)}"
    else:
        yield head + _short(value)


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _surprise(finding: Finding) -> str:
    """Return what was expected in place of a finding; nothing where none is: a broken guarantee speaks for itself."""
    alone = finding.verdict in BROKEN and finding.expected is None and finding.certificate_ok
    return "" if finding.ok or alone else finding.surprise


def _cells(f: Finding) -> tuple[str | Text, ...]:
    """Return a finding's sandwich: audited <= certified <= claimed, and the slack."""
    return (
        format_number(f.audited), _order(f.audited, f.certified), format_number(f.certified),
        _order(f.certified, f.claimed), format_number(f.claimed), "" if f.slack is None else f"{f.slack:.2f}x",
    )  # fmt: skip


def _in_words(f: Finding) -> str:
    """Write a finding's numbers on a line: audited 0.1 <= certified 1 <= claimed 1."""
    line, before = "", None
    for name, value in (("audited", f.audited), ("certified", f.certified), ("claimed", f.claimed)):
        if value is not None:
            line += f" {_order(before, value)} " * (before is not None) + f"{name} {format_number(value)}"
            before = value
    further = [] if f.slack is None else [f"slack {f.slack:.2f}x"]
    if bound := _family(f):
        further.append(f"family {format_number(bound)}")
    return line + f"  ({', '.join(further)})" * bool(further)


def _family(finding: Finding) -> float | None:
    """Return the lower bound that assumes the certified mechanism at some factor on its noise, where there is one."""
    bound: float | None = finding.evidence.get("within the claimed family", {}).get("epsilon")
    return bound


def _order(left: float | None, right: float | None) -> Text:
    if left is None or right is None:
        return Text()
    return Text("<=") if left <= right else Text(">", standing("violated").colour)


_GAP = "  "
_MORE = " ..."
_NARROW = 40  # columns below which a text stands below its name
Cell = str | Text


def paragraph(
    console: Console, text: Cell, *, style: str = "", first: str = "", rest: str | None = None, most: int | None = None
) -> None:
    """Print a text between words, in ``most`` lines at most, ``first`` before it and ``rest`` before further lines."""
    following = " " * len(first) if rest is None else rest
    room = max(console.width - max(len(first), len(following)), 20)
    whole = Text(readable(" ".join(text.splitlines())), style) if isinstance(text, str) else text
    lines = textwrap.wrap(
        whole.plain, room, expand_tabs=False, replace_whitespace=False, break_long_words=False, break_on_hyphens=False
    )  # fmt: skip
    start = 0
    for number, line in enumerate(lines[:most] or [""]):
        start = whole.plain.index(line, start)
        piece = whole[start : start + len(line)]
        start += len(line)
        if number + 1 == most and len(lines) > number + 1:
            piece = piece[: max(piece.plain.rfind(" ", 0, room - len(_MORE) + 1), 0)].append(_MORE)
        say(console, Text(following if number else first).append_text(piece))


def wrapped(line: str, width: int) -> list[str]:
    """Break a line between words, what follows a step further in than the line itself; a long word stays whole."""
    inner = " " * (len(line) - len(line.lstrip()) + 4)
    return textwrap.wrap(line, width, subsequent_indent=inner, break_long_words=False, break_on_hyphens=False) or [""]


def listed(entries: Sequence[tuple[str, str]], width: int, *, longest: int = 0) -> list[str]:
    """Names, and what each is beside them or, where that is narrow, below; ``longest`` is that of another list."""
    longest = max((longest, *(len(name) for name, _ in entries)))
    lines = []
    for name, text in entries:
        beside = width - longest - 4 >= _NARROW
        head = f"  {name:<{longest}}  " if beside else "      "
        lines += [] if beside else [f"  {name}"]
        lines += textwrap.wrap(
            text, width, initial_indent=head, subsequent_indent=" " * len(head), break_long_words=False,
            break_on_hyphens=False,
        ) or [head.rstrip()]  # fmt: skip
    return lines


def say(console: Console, line: Cell) -> None:
    """Print one line as it is, however wide."""
    console.print(line, soft_wrap=True)


def _grid(console: Console, headings: Sequence[str], rows: Sequence[Sequence[Cell]], *, right: Sequence[bool]) -> bool:
    """Print rows in columns, those flush ``right`` that are; False, and nothing is printed, where they are too wide."""
    widths = [max(len(heading), *(len(row[k]) for row in rows)) for k, heading in enumerate(headings)]
    if sum(widths) + len(_GAP) * (len(widths) - 1) > console.width:
        return False
    for row in ([headings] if any(headings) else []) + list(rows):
        line = Text()
        for cell, width, flush in zip(row, widths, right, strict=True):
            pad = " " * (width - len(cell))
            line.append(_GAP if len(line) else "").append(pad if flush else "").append(cell).append(
                "" if flush else pad
            )
        line.rstrip()
        if row is headings:
            line.stylize("dim")
        say(console, line)
    return True
