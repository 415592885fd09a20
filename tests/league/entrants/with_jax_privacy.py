"""jax_privacy's Clopper-Pearson bound over all thresholds of a score; an output of one number is its own score."""

from jax_privacy.auditing import Bonferroni, CanaryScoreAuditor
from scores import learn

ENTRANT = {
    "name": "jax_privacy",
    "where": "https://pypi.org/project/jax-privacy/2.0.0/",
    "requires": ["jax-privacy==2.0.0"],
    "copy": None,
    "uses_claim": False,
    "words": "CanaryScoreAuditor.epsilon_clopper_pearson over all thresholds, both ways; it asks for scores, which a "
    "single number is, and which the adapter learns for rows of numbers on a half of the runs",
}


def bound(data, neighbour, epsilon, delta, confidence):
    """Return the larger of the bounds for larger and for smaller scores, each at half of the level."""
    if data.shape[1] > 1:
        half = len(data) // 2
        score = learn(data[:half], neighbour[:half])
        data, neighbour, signs = score(data[half:]), score(neighbour[half:]), (1,)
    else:
        data, neighbour, signs = data[:, 0], neighbour[:, 0], (1, -1)
    found = [
        CanaryScoreAuditor(sign * data, sign * neighbour).epsilon_clopper_pearson(
            (1 - confidence) / len(signs), delta, one_sided=False, threshold_strategy=Bonferroni()
        )
        for sign in signs
    ]
    return float(max(found))
