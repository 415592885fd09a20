"""The picture of the layers, which the forge draws from its text, as a drawing that needs no script."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from html import escape

_WIDTH, _BOX, _GAP, _LINE, _LETTERS = 1000, 300, 46, 17, 44
_PICTURE = re.compile(r"```mermaid\n(.*?)```", re.S)


def drawn(page: str) -> str:
    """Return a page with its flowcharts as drawings."""
    return _PICTURE.sub(lambda found: _drawing(found[1]), page)


def _drawing(text: str) -> str:
    boxes = dict(re.findall(r'(\w+)\["\w+: ([\w, ]+)"\]', text))
    arrows = re.findall(r"(\w+) --> (\w+)", text)
    rows = _rows(boxes, arrows)
    lines = {name: textwrap.wrap(inside, _LETTERS) for name, inside in boxes.items()}
    places: dict[str, tuple[float, float, float]] = {}  # left, top, height
    top = 8.0
    for row in rows:
        room = _WIDTH / len(row)
        heights = [_LINE * (len(lines[name]) + 1) + 18 for name in row]
        for i, (name, height) in enumerate(zip(row, heights, strict=True)):
            places[name] = (room * (i + 0.5) - _BOX / 2, top, height)
        top += max(heights) + _GAP
    parts = [_arrow(places[one], places[other]) for one, other in arrows]
    parts += [_box(name, lines[name], *place) for name, place in places.items()]
    words = "; ".join(f"{one} imports {other}" for one, other in arrows)
    return (
        f'<div>\n<svg class="layers" viewBox="0 0 {_WIDTH} {top:.0f}" role="img" aria-label="{escape(words)}">'
        f"{''.join(parts)}</svg>\n</div>\n"
    )


def _rows(boxes: Iterable[str], arrows: list[tuple[str, str]]) -> list[list[str]]:
    """The boxes in rows, each below all that imports it."""
    depth = dict.fromkeys(boxes, 0)
    for _ in depth:
        for one, other in arrows:
            depth[other] = max(depth[other], depth[one] + 1)
    return [[name for name in depth if depth[name] == row] for row in range(max(depth.values()) + 1)]


def _box(name: str, lines: list[str], left: float, top: float, height: float) -> str:
    text = "".join(
        f'<tspan x="{left + 10:.0f}" dy="{_LINE}"{" class=name" if not i else ""}>{escape(line)}</tspan>'
        for i, line in enumerate([name, *lines])
    )
    box = f'<rect x="{left:.0f}" y="{top:.0f}" width="{_BOX}" height="{height:.0f}" rx="5"/>'
    return f'{box}<text x="{left + 10:.0f}" y="{top + 4:.0f}">{text}</text>'


def _arrow(one: tuple[float, float, float], other: tuple[float, float, float]) -> str:
    x, y = one[0] + _BOX / 2, one[1] + one[2]
    to_x, to_y = other[0] + _BOX / 2, other[1]
    bend = (to_y - y) / 2
    head = f"M{to_x - 4:.0f} {to_y - 8:.0f}L{to_x:.0f} {to_y:.0f}L{to_x + 4:.0f} {to_y - 8:.0f}"
    curve = f"M{x:.0f} {y:.0f}C{x:.0f} {y + bend:.0f} {to_x:.0f} {to_y - bend:.0f} {to_x:.0f} {to_y:.0f}"
    return f'<path d="{curve}{head}"/>'
