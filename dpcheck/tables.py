"""A table as text to put elsewhere: CSV, Markdown, LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

FORMATS = ("csv", "markdown", "latex")
Rows = Sequence[Mapping[str, Any]]

_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}  # fmt: skip


def table(rows: Rows, format: str) -> str:
    """Return rows, which share their keys, as a table in a format.

    Parameters
    ----------
    rows : sequence of mappings
        One a row: heading -> cell; None is an empty cell.
    format : {"csv", "markdown", "latex"}
        LaTeX is an environment ``tabular`` with the lines of the package booktabs.

    Returns
    -------
    str
        The table, without a line break at its end.

    Examples
    --------
    >>> from dpcheck.tables import table
    >>> print(table([{"id": "Y17", "verdict": "refuted"}], "markdown"))
    | id | verdict |
    |---|---|
    | Y17 | refuted |
    """
    headings = list(rows[0]) if rows else []
    cells = [[_text(row[heading]) for heading in headings] for row in rows]
    if format == "csv":
        stream = io.StringIO()
        csv.writer(stream, lineterminator="\n").writerows([headings, *cells])
        return stream.getvalue().removesuffix("\n")
    if format == "markdown":
        lines = [[cell.replace("|", r"\|") for cell in line] for line in (headings, *cells)]
        shown = [f"| {' | '.join(line)} |" for line in lines]
        return "\n".join([shown[0], f"|{'---|' * len(headings)}", *shown[1:]])
    lines = [["".join(_LATEX.get(sign, sign) for sign in cell) for cell in line] for line in (headings, *cells)]
    shown = [f"{' & '.join(line)} \\\\" for line in lines]
    begin = rf"\begin{{tabular}}{{{'l' * len(headings)}}}"
    return "\n".join([begin, r"\toprule", shown[0], r"\midrule", *shown[1:], r"\bottomrule", r"\end{tabular}"])


def _text(cell: Any) -> str:
    """A cell on one line."""
    if cell is None:
        return ""
    return f"{cell:.6g}" if isinstance(cell, float) else " ".join(str(cell).split())
