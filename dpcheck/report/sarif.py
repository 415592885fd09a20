"""SARIF 2.1.0, which code hosts show as alerts."""

from __future__ import annotations

from dpcheck.findings import BROKEN, Finding, Report, to_json_text


def to_sarif(report: Report) -> str:
    """One result a finding; what is not expected is an error, an expected breach a note."""
    kinds = sorted({finding.kind for finding in report.findings})
    rules = [{"id": kind, "shortDescription": {"text": f"dpcheck {kind} finding"}} for kind in kinds]
    driver = {
        "name": "dpcheck", "version": report.version, "rules": rules,
        "informationUri": "https://pypi.org/project/dpcheck/",
    }  # fmt: skip
    return (
        to_json_text(
            {
                "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
                "version": "2.1.0",
                "runs": [{"tool": {"driver": driver}, "results": [_result(f) for f in report.findings]}],
            }
        )
        + "\n"
    )


def _result(finding: Finding) -> dict[str, object]:
    failed = not finding.ok
    level = "error" if failed else "note" if finding.verdict in BROKEN else "none"
    return {
        "ruleId": finding.kind,
        "kind": "fail" if failed or finding.verdict in BROKEN else "pass",
        "level": level,
        "message": {"text": f"{finding.subject}: {finding.verdict}. {finding.reason}"},
        "locations": [_location(finding)],
    }


def _location(finding: Finding) -> dict[str, object]:
    """The finding's id, and the file and line of the code where they are known."""
    found: dict[str, object] = {"logicalLocations": [{"fullyQualifiedName": finding.id}]}
    if finding.place:
        file, _, line = finding.place.rpartition(":")
        found["physicalLocation"] = {"artifactLocation": {"uri": file}, "region": {"startLine": int(line)}}
    return found
