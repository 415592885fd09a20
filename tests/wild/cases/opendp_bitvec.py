"""Randomized response of bit vectors: the last bit is never flipped."""

CASE = {
    "library": "opendp", "affected": "0.14.2", "mended": "0.15.1",
    "requires": ["opendp=={version}", "numpy", "deprecated"],
    "claim": "epsilon 2.197 for 8 bits of which one at most is set, f = 0.5",
    "fault": "make_randomized_response_bitvec never flips the last bit",
    "reported": "https://github.com/opendp/opendp/issues/2707",
    "seen": "audit_neighbours, over pairs of set bits",
}  # fmt: skip


def release(data, rng, size):
    import numpy as np
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    measurement = dp.m.make_randomized_response_bitvec(dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=0.5)
    vector = np.packbits(np.asarray(data, np.uint8)).tobytes()
    outputs = np.frombuffer(b"".join(measurement(vector) for _ in range(size)), np.uint8)
    return np.unpackbits(outputs[:, None], axis=1)


def audit(run):
    import math

    import numpy as np

    import dpcheck

    bits = np.eye(8, dtype=int)
    pairs = [(bits[i], bits[i + 1]) for i in range(7)]
    return dpcheck.audit_neighbours(
        run("release"), pairs, epsilon=2 * math.log(3), trials=20_000, confidence=0.999, vectorized=True, seeded=False
    )
