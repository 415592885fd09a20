"""SARIF 2.1.0, which code hosts show as alerts."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from urllib.parse import quote

from dpcheck.report.results import BROKEN, Finding, Results, to_json_text

# kind of finding -> what it says of the code, and what to do about it
_HELP = {
    "accounting": "The certified epsilon of the declared privacy events exceeds the claimed one, or two accountants "
    "differ. Raise the noise, lower the steps, or correct the events.",
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
    said = _HELP.get(kind, f"A finding of kind {kind} is not as expected.")
    return {
        "id": kind, "name": f"{kind.capitalize()}Finding", "shortDescription": {"text": f"dpcheck {kind} finding"},
        "fullDescription": {"text": said}, "help": {"text": said}, "defaultConfiguration": {"level": "error"},
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
