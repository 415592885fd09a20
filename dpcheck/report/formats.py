"""One report in the format asked for; those of CI systems and code hosts are made here: SARIF, JUnit, GitHub."""

from __future__ import annotations

import io
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree as ET

from dpcheck.report.results import BROKEN, Finding, Results, readable, to_json_text
from dpcheck.report.summary import Summary
from dpcheck.shown import TABLE_FORMATS, table

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
    """Return ``report`` as text in a format: "terminal", "json", "junit", "sarif", "html", or a table of its findings.

    color, width, verbose : for the terminal's format: its escapes, its columns, and a row for every finding
    """
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
    return {
        "ruleId": finding.kind,
        "ruleIndex": rule,
        "kind": "fail" if failed or finding.verdict in BROKEN else "pass",
        "level": level,
        "message": {"text": f"{finding.subject}: {finding.verdict}{surprise}. {finding.reason}"},
        "locations": [_location(finding)],
        "partialFingerprints": {"dpcheckFinding/v1": finding.id},  # an alert is the same where its line has moved
    }


def _location(finding: Finding) -> dict[str, object]:
    """The finding's id, and the file and line of the code; code hosts refuse a result without such a place."""
    file, _, line = (finding.place or _NOWHERE).rpartition(":")
    artifact = (
        {"uri": Path(file).as_uri()} if Path(file).is_absolute()
        else {"uri": quote(str(PurePosixPath(file))), "uriBaseId": _BASE}
    )  # fmt: skip
    return {
        "logicalLocations": [{"fullyQualifiedName": finding.id}],
        "physicalLocation": {"artifactLocation": artifact, "region": {"startLine": max(1, int(line))}},
    }


def to_junit(report: Results) -> str:
    """Return JUnit XML with one test case a finding; a finding that is not as expected fails."""
    failures = sum(not finding.ok for finding in report.findings)
    suite = ET.Element(
        "testsuite", name="dpcheck", tests=str(len(report.findings)), failures=str(failures),
        time=f"{report.seconds:.3f}",
    )  # fmt: skip
    for finding in report.findings:
        case = ET.SubElement(
            suite, "testcase", classname=readable(f"dpcheck.{finding.kind}"), name=readable(finding.id)
        )
        if not finding.ok:
            message = readable(f"{finding.verdict} ({finding.surprise})")
            text = "\n".join(filter(None, (f"{finding.subject}: {finding.reason}", finding.place)))
            ET.SubElement(case, "failure", message=message).text = readable(text)
        ET.SubElement(case, "system-out").text = readable(f"{finding.verdict}: {finding.reason}")
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
    file, _, line = (f.place or "").rpartition(":")
    where = f"file={_property(file)},line={line}," if file else ""
    surprise = "" if f.ok else f" ({f.surprise})"
    level = "notice" if f.ok else "error"
    message = f"{f.subject}: {f.verdict}{surprise}. {f.reason}"
    return f"::{level} {where}title={_property(f'dpcheck: {f.id}')}::{_text(message)}"


def _plain(line: str) -> str:
    """A line that is no workflow command, whatever a report says."""
    words = " ".join(line.split())
    return f"- {words}" if words.startswith(("::", "##[")) else words


def _text(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _text(text).replace(":", "%3A").replace(",", "%2C")
