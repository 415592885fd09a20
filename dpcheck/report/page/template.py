"""A page from its template: one file that holds its style and script, and that the browser lets load nothing else."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from dpcheck import style
from dpcheck.report.epsilons import number
from dpcheck.report.page.mathml import mathml, with_formulas

if TYPE_CHECKING:
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

    found = Environment(
        loader=PackageLoader("dpcheck.report.page"), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=StrictUndefined, keep_trailing_newline=True,
    )  # fmt: skip
    found.filters |= {"mathml": mathml, "with_formulas": with_formulas, "cell": cell}
    return found


def cell(value: Any) -> str:
    """Print a value of a table."""
    return value if isinstance(value, str) else number(value) if isinstance(value, int | float) else str(value or "")


def _file(name: str) -> str:
    return resources.files("dpcheck.report.page").joinpath("templates", name).read_text("utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
