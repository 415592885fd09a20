"""Yang et al. 2022: the AUC of NSEG and DP-SGDA with linear scores and perceptrons, Tables 2 and 5 and Figure 1.

Table 2 has delta = 1e-6, Table 5 three deltas. Figure 1 is a picture without printed numbers, and where its points lie
on the axes is not printed either.
"""

import csv
from dataclasses import replace
from importlib import resources
from typing import Any

from dpcheck.experiments import auc_runs
from dpcheck.experiments.auc_runs import candidates, chosen, runs_behind
from dpcheck.experiments.experiment import CERTIFIED, NONE, PUBLISHED, Cell, Curve, Experiment, settings_stated

EPSILONS = (0.1, 0.5, 1.0, 5.0, 10.0)
METHODS = (("linear", "nseg"), ("linear", "dp_sgda"), ("mlp", "dp_sgda"))
DATA = ("ijcnn1", "mnist", "fashion_mnist")


def _printed(table: str) -> dict[float, dict[float, tuple[float, ...]]]:
    """Return Table 2 or 5 by delta and epsilon; its columns are the methods of one data set after the other."""
    lines: dict[float, dict[float, tuple[float, ...]]] = {}
    text = resources.files("dpcheck.bounds.yang2022").joinpath("tables.csv").read_text("utf-8")
    for number, delta, epsilon, *auc in csv.reader(text.splitlines()[1:]):
        if number == table:
            lines.setdefault(float(delta), {})[float(epsilon)] = tuple(map(float, auc))
    return lines


PRINTED_TABLE_2, PRINTED_TABLE_5 = _printed("2")[1e-6], _printed("5")  # Table 2 has "Original" too, epsilon = infinity
TRAINING = {"ijcnn1": 39_992, "mnist": 60_000, "fashion_mnist": 60_000}
SHARE = {"ijcnn1": 0.1, "mnist": 0.5, "fashion_mnist": 0.5}
# Table 4: step (without privacy, private), epochs likewise, projection likewise
PRINTED_SETTINGS: dict[tuple[str, str, str], tuple[tuple[float, float], tuple[int, int], tuple[float, float]]] = {
    ("ijcnn1", "linear", "nseg"): ((300, 350), (1000, 15), (100, 100)),
    ("ijcnn1", "linear", "dp_sgda"): ((300, 350), (100, 15), (10, 10)),
    ("ijcnn1", "mlp", "dp_sgda"): ((3000, 500), (10, 10), (100, 100)),
    ("mnist", "linear", "nseg"): ((11, 5), (100, 15), (2, 2)),
    ("mnist", "linear", "dp_sgda"): ((11, 5), (100, 15), (2, 2)),
    ("mnist", "mlp", "dp_sgda"): ((900, 100), (10, 10), (2, 2)),
    ("fashion_mnist", "linear", "nseg"): ((11, 5), (100, 15), (3, 3)),
    ("fashion_mnist", "linear", "dp_sgda"): ((11, 5), (100, 15), (3, 3)),
    ("fashion_mnist", "mlp", "dp_sgda"): ((900, 100), (10, 10), (2, 2)),
}
# A pixel's standard deviation, by which the paper divides; rows here are divided by 10.
DEVIATION = {"mnist": 0.3081, "fashion_mnist": 0.3530}
ROWS = {"ijcnn1": 2.0, "mnist": 10.0, "fashion_mnist": 10.0}
PRINTED_ROWS = 2.5  # of ijcnn1 with features in [0, 1]
SECONDS = {"ijcnn1": {"linear": 0.5, "mlp": 2.0}, "mnist": {"linear": 3.0, "mlp": 30.0}}
MLP_RADIUS = 100.0  # where the printed projection of 2 does not transfer, see below


def stretch(data: str) -> float:
    """Return what a row of the paper is over a row here: of digits deviations of a pixel, of ijcnn1 taken as 1."""
    return ROWS[data] / DEVIATION[data] if data in DEVIATION else 1.0


def step(data: str, model: str, algorithm: str, *, private: bool) -> float | None:
    """Return the printed step in the units of the runs, None where it does not transfer.

    The paper's weights 1/n+, 1/n-, 1/n are those of the population over n p (1 - p). A linear score is the same where
    theta is stretched as the rows are shrunk, and then theta's step is stretched twice. The layers of a perceptron on
    shrunk rows have no one step that is theirs on the paper's.
    """
    if model == "mlp" and data in DEVIATION:
        return None
    printed, p = PRINTED_SETTINGS[data, model, algorithm][0][private], SHARE[data]
    return printed / (TRAINING[data] * p * (1 - p)) * stretch(data) ** 2


