"""Delta-Siege's trial: classifiers, a threshold, a check that chooses the attack, and its final confident estimate."""

import os
import sys
import tempfile
from pathlib import Path
from unittest.mock import MagicMock

import numpy as np

sys.path.insert(0, os.path.join(os.environ["DPCHECK_LEAGUE"], "src", "Delta-Siege"))
for _module in (  # mechanisms and rival attacks of its own experiments, whose old libraries are not needed here
    "aim", "cdp2adp", "diffprivlib.mechanisms", "dpopt.optimizer.optimizer_generator", "dpopt.optimizer.optimizers",
    "dpopt.probability.estimators", "mbi", "mst", "opendp.combinators", "opendp.measurements", "opendp.mod",
    "pydp.algorithms.numerical_mechanisms",
):  # fmt: skip
    for _end in [place for place, letter in enumerate(_module) if letter == "."] + [len(_module)]:
        sys.modules.setdefault(_module[:_end], MagicMock())

from deltasiege.attack import LinesearchEstimator, WitnessOptimization
from deltasiege.classifiers import SklearnClassifier
from deltasiege.logging import Logger
from deltasiege.main import Trial
from deltasiege.mechanism import Mechanism
from deltasiege.utils import Config
from sklearn.linear_model import LogisticRegression

ENTRANT = {
    "name": "Delta-Siege",
    "where": "https://github.com/eth-sri/Delta-Siege (the snapshot of 2026-11-28)",
    "requires": ["torch", "scikit-learn", "optuna", "tqdm", "matplotlib"],
    "copy": "src/Delta-Siege",
    "uses_claim": True,
    "seeds": 4,
    "most_runs": 100_000,
    "words": "Trial with WitnessOptimization at the case's delta alone, where a larger epsilon is what it optimizes; "
    "its curve of equivalent pairs is for a known family of noise, which is not given here. Its classifier is a "
    "logistic regression of the numbers: that of its script reads their bits, and came to 1.19 where the Laplace case "
    "has 0.5 in exact numbers. It may see what floating-point noise leaks, which the truths here leave out and which "
    "was not tested apart; 30 % of the runs to learn, 10 % for the threshold, 10 % for the check of both orders, and "
    "50 % for the estimate",
}


class Replay(Mechanism):
    """Hands out runs of side 0 and 1, each once; what it promises is an epsilon at one delta."""

    def _init_helper(self, sides, epsilon, delta):
        self.sides, self.at = sides, [0, 0]
        super()._init_helper(epsilon, delta)

    def __call__(self, side, n):
        """Return the next runs."""
        start = self.at[side]
        self.at[side] += n
        assert self.at[side] <= len(self.sides[side])
        return self.sides[side][start : start + n]

    def guarantee_(self, epsilon, delta):
        """Return what falls with epsilon, as its Laplace mechanism does."""
        return 1 / epsilon if epsilon > 0 else float("inf")

    def perturb_delta(self, new_delta):
        """Return the claim, which is one point."""
        return self.epsilon if new_delta == self.delta else None


def bound(data, neighbour, epsilon, delta, confidence):
    """Return the epsilon of the final estimate."""
    runs = len(data)
    config = Config(
        n_train=3 * runs // 10, n_init=runs // 10, n_check=runs // 10, n_final=runs // 2, batch_size=runs // 10,
        confidence=confidence, n_jobs=1, n_experiments=1,
    )  # fmt: skip
    sides = [np.ascontiguousarray(outputs, float) for outputs in (data, neighbour)]
    plain = SklearnClassifier.get_factory(classifier=LogisticRegression())
    with tempfile.TemporaryDirectory() as folder:
        logger = Logger(Logger.State.DOWN)
        mechanism = Replay(sides, epsilon, delta, base_folder=Path(folder, "runs"), logger=logger)
        trial = Trial(
            config=config, input_pair=(0, 1), mechanism=mechanism, classifier_factories=plain,
            witnesses_factories=WitnessOptimization.get_factory(
                estimator=LinesearchEstimator(delta_steps=np.array([delta]))
            ),
            classifier_folder=Path(folder, "classifiers"), base_folder=Path(folder, "trial"), logger=logger,
        )  # fmt: skip
        trial.run()
        share = trial.witnesses[trial.best_witness_idx].estimate_c
    return epsilon / share if share > 0 else float("inf")
