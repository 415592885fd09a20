"""Delta-Siege's trial: its classifier, witnesses and line search, on successive parts of the runs."""

import os
import sys
import types

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

sys.path.insert(0, os.path.join(os.environ["DPCHECK_LEAGUE"], "src", "Delta-Siege"))


class _Absent(types.ModuleType):
    """A library whose mechanisms it ships with, none of which is audited here."""

    def __getattr__(self, name):
        """Return a class of that name, which takes any arguments."""
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__init__": lambda self, *given, **named: None})


for _name in (
    "diffprivlib", "diffprivlib.mechanisms", "opendp", "opendp.combinators", "opendp.measurements", "opendp.mod",
    "pydp", "pydp.algorithms", "pydp.algorithms.numerical_mechanisms", "mbi", "mst", "aim", "cdp2adp",
):  # fmt: skip
    sys.modules[_name] = _Absent(_name)
    if "." in _name:
        setattr(sys.modules[_name.rpartition(".")[0]], _name.rpartition(".")[2], sys.modules[_name])

from deltasiege.attack import LinesearchEstimator, Witness, WitnessOptimization
from deltasiege.classifiers import SklearnClassifier
from deltasiege.logging import Logger
from deltasiege.main.trial import Trial
from deltasiege.mechanism import Mechanism
from deltasiege.utils import Config

ENTRANT = {
    "name": "Delta-Siege",
    "where": "https://github.com/eth-sri/Delta-Siege (commit 358377f)",
    "requires": ["torch", "scikit-learn", "scipy", "optuna", "tqdm", "dill"],
    "copy": "src/Delta-Siege",
    "uses_claim": False,
    "pure": True,
    "seeds": 4,
    "words": "a Trial with logistic regression of standardised numbers and WitnessOptimization for both orders: 25 % "
    "of the runs to learn, 15 % to choose thresholds, 10 % to choose the order, 50 % for its lower bound; at delta 0, "
    "where its line search has one point",
}


class Replay(Mechanism):
    """Hands out runs in turn, and claims epsilon alone."""

    def _init_helper(self, epsilon, sides):
        self.sides, self.at = sides, [0, 0]
        super()._init_helper(epsilon, 0.0)

    def __call__(self, side, n):
        """Return the next runs."""
        start = self.at[side]
        self.at[side] += n
        assert self.at[side] <= len(self.sides[side])
        return self.sides[side][start : start + n]

    def guarantee_(self, epsilon, delta):
        """Return what falls with epsilon."""
        return 1 / epsilon if epsilon > 0 else float("inf")

    def perturb_delta(self, new_delta):
        """Return the epsilon that is claimed at delta."""
        return self.epsilon


def bound(data, neighbour, epsilon, delta, confidence):
    """Return the epsilon that its confident estimate stands for."""
    runs = len(data)
    config = Config(
        n_train=runs // 4, n_init=3 * runs // 40, n_check=runs // 20, n_final=runs // 2, batch_size=runs, n_jobs=1,
        confidence=confidence,
    )  # fmt: skip
    down = Logger(Logger.State.DOWN)
    trial = Trial(
        config=config, input_pair=(0, 1), mechanism=Replay(1.0, (data, neighbour)),
        classifier_factories=SklearnClassifier.get_factory(
            classifier=make_pipeline(StandardScaler(), LogisticRegression())
        ),
        witnesses_factories=WitnessOptimization.get_factory(estimator=LinesearchEstimator(delta_steps=np.zeros(1))),
        logger=down,
    )  # fmt: skip
    trial._init_classifiers()
    trial._init_witnesess()
    trial._run_estimation(Witness.State.Check)
    best = trial.witnesses[min(range(len(trial.witnesses)), key=lambda place: trial.witnesses[place])]
    best.state = Witness.State.Final
    best.compute_estimate()
    return 1 / float(best.estimate_c) if np.isfinite(best.estimate_c) and best.estimate_c > 0 else 0.0
