"""How long each layer of the tests takes by itself.

``python tests/layers.py [LAYER ...]`` runs ``pytest tests/LAYER`` for each layer, one after the other, writes what it
measured to ``tests/measured/layers.csv`` and the table of CONTRIBUTING.md from that. Without names it runs all; a layer
that is not named keeps its row. It stops at a layer with a failure and writes nothing.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import tables

ROOT = Path(__file__).resolve().parent.parent
GUIDE = ROOT / "CONTRIBUTING.md"
LAYERS = {  # each with what its tests are about
    "bounds": "theorems, claims, prover",
    "audits": "testers, their limits, the catalogue of bugs",
    "solvers": "algorithms, kernels, problems, events, accountant",
    "reference": "second ways to what the catalogue computes: replays, theorems, closed forms, accounting",
    "checks": "the stages of `dpcheck check`, and faults planted in what they check",
    "command": "the command, reports, guides, the package",
}
BEGIN, END = "<!-- written by tests/layers.py -->\n", "<!-- until here -->\n"


def measured(layer: str) -> dict[str, object]:
    """Run a layer; SystemExit where a test of it fails."""
    began, before = time.perf_counter(), os.times()
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", f"tests/{layer}"], cwd=ROOT, capture_output=True, text=True
    )
    seconds, after = time.perf_counter() - began, os.times()
    if run.returncode:
        raise SystemExit(run.stdout[-4000:] + run.stderr[-1000:])
    passed = re.search(r"(\d+) passed", run.stdout)
    assert passed is not None, run.stdout
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return {
        "layer": layer, "tests": int(passed[1]), "seconds": round(seconds), "core seconds": round(spent),
        "cores": os.cpu_count(),
    }  # fmt: skip


def kept() -> dict[str, dict[str, object]]:
    """The rows that are written, by layer."""
    if not (tables.FOLDER / "layers.csv").exists():
        return {}
    return {row["layer"]: row for row in tables.read("layers").to_dict("records")}


def table(rows: dict[str, dict[str, object]]) -> str:
    """The table as the guide has it; a layer that was not measured has no numbers."""
    lines = ["| layer | holds the tests of | command | tests | seconds | core seconds |", "|---|---|---|---|---|---|"]
    for layer, holds in LAYERS.items():
        numbers = [str(rows.get(layer, {}).get(name, "")) for name in ("tests", "seconds", "core seconds")]
        lines.append(f"| {layer} | {holds} | `pytest tests/{layer}` | {' | '.join(numbers)} |")
    return "\n".join(lines) + "\n"


def main(layers: list[str]) -> None:
    unknown = set(layers) - set(LAYERS)
    if unknown:
        raise SystemExit(f"layers must be some of {', '.join(LAYERS)}, got {', '.join(sorted(unknown))}")
    rows = kept() | {layer: measured(layer) for layer in layers or LAYERS}
    tables.write("layers", pd.DataFrame(rows[layer] for layer in LAYERS if layer in rows))
    text = GUIDE.read_text("utf-8")
    before, rest = text.split(BEGIN)
    GUIDE.write_text(f"{before}{BEGIN}{table(kept())}{rest[rest.index(END) :]}", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
