"""The notebooks, with what they printed."""

from __future__ import annotations

from book.links import ROOT


def pages() -> dict[str, str]:
    """Return every notebook of the clone."""
    return {f"tutorials/{path.name}": path.read_text("utf-8") for path in (ROOT / "notebooks").glob("*.ipynb")}
