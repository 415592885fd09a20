"""The mean of whole numbers: whether their number is odd or even shows in the noisy sum."""

CASE = {
    "library": "python-dp",
    "affected": "1.1.5",
    "mended": "open",
    "requires": ["python-dp=={version}", "numpy"],
    "claim": "epsilon 1 for whole numbers in [0, 3], one record added or removed",
    "fault": "BoundedMean of whole numbers subtracts the exact number of records times the middle of the range from a "
    "sum with whole noise: where the middle is a half, the noisy sum is whole for an even number of records alone",
    "reported": "https://github.com/google/differential-privacy/blob/b5b0286/cc/algorithms/bounded-mean.h#L194",
    "found_here": True,
    "seen": "audit_privacy, one record against none",
}


def release(data, rng, size):
    import numpy as np
    from pydp.algorithms.laplacian import BoundedMean

    def mean():
        return BoundedMean(epsilon=1.0, lower_bound=0, upper_bound=3, dtype="int")

    return np.array([mean().quick_result([int(value) for value in data]) for _ in range(size)])


def audit(run):
    import dpcheck

    return dpcheck.audit_privacy(
        run("release"), [3], [], epsilon=1.0, trials=10_000, vectorized=True, seeded=False, confidence=0.999
    )