def plan(
    data: str, model: str, algorithm: str, epsilon: float, delta: float, *, candidate: dict[str, Any] | None = None,
    **changed: Any,
) -> dict[str, Any]:  # fmt: skip
    """Return the plan of a cell; ``candidate`` is what is tried in place of the chosen settings."""
    private = epsilon != float("inf")
    _, epochs, projection = PRINTED_SETTINGS[data, model, algorithm]
    eta = step(data, model, algorithm, private=private)
    radius = MLP_RADIUS if eta is None else projection[private] * (1.0 if model == "mlp" else stretch(data))
    made: dict[str, Any] = {
        "data": data, "rows": ROWS[data], "model": model, "radius": radius, "share": SHARE[data],
        "algorithm": algorithm, "epsilon": epsilon if private else None, "delta": delta, "epochs": epochs[private],
        "batch": 64, "settings": {}, "published": {} if eta is None else {"eta": eta},
    }  # fmt: skip
    made |= {"classes": "halves"} if data in DEVIATION else {"printed_rows": PRINTED_ROWS}
    if model == "mlp":
        made |= {"hidden": [256]} | ({"dtype": "float32"} if data in DEVIATION else {})
        made["settings"] |= {"output": "last"}
    made |= changed
    if eta is not None and model == "linear":
        made["settings"] |= {"eta": eta}
    made["settings"] |= chosen(made) if candidate is None else candidate
    if eta is None:
        printed = chosen(made, PUBLISHED) if candidate is None else {}
        made["published"] = {"eta": printed.get("eta") or made["settings"].get("eta", 0.1)}
    return made


def _cells_of_table_2() -> tuple[Cell, ...]:
    cells = []
    for number, data in enumerate(DATA):
        for column, (model, algorithm) in enumerate(METHODS):
            for epsilon, printed in PRINTED_TABLE_2.items():
                noises = (NONE,) if epsilon == float("inf") else (PUBLISHED, CERTIFIED)
                seconds = SECONDS["ijcnn1" if data == "ijcnn1" else "mnist"][model]
                published = {"AUC": printed[3 * number + column]}
                made = plan(data, model, algorithm, epsilon, 1e-6)
                cells.append(Cell(
                    {"data": data, "model": model, "algorithm": algorithm, "epsilon": epsilon}, made, published, noises,
                    seconds, tuning=_tuning(made, noises),
                ))  # fmt: skip
    return (*cells, *(_nispp(epsilon) for epsilon in EPSILONS))


def _tuning(made: dict[str, Any], noises: tuple[str, ...]) -> dict[str, int]:
    """Return the runs that the chosen settings rest on, by noise."""
    chosen_for = [noise for noise in noises if candidates(made["data"], made["model"], noise)]
    return {noise: runs_behind(made, noise) for noise in chosen_for}


def _nispp(epsilon: float) -> Cell:
    """Return a cell of the double-loop baseline, which the paper's table leaves out, on DP-SGDA's domain."""
    made: dict[str, Any] = {
        "data": "ijcnn1", "rows": ROWS["ijcnn1"], "model": "linear", "radius": 10.0, "share": SHARE["ijcnn1"],
        "printed_rows": PRINTED_ROWS, "algorithm": "nispp", "epsilon": epsilon, "delta": 1e-6, "settings": {},
        "published": {},
    }  # fmt: skip
    keys: dict[str, str | float] = {"data": "ijcnn1", "model": "linear", "algorithm": "nispp", "epsilon": epsilon}
    return Cell(keys, made, noises=(CERTIFIED,), seconds=1.0)


NOISE = (
    "the largest norms of minibatch gradients in a run without noise stand in place of the Lipschitz constants, the "
    "accountant gives the noise for them, and nothing is clipped (Section 4.1); its certificate rests on the constants "
    "that hold on the whole domain"
)

TABLE_2 = Experiment(
    id="yang2022.table_2",
    title="AUC of NSEG and DP-SGDA, linear and perceptron, on three data sets",
    place="Yang et al. 2022, Table 2",
    metrics=("AUC",),
    cells=_cells_of_table_2(),
    settings=settings_stated("yang2022.table_2"),
    noise=NOISE,
    claimed="epsilon",
    measure=auc_runs.measure,
    runs=5,
    spread=0.1,  # "around [0, 0.1%]", Section 4.2
    data=DATA,
)


