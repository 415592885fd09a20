"""What the stages of the check share: that one which stops is a finding, and how far a recorded run is followed."""

from __future__ import annotations

import numpy as np
import pytest

from dpcheck import checks
from dpcheck.checks.releases import cases, moves
from dpcheck.errors import InputError, StoreError
from dpcheck.report.findings import Finding


def test_runs_reach_records_through_differences():
    """Somewhere a record moves several releases along DP-RGDA's tree, which a cosine's records do not."""
    case = next(case for case in cases("dp_rgda") if case.label == "repaired.theorem_2")
    run = case.solver.run(case.problem, seed=1, record=True)
    assert max(rows.sum() for rows in moves(run, np.asarray(case.others.records), 1).values()) > 2


def test_wrong_input_to_a_stage_is_a_finding_and_a_store_that_fails_is_not():
    def stage_of(error):
        def work():
            yield Finding("nseg.a", "rate", "a", "attained", "")
            raise error

        return checks._run("nseg", "nseg: rate of theorem 2", work)

    _, stopped = stage_of(InputError("measured must be finite"))
    assert (stopped.id, stopped.verdict) == ("nseg.rate_of_theorem_2.stopped", "violated")
    assert "measured must be finite" in stopped.reason
    with pytest.raises(StoreError):
        list(stage_of(StoreError("the store must be writable")))
