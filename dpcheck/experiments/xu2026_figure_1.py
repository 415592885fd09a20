"""Xu et al. 2026, Figure 1: the paths of the four methods of Table 2, which are the same runs."""

from __future__ import annotations

from dataclasses import replace

from dpcheck.experiments import sensing_runs, xu2026_table_2
from dpcheck.experiments.experiment import Curve, Experiment, Missing

EXPERIMENT: Experiment = replace(
    xu2026_table_2.EXPERIMENT,
    id="xu2026.figure_1",
    title="objective, gradient and curvature along the runs of Table 2",
    place="Xu et al. 2026, Figure 1",
    cells=tuple(replace(cell, published={}) for cell in xu2026_table_2.CELLS),
    panels=tuple(Curve(metric, metric, log=metric != "lambda_min") for metric in sensing_runs.METRICS),
    missing=(
        Missing("DP-SGDA", "the caption names it as the single-loop baseline, and no curve or setting of it is given"),
    ),
)
