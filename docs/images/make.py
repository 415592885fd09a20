"""Make the pictures of the documentation from a saved report.

``dpcheck check privatediff --json-output report.json && python docs/images/make.py report.json`` writes the terminal
at three widths as SVG and, where a Chromium is installed, the page at two widths as PNG.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from dpcheck.algorithms.registry import titles
from dpcheck.report.findings import Report, render
from dpcheck.report.results import Catalogue

HERE = Path(__file__).parent
PAGES = {"page-1400": (1400, 1000), "page-390": (390, 844)}


def terminal(report: Report, width: int) -> str:
    """The report as SVG, with fonts that the reader has: nothing is fetched."""
    screen = Console(record=True, width=width, file=io.StringIO(), force_terminal=True)
    for line in render(report, "terminal", color=True, width=width).splitlines():
        screen.print(Text.from_ansi(line), soft_wrap=True)
    screen.print()  # else the picture ends above the lowest parts of the last line
    svg = screen.export_svg(title=f"dpcheck check {' '.join(report.algorithms)}", unique_id=f"terminal-{width}")
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.S)
    return svg.replace("Fira Code, monospace", "'DejaVu Sans Mono', Menlo, Consolas, monospace")


def main(path: str) -> None:
    """Write the pictures of the report in a file."""
    report = Report.from_json(Path(path).read_text("utf-8"), Catalogue(*titles()))
    for width in (80, 100, 120):
        (HERE / f"terminal-{width}.svg").write_text(terminal(report, width), "utf-8")
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        print("no Chromium: the pictures of the page stay as they are", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        report.to_html(page)
        for name, (width, height) in PAGES.items():
            subprocess.run(
                [browser, "--headless", "--no-sandbox", "--hide-scrollbars", "--disable-gpu",
                 f"--user-data-dir={folder}/profile", f"--window-size={width},{height}",
                 f"--screenshot={HERE / name}.png", page.as_uri()],
                check=True, capture_output=True,
            )  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1])
