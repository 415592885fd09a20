"""A self-contained HTML page: no scripts, nothing loaded from elsewhere."""

from __future__ import annotations

from html import escape
from typing import Any

from dpcheck.report.terminal import by_algorithm, number
from dpcheck.results import BROKEN, Finding, Results, to_json_text

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #1c2430 }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2.2rem }
table { border-collapse: collapse; width: 100% }
td, th { padding: .3rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid #e4e8ee }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.ok { color: #11734b } .broken { color: #8a5a00 } .bad { color: #b3261e; font-weight: 600 } .other { color: #34558b }
.verdict { padding: .8rem 1rem; border-radius: .5rem; background: #eef6f1 } .verdict.bad { background: #fdeceb }
details { font-size: .85rem } pre { white-space: pre-wrap; background: #f6f8fa; padding: .6rem; border-radius: .4rem }
small { color: #5c6673 } figure { margin: 1rem 0 } figure svg { max-width: 100%; height: auto }
@media (prefers-color-scheme: dark) { body { background: #14181f; color: #dfe5ee } td, th { border-color: #2b3240 }
pre { background: #1d232d } .verdict { background: #14291f } .verdict.bad { background: #35181a } .ok { color: #58c795 }
.broken { color: #dfae4f } .bad { color: #ff8a80 } .other { color: #8fb4ef } small { color: #98a3b3 } }
"""
_BAR_WIDTH, _BAR_HEIGHT = 300, 18


def to_html(report: Results) -> str:
    """Return the page."""
    surprises = [f for f in report.findings if not f.ok]
    text = (
        f"{len(surprises)} finding(s) are not as expected: {', '.join(f.id for f in surprises)}"
        if surprises
        else "Every finding is as expected. Consistent means that no violation was found, not that none exists."
    )
    sections = [
        ("Privacy", _privacy([f for f in report.findings if f.kind == "privacy"])),
        ("Claims of the paper", _plain([f for f in report.findings if f.kind == "claim"])),
        ("Everything else", _plain([f for f in report.findings if f.kind not in ("privacy", "claim")])),
        ("Figures", _figures(report)),
        *((title, _table(rows)) for title, rows in report.tables.items()),
    ]
    body = "".join(f"<h2>{escape(title)}</h2>{content}" for title, content in sections if content)
    title = f"dpcheck: {', '.join(report.algorithms)}"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head><body>'
        f"<h1>{escape(title)}</h1><p><small>version {escape(report.version)}, profile {escape(report.profile)}, "
        f"seed {report.seed}, {report.seconds:.0f} s</small></p>"
        f'<p class="verdict{" bad" if surprises else ""}">{escape(text)}</p>{body}</body></html>\n'
    )


def _privacy(findings: list[Finding]) -> str:
    rows = ""
    for name, group in by_algorithm(findings):
        rows += f'<tr><th></th><th colspan="5">{escape(name)}</th></tr>' if name else ""
        rows += "".join(
            f"<tr><td>{_word(f)}</td><td>{escape(f.subject)}<br><small>{escape(f.reason)}</small>{_evidence(f)}</td>"
            f'<td class="n">{number(f.audited)}</td><td class="n">{number(f.certified)}</td>'
            f'<td class="n">{number(f.claimed)}</td><td>{_bar(f)}</td></tr>'
            for f in group
        )
    head = (
        '<tr><th>verdict</th><th>what was released</th><th class="n">audited &le;</th><th class="n">certified &le;</th>'
        '<th class="n">claimed</th><th></th></tr>'
    )
    return f"<table>{head}{rows}</table>" if findings else ""


def _bar(f: Finding) -> str:
    """Draw audited (dark) inside certified (light), with the claim as a line."""
    values = [v for v in (f.audited, f.certified, f.claimed) if v is not None and v < float("inf")]
    if not values or max(values) <= 0:
        return ""
    unit = _BAR_WIDTH / (1.1 * max(values))

    def rectangle(value: float | None, color: str, inset: int) -> str:
        width = unit * min(value or 0.0, max(values))
        return f'<rect y="{inset}" width="{width:.1f}" height="{_BAR_HEIGHT - 2 * inset}" fill="{color}"/>'

    line = ""
    if f.claimed is not None:
        x = unit * f.claimed
        line = f'<line x1="{x:.1f}" x2="{x:.1f}" y2="{_BAR_HEIGHT}" stroke="#b3261e" stroke-width="2"/>'
    return (
        f'<svg width="{_BAR_WIDTH}" height="{_BAR_HEIGHT}" role="img" aria-label="audited {number(f.audited)}, '
        f'certified {number(f.certified)}, claimed {number(f.claimed)}">{rectangle(f.certified, "#b9cdea", 2)}'
        f"{rectangle(f.audited, '#34558b', 5)}{line}</svg>"
    )


def _plain(findings: list[Finding]) -> str:
    rows = "".join(
        f"<tr><td>{_word(f)}</td><td>{escape(f.subject)}{_evidence(f)}</td><td><small>{escape(f.reason)}</small></td></tr>"
        for f in findings
    )
    return f"<table>{rows}</table>" if findings else ""


def _evidence(f: Finding) -> str:
    if not f.evidence:
        return ""
    return f"<details><summary>evidence</summary><pre>{escape(to_json_text(f.evidence))}</pre></details>"


def _word(f: Finding) -> str:
    if not f.ok:
        style = "bad"
    elif f.verdict in BROKEN:
        style = "broken"
    else:
        style = "ok" if f.verdict in ("consistent", "proved", "supported") else "other"
    return f'<span class="{style}">{escape(f.verdict)}</span>'


def _figures(report: Results) -> str:
    from dpcheck.report.figures import figures, svg

    return "".join(
        f'<figure role="img" aria-label="{escape(name)}">{svg(figure)}</figure>'
        for name, figure in figures(report).items()
    )


def _table(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return ""

    def cell(value: Any) -> str:
        return f"<td>{escape(value)}</td>" if isinstance(value, str) else f'<td class="n">{number(value)}</td>'

    head = "".join(
        f'<th class="{"" if isinstance(value, str) else "n"}">{escape(name)}</th>' for name, value in rows[0].items()
    )
    body = "".join("<tr>" + "".join(cell(value) for value in row.values()) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"
