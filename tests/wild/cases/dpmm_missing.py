"""A missing value gives the synthetic table missing values, though the domain was declared."""

CASE = {
    "library": "dpmm", "affected": "0.1.9", "mended": "open",
    "requires": ["dpmm=={version}"],
    "claim": "epsilon 1, delta 1e-5 of PrivBayesPipeline(epsilon=1, delta=1e-5) with the domain of its column declared",
    "fault": "the binner adds a column of flags, and the model missing values, where the data have a missing value",
    "reported": "https://github.com/ObliviousAI/dp-recorder/blob/main/ARTIFACT_APPENDIX.md",
    "seen": "audit_privacy",
    "assumption": "that whether a column has missing values is public: the documentation says that they are reproduced "
    "where the data have some, and not that this is free",
}  # fmt: skip
EPSILON, DELTA = 1.0, 1e-5


def release(missing, rng, size):
    import functools
    import warnings

    import numpy as np
    import pandas as pd
    from dpmm.models import priv_bayes
    from dpmm.models.base.mechanisms import mechanism
    from dpmm.pipelines import PrivBayesPipeline

    warnings.simplefilter("ignore")
    for module in (priv_bayes, mechanism):  # one bisection for all fits, which is most of their time
        module.cdp_rho = functools.cache(module.cdp_rho)
    table = pd.DataFrame({"a": np.linspace(0, 1, 20)})
    table.loc[: missing - 1, "a"] = np.nan
    shares = []
    for seed in rng.integers(2**31, size=size):
        # few bins and iterations, so that a fit is quick: they concern what follows the fault
        how = {"n_jobs": 1, "n_bins": 4, "gen_kwargs": {"n_iters": 10}}
        pipeline = PrivBayesPipeline(epsilon=EPSILON, delta=DELTA, **how)
        pipeline.fit(table, {"a": {"lower": 0, "upper": 1}}, random_state=int(seed))
        shares.append(pipeline.generate(20, random_state=int(seed)).a.isna().mean())
    return np.array(shares)


def audit(run):
    import dpcheck

    return dpcheck.audit_privacy(
        run("release"), 0, 1, epsilon=EPSILON, delta=DELTA, trials=200, vectorized=True, seeded=False, confidence=0.999
    )
