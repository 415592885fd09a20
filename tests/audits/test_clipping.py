"""Clipping audits: correct queries pass, each planted fault fails the test that is meant for it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dpcheck import InputError
from dpcheck.audits.clipping import audit_clipping

RECORDS = np.random.default_rng(0).normal(size=(40, 3))
C, M = 0.7, 8.0


def clipped(g):
    """Rows of norm at most C; a row that is not finite counts as zero."""
    g = np.where(np.isfinite(g).all(1, keepdims=True), g, 0.0)
    return g * np.minimum(1, C / np.maximum(np.linalg.norm(g, axis=1, keepdims=True), 1e-300))


def gradients(x):
    """A gradient per record, not linear in it."""
    with np.errstate(all="ignore"):
        return x * (1 + np.abs(x[:, :1]))


def right(x):
    return clipped(gradients(x)).sum(0) / M


def test_correct_queries_pass():
    assert audit_clipping(right, RECORDS, bound=C, divisor=M).verdict == "consistent"
    assert audit_clipping(lambda x: M * right(x), RECORDS, bound=C).verdict == "consistent"
    assert audit_clipping(lambda x: clipped(x).mean(0), RECORDS, bound=C, divisor="size").verdict == "consistent"
    assert (
        audit_clipping(lambda x: np.clip(np.nan_to_num(x), 0, C).sum(), RECORDS[:, 0], bound=C).verdict == "consistent"
    )


def test_a_list_of_records_with_labels():
    records = [(x, float(np.sign(x[0]))) for x in RECORDS]

    def query(batch):
        return sum((clipped(y * x[None])[0] for x, y in batch), np.zeros(3))

    scaled = {"scale": lambda record, factor: (record[0] * factor, record[1])}
    assert audit_clipping(query, records, bound=C, **scaled).verdict == "consistent"
    found = audit_clipping(query, records, bound=C / 2, **scaled)
    assert found.verdict == "violated"
    assert "norm: 0.7, at most 0.35" in found.reason


def per_coordinate(x):
    return np.nan_to_num(np.clip(gradients(x), -C, C)).sum(0) / M


def floored(x):
    g = gradients(np.where(np.isfinite(x), x, 0.0))
    return (g / np.maximum(1, np.floor(np.linalg.norm(g, axis=1, keepdims=True) / C))).sum(0) / M


def in_pairs(x):
    """Microbatches of two, each clipped as one."""
    g = np.where(np.isfinite(x).all(1, keepdims=True), x, 0.0)
    g = np.concatenate([g, np.zeros((len(g) % 2, 3))])
    return clipped(g.reshape(-1, 2, 3).sum(1)).sum(0) / M


def centred(x):
    x = np.where(np.isfinite(x).all(1, keepdims=True), x, 0.0)
    return clipped(x - x.sum(0) / max(1, len(x))).sum(0) / M


def by_the_median(x):
    """At the median norm of the batch, at most C: nearly always C where records are long."""
    x = np.where(np.isfinite(x).all(1, keepdims=True), x, 0.0)
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    return (x * np.minimum(1, min(C, np.median(norms) if len(x) else C) / np.maximum(norms, 1e-300))).sum(0) / M


FAULTS = {
    "none": (lambda x: np.where(np.isfinite(x), x, 0).sum(0) / M, {"norm", "replacement"}),
    "the batch's sum": (lambda x: clipped(gradients(x).sum(0, keepdims=True))[0] / M, {"sum"}),
    "each coordinate by itself": (per_coordinate, {"norm"}),
    "by the floor of the norm": (floored, {"norm"}),
    "two records together": (in_pairs, {"sum"}),
    "by a bound that follows the batch": (by_the_median, {"sum"}),
    "after centring on the batch": (centred, {"sum"}),
    "and rescaled by a record's count": (lambda x: right(x) * (1 + 1e-3 * (x[:, 0] > 0.3).sum()), {"sum"}),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_fail_their_test(fault):
    query, tests = FAULTS[fault]
    found = audit_clipping(query, 3 * RECORDS, bound=C, divisor=M)
    assert found.verdict == "violated"
    assert tests <= {test.test for test in found.tests if test.verdict == "violated"}


def textbook(x):
    return (x / np.maximum(1, np.linalg.norm(x, axis=1, keepdims=True) / C)).sum(0) / M


def test_records_that_are_not_finite_count_where_there_may_be_some():
    """The textbook's formula makes NaN of them; a reader who has none is told, and not alarmed."""
    found = audit_clipping(textbook, RECORDS, bound=C, divisor=M)
    assert found.verdict == "consistent"
    assert found.if_not_finite.verdict == "violated"
    assert found.reason.endswith("; a record that is not finite would not be clipped")
    json.dumps(found.to_dict(), allow_nan=False)
    found = audit_clipping(textbook, RECORDS, bound=C, divisor=M, finite=False)
    assert [test.test for test in found.tests if test.verdict == "violated"] == ["not finite"]
    found = audit_clipping(right, RECORDS, bound=C, divisor=M, finite=False)
    assert (found.verdict, found.if_not_finite.verdict) == ("consistent", "consistent")
    assert audit_clipping(lambda x: np.clip(x, 0, 1).sum(), [True, False], bound=1).if_not_finite is None


