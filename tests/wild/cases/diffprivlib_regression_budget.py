"""Linear regression: the means of X and y are taken on one share of the budget, twice."""

CASE = {
    "library": "diffprivlib", "affected": "0.6.6", "mended": "open",
    "requires": ["diffprivlib=={version}", "scikit-learn<1.7"],
    "claim": "epsilon 1 of LinearRegression(epsilon=1).fit, one feature",
    "fault": "the means of X and of y are each given the share of the budget that is set aside for both",
    "reported": "https://github.com/IBM/differential-privacy-library/issues/104",
    "seen": "certify, of what the library's own accountants are told to spend",
    "assumption": "that parts add up: the certificate bounds the epsilon of all parts from above, and shows that the "
    "claim does not follow, not that it is broken",
    "expected": "not certified",
}  # fmt: skip


def spent():
    import warnings

    import numpy as np
    from diffprivlib.models import linear_regression

    warnings.simplefilter("ignore")
    accountants = []

    class Recorder(linear_regression.BudgetAccountant):
        def __init__(self, *given, **named):
            super().__init__(*given, **named)
            accountants.append(self)

    linear_regression.BudgetAccountant = Recorder
    construct = linear_regression._construct_regression_obj
    budget = []

    def recorded(*given, **named):
        budget.append(named["epsilon"])
        return construct(*given, **named)

    linear_regression._construct_regression_obj = recorded
    data = np.random.default_rng(0).uniform(size=(50, 2))
    model = linear_regression.LinearRegression(epsilon=1.0, bounds_X=(0, 1), bounds_y=(0, 1), random_state=0)
    model.fit(data[:, :1], data[:, 1])
    means = [epsilon for accountant in accountants for epsilon, _ in accountant.spent_budget]
    return [float(epsilon) for epsilon in (*means, *budget)]


def audit(run):
    import dpcheck
    from dpcheck.events import Laplace

    parts = run("spent")()
    total = dpcheck.certify([Laplace(1 / epsilon) for epsilon in parts], delta=0.0).epsilon
    words = f"parts of epsilon {', '.join(f'{epsilon:.3g}' for epsilon in parts)}: {total:.3g} in all"
    return "not certified" if total > 1 + 1e-9 else "consistent", 1.0, total, words
