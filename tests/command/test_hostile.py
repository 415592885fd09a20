"""A slice of the hostile trials, of which ``python -m tests.hostile`` makes all; and the table of all of them."""

from __future__ import annotations

import itertools
import os

import hostile
import pytest
import tables

_TOGETHER, _STEP = 24, 190  # trials of a slice, and from one to the next


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each trial is forked")
def test_the_command_holds_against_a_slice_of_hostile_trials() -> None:
    """The same ones each time, from all groups in turn."""
    made = list(itertools.islice(hostile.made(_TOGETHER // 2, _STEP), _TOGETHER))
    assert [(trial.group, trial.name, outcome.wrong) for trial, outcome in made if outcome.wrong] == []
    assert {outcome.code for _, outcome in made} >= {"0", "2"}


def test_the_table_is_of_these_trials() -> None:
    """Every option of every command and every file has a row, and all trials were held."""
    kept = tables.read("hostile")
    assert kept["trials"].sum() >= 1_500
    assert kept["held"].tolist() == kept["trials"].tolist()
    assert set(hostile.groups()) <= set(kept["group"])
