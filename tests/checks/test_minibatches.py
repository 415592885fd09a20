"""The declared neighbours and minibatches of each game against its data sets and its runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from games import GAMES
from slices import first

from dpcheck.checks.context import Context
from dpcheck.checks.games import Entry
from dpcheck.checks.sampling import compared, sampling
from dpcheck.checks.subject import Record
from dpcheck.events import Repeated

WOR = "dp_sgda.repaired.without_replacement"


@pytest.fixture(scope="module")
def entries() -> dict[str, Entry]:
    return {f"dp_sgda.{entry.label}": entry for entry in GAMES["dp_sgda"]()}


@pytest.mark.parametrize(
    "name", first(2, ["dp_sgda", "dp_spider", "nispp", "sto_spider", "phased_primal", "privatediff"])
)
def test_what_is_declared_is_what_runs_draw(name: str) -> None:
    assert {found.verdict for found in sampling(Context(), Record(name))} == {"consistent"}


@pytest.mark.parametrize(
    ("label", "change", "said"),
    first(
        2,
        [
            (WOR, {"scheme": "poisson", "neighbours": "add_or_remove_one"}, "add-or-remove-one neighbours"),
            (WOR, {"scheme": "poisson"}, "declared is poisson"),
            (WOR, {"scheme": "with_replacement"}, "hold no record twice"),
            (WOR, {"batch": 2}, "minibatches hold 3 records, not 2"),
            (WOR, {"population": 8}, "the data hold 4"),
            ("dp_sgda.repaired.poisson", {"scheme": "without_replacement"}, "minibatch sizes vary"),
            ("dp_sgda.as_printed.with_replacement", {"scheme": "without_replacement"}, "holds a record twice"),
        ],
    ),
)
def test_a_declared_scheme_that_is_not_the_run_s(
    entries: dict[str, Entry], label: str, change: dict[str, Any], said: str
) -> None:
    entry = entries[label]
    (repeated,) = entry.events
    assert isinstance(repeated, Repeated)
    wrong = replace(entry, events=(replace(repeated, event=replace(repeated.event, **change)),))  # type: ignore[type-var]
    found = compared(Record("dp_sgda")._minibatches(Context(), wrong))
    assert found.verdict == "violated"
    assert said in found.reason
