"""Calls with arguments of every wrong kind: each public function returns, or raises InputError of one sentence.

``DPCHECK_FUZZ=SECONDS`` goes on for so long with each function, as in ``test_fuzz_readers.py``.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import readers
import tables
import wrong
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from test_fuzz_readers import fuzz

from dpcheck import InputError
from dpcheck.bounds.registry import claims, prove

FUNCTIONS = wrong.functions()
DRAWN = (
    st.sampled_from(sorted(wrong.WRONG)).map(lambda name: wrong.WRONG[name]())
    | st.floats() | st.integers(max_value=2_000) | st.integers(min_value=10**18)  # long work lies between
    | st.text(max_size=9) | st.lists(st.floats() | st.none(), max_size=4)
    | arrays.arrays(st.sampled_from([np.float64, np.int8, np.bool_, np.complex64]), arrays.array_shapes(min_side=0,
    max_side=4))
)  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_wrong_arguments_are_refused(name: str) -> None:
    function = FUNCTIONS[name]
    wrong.wrong_with(function, {})  # what it loads is loaded once
    names = [each.name for each in wrong.parameters(function)]

    if not names:  # there is nothing to be wrong
        return
    drawn = st.dictionaries(st.sampled_from(names), DRAWN, min_size=1, max_size=2)

    def refused(changes: dict[str, Any]) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            said = wrong.wrong_with(function, changes)
        assert not said, said

    fuzz(name, wrong.examples(function), drawn, refused)


# What long runs found, by the function and the arguments that were wrong.
FOUND = {
    "audits.clipping.audit_clipping": {"bound": 5e-324}, "audits.rates.fit_rate": {"factors": np.zeros((1, 0))},
    "audits.sequential.audit_sequential": {"epsilon": 2**64}, "audits.tables.audit_tables": {"data": wrong.Silent()},
    "audits.training_step.audit_training_step": {"steps": 1, "scheme": np.ma.masked_array([1.0, 2.0])},
    "checks.check": {"names": np.zeros(3)}, "accounting.certify": {"released": wrong.Silent()},
    "audits.membership.audit_privacy": {"claim": wrong.Silent(), "epsilon": None, "delta": 0.0},
    "bounds.registry.prove": {"target": np.zeros(0)}, "audits.bayesian.credible_bound": {"hits": np.int8(3)},
    "testing.assert_rate": {"response": "1" * 5_000}, "accounting.risk.risk": {"false_positives": {0.1: "n"}},
    "audits.gaussian.gaussian_bound": {"scores": np.full(3, 1e308), "other_scores": np.full(3, 1e308)},
    "accounting.second_opinion.second_opinion": {"delta": 0.0},
    "testing.assert_private": {"claim": "", "delta": np.zeros(0)},
    "accounting.loaders.loaders": {"population": 10**18, "steps": np.int8(3), "parameters": 10**400},
    "audits.neighbours.around": {"data": [wrong.Silent()]},
    "bounds.registry.claims": {"paper": [1]}, "bounds.registry.theorems": {"paper": np.zeros(3)},
    "catalogue.bases.optimum": {"problem": ()},
    "bounds.statement.stated": {"template": "{x < 1"},
    "audits.neighbours.canary": {"dataset": {"a": 1}},
    "audits.canaries.planted": {"records": np.array(1.0), "canaries": np.array(1.0)},
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_what_long_runs_found_is_mended(name: str) -> None:
    assert not wrong.wrong_with(FUNCTIONS[f"dpcheck.{name}"], FOUND[name])


def test_a_name_that_none_could_have_is_refused_by_its_length() -> None:
    with pytest.raises(InputError, match="up to 200 letters"):
        prove("q " * 101)
    listed = claims("dong2022")[0].statement
    assert str(listed) is str(listed)  # printing all of them for each refusal took most of its time


def test_the_table_of_long_runs_names_what_is_there() -> None:
    with_extra = {*readers.READERS, "data in Parquet"}
    assert {*tables.read("fuzzing")["target"]} <= {*FUNCTIONS, *with_extra}
