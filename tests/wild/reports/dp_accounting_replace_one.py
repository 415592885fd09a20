"""RdpAccountant(REPLACE_ONE) bounds half of what a replaced record does to a clipped sum (dp-accounting 0.6.0).

Expected: with gradients clipped to 1 and noise 1 on their sum, one step without sampling, an epsilon of at least the
exact one for a replaced record: records g and -g move the sum by 2. Seen: the epsilon for a move of 1.

Assumption: noise_multiplier is the noise over the clipping norm, as in DP-SGD and for added or removed records. If it
is meant over the distance of replaced records, the documentation of GaussianDpEvent should say so.
Mend: halve the multiplier for REPLACE_ONE, or document it.
"""

import math

import dp_accounting
from dp_accounting import rdp


def exact(sensitivity, delta):
    def normal(x):
        return math.erfc(-x / math.sqrt(2)) / 2

    low, high = 0.0, 100.0
    while high - low > 1e-9:
        epsilon = (low + high) / 2
        a, b = sensitivity / 2, epsilon / sensitivity
        low, high = (epsilon, high) if normal(a - b) - math.exp(epsilon) * normal(-a - b) > delta else (low, epsilon)
    return high


relation = dp_accounting.NeighboringRelation.REPLACE_ONE
event = dp_accounting.SampledWithoutReplacementDpEvent(100, 100, dp_accounting.GaussianDpEvent(1.0))
said = rdp.RdpAccountant(neighboring_relation=relation).compose(event).get_epsilon(1e-5)
print(f"accountant {said:.4f}; exact for a move of 1: {exact(1, 1e-5):.4f}, of 2: {exact(2, 1e-5):.4f}")
