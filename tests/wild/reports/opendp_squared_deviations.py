"""make_sum_of_squared_deviations: the rounding of the mean is not in the sensitivity (opendp 0.16.0).

Expected: the sums of two data sets that differ in one number (distance 2) differ by map(2) at most. Seen: by more.

Cause: the mean is rounded to a float. Its error e adds about n e^2 to the sum, which is not the same for neighbours;
the constant for relaxation does not have it. It matters for bounds far from 0.
Mend: add what the worst rounding of the mean makes, or subtract a public number near the bounds first.
"""

import numpy as np
import opendp.prelude as dp

dp.enable_features("contrib", "honest-but-curious")
low, size = 2.0**50, 1024
domain = dp.vector_domain(dp.atom_domain(bounds=(low, low + 1)), size=size)
deviations = dp.t.make_sum_of_squared_deviations(domain, dp.symmetric_distance())
data = low + np.tile([0.5, 0.75, 0.25, 0.0], size // 4)
base, worst = deviations(data.tolist()), 0.0
for index in range(size):
    for value in (low, low + 1):
        neighbour = data.copy()
        neighbour[index] = value
        worst = max(worst, abs(deviations(neighbour.tolist()) - base))
print(f"one number replaced moves the sum by {worst:.6g}; map(2) says {deviations.map(2):.6g}")
