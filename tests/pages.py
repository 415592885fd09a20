"""A page as tests read it: its words, the names of its tags and classes, the tags left open, and what it would load."""

from __future__ import annotations

import json
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

LOOK = Path(__file__).with_name("browser") / "look.js"

ALONE = ("meta", "br", "rect", "line", "input", "wbr")  # tags that have no end


class Page(HTMLParser):
    """The content of a page; a tag that is closed before one within it is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags, self.classes = set[str](), set[str | None]()
        self.open: list[str] = []
        self.loads: list[str] = []
        self.feed(text)
        self.close()

    @property
    def text(self) -> str:
        return "".join(self.words)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        self.open += [tag] if tag not in ALONE else []

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.classes.add(dict(attrs).get("class"))
        loaded = [value or "" for name, value in attrs if name in ("src", "href", "data")]
        self.loads += [value for value in loaded if not value.startswith("#")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def looked_at(page: Path, width: int, colours: str) -> Any:
    """Return what a browser and axe say of a page; the test is skipped where there is no browser."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    node = shutil.which("node")
    if browser is None or node is None or not (LOOK.parent / "node_modules").is_dir():
        pytest.skip("no browser: install Debian's chromium and nodejs, and run npm install --prefix tests/browser")
    run = subprocess.run([node, LOOK, page, browser, str(width), colours], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)
