"""How far certificates that are upper bounds lie above the worst pair of neighbours that is known.

``pytest -n 0 -s -m experiment tests/solvers/test_pairs.py``, with ``--keep-tables`` to keep the table.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from dp_accounting.pld import privacy_loss_distribution as losses
from scipy.stats import binom, norm

from dpcheck import certify
from dpcheck.accounting.allocation_below import allocation_epsilon_below
from dpcheck.events import Gaussian, RandomAllocation, Repeated, Sampled

RECORDS = 1000


def known(z: float, batch: int, steps: int, delta: float, replacement: bool) -> float:
    """Epsilon where the record moves the sum by its sensitivity whenever it is drawn, and all others by nothing.

    Without replacement it is drawn as in a Poisson sample; with replacement the laws are those of cells, whose losses
    dp_accounting rounds up, and then down: the mean of both is returned.
    """
    if not replacement:
        event = Sampled((Gaussian(z),), "poisson", RECORDS, batch, "add_or_remove_one")
        return certify(Repeated(event, steps), delta).epsilon
    hits = np.arange(int(binom.isf(1e-12, batch, 1 / RECORDS)) + 1)
    edges = np.concatenate([[-np.inf], np.linspace(-8, 8 + hits[-1] / z, 4001), [np.inf]])
    cells = np.array([norm.cdf(b) - norm.cdf(a) for a, b in ((edges[:-1] - k / z, edges[1:] - k / z) for k in hits)])
    mixed, alone = binom.pmf(hits, batch, 1 / RECORDS) @ cells, cells[0]
    some = (mixed > 1e-15) & (alone > 1e-15)
    pmfs = [dict(enumerate(np.log(law[some]))) for law in (alone, mixed)]
    bounds = []
    for first, above in itertools.product((0, 1), (True, False)):
        pair = losses.from_two_probability_mass_functions(
            pmfs[first], pmfs[1 - first], value_discretization_interval=1e-3 / steps**0.5, pessimistic_estimate=above
        )
        bounds.append(pair.self_compose(steps).get_epsilon_for_delta(delta))
    return float(max(np.mean(bounds[:2]), np.mean(bounds[2:])))


def random_allocation(z: float, steps: int, delta: float) -> dict[str, float]:
    certified = certify(RandomAllocation(Gaussian(z), steps), delta).epsilon
    return {"certified": certified, "known": allocation_epsilon_below(z, steps, 1, delta)}


def fixed_size(scheme: Any, z: float, steps: int, delta: float, rate: float) -> dict[str, float]:
    batch = round(rate * RECORDS)
    certified = certify(Repeated(Sampled((Gaussian(z),), scheme, RECORDS, batch), steps), delta).epsilon
    return {"rate": rate, "certified": certified, "known": known(z, batch, steps, delta, scheme == "with_replacement")}


GRIDS: dict[str, tuple[Any, ...]] = {  # multipliers, steps, deltas, rates
    "without_replacement": ((0.5, 1.0, 2.0, 5.0), (1, 10, 100, 1000, 10_000), (1e-4, 1e-6, 1e-9), (0.01, 0.1, 0.3)),
    "with_replacement": ((0.5, 1.0, 2.0, 5.0), (1, 10, 100, 1000), (1e-6,), (0.01, 0.1, 0.3)),
    "random_allocation": ((0.5, 1.0, 2.0), (2, 4, 8), (1e-2, 1e-5, 1e-9)),
}


@pytest.mark.experiment
@pytest.mark.parametrize("scheme", GRIDS)
def test_table(scheme: str, keep: Any) -> None:
    """Certificates between .01 and 100, and beside them what some pair of neighbours is known to give away."""
    rows = []
    for z, steps, delta, *rate in itertools.product(*GRIDS[scheme]):
        found = fixed_size(scheme, z, steps, delta, *rate) if rate else random_allocation(z, steps, delta)
        if 0.01 < found["known"] and found["certified"] < 100:
            rows.append({"multiplier": z, "steps": steps, "delta": delta, **found})
    frame = pd.DataFrame(rows)
    keep(f"above_{scheme}", frame)
    assert (frame["certified"] > frame["known"] * 0.999).all()
