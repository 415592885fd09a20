"""The papers' tables and figures, a file a paper: data, model, settings with their source, and the printed numbers."""

import importlib

from dpcheck.errors import require_known
from dpcheck.experiments.experiment import Experiment

NAMES = (
    "yang2022.table_2", "yang2022.table_5", "yang2022.figure_1", "zhang2025.table_1", "zhang2025.td",
    "zhang2025.wgan", "xu2026.table_2", "xu2026.figure_1",
)  # fmt: skip


def find(name: str) -> Experiment:
    """Return the experiment of this name, one of :data:`NAMES`; InputError for another."""
    require_known(name, NAMES, "experiment")
    paper, _, place = name.partition(".")
    experiment: Experiment = getattr(importlib.import_module(f"dpcheck.experiments.{paper}"), place.upper())
    return experiment
