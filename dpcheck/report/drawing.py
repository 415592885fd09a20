"""The numbers of a report that can be drawn: rows of tables, and the variants of an algorithm with their epsilons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcheck import style

if TYPE_CHECKING:
    from dpcheck.report.results import Finding


Row = Mapping[str, Any]
# What a finding about privacy audits, by the end of its id; "" where that does not say.
RELEASED = ("transcript", "iterates", "output", "")
RATES = "Measured rates"  # the table of a report whose rows are exponents
# Columns that say how a number came about, not what was measured.
_NOT_SETTINGS = frozenset(
    {"measured", "error", "predicted", "bound", "measured/bound", "rate", "runs", "seed", "seconds"}
)


def number_in(row: Row, name: str) -> float:
    """Return a number of a table's row, NaN where there is none; infinities may be the words that JSON has for them."""
    try:
        return float(row[name])
    except (KeyError, TypeError, ValueError):
        return float("nan")


def has_bound(row: Row) -> bool:
    """Whether a row holds a finite measured with a finite bound > 0."""
    measured, bound = number_in(row, "measured"), number_in(row, "bound")
    return bool(np.isfinite(measured) and 0 < bound < np.inf)


def along_of(rows: Sequence[Row]) -> str | None:
    """Return what a table's figure goes along: ``n`` or the first factor that varies and is positive in each row."""
    names: list[str] = ["n", *(rows[0] if rows else ())]
    for name in names:
        positive = name not in _NOT_SETTINGS and all(0 < number_in(row, name) < np.inf for row in rows)
        if rows and positive and _count(rows, name) > 1:
            return name
    return None


def _settings_of(rows: Sequence[Row], along: str) -> list[str]:
    """The columns that tell the lines apart: words, and numbers that differ at one place along."""
    settings: list[str] = []
    for name in rows[0]:
        if name == along or name in _NOT_SETTINGS:
            continue
        words = any(isinstance(row.get(name), str) for row in rows)
        differ = _count(rows, name) > 1 and (words or _count(rows, along, name) > _count(rows, along))
        if differ and _count(rows, *settings, name) > _count(rows, *settings):  # else an earlier column says the same
            settings.append(name)
    return settings


def _count(rows: Sequence[Row], *names: str) -> int:
    """Count the settings of these columns."""
    return len({tuple(row.get(name) for name in names) for row in rows})


def grouped(rows: Sequence[Row], along: str) -> dict[str, list[Row]]:
    """Group rows by the setting of the columns but ``along``, each group under its setting in words."""
    names = _settings_of(rows, along)
    groups: dict[str, list[Row]] = {}
    for row in rows:
        words = ", ".join(
            f"{name} = {style.plain(float(value))}" if isinstance(value, int | float | np.number) else str(value)
            for name, value in ((name, row.get(name)) for name in names)
        )
        groups.setdefault(words, []).append(row)
    return groups


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

    @classmethod
    def of(cls, findings: Iterable[Finding]) -> list[Variant]:
        """Collect findings about privacy with a claimed epsilon, those of one certificate together."""
        variants: dict[tuple[str, float | None, float], Variant] = {}
        for f in findings:
            if f.kind != "privacy" or f.claimed is None or np.isnan(f.claimed):
                continue
            name, _, what = f.id.rpartition(".")
            if what not in RELEASED or not name:
                name, what = f.id, ""
            label = ", ".join([part if i == 0 else part.replace("_", " ") for i, part in enumerate(name.split("."))])
            certified = float("nan") if f.certified is None else float(f.certified)
            variant = variants.setdefault((name, f.certified, f.claimed), cls(label, {}, certified, float(f.claimed)))
            if f.audited is not None and not np.isnan(f.audited):
                variant.audits[what] = max(float(f.audited), variant.audits.get(what, 0.0))
        return list(variants.values())
