"""Drawings of rows on one axis: epsilon between its audit and its claim, and measured exponents beside claimed ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpcheck.report.drawing import number as known
from dpcheck.report.epsilons import number
from dpcheck.report.page.axis import Axis
from dpcheck.report.results import Finding
from dpcheck.report.sandwiches import Variant, variants_of
from dpcheck.report.verdicts import standing

_FARTHEST = 100.0  # how many times above or below the claims epsilon is drawn
_RELEASED = {"transcript": "circle", "iterates": "diamond", "output": "triangle", "": "square"}
_ORDER = ("broken", "conditional", "good")
_SAID = {"circle": "audited, whole transcript", "diamond": "audited, all iterates", "triangle": "audited, output only",
         "square": "audited"}  # fmt: skip


@dataclass(frozen=True)
class Mark:
    """A sign at a place of a row, or a bar from there to ``end``; ``look`` names its style."""

    look: str
    at: float
    end: float | None = None
    shape: str = ""


@dataclass(frozen=True)
class Strip:
    """A row of a drawing: its name, its numbers in words, its marks, and whether it breaks a promise."""

    name: str
    words: str
    marks: tuple[Mark, ...]
    tone: str


@dataclass(frozen=True)
class Strips:
    """A drawing: rows on one axis, and a legend of (look, shape, words)."""

    title: str
    unit: str
    axis: Axis
    rows: tuple[Strip, ...]
    legend: tuple[tuple[str, str, str], ...]


def sandwiches(findings: Sequence[Finding], algorithm: str) -> Strips | None:
    """Draw audited, certified and claimed epsilon of an algorithm's variants; None where nothing is claimed."""
    own = [f for f in findings if f.id.split(".", 1)[0] == algorithm]
    variants = variants_of(own)
    if not variants:
        return None
    claims = [each.claimed for each in variants if 0 < each.claimed < math.inf] or [1.0]
    least, most = min(claims) / _FARTHEST, max(claims) * _FARTHEST
    shown = [value for each in variants for value in (*each.audits.values(), each.certified, each.claimed)]
    axis = Axis.around([value for value in shown if least < value < most] or claims, logarithmic=True)
    rows = tuple(
        sorted((_sandwich(each, axis, algorithm) for each in variants), key=lambda row: _ORDER.index(row.tone))
    )
    looks = {(mark.look.replace("leak", "audit"), mark.shape) for row in rows for mark in row.marks}
    said = {
        ("audits", ""): "red: audited above the claim, a leak", ("claim", ""): "claimed",
        ("between", ""): "audited to certified: epsilon lies here", ("certificate", ""): "certified",
        ("short", ""): "certified above the claim",
    }  # fmt: skip
    said |= {("audit", shape): words for shape, words in _SAID.items()}
    legend = tuple((look.replace("audits", "leaks"), shape, said[look, shape]) for look, shape in said
                   if (look, shape) in looks)  # fmt: skip
    return Strips(algorithm, "epsilon, natural log; the axis is logarithmic", axis, rows, legend)


def _sandwich(each: Variant, axis: Axis, algorithm: str) -> Strip:
    audited = each.audited
    claim, certified = axis.at(each.claimed), each.certified
    marks: list[Mark] = []
    if math.isfinite(certified) or certified == math.inf:
        low = 0.0 if math.isnan(audited) else axis.at(audited)
        high = axis.at(min(certified, max(each.claimed, audited if audited > 0 else 0.0)))
        if high > low:
            marks.append(Mark("between", low, high))
        if certified > each.claimed:
            marks.append(Mark("short", max(claim, low), axis.at(certified)))
        marks.append(Mark("certificate", axis.at(certified)))
    if audited > each.claimed:
        marks.append(Mark("leaks", claim, axis.at(audited)))
    marks.append(Mark("claim", claim))
    for what, value in each.audits.items():
        marks.append(Mark("leak" if value > each.claimed else "audit", axis.at(value), shape=_RELEASED[what]))
    said = "; ".join(f"audited {what} {number(value)}".replace("  ", " ") for what, value in each.audits.items())
    parts = [said, "" if math.isnan(certified) else f"certified {number(certified)}", f"claimed {number(each.claimed)}"]
    name = each.label.removeprefix(f"{algorithm}, ").replace("as printed", "as published")
    tone = "broken" if audited > each.claimed else "conditional" if certified > each.claimed else "good"
    return Strip(name, "; ".join(filter(None, parts)), tuple(marks), tone)


def exponents(rows: Sequence[dict[str, Any]]) -> Strips | None:
    """Draw measured exponents with their intervals beside the predicted and the claimed ones."""
    needed = {"experiment", "theorem", "factor", "measured", "verdict"}
    drawn = [row for row in rows if row.keys() >= needed and math.isfinite(known(row, "measured"))]
    if not drawn:
        return None
    values = [known(row, name) for row in drawn for name in ("measured", "predicted", "claimed")]
    axis = Axis.around(values, logarithmic=False, room=0.1)
    said = {
        ("interval", ""): "measured, with its interval", ("interval broken", ""): "measured, contradicts the claim",
        ("point", "circle"): "", ("point broken", "circle"): "",
        ("claim", ""): "claimed by the theorem", ("predicted", "hollow"): "predicted for the instance",
    }  # fmt: skip
    strips = tuple(_exponent(row, axis) for row in drawn)
    looks = {(mark.look, mark.shape) for row in strips for mark in row.marks}
    legend = tuple((*look, words) for look, words in said.items() if words and look in looks)
    return Strips("Measured exponents", "exponent", axis, strips, legend)


def _exponent(row: dict[str, Any], axis: Axis) -> Strip:
    measured, low, high, predicted, claimed = (
        known(row, name) for name in ("measured", "low", "high", "predicted", "claimed")
    )
    tone = standing(str(row["verdict"]))
    more = " broken" if tone == "broken" else ""
    marks = [] if math.isnan(low) or math.isnan(high) else [Mark(f"interval{more}", axis.at(low), axis.at(high))]
    marks += [Mark("claim", axis.at(claimed))] * math.isfinite(claimed)
    marks += [Mark("predicted", axis.at(predicted), shape="hollow")] * math.isfinite(predicted)
    marks.append(Mark(f"point{more}", axis.at(measured), shape="circle"))
    interval = "" if math.isnan(low) else f" [{low:.2f}, {high:.2f}]"
    words = f"{row['verdict']}: {measured:.2f}{interval}"
    words += f", claimed {claimed:.2f}" if math.isfinite(claimed) else ""
    theorem = str(row["theorem"]).replace(".", " ", 1).replace("_", " ")
    own = _own(str(row["experiment"]), str(row["theorem"]))
    regime = f", {row['regime']}" if row.get("regime") else ""
    name = f"{theorem}{own}{regime}, in {row['factor']} ({row.get('algorithm', '')})"
    return Strip(name.replace(" ()", ""), words, tuple(marks), tone)


def _own(experiment: str, theorem: str) -> str:
    """What an experiment's name says beyond its theorem's, which tells apart the experiments of one theorem."""
    more = experiment.removeprefix(theorem.partition(".")[2]).strip("._")
    return f", {more.replace('_', ' ').replace('.', ' ')}" if more else ""
