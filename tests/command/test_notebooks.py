"""Every notebook's code runs from top to bottom."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


@pytest.mark.thorough
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_and_prints_what_it_shows(path, capsys):
    notebook = json.loads(path.read_text("utf-8"))
    for library in notebook["metadata"].get("needs", ()):  # not dpcheck's own: an extra brings them
        pytest.importorskip(library, exc_type=ImportError)
    cells = notebook["cells"]
    names = {"__name__": "__main__"}
    for cell in cells:
        if cell["cell_type"] != "code":
            continue
        exec(compile("".join(cell["source"]), path.name, "exec"), names)
        shown = "".join("".join(out["text"]) for out in cell["outputs"] if out["output_type"] == "stream")
        assert capsys.readouterr().out == shown
