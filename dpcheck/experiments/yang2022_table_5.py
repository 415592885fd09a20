"""Yang et al. 2022, Table 5: Table 2 at three values of delta; its rows at delta = 1e-6 are those of Table 2."""

from __future__ import annotations

from dataclasses import replace

from dpcheck.experiments import yang2022_table_2 as table_2
from dpcheck.experiments.experiment import Cell, Experiment, Value

PRINTED = {  # Table 5 by delta and epsilon, columns as in Table 2
    1e-4: {
        0.1: (90.231, 91.229, 94.020, 91.285, 91.962, 98.300, 95.490, 95.637, 96.312),
        0.5: (90.352, 91.366, 96.108, 91.328, 92.067, 98.703, 95.533, 95.829, 97.098),
        1.0: (90.358, 91.376, 96.316, 91.331, 92.073, 98.722, 95.536, 95.840, 97.143),
        5.0: (90.363, 91.385, 96.326, 91.334, 92.079, 98.746, 95.539, 95.849, 97.208),
        10.0: (90.363, 91.387, 96.329, 91.335, 92.080, 98.750, 95.539, 95.850, 97.219),
    },
    1e-5: {
        0.1: (90.168, 91.169, 93.274, 91.266, 91.910, 98.092, 95.468, 95.535, 95.989),
        0.5: (90.349, 91.362, 96.029, 91.326, 92.063, 98.675, 95.531, 95.823, 97.031),
        1.0: (90.357, 91.373, 96.209, 91.330, 92.071, 98.714, 95.535, 95.837, 97.122),
        5.0: (90.363, 91.384, 96.300, 91.334, 92.079, 98.743, 95.538, 95.848, 97.200),
        10.0: (90.363, 91.386, 96.301, 91.334, 92.080, 98.747, 95.539, 95.850, 97.213),
    },
    1e-6: {epsilon: row for epsilon, row in table_2.PRINTED.items() if epsilon != float("inf")},
}
DEAR = "left out by default, since Table 2 has the same cells at delta = 1e-6 and delta moves them little"


def _cells() -> tuple[Cell, ...]:
    found = []
    for number, data in enumerate(table_2.DATA):
        for column, (model, algorithm) in enumerate(table_2.METHODS):
            for delta, lines in PRINTED.items():
                for epsilon, printed in lines.items():
                    keys: dict[str, Value] = {
                        "data": data,
                        "model": model,
                        "algorithm": algorithm,
                        "delta": delta,
                        "epsilon": epsilon,
                    }
                    seconds = table_2.SECONDS["ijcnn1" if data == "ijcnn1" else "mnist"][model]
                    plan = table_2.plan(data, model, algorithm, epsilon, delta)
                    published = {"AUC": printed[3 * number + column]}
                    dear = "" if data == "ijcnn1" else DEAR
                    found.append(Cell(keys, plan, published, seconds=seconds, not_run=dear))
    return tuple(found)


EXPERIMENT: Experiment = replace(
    table_2.EXPERIMENT,
    id="yang2022.table_5",
    title="the AUC of Table 2 at delta = 1e-4, 1e-5 and 1e-6",
    place="Yang et al. 2022, Table 5",
    cells=_cells(),
)
