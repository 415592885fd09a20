"""The page "Found in released software", written from the cases and the table of their audits."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import tables
from wild.case import OPEN, Case, cases

TABLE = tables.FOLDER / "wild.csv"
REPORTS = tables.FOLDER / "wild_reports.csv"
PAGE = tables.FOLDER.parent.parent / "docs" / "found_in_released_software.md"
README = tables.FOLDER.parent.parent / "README.md"
# What was looked at and has no case, with the reason.
NOT_RUN = {
    "opendp 0.14.1 (issue 2638)": "not to be seen: a bias of additive noise that 40,000 draws do not show",
    "opendp 0.14.2 to 0.16.0 (issue 2911)": "not reproduced: the noisy maximum came out as the library says",
    "OpenDP MST and AIM 0.14 to 0.15 (issue 2789)": "run with 0.15.1, and no loss of privacy seen: the report is of "
    "a release that ends in an exception; here MST, AIM and Fixed released, and the compositor counted the (0.1, 1e-7) "
    "that were asked for",
    "diffprivlib up to 0.4.1 (issues 19 and 94)": "not installed: the case on Laplace noise shows "
    "what is left in 0.6.6",
    "smartnoise-core (issues 243 and 356)": "L2 sensitivities without roots and others of before 0.2: not run; the "
    "case on the analytic Gaussian mechanism is issue 316",
    "python-dp before 1.1.4, BoundedVariance (commit 3f0e417)": "run, and seen in no release: 1.0.0, 1.0.1, "
    "1.0.2, 1.0.3, 1.1.0 and 1.1.1 clamp 1000 to the bound 1. The source of today rounds the middle of a range of "
    "whole numbers down, and its two sensitivities do not count it; whether that breaks the claim was not "
    "audited, so that there is no case",
    "fedbiomed 6 (issue 1443)": "not run, as training needs its node and researcher; in the source of 6.4.1 the "
    "noise of central privacy is added to each parameter after training, by a function that does not clip",
    "synthcity 0.2.12, PrivBayes and PATE-GAN (issues 275 and 276)": "did not install: pip did not end within 600 s, "
    "twice, on a busy machine. Read in the source: PrivBayes adds noise of scale 2 (d - K) / (n epsilon) to counts, "
    "which is DataSynthesizer's earlier fault, and none at all where K is d",
    "PATE-GAN's five other implementations (arXiv 2406.13985)": "not tried",
    "mbi 2.0.0 (dp-recorder's artifact)": "not run: its failing tests are of JAM, which lies beside the "
    "package in its repository, not in it",
}  # fmt: skip


def text(table: pd.DataFrame) -> str:
    """Return the page for a table of audits."""
    known = cases()
    date = TABLE.read_text("utf-8").splitlines()[0].rpartition(", ")[2]
    affected = table[table.role == "affected"]
    found = affected[affected.verdict.isin(["violated", "not certified"])]
    mended = table[(table.role == "mended") & (table.verdict != "does not install")]
    through = int((mended.verdict == "consistent").sum())
    lines = [
        f"{len(found)} of {len(affected)} faults are found, and {through} of {len(mended)} mended versions let "
        "through. Seconds include starting the library's process.", "",
        "| library | affected: measured, of what is claimed | mended | seconds | fault |",
        "|---|---|---|---|---|",
    ]  # fmt: skip
    for row in affected.to_dict("records"):
        case = known[str(row["case"])]
        other = table[(table.case == case.name) & (table.role == "mended")].to_dict("records")
        second = _measured(other[0]) if other else OPEN
        lines.append(f"| {case.library} | {_measured(row)} | {second} | {row['seconds']:.0f} | {_told(case)} |")
    lines += ["", "## What each claims, and what was seen", ""]
    for row in affected.to_dict("records"):
        case = known[str(row["case"])]
        lines.append(f"- **{case.name}** ({case.seen}). Claim: {case.claim}. Seen: {row['part']}.")
    lines += [
        "",
        *_reports(),
        "",
        "Not run, and why:",
        "",
        *(f"- {name}: {reason}." for name, reason in NOT_RUN.items()),
    ]
    waiting = sorted(known.keys() - set(table.case))
    lines += [f"- {name} ({known[name].reported}): declared, and not yet measured." for name in waiting]
    words = Path(__file__).with_name("page.md").read_text("utf-8")
    return words.replace("{date}", date).replace("TABLE", "\n".join(lines))


def _reports() -> list[str]:
    table = tables.read("wild_reports")
    date = REPORTS.read_text("utf-8").splitlines()[0].rpartition(", ")[2]
    lines = [
        "## Reports on faults that are open", "",
        f"The newest release that the package index had on {date}. Each report is a text and a script of at most 40 "
        "lines, which needs the library, what that installs, and NumPy; `python -m tests.wild CASE` says "
        "the same with dpcheck, and `python -m tests.wild.reproductions` ran the scripts.", "",
        "| report | newest release | printed |", "|---|---|---|",
    ]  # fmt: skip
    lines += [f"| [{row.case}](../tests/wild/reports/{row.case}.py) | {cases()[row.case].library} {row.version} | "
              f"{row.printed} |" for row in table.itertuples()]  # fmt: skip
    return lines


HEADLINES = ("opendp_bitvec", "opacus_adaptive", "smartnoise_covariance")


def headlines(table: pd.DataFrame) -> str:
    """Return the README's rows."""
    lines = ["| library | fault | measured, of what is claimed | mended | seconds |", "|---|---|---|---|---|"]
    for name in HEADLINES:
        case = cases()[name]
        rows = {row["role"]: row for row in table[table.case == name].to_dict("records")}
        mended = _measured(rows["mended"]) if "mended" in rows else OPEN
        affected = rows["affected"]
        fault = f"[{case.fault.partition(':')[0]}]({case.reported})"
        lines.append(f"| {case.library} | {fault} | {_measured(affected)} | {mended} | {affected['seconds']:.0f} |")
    return "\n".join(lines)


def _measured(row: dict[str, object]) -> str:
    if row["verdict"] == "does not install":
        return f"{row['version']} does not install: {row['part']}"
    numbers = float(str(row["measured"])), float(str(row["claimed"]))
    shown = "" if math.isnan(numbers[0]) else f": {numbers[0]:.3g} of {numbers[1]:.3g}"
    return f"{row['version']} {row['verdict']}{shown}"


def _told(case: Case) -> str:
    assumed = f" *Assumption:* {case.assumption}." if case.assumption else ""
    link = "found by this audit; its source" if case.found_here else "reported"
    return f"{case.fault} ([{link}]({case.reported})).{assumed}"


def write() -> None:
    """Write the page of the table that is kept."""
    table = tables.read("wild")
    PAGE.write_text(text(table), "utf-8")
    before, begin, rest = README.read_text("utf-8").partition("<!-- released: begin -->\n")
    README.write_text(before + begin + headlines(table) + "\n" + rest[rest.index("<!-- released: end -->") :], "utf-8")
