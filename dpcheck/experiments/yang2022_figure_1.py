"""Yang et al. 2022, Figure 1: the noise of NSEG and DP-SGDA, and AUC over hidden units and over minibatches.

The figure is a picture without printed numbers, and where its points lie on the axes is not printed either.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dpcheck.experiments import yang2022_table_2 as table_2
from dpcheck.experiments.experiment import CERTIFIED, NONE, PUBLISHED, Cell, Curve, Experiment, Missing, Setting, Value

HIDDEN = (16, 64, 256, 1024)
BATCHES = (16, 64, 256, 1024)
DATA = "ijcnn1"


def _cell(panel: str, model: str, algorithm: str, epsilon: float, hidden: int, batch: int) -> Cell:
    keys: dict[str, Value] = {
        "panel": panel, "model": model, "algorithm": algorithm, "epsilon": epsilon, "hidden units": float(hidden),
        "batch": float(batch),
    }  # fmt: skip
    changed: dict[str, Any] = {"hidden": [hidden]} if model == "mlp" else {}
    if panel == "b":
        changed["without"] = {"eta": table_2.step(DATA, model, algorithm, private=False)}
    plan = table_2.plan(DATA, model, algorithm, epsilon, 1e-6, batch=batch, **changed)
    noises = (PUBLISHED, CERTIFIED) if panel == "a" else (NONE, CERTIFIED) if panel == "b" else (CERTIFIED,)
    seconds = {"linear": 0.5, "mlp": 2.0}[model] * max(hidden, 256) / 256
    return Cell(keys, plan, noises=noises, seconds=seconds)


CELLS = (
    *(_cell("a", "linear", name, epsilon, 0, 64) for name in ("nseg", "dp_sgda") for epsilon in table_2.EPSILONS),
    *(_cell("b", "mlp", "dp_sgda", 1.0, hidden, 64) for hidden in HIDDEN),
    *(_cell("c", "linear", "dp_sgda", 1.0, 0, batch) for batch in BATCHES),
    *(_cell("c", "mlp", "dp_sgda", 1.0, 256, batch) for batch in BATCHES),
)  # fmt: skip

EXPERIMENT: Experiment = replace(
    table_2.EXPERIMENT,
    id="yang2022.figure_1",
    title="noise of NSEG and DP-SGDA; AUC over hidden units and over minibatches, on ijcnn1",
    place="Yang et al. 2022, Figure 1",
    metrics=("AUC", "sigma"),
    cells=CELLS,
    settings=(
        *table_2.SETTINGS,
        Setting("hidden units and minibatches", "16, 64, 256, 1024", "chosen: the axes are in the picture alone"),
    ),
    panels=(
        Curve("sigma", "(a) sigma", along="epsilon", only={"panel": "a", "hidden units": 0.0, "batch": 64.0}, log=True),
        Curve("AUC", "(b) AUC, perceptron", along="hidden units", only={"panel": "b", "epsilon": 1.0, "batch": 64.0}),
        Curve("AUC", "(c) AUC", along="batch", only={"panel": "c", "epsilon": 1.0}),
    ),
    missing=(Missing("MNIST and Fashion-MNIST", "panels b and c would take about 3 h of one core each"),),
    data=(DATA,),
)