def test_the_batchs_own_size_is_recognised():
    def query(x):
        return clipped(x).sum(0) / max(1, len(x))

    assert audit_clipping(query, RECORDS, bound=C, divisor="size").verdict == "consistent"
    found = audit_clipping(query, RECORDS, bound=C, divisor=1.0)
    assert found.verdict == "violated"
    assert "divided by its own size" in found.reason


def test_the_empty_batch():
    def query(x):
        with np.errstate(all="ignore"):
            return clipped(x).sum(0) / M / np.float64(len(x) > 0)

    found = audit_clipping(query, RECORDS, bound=C, divisor=M)
    assert [test.test for test in found.tests if test.verdict == "violated"] == ["empty batch"]
    assert found.to_dict()["tests"][-1]["found"] == "inf"


def test_exceptions_are_reported_and_not_judged():
    def query(x):
        if len(x) == 0 or not np.isfinite(x).all():
            raise ValueError("no")
        return right(x)

    found = audit_clipping(query, RECORDS, bound=C, divisor=M, finite=False)
    assert found.verdict == "inconclusive"
    assert {test.test for test in found.tests if test.verdict == "inconclusive"} == {"not finite", "empty batch"}
    assert "raises ValueError" in found.reason
    json.dumps(found.to_dict(), allow_nan=False)


def test_the_sum_of_an_empty_batch_may_be_the_number_zero():
    """Python's sum of nothing is 0, which noise is added to as to a vector of zeros; any other number is a release."""
    assert audit_clipping(lambda batch: sum(map(clip_one, batch)), list(RECORDS), bound=C).verdict == "consistent"
    found = audit_clipping(lambda batch: sum(map(clip_one, batch)) if batch else 1, list(RECORDS), bound=C)
    assert found.verdict == "violated"
    assert found.reason.startswith("empty batch")


def clip_one(record):
    return clipped(record[None])[0]


def in_half(bound):
    """Clipped at the bound, added up and divided in float16."""

    def query(x):
        g = np.nan_to_num(np.asarray(x, np.float32))
        g = g * np.minimum(1, np.float32(bound) / np.maximum(np.linalg.norm(g, axis=1, keepdims=True), 1e-6))
        total = np.zeros(3, np.float16)
        for row in g:
            total = total + row.astype(np.float16)
        return total / np.float16(M)

    return query


def test_the_allowance_follows_the_type_of_the_outputs():
    assert audit_clipping(in_half(C), RECORDS, bound=C, divisor=M).verdict == "consistent"
    found = audit_clipping(in_half(1.01 * C), RECORDS, bound=C, divisor=M)
    assert found.verdict == "violated" and found.reason.startswith("norm")


@pytest.mark.parametrize(("bound", "divisor"), [(5e-324, 1.0), (1e-200, 1e200), (1e-300, "size")])
def test_a_bound_that_is_lost_to_the_division_is_refused(bound, divisor):
    with pytest.raises(InputError, match=r"^bound must be at least 1e-300 after the division"):
        audit_clipping(right, RECORDS, bound=bound, divisor=divisor)
