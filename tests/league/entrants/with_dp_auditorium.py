"""DP-Auditorium's hockey-stick tester, with its default model and training."""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
sys.path.insert(0, os.path.join(os.environ["DPCHECK_LEAGUE"], "src", "differential-privacy", "python", "dp_auditorium"))

import tensorflow as tf
from dp_auditorium.configs import privacy_property
from dp_auditorium.configs.property_tester_config import HockeyStickPropertyTesterConfig
from dp_auditorium.testers import hockey_stick_tester

ENTRANT = {
    "name": "dp_auditorium, hockey stick",
    "where": "https://github.com/google/differential-privacy/tree/main/python/dp_auditorium (commit b5b0286)",
    "requires": ["tensorflow", "scipy", "absl-py", "typing_extensions", "etils", "google-vizier"],
    "copy": "src/differential-privacy",
    "uses_claim": True,
    "seeds": 2,
    "most_runs": 10_000,
    "words": "HockeyStickPropertyTester with its default model and training, both ways at half of the level; the bound "
    "is the largest epsilon that it rejects, of halvings from the claim, each of which trains anew",
}
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
HALVINGS = 3


def bound(data, neighbour, epsilon, delta, confidence):
    """Return the largest epsilon of the halvings at which the tester rejects."""

    def rejects(at):
        config = HockeyStickPropertyTesterConfig(
            training_config=hockey_stick_tester.make_default_hs_training_config(),
            approximate_dp=privacy_property.ApproximateDp(epsilon=at, delta=delta),
        )
        ways = ((data, neighbour), (neighbour, data))
        for way in ways:
            model = hockey_stick_tester.make_default_hs_base_model()
            tester = hockey_stick_tester.HockeyStickPropertyTester(config, model)
            if tester.reject_property(tester.estimate_lower_bound(*way, (1 - confidence) / 2)):
                return True
        return False

    if rejects(epsilon):
        low, high = epsilon, 3 * epsilon
    else:
        low, high = 0.0, epsilon
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if rejects(middle) else (low, middle)
    return low
