"""Saved sequential audits: taken back as they were saved, and refused with one line if anything was changed."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcheck
from dpcheck import InputError
from dpcheck.audits.sequential import SCHEMA, sealed
from dpcheck.report.results import to_json_text


def laplace(data: Any, rng: np.random.Generator) -> Any:
    return data + rng.laplace()


def audit(**given: Any) -> Any:
    return dpcheck.audit_sequential(laplace, 1, 0, **({"epsilon": 1.0, "most": 80} | given))


SAVED = json.loads(to_json_text(audit().to_dict()))


def edited(*path: str | int, to: Any) -> Any:
    found = copy.deepcopy(SAVED)
    inside = found
    for step in path[:-1]:
        inside = inside[step]
    inside[path[-1]] = to
    return found


def forged(*path: str | int, to: Any) -> Any:
    """An edit by somebody who writes the checksum anew."""
    found = edited(*path, to=to)
    found["state"] = {name: value for name, value in found["state"].items() if name not in ("schema", "checksum")}
    return sealed(found)


def refused(earlier: Any) -> str:
    with pytest.raises(InputError) as error:
        audit(most=160, earlier=earlier)
    said = str(error.value)
    assert "\n" not in said and said.startswith(("earlier", "trials of", "chunks of", "fitted_on of", "width of")), said
    return said


def test_it_goes_on_from_what_was_saved() -> None:
    assert SAVED["state"]["schema"] == SCHEMA
    assert audit(most=160, earlier=SAVED).to_dict() == audit(most=160, earlier=audit()).to_dict()


HUGE, SHORT, NAN = 10**400, SAVED["state"]["outputs"][0][:-16], float("nan")
WRONG: dict[tuple[str | int, ...], tuple[Any, ...]] = {
    ("state", "peak", 0): (None, "x", NAN, float("inf"), HUGE, -1.0, [1]),
    ("state", "log_wealth", 3): (None, "x", NAN, 99.0, [1]),
    ("state", "peak"): (None, 3, "x", [], [1.0], {}, [[1.0]], [9.0] * len(SAVED["state"]["peak"])),
    ("state", "log_wealth"): (None, 3, "x", [], [1.0], {}, [[1.0]]),
    ("state", "epsilons"): (None, 3, "x", [], [1.0], {}, [[1.0]]),
    ("state", "chunks"): (None, 0, -1, 1.5, "8", 10**6, True),
    ("state", "fitted_on"): (None, -1, 1.5, "8", 10**6),
    ("state", "width"): (None, 0, -1, 1.5, 2, 10**9, "1"),
    ("state", "first"): (None, 3, "", "0" * 64),
    ("state", "success"): (None, 3, "x", [1], {"coordinate 0": "x"}, {"coordinate 0": NAN}),
    ("state", "outputs"): (None, 3, "x", [], ["", ""], ["!", "!"], [SHORT, SHORT], [1, 2], ["AAAA"] * 2),
    ("trials",): (None, 0, -1, 1.5, "80", 81, 10**9),
    ("looks",): (None, 3, "x", [], [3], [{}], SAVED["looks"][:-1], SAVED["looks"] * 2),
    ("looks", -1, "trials"): (None, "x", NAN, 1.5),
    ("looks", -1, "log_wealth"): (None, "x", NAN, 1.0),
    ("looks", -1, "epsilon_lower"): (None, "x", NAN),
    ("verdict",): (None, 3, "violated", "fine"),
    ("epsilon",): (None, 2.0, "1.0"),
    ("seed",): (None, 3, 0.5, "0"),
}
FORGED = [(*path, value) for path, values in WRONG.items() for value in values]


@pytest.mark.parametrize("edit", FORGED, ids=lambda edit: ".".join(map(str, edit))[:60])
def test_what_cannot_be_is_refused_whatever_its_checksum_says(edit: tuple[Any, ...]) -> None:
    *path, value = edit
    refused(forged(*path, to=value))


@pytest.mark.parametrize("name", [*SAVED["state"], "schema", "checksum"])
def test_nothing_may_be_missing(name: str) -> None:
    found = copy.deepcopy(SAVED)
    del found["state"][name]
    refused(found)


def test_another_schema() -> None:
    assert refused(edited("state", "schema", to="dpcheck.sequential/2")) == (
        "earlier must have the schema dpcheck.sequential/1, got dpcheck.sequential/2"
    )


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
USED = ("verdict", "trials", "epsilon", "delta", "confidence", "seed", "looks", "state")
PLACES = st.sampled_from([*((name,) for name in USED), *(("state", name) for name in SAVED["state"])])


@pytest.mark.thorough
@settings(deadline=None, max_examples=150, derandomize=True, database=None)
@given(PLACES, VALUES, st.booleans())
def test_any_edit_is_refused(path: tuple[str, ...], value: Any, anew: bool) -> None:
    """No other error comes out; one who seals it anew may still change how well it bets."""
    with suppress(InputError):  # also of what cannot even be sealed
        earlier = forged(*path, to=value) if anew and path != ("state",) else edited(*path, to=value)
        audit(most=81, earlier=earlier)
        assert anew or earlier == SAVED
