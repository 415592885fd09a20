"""DP-Auditorium's histogram tester, for outputs of one number."""

import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.environ["DPCHECK_LEAGUE"], "src", "differential-privacy", "python", "dp_auditorium"))

from dp_auditorium.configs import privacy_property
from dp_auditorium.configs.property_tester_config import HistogramPropertyTesterConfig
from dp_auditorium.testers.histogram_tester import HistogramTester

ENTRANT = {
    "name": "dp_auditorium, histogram",
    "where": "https://github.com/google/differential-privacy/tree/main/python/dp_auditorium (commit b5b0286)",
    "requires": ["tensorflow", "scipy", "absl-py", "typing_extensions", "etils", "google-vizier"],
    "copy": "src/differential-privacy",
    "uses_claim": False,
    "one_number": True,
    "words": "HistogramTester with 20 bins between the 1 % and 99 % quantiles of a tenth of the runs, both ways at "
    "half of the level; the bound is the largest epsilon that it rejects",
}


def bound(data, neighbour, epsilon, delta, confidence):
    """Return the largest epsilon, to 0.01, at which the tester rejects."""
    looked = len(data) // 10
    low, high = np.quantile(np.vstack([data[:looked], neighbour[:looked]]), [0.01, 0.99])
    pair = data[looked:, 0], neighbour[looked:, 0]

    def rejects(at):
        config = HistogramPropertyTesterConfig(
            test_discrete_mechanism=False, histogram_size=20, min_value=low, max_value=max(high, low + 1e-9),
            approximate_dp=privacy_property.ApproximateDp(epsilon=at, delta=delta),
        )  # fmt: skip
        tester = HistogramTester(config)
        ways = (pair, pair[::-1])
        return any(tester.reject_property(tester.estimate_lower_bound(*way, (1 - confidence) / 2)) for way in ways)

    lower, upper = 0, 1_000
    while lower < upper:
        middle = (lower + upper + 1) // 2
        lower, upper = (middle, upper) if rejects(middle / 100) else (lower, middle - 1)
    return lower / 100
