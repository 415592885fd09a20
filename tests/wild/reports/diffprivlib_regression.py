"""LinearRegression: the sums of squares get no noise where the lower bound of the data is 0 (diffprivlib 0.6.6).

Expected at epsilon 1: no set of coefficients is more than e times as probable after one record was replaced. Seen: a
coefficient beyond 20 in size is usual for one data set, and was never seen for the other; the noisy sum of squares in
_obj_coefs, which divides the noise of the others, is the exact one for every seed.

Cause: _construct_regression_obj in models/linear_regression.py takes the sensitivity of a feature's sum of squares from
max(|lower|, |lower|)^2. Mend: max(|lower|, |upper|)^2.
"""

import numpy as np
from diffprivlib.models import LinearRegression


def fits(first):
    X, y = np.array([[first], [0.1], [0.1]]), np.zeros(3)
    kept = {"epsilon": 1.0, "bounds_X": (0, 1), "bounds_y": (0, 1), "fit_intercept": False}
    return [LinearRegression(**kept, random_state=seed).fit(X, y) for seed in range(400)]


for first in (1.0, 0.1):
    models = fits(first)
    large = sum(abs(model.coef_[0]) > 20 for model in models)
    squares = {round(float(model._obj_coefs[2][0, 0]), 9) for model in models}
    print(f"first record {first}: {large} of 400 coefficients beyond 20; noisy sums of squares: {sorted(squares)}")
