"""The report of a run, to be shown, drawn, stored and read again; the formats of CI systems and code hosts."""

from __future__ import annotations

import io
import platform
import shlex
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from importlib import metadata
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.etree import ElementTree as ET

from dpcheck.reading import json_of
from dpcheck.report.results import BROKEN, Catalogue, Results, parsed, to_json_text
from dpcheck.report.results import Finding as Finding
from dpcheck.report.summary import Summary
from dpcheck.running.files import write_text
from dpcheck.shown import TABLE_FORMATS, table

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
    catalogue : Catalogue or None
        Titles of papers and names of algorithms that those who show the report may use; no part of its JSON.
    """

    def __str__(self) -> str:
        """The report as a terminal of 100 columns shows it."""
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
        return cls(**parsed(json_of(text, "report")) | {"catalogue": catalogue})

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row for each finding."""
        import pandas as pd

        return pd.DataFrame(rows(self))


_DECIDE = ("numpy", "scipy", "numba", "sympy", "mpmath", "python-flint", "z3-solver")


def provenance() -> dict[str, str]:
    """Return the date (UTC), the command, the platform, and the versions of Python and of what computes, as text."""
    program = Path(next(iter(sys.argv), "") or "python").name
    dpcheck = program in ("dpcheck", "__main__.py", "dpcheck.exe")
    return {
        "date": datetime.now(UTC).isoformat(sep=" ", timespec="seconds").replace("+00:00", " UTC"),
        "command": shlex.join(["dpcheck" if dpcheck else program, *sys.argv[1:]]),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "versions": ", ".join(f"{name} {metadata.version(name)}" for name in _DECIDE),
    }


_COLUMNS = ("id", "kind", "verdict", "expected", "ok", "audited", "certified", "claimed", "slack", "reason")
# kind of finding -> what it says of the code, and what to do about it
_HELP = {
    "accounting": "The certified epsilon of the declared privacy events exceeds the claimed one, or two accountants "
    "differ. Raise the noise, lower the steps, or correct the events.",
    "baseline": "A known finding is not as the baseline has it: worse, with another claim, gone, or past its last day.",
    "bound": "A measured error exceeds the number that a theorem states. Look at the theorem's constants and at the "
    "algorithm's schedule.",
    "claim": "A statement of a paper, or the evidence for it, no longer has its expected verdict. `dpcheck prove CLAIM "
    "--explain` shows every step.",
    "feasibility": "An iterate leaves its domain, or does not follow from what was released.",
    "missing": "The check did not yield a finding that is expected.",
    "stopped": "A part of the check stopped with an error, which correct code does not raise.",
    "noise": "Noise is smaller than declared, has another shape, or is missing where a record moves a release.",
    "privacy": "Outputs on two neighbouring data sets are told apart more surely than the claimed epsilon and delta "
    "allow, or the noise is not certified to be enough. The witness is in the message.",
    "rate": "A measured rate is not the promised one. `dpcheck measure` and `dpcheck rate` repeat the measurement.",
    "sampling": "Minibatches are not drawn as the privacy accounting assumes.",
    "schedule": "A configured number is not the one that the theorem states. `dpcheck show THEOREM` prints it.",
    "sensitivity": "One record moves a query farther than its noise is calibrated for.",
    "utility": "The result on real data, or its certificate, is not the expected one.",
}
_BASE = "%SRCROOT%"  # the name that code hosts expect
_NOWHERE = "pyproject.toml:1"  # stands for a finding about no one place of the code, such as a missing one


def rows(report: Results) -> list[dict[str, Any]]:
    """Return a row for each finding, for a table in any format."""
    return [{column: getattr(f, column) for column in _COLUMNS} for f in report.findings]


def render(report: Results, format: str, *, color: bool = False, width: int = 120, verbose: bool = False) -> str:
    """Return ``report`` as text in a format; ``color``, ``width`` and ``verbose`` are for the terminal's."""
    if format == "json":
        return report.to_json() + "\n"
    if format in ("junit", "sarif", "github"):
        return {"junit": to_junit, "sarif": to_sarif, "github": to_github}[format](report)
    if format == "html":
        from dpcheck.report.html import to_html

        return to_html(report)
    if format in TABLE_FORMATS:
        return table(rows(report), format) + "\n"
    from rich.console import Console

    from dpcheck.report.terminal import print_report

    stream = io.StringIO()
    console = Console(file=stream, force_terminal=color, width=width, highlight=False)
    print_report(report, console, verbose=verbose)
    return stream.getvalue()


