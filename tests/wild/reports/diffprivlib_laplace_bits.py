"""mechanisms.Laplace: the low bits of the result tell the value (diffprivlib 0.6.6).

Expected: at epsilon 1 and sensitivity 1, no set of outputs is more than e times as probable for the value 1 as for 0.
Seen: outputs below 1 in size that are no multiple of 2^-53 are frequent for the value 0; for 1 there is none.

Cause: the noise is a float and is added to the value as floats are, which rounds the sum to the grid of the value.
The way in which the noise is drawn (since 0.5.0) does not matter. Assumption: outputs are released with all bits.
Mend: round value and noise to a grid that depends on the scale alone, as OpenDP and Google's library do.
"""

import numpy as np
from diffprivlib.mechanisms import Laplace

mechanism = Laplace(epsilon=1.0, sensitivity=1.0)


def fine(value):
    outputs = np.array([mechanism.randomise(value) for _ in range(20_000)])
    scaled = outputs * 2.0**53
    return int(((np.abs(outputs) < 1) & (scaled != np.round(scaled))).sum())


print(f"finer than 2^-53: {fine(0.0)} of 20000 for the value 0, {fine(1.0)} of 20000 for 1")
