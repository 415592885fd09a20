"""Links that lead to files of the clone, as a reader on the forge needs them, lead to pages here."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import Any

import dpcheck
from book.docstrings import exists
from book.picture import drawn

ROOT = Path(__file__).resolve().parents[2]
README = "<!-- the README -->"
# files of the clone -> pages of the documentation
PAGES = {
    "README.md": "index.md", "CONTRIBUTING.md": "project/contributing.md", "CHANGELOG.md": "project/changelog.md"
}  # fmt: skip
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
_FENCED = re.compile(r"(^```.*?^```$)", re.M | re.S)


def relink(app: Any, docname: str, content: list[str]) -> None:
    """Put the README into the first page, and turn links to files into links to pages."""
    text = content[0]
    if README in text:
        text = text.replace(README, relinked(_body("README.md"), "README.md", docname))
        content[0] = text
    elif f"{docname}.md" in PAGES.values():
        source = next(name for name, page in PAGES.items() if page == f"{docname}.md")
        content[0] = text + relinked(_body(source), source, docname)
    elif not docname.startswith("generated/"):
        content[0] = drawn(relinked(text, f"docs/{docname}.md", docname))


def relinked(text: str, source: str, docname: str) -> str:
    """Return the text of a file with its links as they are to be on a page, those in code left alone."""
    folder, here = PurePosixPath(source).parent, PurePosixPath(docname).parent

    def page(found: re.Match[str]) -> str:
        picture, words, target, part = found[1], found[2], found[3], found[4] or ""
        if ":" in target:
            return found[0]
        path = os.path.normpath(folder / target).replace(os.sep, "/")
        if (ROOT / path).is_dir():
            return f"`{path}`"
        if path in PAGES:
            path = PAGES[path]
        elif path.startswith("notebooks/"):
            path = f"generated/tutorials/{path.partition('/')[2]}"
        elif path.startswith("docs/"):
            path = path.removeprefix("docs/")
        else:
            path = f"../{path}"
        shown = os.path.relpath(path, here).replace(os.sep, "/")
        if path.startswith("../") and path.endswith(".md"):  # a file, and no page of these
            return f"{{download}}`{words} <{shown}>`"
        return f"{picture}[{words}]({shown}{part})"

    pieces = _FENCED.split(text)
    return "".join(piece if i % 2 else _LINK.sub(page, piece) for i, piece in enumerate(pieces))


def resolve(app: Any, env: Any, node: Any, words: Any) -> Any:
    """Find a name under its public name; one that has no page here, but that Python finds, stays a word."""
    target = str(node.get("reftarget", ""))
    if node.get("refdomain") != "py":
        return None
    public = {f"{home}.{name}": f"dpcheck.{name}" for name, home in dpcheck._HOME.items()}
    if target in public:
        domain = env.get_domain("py")
        return domain.resolve_xref(env, node["refdoc"], app.builder, node["reftype"], public[target], node, words)
    return words if exists(target) else None


def _body(name: str) -> str:
    """A file of the clone without its title, which the page has."""
    return (ROOT / name).read_text("utf-8").partition("\n")[2]
