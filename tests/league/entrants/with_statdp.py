"""StatDP's search for an event and its test, inverted for a bound."""

import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.environ["DPCHECK_LEAGUE"], "src", "statdp"))

from statdp.core import run_algorithm
from statdp.hypotest import test_statistics
from statdp.selectors import select_event

ENTRANT = {
    "name": "StatDP",
    "where": "https://github.com/cmla-psu/statdp (commit d1f1e8f)",
    "requires": ["numpy", "numba", "tqdm", "scipy"],
    "copy": "src/statdp",
    "uses_claim": True,
    "pure": True,
    "seeds": 4,
    "words": "select_event at the claim on a sixth of the runs, as its defaults have it, and its test of the event on "
    "the rest; the bound is the least epsilon that the test does not reject. It searches products of an event a "
    "number, so that it takes part where those are at most 4,096",
}


class Here:
    """What it uses of a pool of processes."""

    _processes = 1

    def imap_unordered(self, function, inputs):
        """Call the function here."""
        return map(function, inputs)


def bound(data, neighbour, epsilon, delta, confidence):
    """Return the least epsilon that is not rejected."""
    chosen = len(data) // 6
    events = 1
    for column in np.vstack([data[:chosen], neighbour[:chosen]]).T:
        different = len(np.unique(column))
        events *= different if different < 0.002 * chosen else 10
    if events > 4_096:
        raise NotImplementedError("more events than it could go through")
    numbers = [outputs[:, 0] if outputs.shape[1] == 1 else outputs.tolist() for outputs in (data, neighbour)]
    runs = [iter([rows[0], *rows[: chosen - 1]]) for rows in numbers]  # one more, with which it looks at the type

    def algorithm(prng, side):
        output = next(runs[side])
        return output if data.shape[1] == 1 else tuple(output)

    found = select_event(algorithm, [(0, 1, {})], epsilon, chosen - 1, Here(), quiet=True)
    runs = [iter([rows[0], *rows[chosen:]]) for rows in numbers]
    left = len(data) - chosen
    ((first, second),), _ = run_algorithm(algorithm, 0, 1, {}, found[3], left)
    low, high = 0.0, 20.0
    if test_statistics(first, second, 0.0, left) > 1 - confidence:
        return 0.0
    for _ in range(14):
        middle = (low + high) / 2
        rejected = test_statistics(first, second, middle, left) <= 1 - confidence
        low, high = (middle, high) if rejected else (low, middle)
    return low
