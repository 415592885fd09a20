"""dp_auditorium's histogram tester of (epsilon, delta), inverted for a bound."""

import os
import sys
from unittest.mock import MagicMock

import numpy as np
from scores import learn

sys.path.insert(0, os.path.join(os.environ["DPCHECK_LEAGUE"], "src", "differential-privacy", "python", "dp_auditorium"))
for _module in ("tensorflow", "vizier", "vizier.service"):  # of testers and of a search for data that are not used
    sys.modules.setdefault(_module, MagicMock())

from dp_auditorium.configs.privacy_property import ApproximateDp
from dp_auditorium.configs.property_tester_config import HistogramPropertyTesterConfig
from dp_auditorium.testers.histogram_tester import HistogramTester

ENTRANT = {
    "name": "dp_auditorium",
    "where": "https://github.com/google/differential-privacy/tree/main/python/dp_auditorium (commit b5b0286)",
    "requires": ["numpy", "scipy", "absl-py", "etils[array-types]", "typing_extensions"],
    "copy": "src/differential-privacy",
    "uses_claim": False,
    "words": "HistogramTester, both orders at half of the level, of a score that the adapter learns on a tenth of the "
    "runs, in 20 bins of equal width between the score's 1st and 99th percentiles; the bound is the largest epsilon "
    "that it rejects. Its testers that train a network want TensorFlow and a training for each epsilon; not tried",
}


def bound(data, neighbour, epsilon, delta, confidence):
    """Return the largest epsilon that is rejected, by bisection."""
    some = len(data) // 10
    score = learn(data[:some], neighbour[:some])
    low, high = np.quantile(np.concatenate([score(data[:some]), score(neighbour[:some])]), (0.01, 0.99))
    sides = [np.nan_to_num(score(outputs[some:])) for outputs in (data, neighbour)]

    def rejected(at):
        tester = HistogramTester(
            HistogramPropertyTesterConfig(
                approximate_dp=ApproximateDp(epsilon=at, delta=delta), test_discrete_mechanism=False,
                histogram_size=20, min_value=float(low), max_value=float(max(high, low + 1e-9)),
            )
        )  # fmt: skip
        pairs = (sides, sides[::-1])
        return any(tester.reject_property(tester.estimate_lower_bound(*pair, (1 - confidence) / 2)) for pair in pairs)

    least, most = 0.0, 20.0
    for _ in range(16):
        middle = (least + most) / 2
        least, most = (middle, most) if rejected(middle) else (least, middle)
    return least
