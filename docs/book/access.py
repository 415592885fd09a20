"""What the theme leaves out for those who do not see a page, or use no mouse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

# As the theme writes it -> with its level or its name, and with a place for the keyboard where it may scroll
_PUT = {
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="All pages">',
    '<aside class="toc-drawer': '<aside aria-label="On this page" class="toc-drawer',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
}


def complete(app: Any, error: Exception | None) -> None:
    """Put into every page what the theme leaves out."""
    if error is None and app.builder.format == "html":
        for path in Path(app.outdir).rglob("*.html"):
            text = found = path.read_text("utf-8")
            for written, put in _PUT.items():
                text = text.replace(written, put)
            if text != found:
                path.write_text(text, "utf-8")
