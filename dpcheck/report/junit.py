"""JUnit XML, which CI systems show as test results."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from dpcheck.report.report_text import readable
from dpcheck.report.results import Results


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
            said = "\n".join(filter(None, (f"{finding.subject}: {finding.reason}", finding.place)))
            ET.SubElement(case, "failure", message=message).text = readable(said)
        ET.SubElement(case, "system-out").text = readable(f"{finding.verdict}: {finding.reason}")
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
