"""Results that read well: printed, in a notebook, and as a table to put elsewhere (CSV, Markdown, LaTeX)."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from html import escape
from typing import Any

_WIDTH = 80
_LONGEST = 3 * _WIDTH  # characters of a fact
_PAGE = 40  # lines in all; to_dict has the rest
_LEFT_OUT = ("verdict", "reason", "version")  # said in the sentence, or of no use to a reader
TABLE_FORMATS = ("csv", "markdown", "latex")
# What no XML holds, what moves a terminal's cursor or turns its text round, and halves of characters.
_UNREADABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
# What a spreadsheet takes for a formula or a CI service for a command, and the sign that keeps it from that.
_RUN = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n']|\s*(::|##\[)")
# What is markup in Markdown: its own signs, tags and entities, links written out, and whom a code host would call.
_MARKUP = re.compile(
    r"(?P<sign>[\\`*|~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|\](?=[\[(:])|<(?=[A-Za-z/!?])|(?<=:)/(?=/)|(?<=www)\.)"
    r"|(?P<entity>&(?=#|\w+;))|(?P<name>(?<!\w)@(?=\w))|(?P<number>(?<!\w)\#(?=\d))",
    re.I,
)
Rows = Sequence[Mapping[str, Any]]
_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}  # fmt: skip


class Shown:
    """What results share: printed, a ``_sentence`` and ``_facts``, in a notebook a table of both."""

    def _sentence(self) -> str:
        """The result in a sentence: its verdict, and the reason where there is one."""
        said = [str(getattr(self, name)) for name in ("verdict", "reason") if getattr(self, name, "")]
        return ": ".join(said) if said else type(self).__name__

    def _facts(self) -> Mapping[str, Any]:
        """The numbers and words to list, by name: what ``to_dict`` has, save tables."""
        found: dict[str, Any] = getattr(self, "to_dict", dict)()
        return {name: value for name, value in found.items() if name not in _LEFT_OUT and not isinstance(value, list)}

    def __str__(self) -> str:
        """The sentence, then a line for each fact; a page at most."""
        facts = {name: text for name, value in self._facts().items() if (text := short(value))}
        width = max(map(len, facts), default=0)
        lines = [_wrapped(line) for line in self._sentence().splitlines()]
        for name, text in facts.items():
            cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."
            lines.append(_wrapped(f"  {name:<{width}}  {cut}", " " * (width + 4)))
        lines = "\n".join(lines).splitlines()
        left_out = [f"... {len(lines) - _PAGE} more lines"] if len(lines) > _PAGE else []
        return readable("\n".join([*lines[:_PAGE], *left_out]))

    def _repr_html_(self) -> str:
        """Show the result in a notebook."""
        facts = [(name, text) for name, value in self._facts().items() if (text := short(value))]
        rows = "".join(f"<tr><th style='text-align:left'>{escape(n)}</th><td>{escape(t)}</td></tr>" for n, t in facts)
        return f"<p><strong>{escape(self._sentence())}</strong></p><table>{rows}</table>"


class Result(Shown):
    """A result, a dataclass, that is told by its fields alone."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        fields: dict[str, Any] = asdict(self)  # type: ignore[call-overload]
        return {name: [*value] if isinstance(value, tuple) else value for name, value in fields.items()}


def short(value: Any) -> str:
    """A value for a person: six digits of a float, the parts of a mapping one after the other, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {text}" for name, part in value.items() if (text := short(part)))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(short, value))
    return str(value)


def html_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows, which share their keys, as an HTML table, everything escaped."""
    if not rows:
        return ""
    cells = ([*rows[0]], *([short(cell) for cell in row.values()] for row in rows))
    head, *body = (_row(line, "th" if number == 0 else "td") for number, line in enumerate(cells))
    return f"<table><thead>{head}</thead><tbody>{''.join(body)}</tbody></table>"


def _row(cells: Iterable[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


def _wrapped(text: str, further: str = "  ") -> str:
    return textwrap.fill(
        text, _WIDTH, subsequent_indent=further, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    )


def table(rows: Rows, format: str) -> str:
    """Return rows, which share their keys, as "csv", "markdown" or "latex" (``tabular`` with booktabs' lines)."""
    headings = list(rows[0]) if rows else []
    cells = [[_text(row[heading]) for heading in headings] for row in rows]
    if format == "csv":
        return csv_text([headings, *cells]).removesuffix("\n")
    if format == "markdown":
        lines = [[*map(_markdown, line)] for line in (headings, *cells)]
        shown = [f"| {' | '.join(line)} |" for line in lines]
        return "\n".join([shown[0], f"|{'---|' * len(headings)}", *shown[1:]])
    lines = [[*map(_latex, line)] for line in (headings, *cells)]
    shown = [f"{' & '.join(line)} \\\\" for line in lines]
    begin = rf"\begin{{tabular}}{{{'l' * len(headings)}}}"
    return "\n".join([begin, r"\toprule", shown[0], r"\midrule", *shown[1:], r"\bottomrule", r"\end{tabular}"])


def _text(cell: Any) -> str:
    """A cell on one line."""
    if cell is None or isinstance(cell, Markdown):
        return cell or ""
    return f"{cell:.6g}" if isinstance(cell, float) else " ".join(str(cell).split())


class Markdown(str):
    """A text that is Markdown, in which names are written as such."""


def readable(text: str) -> str:
    """Return a text with a sign in place of each character that a terminal or XML cannot show."""
    return text if text.isprintable() else _UNREADABLE.sub("\ufffd", text)


def csv_text(lines: Iterable[Sequence[str]]) -> str:
    """Return lines of CSV; a cell that a spreadsheet would run has an apostrophe before it, a number has none."""
    return "".join((",".join(map(_cell, line)) or '""') + "\n" for line in lines)


def unmarked(cell: str) -> str:
    """Return a cell of CSV as it was before ``csv_text`` wrote it."""
    return cell[1:] if cell[:1] == "'" and _RUN.match(cell[1:]) else cell


def _cell(text: str) -> str:
    """Return a cell of CSV, in quotes where it has to be."""
    text = f"'{text}" if _RUN.match(text) and not is_numeral(text) else text
    return '"' + text.replace('"', '""') + '"' if re.search(r'^\s|[,"\r\n]', text) else text


def is_numeral(text: str) -> bool:
    """Say whether a text is that of a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _markdown(cell: str) -> str:
    """Return a text as Markdown that shows it, and does nothing else."""
    return cell if isinstance(cell, Markdown) else _MARKUP.sub(_escaped, cell)


def _escaped(match: re.Match[str]) -> str:
    if match["entity"]:
        return "&amp;"
    return f"\\{match[0]}" if match["sign"] else f"{match[0]}&#8203;"  # a space of no width ends a name


def _latex(cell: str) -> str:
    """Return a text as LaTeX that shows it; a bracket or star after the end of a row would belong to that."""
    text = "".join(_LATEX.get(sign, sign) for sign in cell)
    return f"{{{text[0]}}}{text[1:]}" if text[:1] in ("[", "*") else text
