"""A set of outputs as lines of Python, for a script that imports NumPy and no dpcheck."""

from __future__ import annotations

import ast
import builtins
import math
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits.scores import Coordinate, Score
from dpcheck.audits.scores.exact import Extreme, Lattice, Repeats, Short, Special
from dpcheck.audits.scores.histograms import Histogram, Pair, Patterns, Product
from dpcheck.audits.scores.learned import Distance, Projection, Quadratic, Trees

Tables = dict[str, NDArray[Any]]

# Values, intervals or patterns that stand in the line itself; more of them are a table.
_LISTED = 6
# Room for a sum that is added up in another order.
_ROUNDING = 1e-9
# What a line may name where it is made of words.
_KNOWN = {"output", "s", "np", "inf", "nan", "VALUES", "TURNS", *dir(builtins)}
_UNUSED = 1.5e308  # stands for NaN, which equals nothing


@dataclass(frozen=True)
class Condition:
    """The body of a function of ``output`` that says whether it lies in a set, and the arrays that its lines name."""

    lines: tuple[str, ...]
    tables: Tables = field(default_factory=dict)


def condition(event: Any) -> Condition | None:
    """Return an output set in Python, which knows ``np``, ``inf`` and ``nan``; None where nobody says it.

    A score of another kind may say its sets itself: ``condition(direction, threshold)`` returns an expression of
    ``output``, what the mechanism returned. Where columns stand for parts of it (``event.naming``), the event's words
    are taken if they are Python, or else the parts by their names; a run that raised has its error as output.
    """
    stated = getattr(event.score, "condition", None)
    if stated is not None:
        return Condition((f"return {stated(event.direction, event.threshold)}",))
    tables: Tables = {}
    *lines, value = _said(event.score, event.direction, event.threshold, tables)
    naming = getattr(event, "naming", None)
    if naming is None:
        return Condition(("x = np.ravel(output).astype(float)", *lines, f"return {value}"), tables) if value else None
    words = re.sub(r"^raises (\w+)$", r"type(output).__name__ == '\1'", event.words)
    named = "; ".join([*lines, f"return {value}"])
    for place in map(int, set(re.findall(r"x\[(\d+)\]", named))):
        if place < naming.layout.numbers:
            named = named.replace(f"x[{place}]", f"({naming(f'output[{place}]')})")
    for body in (f"return {words}", named):
        if _is_python(body := body.replace("str(error)", "str(output)")):
            return Condition((f"try: {body}", "except Exception: return False"), tables)
    return None


def _is_python(body: str) -> bool:
    """Whether the body of a function is Python, and names nothing that the script does not know."""
    try:
        nodes = ast.walk(ast.parse(f"def event(output): {body}"))
    except SyntaxError:
        return False
    return all(node.id in _KNOWN for node in nodes if isinstance(node, ast.Name))


def _said(score: Score, direction: str, threshold: float, tables: Tables) -> list[str]:
    """Return lines that end with the expression of the set, of ``x``, the numbers; add the arrays that they name."""

    def within(value: Any) -> Any:
        return value >= threshold if direction == ">=" else value <= threshold

    def either(statement: str) -> str:  # of a score that is 1 where the statement holds, else 0
        return "True" if within(0) and within(1) else f"not ({statement})" if within(0) else statement

    def use(*names: str) -> None:
        tables.update({name.upper(): np.asarray(getattr(score, name)) for name in names})

    room = _ROUNDING * max(1.0, abs(threshold)) * (-1 if direction == ">=" else 1)
    reached, nearly = f"{direction} {threshold!r}", f"{direction} {threshold + room!r}"
    apart = "v = np.nan_to_num((x - CENTRE) / SPREAD, nan=0, posinf=0, neginf=0)"
    match score:
        case Coordinate():
            return [f"{_source(score)} {reached}"]
        case Extreme():
            return [f"np.{'fmin' if score.end == 'smallest' else 'fmax'}.reduce(x) {reached}"]
        case Special():
            s = _source(score.source)
            return [either(f"np.isnan({s})" if score.value == "nan" else f"{s} == 0 and np.signbit({s})")]
        case Lattice():
            steps = f"s = ({_source(score.source)} - {score.offset!r}) / {score.step!r}"
            return [steps, either("abs(s - np.rint(s)) <= 1e-4")]
        case Short():
            return [either(f"np.frexp({_source(score.source)})[0] * 2.0**{53 - score.zeros} % 1 == 0")]
        case Repeats():
            values = score.values[within(score.sides) != within(0)]
            among = _among(_source(score.source), values, tables)
            return [f"not ({among})" if within(0) else among]
        case Histogram():
            return [f"s = {_source(score.source)}", _bins(score.edges, within(score.ratios), tables)]
        case Patterns():
            listed = score.patterns[within(score.ratios) != within(score.rest)]
            return _patterns(score, listed, "not " * bool(within(score.rest)), tables)
        case Distance():
            use("centre", "spread")
            return [apart, f"np.sqrt(v @ v) {nearly}"]
        case Projection():
            use("centre", "spread", "slope")
            return [apart, f"v @ SLOPE {nearly}"]
        case Quadratic():
            use("centre", "spread", "slope", "curvature")
            return [apart, f"(v {'@' if score.curvature.ndim == 2 else '*'} CURVATURE + SLOPE) @ v {nearly}"]
        case Product():
            tables["EDGES"], tables["RATIOS"] = _ratios(score)
            return [f'sum(r[np.searchsorted(e, v, "right")] for e, r, v in zip(EDGES, RATIOS, x)) {nearly}']
        case Trees():
            use("feature", "cut", "leaves")
            return [
                f"f, t, n = np.array([{', '.join(map(_source, score.sources))}]), np.arange({len(score.feature)}), 0",
                "for _ in range(3): n = 2 * n + 1 + (np.where(np.isnan(f), inf, f)[FEATURE[t, n]] >= CUT[t, n])",
                f"LEAVES[t, n - 7].sum() {nearly}",
            ]
    return [""]


