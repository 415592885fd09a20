"""All bugs of the catalogue, by id."""

from __future__ import annotations

from collections.abc import Sequence

from dpcheck.audits.bugs import (
    accounting,
    counts,
    floating,
    from_the_data,
    gradients,
    histograms,
    local,
    means,
    minibatches,
    randomness,
    selection,
    sparse_vector,
    training,
)
from dpcheck.audits.bugs.bug import Bug
from dpcheck.errors import did_you_mean, require

_FAMILIES = (
    counts, means, histograms, from_the_data, sparse_vector, selection, local, gradients, training, minibatches,
    accounting, randomness, floating,
)  # fmt: skip
BUGS = {bug.id: bug for family in _FAMILIES for bug in family.BUGS}


def find(names: Sequence[str]) -> list[Bug]:
    """Return the bugs of these ids or families; ``all`` stands for all of them."""
    found: dict[str, Bug] = {}
    for name in names:
        chosen = {id: bug for id, bug in BUGS.items() if name in (id, bug.family, "all")}
        near = did_you_mean(name, [*BUGS, *(bug.family for bug in BUGS.values())])
        require(bool(chosen), "bug", "be an id or a family listed by `dpcheck bugs`, or all", f"{name}{near}")
        found |= chosen
    return list(found.values())
