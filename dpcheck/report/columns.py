"""Rows for a terminal: in columns where they fit, stacked where they do not; nothing is ever cut off."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

_GAP = "  "
_MORE = " ..."
_NARROW = 40  # columns below which a text stands below its name
Cell = str | Text


def paragraph(
    console: Console, text: Cell, *, style: str = "", first: str = "", rest: str | None = None, most: int | None = None
) -> None:
    """Print a text between words in as many lines as it takes, ``first`` before it and ``rest`` before further lines.

    A word that is longer than a line, such as an id, stays whole and leaves the wrapping to the terminal. Of a text
    that takes more than ``most`` lines the rest is left out, and dots say so.
    """
    following = " " * len(first) if rest is None else rest
    room = max(console.width - max(len(first), len(following)), 20)
    whole = Text(" ".join(text.splitlines()), style) if isinstance(text, str) else text
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
    """Names, and what each is in a column beside them or, where that would be narrow, below its name.

    longest : letters of the longest name of another list beside which this one stands
    """
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


def grid(console: Console, headings: Sequence[str], rows: Sequence[Sequence[Cell]], *, right: Sequence[bool]) -> bool:
    """Print rows in columns under their headings and return True; False, and nothing is printed, where they are wider.

    right : which columns are flush right
    """
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
