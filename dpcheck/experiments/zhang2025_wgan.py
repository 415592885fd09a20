"""Zhang et al. 2025, Figure 6: a Wasserstein generative network on MNIST, with a stated share of its iterations."""

from __future__ import annotations

from typing import Any

from dpcheck.experiments import wgan_runs
from dpcheck.experiments.experiment import CERTIFIED, PUBLISHED, Cell, Experiment, Missing, Setting

N, ITERATIONS, FULL, BATCH = 60_000, 20, 11_750, 256
SECONDS = {"dp_sgda": 13.0, "privatediff": 460.0}  # of one shortened run, beside other work
SETTINGS: dict[str, dict[str, Any]] = {
    "dp_sgda": {"steps": ITERATIONS, "batch": BATCH, "eta_w": 0.02, "eta_v": 0.02, "clip_w": 0.3, "clip_v": 0.3,
                "output": "last"},
    "privatediff": {"rounds": ITERATIONS, "batch": BATCH, "restart": 2, "inner": 1, "eta_x": 0.02, "eta_y": 0.02,
                    "C0": 0.3, "C1": 0.3, "C2": 0.3, "C3": 0.3},
}  # fmt: skip
ALGORITHMS = {"dp_sgda": "dp_sgda_clipped", "privatediff": "privatediff"}
LEFT_OUT = {"dp_sgda": "", "privatediff": "left out unless `--only privatediff` asks for it"}
NOISES = {"dp_sgda": (PUBLISHED, CERTIFIED), "privatediff": (CERTIFIED,)}
UNSOUND = Missing(
    "PrivateDiff with noise as published", "its Lemma 9 needs a loss strongly concave in the dual variable"
)


def plan(algorithm: str, epsilon: float) -> dict[str, Any]:
    """Return the plan of a cell."""
    return {
        "n": N, "algorithm": ALGORITHMS[algorithm], "epsilon": epsilon, "delta": N**-1.1,
        "settings": SETTINGS[algorithm],
    }  # fmt: skip


EXPERIMENT = Experiment(
    id="zhang2025.wgan",
    title="a Wasserstein generative network with DP-SGDA and PrivateDiff, 20 of 11,750 iterations",
    place="Zhang et al. 2025, Figure 6",
    metrics=("Wasserstein estimate",),
    cells=tuple(
        Cell({"algorithm": algorithm, "epsilon": epsilon}, plan(algorithm, epsilon), noises=NOISES[algorithm],
             seconds=SECONDS[algorithm], not_run=LEFT_OUT[algorithm])
        for algorithm in SETTINGS for epsilon in (8.0, 16.0, 32.0)
    ),
    settings=(
        Setting("C1, C2, T, T2, minibatch", "0.3, 0.3, 2, 1, 256", "printed, Table 4 of the appendix"),
        Setting("iterations", "20 of the printed 11,750",
                "shortened, which shows nothing of the figure; noise is certified for the 20"),
        Setting("steps, latent dimensions, penalty", "0.02, 100, 1e-3", "not printed"),
    ),
    noise="the formulas of Algorithms 1 and 3 with clipping",
    claimed="epsilon",
    measure=wgan_runs.measure,
    runs=0,
    missing=(
        UNSOUND,
        Missing("all 11,750 iterations", "about 2 h of one core a run of DP-SGDA, 0.65 s an iteration"),
    ),
    data=("mnist",),
)  # fmt: skip
