"""A lower bound of an auditor that takes the absolute value of mu: false alarms."""

CASE = {
    "library": "jax-privacy", "affected": "2.0.0", "mended": "open",
    "requires": ["jax-privacy=={version}"],
    "claim": "epsilon_from_gdp(significance=0.05) exceeds the truth with probability 0.05 at most",
    "fault": "CanaryScoreAuditor.epsilon_from_gdp takes the absolute value of a lower confidence bound on mu, "
    "so that a "
    "threshold that shows nothing shows much",
    "reported": "https://github.com/google-deepmind/jax_privacy/issues/270",
    "seen": "the exact binomial test of its alarms on 20 pairs of equal samples, whose epsilon is 0",
}  # fmt: skip


def alarms():
    import numpy as np
    from jax_privacy.auditing import CanaryScoreAuditor

    rng = np.random.default_rng(0)
    pairs = (rng.normal(size=(2, 300)) for _ in range(20))
    return [CanaryScoreAuditor(*pair).epsilon_from_gdp(significance=0.05, delta=1e-5) for pair in pairs]


def audit(run):
    import numpy as np
    from scipy.stats import binomtest

    bounds = np.array(run("alarms")())
    count = int((bounds > 0).sum())
    alarm = binomtest(count, len(bounds), 0.05, alternative="greater").pvalue < 0.001
    words = f"{count} of {len(bounds)} bounds above the true epsilon 0, their median {np.median(bounds):.3g}"
    return "violated" if alarm else "consistent", 0.05, count / len(bounds), words
