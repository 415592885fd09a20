"""The catalogue of bugs: each that is judged by its outputs against one point (epsilon, delta), beside its mended twin.

Truths are closed forms where there is one; of the others only the verdicts count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from league.case import Case

from dpcheck.audits.bugs.bug import catalogue

HALF, TOLD = 0.5, math.e / (1 + math.e)
TRUTHS = {  # of the broken version and of the mended one, on their pair
    "formula-for-two-values": (math.log(4 * math.e), 1.0),
    "lie-that-may-be-true": (2 * math.log(1 / (1 - TOLD)) + math.log(1 - (1 - TOLD) ** 2), 1.0),
    "budget-for-each-bit": (2.0, 1.0),
    "hashes-not-counted": (2.0, 1.0),
    "drawn-every-day": (8.0, math.nan),
    "value-of-the-maximum": (5.0, 0.0),
    "one-bin": (2 * HALF, HALF),
    "noise-for-shares-on-counts": (5 * HALF, HALF),
    "divided-by-dimensions": (4 * HALF, HALF),
    "places-of-a-person": (math.nan, HALF),
}


def cases() -> Iterator[Case]:
    """Return the bugs and their twins."""
    for bug in catalogue().values():
        given = bug.tester.given
        if bug.tester.name != "audit_privacy" or given.get("claim") is not None:
            continue
        drawn = np.asarray(bug.broken(given["data"], np.random.default_rng(0), 2))
        if drawn.dtype.kind not in "biuf":
            continue
        for version, tail, truth in zip(
            (bug.broken, bug.fixed), ("", ", mended"), TRUTHS.get(bug.id, (math.nan, math.nan)), strict=True
        ):
            faulty = version is bug.broken
            yield Case(
                f"bug {bug.id}{tail}", version, given["data"], given["neighbour"], float(given["epsilon"] or 0.0),
                truth, faulty, bug.source, given["delta"],
            )  # fmt: skip
