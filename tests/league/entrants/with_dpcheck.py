"""dpcheck's audit_privacy, on the runs that it is handed."""

from dpcheck import audit_privacy

ENTRANT = {
    "name": "dpcheck",
    "where": "this repository",
    "requires": None,
    "copy": None,
    "uses_claim": True,
    "words": "audit_privacy: sets chosen on earlier runs, tested on fresh ones; one level for all of them",
}
PROBES = 96  # runs on each data set, at most, with which an audit of an unseeded mechanism looks at its outputs


def bound(data, neighbour, epsilon, delta, confidence):
    """Return the bound, of as many runs as there are."""
    left = [iter_of(data), iter_of(neighbour)]
    trials = len(data) - PROBES
    options = {"trials": trials, "confidence": confidence, "vectorized": True, "seeded": False}
    audit = audit_privacy(lambda side, rng, size: left[side](size), 0, 1, epsilon=epsilon, delta=delta, **options)
    return audit.epsilon_lower


def iter_of(outputs):
    """Return what hands out runs, each once and in order."""
    used = 0

    def take(size):
        nonlocal used
        used += size
        assert used <= len(outputs)
        taken = outputs[used - size : used]
        return taken[:, 0] if taken.shape[1] == 1 else taken

    return take
