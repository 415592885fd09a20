"""BoundedMean of integers: the parity of the number of records shows in the result (python-dp 1.1.5).

Expected: with bounds [0, 3] and epsilon 1, an output has at most e times its probability on a data set with one record
added or removed. Seen: outputs 0.5 and 2.5 are frequent for no record, and were never returned for one.

Cause: GenerateBoundedMeanResult adds whole noise to the whole sum, then subtracts partial_count_ * GetMidPoint(). That
number of records is exact, and the middle 1.5: the result is whole for even numbers of records, else half-whole.
Bounds whose sum is even, and dtype="float", are not concerned. Mend: draw the noise for the normalized sum as a double,
or normalize with a whole number that does not depend on the data, such as the lower bound (with its sensitivity).
"""

import numpy as np
from pydp.algorithms.laplacian import BoundedMean


def outputs(data):
    def mean():
        return BoundedMean(epsilon=1.0, lower_bound=0, upper_bound=3, dtype="int")

    return np.array([mean().quick_result(data) for _ in range(10_000)])


none, one = (np.isin(outputs(data), (0.5, 2.5)).sum() for data in ([], [3]))
print(f"0.5 or 2.5: {none} of 10000 for no record, {one} of 10000 for one record; e^1 times as often is allowed")
