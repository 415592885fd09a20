"""What a check has decided so far, in lines for whoever waits: alarms and epsilons one by one, the rest in counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from dpcheck.report.epsilons import in_words
from dpcheck.report.results import BROKEN, Finding
from dpcheck.report.verdicts import sign, standing, surprise


class Decided:
    """Say each finding of note when it is decided, and how many others there are when its stage is over.

    Parameters
    ----------
    tell : callable
        Shows a line.
    width : int
        Columns that a line has.
    """

    def __init__(self, tell: Callable[[str], object], width: int) -> None:
        self._tell, self._width = tell, width
        self._stage, self._others = "", Counter[str]()

    def stage(self, title: str) -> None:
        """Begin a stage, or go on with it; what was counted of another one is said first."""
        if title != self._stage and self._others:
            counts = ", ".join(f"{count} {verdict}" for verdict, count in self._others.most_common())
            self._say(f"{self._stage}: {counts}")
            self._others.clear()
        self._stage = title

    def finding(self, found: Finding) -> None:
        """Say what is about an epsilon, broken or unexpected; count the rest, and refuted claims that are expected."""
        broken = found.verdict in BROKEN and found.kind != "claim"
        if found.ok and not broken and found.certified is None and found.kind != "privacy":
            self._others[found.verdict] += 1
            return
        word = "" if found.ok and standing(found.verdict) == "good" else f" {found.verdict}"
        unexpected = f", {surprise(found)}" * bool(surprise(found))
        words = in_words(found) if found.kind == "privacy" else ""  # the reason of a certificate says its epsilon
        shown = "; ".join(filter(None, (words, found.reason)))
        self._say(f"{sign(found.verdict)}{word}{unexpected} {found.id}: {shown}")

    def _say(self, text: str) -> None:
        line = " ".join(text.split())
        self._tell(line if len(line) <= self._width else f"{line[: self._width - 4]} ...")