EXPENSIVE = "left out by default, since Table 2 has the same cells at delta = 1e-6 and delta moves them little"


def _cells_of_table_5() -> tuple[Cell, ...]:
    cells = []
    for number, data in enumerate(DATA):
        for column, (model, algorithm) in enumerate(METHODS):
            for delta, lines in PRINTED_TABLE_5.items():
                for epsilon, printed in lines.items():
                    keys: dict[str, str | float] = {
                        "data": data, "model": model, "algorithm": algorithm, "delta": delta, "epsilon": epsilon,
                    }  # fmt: skip
                    seconds = SECONDS["ijcnn1" if data == "ijcnn1" else "mnist"][model]
                    made = plan(data, model, algorithm, epsilon, delta)
                    published = {"AUC": printed[3 * number + column]}
                    not_run = "" if data == "ijcnn1" else EXPENSIVE
                    tuning = _tuning(made, (PUBLISHED, CERTIFIED))
                    cells.append(Cell(keys, made, published, seconds=seconds, not_run=not_run, tuning=tuning))
    return tuple(cells)


TABLE_5: Experiment = replace(
    TABLE_2,
    id="yang2022.table_5",
    title="the AUC of Table 2 at delta = 1e-4, 1e-5 and 1e-6",
    place="Yang et al. 2022, Table 5",
    cells=_cells_of_table_5(),
)

HIDDEN = (16, 64, 256, 1024)
BATCHES = (16, 64, 256, 1024)


def _cell_of_figure_1(panel: str, model: str, algorithm: str, epsilon: float, hidden: int, batch: int) -> Cell:
    keys: dict[str, str | float] = {
        "panel": panel, "model": model, "algorithm": algorithm, "epsilon": epsilon, "hidden units": float(hidden),
        "batch": float(batch),
    }  # fmt: skip
    changed: dict[str, Any] = {"hidden": [hidden]} if model == "mlp" else {}
    if panel == "b":
        changed["without"] = {"eta": step("ijcnn1", model, algorithm, private=False)}
    made = plan("ijcnn1", model, algorithm, epsilon, 1e-6, batch=batch, **changed)
    noises = (PUBLISHED, CERTIFIED) if panel == "a" else (NONE, CERTIFIED) if panel == "b" else (CERTIFIED,)
    seconds = {"linear": 0.5, "mlp": 2.0}[model] * max(hidden, 256) / 256
    return Cell(keys, made, noises=noises, seconds=seconds, tuning=_tuning(made, noises))


_CELLS_OF_FIGURE_1 = (
    *(_cell_of_figure_1("a", "linear", name, epsilon, 0, 64) for name in ("nseg", "dp_sgda") for epsilon in EPSILONS),
    *(_cell_of_figure_1("b", "mlp", "dp_sgda", 1.0, hidden, 64) for hidden in HIDDEN),
    *(_cell_of_figure_1("c", "linear", "dp_sgda", 1.0, 0, batch) for batch in BATCHES),
    *(_cell_of_figure_1("c", "mlp", "dp_sgda", 1.0, 256, batch) for batch in BATCHES),
)  # fmt: skip

FIGURE_1: Experiment = replace(
    TABLE_2,
    id="yang2022.figure_1",
    title="noise of NSEG and DP-SGDA; AUC over hidden units and over minibatches, on ijcnn1",
    place="Yang et al. 2022, Figure 1",
    metrics=("AUC", "sigma"),
    cells=_CELLS_OF_FIGURE_1,
    settings=(*TABLE_2.settings, *settings_stated("yang2022.figure_1")),
    panels=(
        Curve("sigma", "(a) sigma", along="epsilon", only={"panel": "a", "hidden units": 0.0, "batch": 64.0}, log=True),
        Curve("AUC", "(b) AUC, perceptron", along="hidden units", only={"panel": "b", "epsilon": 1.0, "batch": 64.0}),
        Curve("AUC", "(c) AUC", along="batch", only={"panel": "c", "epsilon": 1.0}),
    ),
    missing=(("MNIST and Fashion-MNIST", "panels b and c would take about 3 h of one core each"),),
    data=("ijcnn1",),
)
