"""Why measured and published differ, where they do by more than two standard errors: sentences from evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpcheck.experiments.experiment import Cell, Experiment
    from dpcheck.experiments.table import Measured

UNKNOWN = "unknown"


def cause(
    experiment: Experiment, cell: Cell, metric: str, published: Measured | None, certified: Measured | None
) -> str:
    """Return the sentence for a difference; it says that the cause is unknown where no evidence names one."""
    return UNKNOWN
