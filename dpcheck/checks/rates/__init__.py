"""Measured rates against promised ones, in files that are found by their names.

A module ``rate_...`` of a paper's folder in the catalogue, such as ``zhang2025/rate_theorem_6``, declares
``EXPERIMENTS``, a tuple of :class:`~dpcheck.checks.rates.experiment.Experiment`, or ``STAGES``, a mapping from
algorithms to functions ``(context, tables) -> findings`` for what is no regression over a grid; or both.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from types import ModuleType

from dpcheck.algorithms.registry import modules
from dpcheck.checks.context import Context, Stage
from dpcheck.checks.rates.experiment import Experiment
from dpcheck.checks.rates.judgement import Tables, findings


def stages(context: Context, name: str, tables: Tables) -> Iterator[Stage]:
    """The experiments on algorithm ``name``, each a title and a call that yields findings."""
    for experiment in experiments(name):
        yield f"rate of {experiment.name}", partial(findings, experiment, context, tables)
    for module in _modules():
        if name in getattr(module, "STAGES", {}):
            title = module.__name__.rpartition(".")[2].partition("_")[2].replace("_", " ")
            yield title, partial(module.STAGES[name], context, tables)


def experiments(name: str | None = None) -> tuple[Experiment, ...]:
    """All experiments, or those on one algorithm, in the order of their files."""
    found = (each for module in _modules() for each in getattr(module, "EXPERIMENTS", ()))
    return tuple(each for each in found if name in (None, each.algorithm))


@cache
def _modules() -> tuple[ModuleType, ...]:
    return tuple(modules("rate_"))
