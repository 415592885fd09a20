"""privacy-estimates' interval for the counts of one attack, whose threshold the adapter chooses on half of the runs."""

from privacy_estimates import AttackResults, compute_eps_lo
from scores import attack

ENTRANT = {
    "name": "privacy-estimates",
    "where": "https://pypi.org/project/privacy-estimates/0.1.0.post1/",
    "requires": ["privacy-estimates==0.1.0.post1", "pandas"],
    "copy": None,
    "uses_claim": False,
    "words": "compute_eps_lo, method beta (Clopper-Pearson), of the counts of an attack; the adapter learns score and "
    "threshold on a half of the runs",
}


def bound(data, neighbour, epsilon, delta, confidence):
    """Return the bound of the other half's counts."""
    half = len(data) // 2
    score, threshold = attack(data[:half], neighbour[:half], delta)
    hits, others = (int((score(outputs[half:]) >= threshold).sum()) for outputs in (data, neighbour))
    runs = len(data) - half
    counts = AttackResults(FN=runs - hits, FP=others, TN=runs - others, TP=hits)
    return float(compute_eps_lo(counts, delta, 1 - confidence, "beta"))