def to_sarif(report: Results) -> str:
    """Return SARIF with one result a finding; what is not expected is an error, an expected breach a note."""
    rules = sorted({finding.kind for finding in report.findings})
    driver = {
        "name": "dpcheck", "version": report.version, "rules": [_rule(kind) for kind in rules],
        "informationUri": "https://pypi.org/project/dpcheck/",
    }  # fmt: skip
    run = {
        "tool": {"driver": driver},
        "originalUriBaseIds": {_BASE: {"description": {"text": "The root of the repository, or of site-packages."}}},
        "results": [_result(finding, rules.index(finding.kind)) for finding in report.findings],
    }
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return to_json_text({"$schema": schema, "version": "2.1.0", "runs": [run]}) + "\n"


def _rule(kind: str) -> dict[str, object]:
    words = _HELP.get(kind, f"A finding of kind {kind} is not as expected.")
    return {
        "id": kind, "name": f"{kind.capitalize()}Finding", "shortDescription": {"text": f"dpcheck {kind} finding"},
        "fullDescription": {"text": words}, "help": {"text": words}, "defaultConfiguration": {"level": "error"},
    }  # fmt: skip


def _result(finding: Finding, rule: int) -> dict[str, object]:
    failed = not finding.ok
    level = "error" if failed else "note" if finding.verdict in BROKEN else "none"
    surprise = f" ({finding.surprise})" if failed else ""
    outside = f" (in {finding.place})" if finding.place and not _inside(finding.place) else ""
    return {
        "ruleId": finding.kind,
        "ruleIndex": rule,
        "kind": "fail" if failed or finding.verdict in BROKEN else "pass",
        "level": level,
        "message": {"text": f"{finding.subject}: {finding.verdict}{surprise}. {finding.reason}{outside}"},
        "locations": [_location(finding)],
        "partialFingerprints": {"dpcheckFinding/v1": finding.id},  # an alert is the same where its line has moved
    }


def _location(finding: Finding) -> dict[str, object]:
    """The finding's id, and the file and line of the code; code hosts refuse a result without such a place."""
    file, _, line = (_inside(finding.place) or _NOWHERE).rpartition(":")
    artifact = {"uri": quote(file), "uriBaseId": _BASE}
    return {
        "logicalLocations": [{"fullyQualifiedName": finding.id}],
        "physicalLocation": {"artifactLocation": artifact, "region": {"startLine": max(1, int(line))}},
    }


def _inside(place: str | None) -> str:
    """Return a place of the project, relative to its root; nothing for one outside, as a report of anybody may name."""
    file, _, line = (place or "").rpartition(":")
    path = PurePosixPath(file)
    if path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    outside = PureWindowsPath(path).anchor or ".." in PureWindowsPath(path).parts
    return "" if outside or not file else f"{path}:{line}"


def to_junit(report: Results) -> str:
    """Return JUnit XML with one test case a finding; a finding that is not as expected fails."""
    failures = sum(not finding.ok for finding in report.findings)
    suite = ET.Element(
        "testsuite", name="dpcheck", tests=str(len(report.findings)), failures=str(failures),
        time=f"{report.seconds:.3f}",
    )  # fmt: skip
    for finding in report.findings:
        case = ET.SubElement(suite, "testcase", classname=f"dpcheck.{finding.kind}", name=finding.id)
        if not finding.ok:
            message = f"{finding.verdict} ({finding.surprise})"
            text = "\n".join(filter(None, (f"{finding.subject}: {finding.reason}", finding.place)))
            ET.SubElement(case, "failure", message=message).text = text
        ET.SubElement(case, "system-out").text = f"{finding.verdict}: {finding.reason}"
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def to_github(report: Results) -> str:
    """Return a workflow command a line: an error for what is new or changed, a notice for a known breach."""
    summary = Summary(report)
    annotated = [f for f in report.findings if not f.ok or f.verdict in BROKEN]
    lines = [_command(f) for f in sorted(annotated, key=lambda f: f.ok)] + [_plain(line) for line in summary.result]
    lines += [f"Regression: {summary.badge}"] * summary.expecting
    return "\n".join(lines) + "\n"


def _command(f: Finding) -> str:
    file, _, line = _inside(f.place).rpartition(":")
    where = f"file={_property(file)},line={line}," if file else ""
    surprise = "" if f.ok else f" ({f.surprise})"
    level = "notice" if f.ok else "error"
    message = f"{f.subject}: {f.verdict}{surprise}. {f.reason}"
    return f"::{level} {where}title={_property(f'dpcheck: {f.id}')}::{_text(message)}"


def _plain(line: str) -> str:
    """A line that is no workflow command, whatever a report says."""
    words = " ".join(line.split())
    return f"- {words}".replace("##[", "## [") if words.startswith("::") or "##[" in words else words


def _text(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _text(text).replace(":", "%3A").replace(",", "%2C")