def _source(source: Coordinate | Pair) -> str:
    if isinstance(source, Coordinate):
        return f"x[{source.index}]"
    first, second, (sign, minus) = f"x[{source.first}]", f"x[{source.second}]", "+-" if source.sign > 0 else "- "
    # equal infinities differ by 0
    value = f"(0.0 if {first} == {minus.strip()}{second} else {first} {sign} {second})"
    return f"np.rint({value} / {source.grid!r}) * {source.grid!r}"


def _among(s: str, values: NDArray[np.float64], tables: Tables) -> str:
    """Say that a number is one of some values."""
    numbers = values[~np.isnan(values)]
    if numbers.size > _LISTED:
        tables["VALUES"] = numbers
    said = [f"{s} in {'VALUES' if tables else tuple(numbers.tolist())}"] * bool(numbers.size)
    return " or ".join(said + [f"np.isnan({s})"] * (numbers.size < values.size))


def _bins(edges: NDArray[np.float64], inside: NDArray[np.bool_], tables: Tables) -> str:
    """Say that ``s`` lies in one of the bins ``[edges[i-1], edges[i])`` that are ``inside``, as in a Histogram."""
    missing = bool(edges.size) and math.isnan(edges[-1])
    cuts = [-math.inf, *(edges[:-1] if missing else edges).tolist(), math.inf]
    turns = np.flatnonzero(np.diff(np.concatenate([[False], inside[: len(cuts) - 1], [False]])))
    ends = [cuts[turn] for turn in turns]
    said = []
    for low, high in zip(ends[::2], ends[1::2], strict=True):
        if high == math.inf:  # which lies in the last bin
            said.append(f"s >= {low!r}")
        else:
            one = low > -math.inf and high == math.nextafter(low, math.inf)
            said.append(f"s == {low!r}" if one else f"{low!r} <= s < {high!r}" if low > -math.inf else f"s < {high!r}")
    if len(said) > _LISTED:
        tables["TURNS"] = np.array(ends[:-1] if ends[-1] == math.inf else ends)
        said = ['s == s and np.searchsorted(TURNS, s, "right") % 2 == 1']
    return " or ".join(said + ["np.isnan(s)"] * bool(missing and inside[-1]))


def _patterns(score: Patterns, listed: NDArray[np.int64], denied: str, tables: Tables) -> list[str]:
    """Say that some numbers of the output are one of the patterns ``listed``, or none of them where that is denied."""
    columns, undefined = f"x[{list(score.columns)}]", any(np.isnan(atoms).any() for atoms in score.atoms)
    if len(listed) <= _LISTED and listed.all() and not undefined:
        known = [tuple(float(score.atoms[j][s - 1]) for j, s in enumerate(row)) for row in listed.tolist()]
        return [f"tuple({columns}) {denied}in {known}"]
    atoms = np.full((len(score.atoms), max(map(len, score.atoms))), np.nan)
    for row, values in zip(atoms, score.atoms, strict=True):
        row[: values.size] = np.where(np.isnan(values), _UNUSED, values)
    tables.update(ATOMS=atoms, PATTERNS=listed)
    return [
        *[f"x = np.where(np.isnan(x), {_UNUSED!r}, x)"] * undefined,
        f"place = ((ATOMS == {columns}[:, None]) * np.arange(1, {atoms.shape[1] + 1})).sum(axis=1)",
        f"{denied}(PATTERNS == place).all(axis=1).any()",
    ]


def _ratios(score: Product) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return edges and ratios of all numbers; NaN stands behind the edges of a row, so that its ratio is the last."""
    rows = [part.edges[~np.isnan(part.edges)] for part in score.parts]
    size = max(map(len, rows)) + 1
    edges, ratios = np.full((len(rows), size), np.nan), np.full((len(rows), size + 1), np.nan)
    for i, (row, part) in enumerate(zip(rows, score.parts, strict=True)):
        edges[i, : row.size], ratios[i, : row.size + 1] = row, part.ratios[: row.size + 1]
        if part.edges.size > row.size:  # NaN has a bin
            ratios[i, -1] = part.ratios[-1]
    return edges, ratios
