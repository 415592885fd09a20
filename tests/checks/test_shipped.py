"""What the package ships of claims and rates: it is of this code, it is looked at again, and a change makes it void."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpcheck.bounds.ledger import recorded
from dpcheck.bounds.registry import PAPERS, find
from dpcheck.checks import shipped
from dpcheck.checks.context import Batch, Context
from dpcheck.checks.shipped import Measurements, claims_of, measuring_digest, name_of

RENEW = "`python -m dpcheck.checks.shipped` renews it"


def test_what_is_shipped_is_of_this_code():
    assert shipped._read(shipped.CLAIMS)["code"] == shipped.theory_digest(), RENEW
    assert shipped._read(shipped.MEASUREMENTS)["code"] == measuring_digest(), RENEW


def test_every_claim_is_shipped_with_the_verdict_of_the_ledger():
    papers = shipped._read(shipped.CLAIMS)["papers"]
    verdicts = {(paper, id): each["verdict"] for paper, found in papers.items() for id, each in found.items()}
    assert verdicts == {(each["paper"], id): each["verdict"] for id, each in recorded().items()}


@pytest.mark.parametrize("id", ["Y17", "Z06", "003:Thm5"])
def test_a_claim_is_shipped_as_it_is_decided(id):
    [claim] = find(id)
    again = shipped._as_kept(claim.decide())
    before = shipped._read(shipped.CLAIMS)["papers"][claim.paper][id]
    for each in (again, before):
        each["evidence"] = {name: value for name, value in each["evidence"].items() if name != "seconds"}
    assert before == again


@pytest.mark.parametrize("change", ["code", "versions"])
def test_claims_of_other_code_or_another_solver_are_not_shown(monkeypatch, change):
    assert all(claims_of(paper) for paper in PAPERS) or shipped._read(shipped.CLAIMS)["versions"] != shipped.versions()
    if change == "code":
        monkeypatch.setattr(shipped, "theory_digest", lambda: "other")
    else:
        monkeypatch.setattr(shipped, "versions", lambda: {"sympy": "0"})
    assert [claims_of(paper) for paper in PAPERS] == [None] * len(PAPERS)
    assert shipped.shown([*PAPERS]) == []


def test_a_damaged_file_ships_nothing(monkeypatch, tmp_path):
    shipped._read.cache_clear()
    monkeypatch.setattr(shipped.resources, "files", lambda package: tmp_path)
    (tmp_path / shipped.CLAIMS).write_bytes(b"damaged")
    assert shipped._read(shipped.CLAIMS) == {}
    shipped._read.cache_clear()


class Work:
    """Numbers from a stream; it counts its calls."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale, self.calls = scale, 0

    def __call__(self, rng: np.random.Generator, size: int) -> list[float]:
        self.calls += 1
        return (self.scale * rng.normal(size=size)).tolist()


def measured(work: Work, known: dict[str, Any] | None) -> tuple[list[Any], Measurements]:
    """Two batches of four chunks in one stage."""
    measurements = Measurements()
    measurements._chunks = {} if known is None else known
    measurements.begin("stage")
    context = Context(measurements=measurements)
    batches = [Batch(["batch", k], work, 8, 2, np.random.SeedSequence(k)) for k in range(2)]
    return context.all_measured(batches), measurements


@pytest.fixture
def known() -> dict[str, Any]:
    """Return what each chunk measures, by the name of its key."""
    found, _ = measured(Work(), None)
    return {
        name_of(["chunk", "quick", 0, "batch", k, 8, 2, str(k), number]): value
        for k, values in enumerate(found)
        for number, value in enumerate(values)
    }


def test_the_first_chunk_of_a_stage_is_measured_again_and_the_others_are_shown(known):
    work = Work()
    found, measurements = measured(work, known)
    assert found == measured(Work(), None)[0]
    assert work.calls == 1
    assert measurements.stages == {"stage": True}


def test_the_first_chunk_of_each_kind_is_measured_again():
    of_kinds, _ = measured(Work(), None)
    keys = [["chunk", "quick", 0, kind, k, 8, 2, str(k), n] for k, kind in enumerate("ab") for n in range(4)]
    known = {name_of(key): of_kinds[key[4]][key[-1]] for key in keys}
    measurements, work = Measurements(), Work()
    measurements._chunks = known
    measurements.begin("stage")
    batches = [Batch([kind, k], work, 8, 2, np.random.SeedSequence(k)) for k, kind in enumerate("ab")]
    assert Context(measurements=measurements).all_measured(batches) == of_kinds
    assert work.calls == 2


@pytest.mark.parametrize("change", [1 + 1e-5, 2.0])
def test_a_stage_whose_first_chunk_differs_is_measured_anew(known, change):
    work = Work(change)
    found, measurements = measured(work, known)
    assert found == measured(Work(change), None)[0]
    assert work.calls == 8
    assert measurements.stages == {"stage": False}
    assert "anew" in " ".join(measurements.said(["dp_sgda"]))


def test_rounding_of_another_processor_is_no_difference(known):
    work = Work(1 + 1e-9)
    measured(work, known)
    assert work.calls == 1


def test_a_chunk_that_is_not_known_is_measured(known):
    work = Work()
    known.popitem()
    assert measured(work, known)[0] == measured(Work(), None)[0]
    assert work.calls == 2
