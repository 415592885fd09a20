"""dp-recorder's distributional audit (Re:cord-play-sample) of the whole mechanism as one untrusted primitive."""

import os
import sys

sys.path.insert(0, os.path.join(os.environ["DPCHECK_LEAGUE"], "src", "dp-recorder", "src"))

from dp_recorder.auditing.audit_primitives import Auditor, audit_spec

ENTRANT = {
    "name": "dp-recorder",
    "where": "https://github.com/ObliviousAI/dp-recorder (commit 85d189e)",
    "requires": ["dp-accounting<0.5", "scikit-learn", "pandas", "matplotlib", "seaborn", "graphviz", "rich", "tqdm"],
    "copy": "src/dp-recorder",
    "uses_claim": False,
    "pure": True,
    "seeds": 4,
    "most_runs": 100_000,
    "words": "run_distributional_audit with the mechanism as one untrusted primitive; its strength, the record and "
    "replay of a program's steps, needs the program's source and is not tried here",
}


def bound(data, neighbour, epsilon, delta, confidence):
    """Return the bound of its audit."""
    runs = [iter(list(outputs)) for outputs in (data, neighbour)]
    runs[0] = iter([data[0], *data[:-1]])

    @audit_spec(kind="untrusted", input_arg="side", sensitivity_arg="none", metric_fn=lambda one, other: 0.0)
    def mechanism(side):
        return next(runs[side])

    auditor = Auditor()
    with auditor:
        mechanism(side=0)
    auditor.set_replay()
    with auditor:
        mechanism(side=1)
    auditor.run_distributional_audit(n_samples=2 * (len(data) - 1), alpha=1 - confidence)
    return float(auditor.log[0].empirical_epsilon_lb)
