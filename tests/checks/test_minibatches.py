"""The declared neighbours and minibatches of each game against its data sets and its runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from games import GAMES

from dpcheck.checks.privacy.entry import Entry
from dpcheck.checks.sampling import disagreement, minibatches
from dpcheck.events import Repeated

WOR = "dp_sgda.repaired.without_replacement"


@pytest.fixture(scope="module")
def entries() -> dict[str, Entry]:
    return {f"dp_sgda.{entry.label}": entry for entry in GAMES["dp_sgda"]()}


@pytest.mark.parametrize("name", ["dp_sgda", "dp_spider", "nispp", "sto_spider", "phased_primal", "privatediff"])
def test_what_is_declared_is_what_runs_draw(name: str) -> None:
    assert {found.verdict for found in minibatches(name)} == {"consistent"}


@pytest.mark.parametrize(
    ("label", "change", "said"),
    [
        (WOR, {"scheme": "poisson", "neighbours": "add_or_remove_one"}, "add-or-remove-one neighbours"),
        (WOR, {"scheme": "poisson"}, "declared as Poisson samples"),
        (WOR, {"scheme": "with_replacement"}, "none of 800 holds a record twice"),
        (WOR, {"batch": 2}, "one of 3 is drawn"),
        (WOR, {"population": 8}, "the data set has 4"),
        ("dp_sgda.repaired.poisson", {"scheme": "without_replacement"}, "minibatches of 3 records are declared"),
        ("dp_sgda.as_printed.with_replacement", {"scheme": "without_replacement"}, "are drawn again"),
    ],
)
def test_a_declared_scheme_that_is_not_the_run_s(
    entries: dict[str, Entry], label: str, change: dict[str, Any], said: str
) -> None:
    entry = entries[label]
    (repeated,) = entry.events
    assert isinstance(repeated, Repeated)
    wrong = replace(entry, events=(replace(repeated, event=replace(repeated.event, **change)),))  # type: ignore[type-var]
    assert said in disagreement(wrong.game, wrong.events)
