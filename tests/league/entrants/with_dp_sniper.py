"""DP-Sniper's attack, learned, bounded and tested by its own classes on successive parts of the runs."""

import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["DPCHECK_LEAGUE"], "src", "dp-sniper"))

from dpsniper.attack.dpsniper import DPSniper
from dpsniper.classifiers.classifier_factory import LogisticRegressionFactory
from dpsniper.classifiers.torch_optimizer_factory import SGDOptimizerFactory
from dpsniper.mechanisms.abstract import Mechanism
from dpsniper.probability.estimators import EpsEstimator, PrEstimator
from dpsniper.search.ddconfig import DDConfig
from dpsniper.utils.my_logging import log
from dpsniper.utils.paths import set_output_directory
from dpsniper.utils.torch import torch_initialize

ENTRANT = {
    "name": "DP-Sniper",
    "where": "https://github.com/eth-sri/dp-sniper (commit ee087b2)",
    "requires": ["torch", "scikit-learn", "pandas", "matplotlib", "mmh3", "tensorboard"],
    "copy": "src/dp-sniper",
    "uses_claim": False,
    "pure": True,
    "seeds": 3,
    "words": "DPSniper.best_attack with its logistic regression and c = 0.01, for both orders of the pair: 30 % of the "
    "runs to learn, 10 % for the threshold, 10 % to choose the order, and 50 % for its lower bound",
}
torch_initialize(torch_threads=1)
set_output_directory(tempfile.mkdtemp())
log.configure("ERROR")


class Replay(Mechanism):
    """Hands out runs of side 0 and 1 from a place on."""

    def __init__(self, sides, start):
        self.sides, self.at = sides, [start, start]

    def m(self, a, n_samples=1):
        """Return the next runs."""
        start = self.at[int(a[0])]
        self.at[int(a[0])] += n_samples
        assert self.at[int(a[0])] <= len(self.sides[0])
        return self.sides[int(a[0])][start : start + n_samples]


def bound(data, neighbour, epsilon, delta, confidence):
    """Return the lower bound of the better order."""
    runs = len(data)
    learn, some, last = 3 * runs // 10, runs // 10, runs // 2
    config = DDConfig(
        n_train=learn, n=some, n_check=some, n_final=last, n_processes=1, confidence=confidence,
        training_batch_size=max(100, learn // 10),
    )  # fmt: skip
    factory = LogisticRegressionFactory(in_dimensions=data.shape[1], optimizer_factory=SGDOptimizerFactory())
    best = None
    for pair in (([0], [1]), ([1], [0])):
        attack = DPSniper(Replay((data, neighbour), 0), factory, config).best_attack(*pair)
        checked = EpsEstimator(PrEstimator(Replay((data, neighbour), learn + some), some, config))
        shown, _ = checked.compute_eps_estimate(*pair, attack)
        if best is None or shown > best[0]:
            best = shown, pair, attack
    final = EpsEstimator(PrEstimator(Replay((data, neighbour), learn + 2 * some), last, config))
    return float(final.compute_eps_estimate(*best[1], best[2])[1])
