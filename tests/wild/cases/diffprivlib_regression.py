"""Linear regression: the noise of squares is calibrated with the lower bound alone."""

CASE = {
    "library": "diffprivlib", "affected": "0.6.6", "mended": "open",
    "requires": ["diffprivlib=={version}", "scikit-learn<1.7"],
    "claim": "epsilon 1 for 3 records, bounds (0, 1)",
    "fault": "LinearRegression takes the sensitivity of a sum of squares from the lower bound of the data twice: "
    "with the lower bound 0 that sum gets no noise",
    "reported": "https://github.com/IBM/differential-privacy-library/issues/104",
    "seen": "audit_privacy",
}  # fmt: skip


def release(data, rng):
    import numpy as np
    from diffprivlib.models import LinearRegression

    model = LinearRegression(
        epsilon=1.0, bounds_X=(0, 1), bounds_y=(0, 1), fit_intercept=False, random_state=int(rng.integers(2**31))
    )
    return model.fit(np.asarray(data)[:, :1], np.asarray(data)[:, 1]).coef_


def audit(run):
    import numpy as np

    import dpcheck

    data, neighbour = np.array([[0.1, 0.0], [0.1, 0.0], [1.0, 0.0]]), np.array([[0.1, 0.0]] * 3)
    return dpcheck.audit_privacy(run("release"), data, neighbour, epsilon=1.0, trials=2_000, confidence=0.999)
