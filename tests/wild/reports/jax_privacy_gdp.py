"""epsilon_from_gdp returns large lower bounds on samples that are equal in law (jax-privacy 2.0.0).

Expected: at significance 0.05, a bound above the true epsilon 0 in one of twenty audits. Seen: in all of them.

Cause: the lower bound on mu is taken in absolute value, so that a threshold at which it is very negative, which shows
nothing, counts as very positive. The repository has a mended version, of July 2026, that no release has.
Mend: max(mu, 0), and the correction for the choice of the threshold; a release.
"""

import numpy as np
from jax_privacy.auditing import CanaryScoreAuditor

rng = np.random.default_rng(0)
bounds = np.array(
    [CanaryScoreAuditor(*rng.normal(size=(2, 300))).epsilon_from_gdp(significance=0.05, delta=1e-5) for _ in range(100)]
)
print(f"{(bounds > 0).sum()} of 100 bounds above 0, their median {np.median(bounds):.3f}")
