"""Formulas as MathML, so that a page draws them without a script and a screen reader reads them out."""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes

from dpcheck.report.template import mathml


def inline(writer: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    writer.body.append(_drawn(node.astext()))
    raise nodes.SkipNode


def display(writer: Any, node: nodes.math_block) -> None:
    """Write a formula on a line of its own."""
    shown = _drawn(node.astext()).replace("<math>", '<math displaystyle="true">')  # fractions of full size
    writer.body.append(f'<div class="formula" tabindex="0">{shown}</div>\n')
    raise nodes.SkipNode


def _drawn(latex: str) -> str:
    return str(mathml(latex) or f"<code>{escape(latex)}</code>")
