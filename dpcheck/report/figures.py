"""The figures of a report, at the size of print, and as SVG for its pages."""

from __future__ import annotations

import io
import re
import warnings
from typing import TYPE_CHECKING

from dpcheck.report.forest import NEEDED, forest
from dpcheck.report.over_bound import along_of, has_bound, over_bound
from dpcheck.report.sandwiches import sandwiches, variants_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpcheck.report.results import Results

RATES = "Measured rates"  # the table of a report whose rows are exponents


def figures(report: Results) -> dict[str, Figure]:
    """Draw every figure that the findings and tables of a report have numbers for, by its name."""
    found = {}
    rates = report.tables.get(RATES, [])
    if rates and all(row.keys() >= NEEDED for row in rates):
        found["rates"] = forest(rates)
    if variants_of(report.findings):
        found["epsilon"] = sandwiches(report.findings)
    for title, rows in report.tables.items():
        drawn = [row for row in rows if has_bound(row)]
        if along := along_of(drawn):
            found[f"over bound, {title}"] = over_bound(rows, along=along)
    return found


def svg(figure: Figure) -> str:
    """The figure as SVG to put into a page: the same bytes each time, no date, no names that could clash."""
    import matplotlib

    stream = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "dpcheck", "svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # the reader's browser has others
        figure.savefig(stream, format="svg")
    text = stream.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    return re.sub(r'<g id="[^"]*"', "<g", text)
