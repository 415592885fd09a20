"""A page from its template, with its style, script and formulas; the browser may load nothing else."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element

from markupsafe import Markup, escape

from dpcheck import style
from dpcheck.report.results import format_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jinja2 import Environment


def fill(template: str, **values: Any) -> str:
    """Return the page of a template; every value is escaped."""
    css, script = (_file(name) for name in ("page.css", "page.js"))
    css = css.replace("MEASURED", style.MEASURED).replace("CLAIMED", style.CLAIMED)
    css = css.replace("PREDICTED", style.PREDICTED).replace("ALARM", style.ALARM)
    # No script but this one runs, whatever a page shows, and nothing is fetched.
    policy = f"default-src 'none'; img-src data:; style-src '{_hash(css)}'; script-src '{_hash(script)}'"
    page = _environment().get_template(template)
    return page.render(css=Markup(css), script=Markup(script), policy=policy, **values)


def part(macro: str, *values: Any) -> str:
    """Return what a macro of the templates makes of some values."""
    return str(getattr(_environment().get_template("macros.html").module, macro)(*values))


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("dpcheck.report"), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=StrictUndefined, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters |= {"mathml": mathml, "with_formulas": with_formulas, "cell": cell}
    return environment


def cell(value: Any) -> str:
    """Print a value of a table."""
    return format_number(value) if isinstance(value, int | float) else str(value or "")


def _file(name: str) -> str:
    return resources.files("dpcheck.report").joinpath("templates", name).read_text("utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


# What a formula may consist of; links, styles and classes of a foreign LaTeX text are dropped.
_ELEMENTS = frozenset(
    {"math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "mfrac", "msqrt", "mroot", "msub", "msup", "msubsup",
     "munder", "mover", "munderover", "mtable", "mtr", "mtd", "mpadded", "mstyle"}
)  # fmt: skip
_BREAKS = frozenset("=<>≤≥+−")
_ATTRIBUTES = frozenset({"form", "mathvariant", "columnalign", "accent", "linethickness"})  # whose values are words
_PARTS = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2, "msubsup": 3, "munderover": 3}
# A command with its name, text in braces, or a name of several letters, which TeX would take for a product of letters.
_NAMES = re.compile(r"\\(?:text|operatorname\*?|mathtt|mathrm|begin|end)\{[^{}]*\}|\\[A-Za-z]+|([A-Za-z]{2,})")


@cache
def mathml(latex: str) -> Markup | None:
    """Return the formula as MathML, or None for a text that is no formula."""
    from latex2mathml.converter import convert_to_element

    try:
        tree = convert_to_element(_NAMES.sub(_as_text, latex))
        return Markup("<wbr>").join(Markup("".join(_written(line))) for line in _lines(tree))
    except Exception:  # of whatever kind: the page then shows the text
        return None


def with_formulas(text: str) -> Markup:
    """Return a text whose formulas stand between dollar signs, with these as MathML."""
    words = text.split("$")
    if len(words) % 2 == 0:  # a dollar sign that is none of ours
        return escape(text)
    shown = [escape(part) if i % 2 == 0 else mathml(part) or escape(part) for i, part in enumerate(words)]
    return Markup("").join(shown)


def _as_text(match: re.Match[str]) -> str:
    """Return a name of several letters as text, and a command as it is."""
    if match[1]:
        return rf"\,\text{{{match[1]}}}\,"
    if match[0].startswith(r"\mathtt"):
        return r"\text" + match[0].removeprefix(r"\mathtt").replace(r"\_", "_")
    return match[0]


def _lines(tree: Element) -> Iterator[Element]:
    """The formula in parts between which a line may end: before its own signs, which browsers do not break at."""
    (row,) = tree
    part = Element("math")
    for child in row:
        if child.tag == "mo" and html.unescape(child.text or "") in _BREAKS and len(part):
            yield part
            part = Element("math")
            child.set("form", "infix")
        part.append(child)
    yield part


def _written(element: Element) -> Iterator[str]:
    """The element as text: known elements and attributes alone, and everything else escaped."""
    tag = element.tag
    children = list(element)
    if tag not in _ELEMENTS or len(children) != _PARTS.get(tag, len(children)):
        raise ValueError(tag)
    if tag == "mrow" and len(children) == 1 and not (element.text or "").strip():
        yield from _written(children[0])
        return
    yield f"<{tag}{_attributes(element)}>"
    # the converter writes signs as character references, and text as it comes
    yield str(escape(html.unescape(element.text or "")))
    for child in children:
        yield from _written(child)
    yield f"</{tag}>"


def _attributes(element: Element) -> str:
    kept = {name: value for name, value in element.attrib.items() if name in _ATTRIBUTES and value.isalpha()}
    if element.tag == "mspace":
        kept["width"] = "0.17em"
    if element.tag == "mo" and element.get("stretchy") == "false":
        kept["stretchy"] = "false"
    return "".join(f' {name}="{value}"' for name, value in kept.items())
