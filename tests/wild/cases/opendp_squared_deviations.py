"""Sum of squared deviations: the rounding of the mean is not in the sensitivity."""

import functools

CASE = {
    "library": "opendp", "affected": "0.16.0", "mended": "open",
    "requires": ["opendp=={version}", "numpy", "deprecated"],
    "claim": "sensitivity 40.6 for 1,024 numbers in [2^50, 2^50 + 1] of which one is replaced",
    "fault": "the mean in make_sum_of_squared_deviations is rounded to a float, and the sensitivity does not "
    "count what that adds",
    "reported": "https://github.com/opendp/opendp/issues/2923",
    "seen": "audit_sensitivity",
    "assumption": "bounds far from 0, where a float has few digits left for differences",
}  # fmt: skip
SIZE, LOW = 1024, 2.0**50


@functools.cache
def deviations():
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    domain = dp.vector_domain(dp.atom_domain(bounds=(LOW, LOW + 1)), size=SIZE)
    return dp.t.make_sum_of_squared_deviations(domain, dp.symmetric_distance())


def query(data):
    return deviations()(data.tolist())


def promised():
    return deviations().map(2)


def audit(run):
    import numpy as np

    import dpcheck

    data = LOW + np.tile([0.5, 0.75, 0.25, 0.0], SIZE // 4)  # floats between the bounds, so that sums are rounded
    return dpcheck.audit_sensitivity(run("query"), data, [LOW, LOW + 1], claimed=run("promised")(), budget=4_200)
