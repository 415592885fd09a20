"""The report of a run of the check: its findings, to be shown, drawn, kept and read again."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from dpcheck.report.results import BROKEN as BROKEN
from dpcheck.report.results import SCHEMA as SCHEMA
from dpcheck.report.results import Finding as Finding
from dpcheck.report.results import Results
from dpcheck.report.results import to_json_text as to_json_text
from dpcheck.running.files import write_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


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
    """

    def __str__(self) -> str:
        """The report as a terminal of 100 columns shows it."""
        from dpcheck.report.render import render

        return render(self, "terminal", width=100).rstrip("\n")

    def _repr_html_(self) -> str:
        """The result, the regression and what fails, for a notebook."""
        from dpcheck.report.summary import Summary
        from dpcheck.shown import html_table

        summary = Summary(self)
        said = "".join(f"<p><strong>{escape(sentence)}</strong></p>" for sentence in summary.result)
        failing = [{"verdict": f.verdict, "id": f.id, "subject": f.subject, "reason": f.reason} for f in summary.broken]
        regression = f"<p>Regression: {escape(summary.badge)}</p>" * summary.expecting
        return f"{said}{regression}{html_table(failing)}"

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
    def from_json(cls, text: str) -> Report:
        """Read the report that :meth:`to_json` wrote.

        Parameters
        ----------
        text : str
            The JSON text.

        Returns
        -------
        Report
            The report.

        Raises
        ------
        InputError
            For any other text.
        """
        from dpcheck.report.report_text import parsed

        return cls(**parsed(text))

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row for each finding."""
        import pandas as pd

        from dpcheck.report.render import rows

        return pd.DataFrame(rows(self))
