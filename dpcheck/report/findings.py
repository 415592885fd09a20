"""The report of a run of the check: its findings, to be shown, drawn, stored and read again."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcheck.errors import is_finite, require
from dpcheck.json_text import parse
from dpcheck.report.results import BROKEN as BROKEN
from dpcheck.report.results import SCHEMA as SCHEMA
from dpcheck.report.results import Catalogue as Catalogue
from dpcheck.report.results import Finding as Finding
from dpcheck.report.results import Results, readable
from dpcheck.report.results import to_json_text as to_json_text
from dpcheck.running.files import write_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


_WORDS = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}
_TEXTS = ("id", "kind", "subject", "verdict", "reason")
_NUMBERS = ("expected_certified", "audited", "certified", "claimed")
_PLACE = re.compile(r".+:[1-9][0-9]{0,8}", re.DOTALL)


@dataclass(frozen=True)
class Report(Results):
    """All findings of one run of the check.

    Attributes
    ----------
    findings : tuple of Finding
        What was checked, in order.
    algorithms : tuple of str
        The algorithms that were checked.
    profile : str
        ``"quick"`` or ``"full"``.
    seed : int
        Seed of all randomness.
    version : str
        Version of dpcheck that made the report.
    seconds : float
        Wall-clock time.
    tables : dict of str to list of dict
        Measured tables by title, a dict for each row.
    made : dict of str to str
        Where and how the report was made: date, command, platform, versions.
    stages : dict of str to float
        Wall-clock seconds of each stage, by title.
    shown : tuple of str
        Sentences on what this run did not compute and shows as it was recorded, each with the command that computes it.
    catalogue : Catalogue or None
        Titles of papers and names of algorithms that those who show the report may use; no part of its JSON.
    """

    def __str__(self) -> str:
        """The report as a terminal of 100 columns shows it."""
        from dpcheck.report.formats import render

        return render(self, "terminal", width=100).rstrip("\n")

    def _repr_html_(self) -> str:
        """The result, the regression and what fails, for a notebook."""
        from dpcheck.report.summary import Summary
        from dpcheck.shown import html_table

        summary = Summary(self)
        result = "".join(f"<p><strong>{escape(sentence)}</strong></p>" for sentence in summary.result)
        failing = [{"verdict": f.verdict, "id": f.id, "subject": f.subject, "reason": f.reason} for f in summary.broken]
        regression = f"<p>Regression: {escape(summary.badge)}</p>" * summary.expecting
        return f"{result}{regression}{html_table(failing)}"

    def to_html(self, path: str | Path) -> None:
        """Write the report as a self-contained page.

        Parameters
        ----------
        path : path
            The file.
        """
        from dpcheck.report.html import to_html

        write_text(path, to_html(self))

    def figures(self) -> dict[str, Figure]:
        """Draw what was measured, as far as there are numbers for it.

        Returns
        -------
        dict of str to matplotlib.figure.Figure
            ``"rates"``, the exponents of all theorems; ``"epsilon"``, audited, certified and claimed; ``"over bound,
            TITLE"``, measured over bound, for each table that has both.
        """
        from dpcheck.report.figures import figures

        return figures(self)

    @classmethod
    def from_json(cls, text: str, catalogue: Catalogue | None = None) -> Report:
        """Read the report that :meth:`to_json` wrote.

        Parameters
        ----------
        text : str
            The JSON text.
        catalogue : Catalogue, optional
            Titles of papers and names of algorithms, for those who show the report:
            ``Catalogue(*titles())`` with ``titles`` of ``dpcheck.algorithms.registry``.

        Returns
        -------
        Report
            The report.

        Raises
        ------
        InputError
            For any other text.
        """
        return cls(**parsed(text), catalogue=catalogue)

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row for each finding."""
        import pandas as pd

        from dpcheck.report.formats import rows

        return pd.DataFrame(rows(self))


