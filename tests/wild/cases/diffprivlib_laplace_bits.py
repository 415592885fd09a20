"""Laplace noise in floats: the low bits of the sum give the value away, also with the sampler that 0.5.0 brought."""

CASE = {
    "library": "diffprivlib", "affected": "0.6.6", "mended": "open",
    "requires": ["diffprivlib=={version}", "scikit-learn<1.7"],
    "claim": "epsilon 1 for the values 0 and 1",
    "fault": "mechanisms.Laplace adds noise to the value in floats, which rounds the sum as the value has it; 0.5.0 "
    "changed how the noise is drawn, and not that",
    "reported": "https://github.com/IBM/differential-privacy-library/issues/19",
    "seen": "audit_floating_point",
    "assumption": "outputs are released with all their bits",
}  # fmt: skip


def release(data, rng, size):
    import random

    import numpy as np
    from diffprivlib.mechanisms import Laplace

    mechanism = Laplace(epsilon=1.0, delta=0.0, sensitivity=1.0)
    mechanism._rng = random.Random(int(rng.integers(2**62)))  # which makes floats as SystemRandom does
    return np.array([mechanism.randomise(float(data)) for _ in range(size)])


def audit(run):
    import dpcheck

    return dpcheck.audit_floating_point(
        run("release"), 1.0, 0.0, epsilon=1.0, laplace=(1.0, 0.0, 1.0), trials=20_000, confidence=0.999, vectorized=True
    )
