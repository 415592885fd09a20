"""A covariance matrix whose data are clipped, and then used as they were."""

CASE = {
    "library": "smartnoise-synth", "affected": "1.0.5", "mended": "1.0.8",
    "requires": ["smartnoise-synth=={version}", "torch==2.13.0"],
    "claim": "epsilon 1 for 20 rows in two columns with the range (0, 1)",
    "fault": "DPcovariance.release clips the data to their range into a copy, and releases the covariance of "
    "the others",
    "reported": "https://github.com/opendp/smartnoise-sdk/issues/622",
    "seen": "audit_privacy, with one record outside the range",
}  # fmt: skip


def release(data, rng, size):
    import runpy
    from importlib.util import find_spec

    import numpy as np
    import pandas as pd

    home = find_spec("snsynth").submodule_search_locations[0]  # whose other models need a scikit-learn of 2019
    mechanisms = runpy.run_path(f"{home}/models/dp_covariance.py")

    np.random.seed(int(rng.integers(2**32)))  # noqa: NPY002  # the library draws from it
    table = pd.DataFrame(np.asarray(data), columns=["a", "b"])
    mechanism = mechanisms["DPcovariance"](len(table), ["a", "b"], pd.DataFrame({0: [0, 1], 1: [0, 1]}), 1.0)
    return np.array([mechanism.release(table) for _ in range(size)])


def audit(run):
    import numpy as np

    import dpcheck

    data, neighbour = np.full((20, 2), 0.5), np.full((20, 2), 0.5)
    data[0] = 10.0
    return dpcheck.audit_privacy(
        run("release"), data, neighbour, epsilon=1.0, trials=2_000, vectorized=True, confidence=0.999
    )