def parsed(text: str) -> dict[str, Any]:
    """Return the fields of a report, by name, from the JSON that it was written as.

    Raises
    ------
    InputError
        If the text is anything else; the message names the place.
    """
    report = _cleaned(parse(text, "report"))
    _object(report, "report")
    require(report.get("schema") == SCHEMA, "schema", f"be {SCHEMA}", report.get("schema"))
    seconds, seed = _required(report, "seconds"), _required(report, "seed")
    require(is_finite(seconds) and seconds >= 0, "seconds", "be a finite number >= 0", seconds)
    require(type(seed) is int, "seed", "be a whole number", seed)
    made = report.get("made", {})  # where and how the report was made; older reports do not say
    _object(made, "made")
    return {
        "findings": tuple(_list(report, "findings", _finding)),
        "algorithms": tuple(_list(report, "algorithms", _text)),
        "profile": _text(_required(report, "profile"), "profile"),
        "seed": seed,
        "version": _text(_required(report, "version"), "version"),
        "seconds": seconds,
        "tables": _tables(_required(report, "tables")),
        "made": {name: _text(text, f"made.{name}") for name, text in made.items()},
        "stages": _stages(report.get("stages", {})),
        "shown": tuple(_list(report, "shown", _text) if "shown" in report else ()),
    }


def _stages(value: Any) -> dict[str, float]:
    """The seconds of each stage; older reports do not say."""
    _object(value, "stages")
    for title, seconds in value.items():
        require(is_finite(seconds) and seconds >= 0, f"stages.{title}", "be a finite number >= 0", seconds)
    return {title: float(seconds) for title, seconds in value.items()}


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return readable(value)
    if isinstance(value, dict):
        return {readable(key): _cleaned(item) for key, item in value.items()}
    return [_cleaned(item) for item in value] if isinstance(value, list) else value


def _object(value: Any, name: str) -> None:
    require(isinstance(value, dict), name, "be a JSON object", type(value).__name__)


def _required(fields: dict[str, Any], name: str, where: str = "report") -> Any:
    require(name in fields, where, f"have {name}", f"only {', '.join(fields)}")
    return fields[name]


def _text(value: Any, name: str) -> str:
    require(isinstance(value, str), name, "be a text", value)
    return str(value)


def _list(fields: dict[str, Any], name: str, read: Callable[[Any, str], Any]) -> list[Any]:
    values = _required(fields, name)
    require(isinstance(values, list), name, "be a list", type(values).__name__)
    return [read(value, f"{name}[{number}]") for number, value in enumerate(values)]


def _finding(value: Any, name: str) -> Finding:
    _object(value, name)
    given: dict[str, Any] = {field: _text(_required(value, field, name), f"{name}.{field}") for field in _TEXTS}
    given |= {field: _number(value.get(field), f"{name}.{field}") for field in _NUMBERS}
    for field in ("expected", "place"):
        text = value.get(field)
        given[field] = text if text is None else _text(text, f"{name}.{field}")
    place = given["place"]
    require(place is None or _PLACE.fullmatch(place) is not None, f"{name}.place", "be FILE:LINE", place)
    given["evidence"] = value.get("evidence", {})
    _object(given["evidence"], f"{name}.evidence")
    family = given["evidence"].get("within the claimed family")
    if family is not None:
        _object(family, f"{name}.evidence: within the claimed family")
        if "epsilon" in family:
            family["epsilon"] = _number(family["epsilon"], f"{name}.evidence: epsilon within the claimed family")
    assert given.keys() == {field.name for field in fields(Finding)}
    return Finding(**given)


def _number(value: Any, name: str) -> float | None:
    """Read an epsilon, which JSON holds as a number or, where it is not finite, as a word."""
    if value is None:
        return None
    if isinstance(value, str):
        require(value in _WORDS, name, f"be a number or one of {', '.join(_WORDS)}", value)
        return _WORDS[value]
    require(is_finite(value), name, f"be a number or one of {', '.join(_WORDS)}", value)
    return float(value)


def _tables(value: Any) -> dict[str, list[dict[str, Any]]]:
    _object(value, "tables")
    for title, rows in value.items():
        _list(value, title, _row)
        require(all(row.keys() == rows[0].keys() for row in rows), title, "have the same columns in each row", "others")
    return {title: rows for title, rows in value.items() if rows}


def _row(value: Any, name: str) -> dict[str, Any]:
    _object(value, name)
    for column, cell in value.items():
        good = cell is None or isinstance(cell, str | bool) or is_finite(cell)
        require(good, f"{name}.{column}", "be a number or a text", cell)
    return dict(value)
