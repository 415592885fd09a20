"""Zhang et al. 2025, Figures 7 and 8: temporal-difference learning on CartPole and Acrobot, one hidden layer of 50."""

from __future__ import annotations

from typing import Any

from dpcheck.experiments import td_runs
from dpcheck.experiments.experiment import CERTIFIED, PUBLISHED, Cell, Experiment, Missing, Setting

N, EPOCHS, BATCH = 2000, 100, 200
ENVIRONMENTS = {"CartPole-v1": 4.0, "Acrobot-v1": 8.0}  # the public radius that states are divided by
STEPS = EPOCHS * N // BATCH
SETTINGS: dict[str, dict[str, Any]] = {
    "dp_sgda": {"steps": STEPS, "batch": BATCH, "eta_w": 0.05, "eta_v": 0.05, "clip_w": 3.0, "clip_v": 3.0,
                "output": "last"},
    "privatediff": {"rounds": STEPS, "batch": BATCH, "restart": 2, "inner": 3, "eta_x": 0.05, "eta_y": 0.05, "C0": 3.0,
                    "C1": 3.0, "C2": 3.0, "C3": 3.0},
}  # fmt: skip
ALGORITHMS = {"dp_sgda": "dp_sgda_clipped", "privatediff": "privatediff"}
SECONDS = {"dp_sgda": 3.0, "privatediff": 12.0}  # of a run on one core, from runs of 20 steps
NOISES = {"dp_sgda": (PUBLISHED, CERTIFIED), "privatediff": (CERTIFIED,)}
UNSOUND = Missing(
    "PrivateDiff with noise as published", "its Lemma 9 needs a loss strongly concave in the dual variable"
)


def plan(environment: str, algorithm: str, epsilon: float) -> dict[str, Any]:
    """Return the plan of a cell."""
    return {
        "environment": environment, "n": N, "scale": ENVIRONMENTS[environment], "radius": 10.0, "epsilon": epsilon,
        "algorithm": ALGORITHMS[algorithm], "delta": N**-1.1, "settings": SETTINGS[algorithm],
    }  # fmt: skip


EXPERIMENT = Experiment(
    id="zhang2025.td",
    title="loss of temporal-difference learning with DP-SGDA and PrivateDiff",
    place="Zhang et al. 2025, Figures 7 and 8",
    metrics=("loss",),
    cells=tuple(
        Cell({"environment": environment, "algorithm": algorithm, "epsilon": epsilon},
             plan(environment, algorithm, epsilon), noises=NOISES[algorithm], seconds=SECONDS[algorithm])
        for environment in ENVIRONMENTS for algorithm in SETTINGS for epsilon in (0.5, 1.0, 5.0, 10.0)
    ),
    settings=(
        Setting("C1, C2, T, T2, epochs, hidden units", "3, 3, 2, 3, 100, 50", "printed, Table 5 and 9.3.2"),
        Setting("transitions, minibatch, steps, policy", "2000, 200, 0.05, uniformly random", "not printed"),
        Setting("environments", "CartPole-v1 and Acrobot-v1 of gymnasium", "printed; an extra: dpcheck[reinforcement]"),
        Setting("states", "over 4 and over 8, longer ones cut to 1", "chosen: public constants"),
        Setting("epsilon", "0.5, 1, 5, 10", "those of Table 1; the figure's are in the picture alone"),
    ),
    noise="the formulas of Algorithms 1 and 3 with clipping",
    claimed="epsilon",
    measure=td_runs.measure,
    runs=0,
    missing=(
        UNSOUND,
        Missing("Atari Pong", "its emulator and game are not to be had from the package's registries alone"),
        Missing("DPTD", "its box of radius 1 and its noise belong to linear values; the figure has it for reference"),
    ),
    data=("gymnasium",),
)  # fmt: skip
