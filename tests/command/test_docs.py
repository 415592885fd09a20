"""The documentation: every public name has a page, no link is broken, and its numbers are those of the code.

``sphinx-build -W -n docs build/site`` builds it, which `.ci/run` does before the tests; what is said here of the built
pages is skipped where there are none.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from files import ROOT
from pages import looked_at
from public import public

import dpcheck
from dpcheck.bounds.ledger import recorded
from dpcheck.bounds.registry import PAPERS, claims

SITE = ROOT / "build" / "site"
sys.path.insert(0, str(ROOT / "docs"))  # where the documentation's own code lies

from book import findings_pages, json_page, method_page, reference_pages  # noqa: E402

README = (ROOT / "README.md").read_text("utf-8")
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
built = pytest.mark.skipif(not SITE.is_dir(), reason="sphinx-build -W -n docs build/site has not been run")


class Page(HTMLParser):
    """The places, links and foreign addresses of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids, self.links, self.fetched, self.text = set[str](), list[str](), list[str](), list[str]()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids |= {found["id"]} if found.get("id") else set()
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag in ("script", "img", "iframe", "source") and found.get("src"):
            self.fetched.append(found["src"])
        if tag == "link" and found.get("rel") not in ("canonical", "index", "search", "next", "prev"):
            self.fetched.append(found.get("href") or "")

    def handle_data(self, data):
        self.text.append(data)


@cache
def page(name: str) -> Page:
    return Page(SITE / name)


@cache
def words(name: str) -> str:
    return " ".join("".join(page(name).text).split())


def names() -> list[str]:
    return sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html"))


# What the pages are made of


def test_every_public_name_is_documented():
    documented = {name for names in reference_pages.documented().values() for name in names}
    modules = set(reference_pages.documented())
    for name in dpcheck.__all__:
        known = f"dpcheck.{name}" in documented | modules
        assert known or name == "__version__", name
    assert len(documented) == len(public())
    for part in ("dpcheck.testing.assert_private", "dpcheck.adapters.opacus.training_step",
                 "dpcheck.adapters.jax_privacy.training_step"):  # fmt: skip
        assert part in documented


def test_what_a_page_imports_is_promised():
    """The promise of docs/project/stability.md covers the reference: no page shows a name that is none of its own."""
    known = {id(each) for each in public().values()}
    places = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("docs/examples/*.py"), *ROOT.glob("notebooks/*.ipynb")]
    text = "\n".join(path.read_text("utf-8") for path in (ROOT / "README.md", *places))
    seen = 0
    for module, imported in sorted(set(re.findall(r"from (dpcheck\.[\w.]+) import ([\w, ]+)", text))):
        for name in imported.split(","):
            each = getattr(importlib.import_module(module), name.strip())
            seen += 1
            assert id(each) in known or not (inspect.isclass(each) or inspect.isfunction(each)), (module, name)
    assert seen > 20 and not any(part.startswith("_") for name in public() for part in name.split("."))


@pytest.mark.parametrize("name", method_page.AUDITS)
def test_every_audit_states_its_null_hypothesis(name):
    path = ROOT.joinpath(*method_page.AUDITS[name].removeprefix("dpcheck.").split(".")).with_suffix(".py")
    said = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    assert "null hypothesis" in " ".join(said.lower().split())


@pytest.mark.thorough
def test_every_schema_of_json_is_described():
    """Those of the commands are shown field by field, from what the command prints."""
    made = json_page.pages()["reference/json.md"]
    for schema in json_page.schemas():
        assert f"`{schema}`" in made
    for name in json_page.LINES:
        assert any(schema.startswith(f"dpcheck.{name}/") for schema in json_page.schemas())
        assert re.search(rf'\| `schema` \| text \| `"dpcheck\.{name}/[0-9]"` \|', made)
    assert [code for code, _ in json_page._codes()] == ["0", "1", "2", "3", "130"]
    assert set(json_page._attributes(dpcheck.report.findings.Finding)) >= {"id", "audited", "claimed", "place"}


def test_the_citation_is_of_this_version_and_of_the_papers():
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    page = (ROOT / "docs/project/cite.md").read_text("utf-8")
    assert re.search(r"^version: (.+)$", citation, re.M)[1] == dpcheck.__version__
    assert f"version = {{{dpcheck.__version__}}}" in page
    titles = dict(re.findall(r"@\w+\{(\w+),\n.*?title = \{(.*?)\},$", page, re.M | re.S))
    for paper in PAPERS:
        assert titles[paper] in findings_pages.title(paper)


# The built pages


@built
def test_no_link_is_broken():
    """Every link to a page of the site, and to a place on it, leads there."""
    broken = []
    for name in names():
        for link in page(name).links:
            address, _, place = link.partition("#")
            if re.match(r"[a-z]+:", address):
                continue
            target = (SITE / name).parent.joinpath(unquote(address)).resolve() if address else SITE / name
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                broken.append((name, link))
            elif place and target.suffix == ".html":
                found = page(target.relative_to(SITE.resolve() if address else SITE).as_posix())
                broken += [(name, link)] * (unquote(place) not in found.ids)
    assert not broken


@built
def test_nothing_is_fetched():
    for name in names():
        assert not [each for each in page(name).fetched if re.match(r"([a-z]+:)?//", each)], name


@built
def test_every_public_name_has_a_place():
    for module, documented in reference_pages.documented().items():
        found = page(f"generated/reference/{module}.html").ids
        assert set(documented) <= found, module


@built
@pytest.mark.parametrize("paper", PAPERS)
def test_every_statement_is_on_the_page_of_its_paper(paper):
    found, text = page(f"generated/findings/{paper}.html"), words(f"generated/findings/{paper}.html")
    for each in claims(paper):
        assert findings_pages.command(each) in text, each.id
        verdict = recorded()[each.id]["verdict"]
        assert (findings_pages.anchor(each) in found.ids) == (verdict != "proved"), each.id
    for word in findings_pages.ORDER:
        count = sum(recorded()[each.id]["verdict"] == word for each in claims(paper))
        assert not count or f"{count} {word}" in text


@built
def test_formulas_are_drawn():
    """What the converter of formulas does not know stands as code, which is rare."""
    for paper in PAPERS:
        html = (SITE / f"generated/findings/{paper}.html").read_text("utf-8")
        assert html.count("<math") >= min(len(claims(paper)), 11)
        assert "$" not in re.sub(r"<pre.*?</pre>|<code.*?</code>|<script.*?</script>", "", html, flags=re.S)


@pytest.mark.thorough
@built
@pytest.mark.parametrize(("width", "colours"), [(1400, "light"), (390, "dark")])
@pytest.mark.parametrize("name", ["index", "generated/findings/zhang2025"])
def test_a_page_in_a_browser(name, width, colours):
    """It is not wider than the screen, fetches nothing from elsewhere, and axe finds no fault."""
    found = looked_at(SITE / f"{name}.html", width, colours)
    assert found["axe"] == []
    assert found["wide"] <= 0
    assert not [each for each in found["requests"] if not each.startswith(("file:", "data:"))]
