"""Audited, certified and claimed epsilon of all variants."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcheck import style
from dpcheck.errors import require
from dpcheck.report.drawing import below, rows_of, segment, stripe, title
from dpcheck.style import ALARM, CLAIMED, FAINT, MEASURED, PAGE, TEXT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpcheck.report.results import Finding

# What a finding about privacy audits, by the end of its id; "" where that does not say.
_RELEASED = {"transcript": "o", "iterates": "D", "output": "^", "": "s"}
_ABSURD = 1e9  # an epsilon that says as much as infinity
_FARTHEST = 100.0  # how many times above or below the claims epsilon is drawn


def sandwiches(findings: Iterable[Finding], *, width: float = PAGE) -> Figure:
    """Draw audited lower bound, certified and claimed epsilon, a row for each variant of an algorithm.

    Audits of a variant's transcript, iterates and output share its certificate and their row. What no
    claim allows is red: an audit above the claim or the certificate, and a certificate above the claim.

    Parameters
    ----------
    findings : iterable of Finding
        Those that are not about privacy, and those without a claimed epsilon, are passed over.
    width : float
        In inches.

    Raises
    ------
    InputError
        Where no finding is about privacy and has a claimed epsilon.
    """
    found = variants_of(findings)
    require(bool(found), "findings", "hold one about privacy with a claimed epsilon", "none")
    figure, axis, places = rows_of([each.label for each in found], width)
    positive = [each.claimed for each in found if 1 / _ABSURD < each.claimed < _ABSURD] or [1.0]
    least, most = min(positive) / _FARTHEST, max(positive) * _FARTHEST
    shown = [value for each in found for value in (*each.audits.values(), each.certified, each.claimed)]
    inside = [value for value in shown if least < value < most] or [1.0]
    ends = min(inside) / 1.3, max(inside) * 1.3
    axis.set_xscale("log")
    axis.set_xlim(*ends)
    for y, each in zip(places, found, strict=True):
        _variant(axis, y, each, ends)
    axis.set_xlabel("epsilon", fontsize=TEXT)
    style.plain_logs(axis.xaxis)
    axis.grid(axis="x", color=FAINT, alpha=0.25, linewidth=0.6)
    below(figure, axis, width)
    title(figure, _counted(found), width)
    return figure


@dataclass(frozen=True)
class Variant:
    """A variant's row: its label, the audits by what was released, and ``certified``, NaN where there is none."""

    label: str
    audits: dict[str, float]
    certified: float
    claimed: float

    @property
    def audited(self) -> float:
        """The largest of the audited bounds, NaN where there is none."""
        return max(self.audits.values(), default=float("nan"))


def variants_of(findings: Iterable[Finding]) -> list[Variant]:
    """Return what can be drawn: findings about privacy with a claimed epsilon, those of one certificate together."""
    found: dict[tuple[str, float | None, float], Variant] = {}
    for f in findings:
        if f.kind != "privacy" or f.claimed is None or np.isnan(f.claimed):
            continue
        name, _, what = f.id.rpartition(".")
        if what not in _RELEASED or not name:
            name, what = f.id, ""
        label = ", ".join([part if i == 0 else part.replace("_", " ") for i, part in enumerate(name.split("."))])
        certified = float("nan") if f.certified is None else float(f.certified)
        each = found.setdefault((name, f.certified, f.claimed), Variant(label, {}, certified, float(f.claimed)))
        if f.audited is not None and not np.isnan(f.audited):
            each.audits[what] = max(float(f.audited), each.audits.get(what, 0.0))
    return list(found.values())


def _variant(axis: Any, y: float, each: Variant, ends: tuple[float, float]) -> None:
    broken = each.audited > each.claimed
    if broken:
        stripe(axis, y)
    segment(axis, y, each.audited, min(each.certified, each.claimed), ends, MEASURED)
    if each.certified > each.claimed:
        start = max(each.claimed, np.nan_to_num(each.audited))
        segment(axis, y, start, each.certified, ends, ALARM, "certified above the claim")
    axis.vlines(np.clip(each.claimed, *ends), y - 0.5, y + 0.5, color=CLAIMED, linewidth=1.6, label="claimed")
    certified = np.clip(each.certified, *ends)
    axis.plot(certified, y, "|", color=MEASURED, markersize=7, markeredgewidth=1.6, label="certified")
    for what, value in each.audits.items():
        above = value > min(each.claimed, np.nan_to_num(each.certified, nan=np.inf))
        label = "audited above claim or certificate" if above else f"audited, {what}".removesuffix(", ")
        mark = "<" if value < ends[0] else ">" if value > ends[1] else _RELEASED[what]
        at, color = np.clip(value, *ends), ALARM if above else MEASURED
        axis.plot(at, y, mark, color=color, markersize=4, label=label, clip_on=mark in _RELEASED.values())


def _counted(found: list[Variant]) -> str:
    violated = sum(each.audited > each.claimed for each in found)
    short = sum(each.certified > each.claimed for each in found)
    leaks = sum(each.claimed >= each.audited > each.certified for each in found)
    said = (
        (violated, "audited above the claim"), (leaks, "audited above the certificate"),
        (short, "certified above the claim"),
    )  # fmt: skip
    words = ", ".join(f"{count} {words}" for count, words in said if count)
    return f"{len(found)} variants: {words or 'none audited or certified above the claim'}"
