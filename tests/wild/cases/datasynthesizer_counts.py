"""PrivBayes: noise for added or removed records, where the paper that it follows replaces them."""

CASE = {
    "library": "DataSynthesizer",
    "affected": "0.1.13",
    "mended": "open",
    "requires": ["DataSynthesizer=={version}"],
    "claim": "epsilon 1 for a replaced record, as in PrivBayes, Algorithm 1, whose tables have sensitivity 2 / n",
    "fault": "the noisy tables of counts have noise for sensitivity 1, where a replaced record moves two counts",
    "reported": "https://github.com/DataResponsibly/DataSynthesizer/issues/34",
    "seen": "audit_privacy; 4,000 runs showed it in one audit of two, 12,000 in five of five",
    "assumption": "that neighbours are made by adding or removing a record; then these tables keep their claim, while "
    "their size comes from the private data",
}


def release(data, rng, size):
    import numpy as np
    import pandas as pd
    from DataSynthesizer.lib.PrivBayes import get_noisy_distribution_of_attributes

    np.random.seed(int(rng.integers(2**32)))  # noqa: NPY002  # the library draws from it
    table = pd.DataFrame(np.asarray(data), columns=["a", "b"])
    tables = (get_noisy_distribution_of_attributes(["a", "b"], table, 1.0) for _ in range(size))
    return np.array([table["count"].to_numpy() for table in tables])


def audit(run):
    import numpy as np

    import dpcheck

    data = np.array([[0, 0], [1, 1]] * 10)
    neighbour = np.array([[1, 1], *data[1:]])
    return dpcheck.audit_privacy(
        run("release"), data, neighbour, epsilon=1.0, trials=12_000, vectorized=True, confidence=0.999
    )
