"""The mean of whole numbers: half of an odd range is rounded down."""

CASE = {
    "library": "python-dp",
    "affected": "1.1.1",
    "mended": "1.1.4",
    "requires": ["python-dp=={version}", "numpy"],
    "python": "3.9",
    "claim": "epsilon 4 for whole numbers in [0, 3], two records of one person added or removed (linf_sensitivity=2)",
    "fault": "BoundedMean takes half of the range in whole numbers for the sensitivity of its sum: 1 where it is 1.5",
    "reported": "https://github.com/google/differential-privacy/commit/75046f9",
    "seen": "audit_neighbours",
}
EPSILON = 4.0


def release(data, rng, size):
    import numpy as np
    from pydp.algorithms.laplacian import BoundedMean

    def mean():
        return BoundedMean(epsilon=EPSILON, lower_bound=0, upper_bound=3, linf_sensitivity=2, dtype="int")

    return np.array([mean().quick_result([int(value) for value in data]) for _ in range(size)])


def audit(run):
    import dpcheck

    # Two records, as one alone shows another fault of 1.1.4: pydp_mean_parity.
    pairs = [([3, 3], []), ([0, 0], []), ([3, 3, 3], [3]), ([3, 3, 0], [0])]
    return dpcheck.audit_neighbours(
        run("release"), pairs, epsilon=EPSILON, trials=40_000, vectorized=True, seeded=False, confidence=0.999
    )
