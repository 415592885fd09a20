"""What the documentation is built with: pages made from the code, links between them, formulas as MathML."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from book import (
    access,
    command_page,
    docstrings,
    findings_pages,
    formulas,
    json_page,
    links,
    method_page,
    reference_pages,
    tutorials,
)

if TYPE_CHECKING:
    from sphinx.application import Sphinx

MAKERS = (command_page, findings_pages, json_page, method_page, reference_pages, tutorials)


def setup(app: Sphinx) -> dict[str, Any]:
    """Tell Sphinx of this extension."""
    app.connect("builder-inited", lambda app: write(Path(app.srcdir) / "generated"))
    app.connect("source-read", links.relink)
    app.connect("autodoc-process-docstring", docstrings.prepare, priority=100)  # before numpydoc reads them
    app.connect("missing-reference", links.resolve)
    app.connect("build-finished", access.complete)
    app.add_html_math_renderer("mathml", (formulas.inline, None), (formulas.display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write(folder: Path) -> None:
    """Make every page that is computed; what is as before keeps its date, so that it is not read again."""
    made = {name: text for maker in MAKERS for name, text in maker.pages().items()}
    for path in folder.rglob("*"):
        if path.is_file() and path.relative_to(folder).as_posix() not in made:
            path.unlink()
    for name, text in made.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
