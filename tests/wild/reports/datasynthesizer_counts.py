"""PrivBayes has noise for an added or removed record, its paper replaces records (DataSynthesizer 0.1.13).

Expected, for epsilon 1 and a replaced record: Laplace noise of scale 2 (attributes - degree) / epsilon = 2 on counts,
as one replaced record moves two counts by 1 each. Seen: noise of scale 1.

Cause: get_noisy_distribution_of_attributes divides by the epsilon without the 2 of Algorithm 1 of PrivBayes.
Assumption under which the claim holds: records are added or removed; then the number of rows, which is kept, is not
protected. Mend: the factor 2, or a sentence in the documentation that says which neighbours are meant.
"""

import numpy as np
import pandas as pd
from DataSynthesizer.lib.PrivBayes import get_noisy_distribution_of_attributes

np.random.seed(0)  # noqa: NPY002  # the library draws from it
table = pd.DataFrame(np.full((1000, 2), 0), columns=["a", "b"])
table.iloc[500:] = 1
counts = np.array([get_noisy_distribution_of_attributes(["a", "b"], table, 1.0)["count"] for _ in range(100)])
large = counts[:, counts.mean(axis=0) > 100]  # where nothing is cut off at 0
scale = np.abs(large - np.median(large, axis=0)).mean()
print(f"scale of the noise {scale:.3f}, where a replaced record needs 2")
