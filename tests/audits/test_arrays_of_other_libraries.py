"""Records that are arrays of torch or JAX: the user's functions get minibatches of their own library's kind."""

from __future__ import annotations

import numpy as np
import pytest

from dpcheck import InputError, audit_clipping, audit_privacy, audit_sensitivity, audit_training_step
from dpcheck.audits.canaries import made_canaries, planted
from dpcheck.audits.running.datasets import read
from dpcheck.audits.step_parts import TrainingStep

N, BATCH = 48, 12
ROWS = np.random.default_rng(0).normal(size=(N, 3)).astype(np.float32)
CLAIM = {"batch": BATCH, "steps": 50, "epsilon": 20.0, "delta": 1e-5, "trials": 200}


def poisson(n, rng):
    while True:
        yield np.flatnonzero(rng.random(n) < BATCH / N)


def torch_rows(kind):
    torch = pytest.importorskip("torch")
    return torch.tensor(ROWS, dtype=getattr(torch, kind)), torch.Tensor


def jax_rows(kind):
    jax = pytest.importorskip("jax")
    return jax.numpy.asarray(ROWS, dtype=kind), jax.Array


@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
@pytest.mark.parametrize("made", [torch_rows, jax_rows])
@pytest.mark.parametrize("clip", [1.0, 1.5])
def test_the_step_gets_its_own_kind_of_array(made, kind, clip):
    records, array = made(kind)
    seen = set()

    def gradient(w, batch, rng):
        assert isinstance(batch, array)
        seen.add(batch.dtype)
        rows = np.array(batch.tolist()).reshape(-1, 3)
        rows = rows * np.minimum(1, clip / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))
        return (rows.sum(0) + rng.normal(size=3)) / BATCH

    def set_up(data):
        assert isinstance(data, array)
        return TrainingStep(gradient, poisson, 1.0, 1 / BATCH, BATCH)

    outlier = None if clip == 1.0 else lambda record, factor: record * factor
    audit = audit_training_step(set_up, records, **CLAIM, outlier=outlier)
    found = {finding.part: finding.verdict for finding in audit.findings}
    assert found["clipping"] == ("consistent" if clip == 1.0 else "violated")
    assert found["divisor"] == found["noise"] == "consistent" and seen == {records.dtype}


@pytest.mark.parametrize("made", [torch_rows, jax_rows])
def test_a_query_gets_its_own_kind_of_array(made):
    records, array = made("float32")

    def query(batch):
        assert isinstance(batch, array)
        rows = np.array(batch.tolist()).reshape(-1, 3)
        return (rows / np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True))).sum(0)

    assert audit_clipping(query, records, bound=1.0).verdict == "consistent"


@pytest.mark.parametrize("made", [torch_rows, jax_rows])
def test_canaries_are_planted_among_its_own_kind_of_array(made):
    records, array = made("float32")
    canaries = made_canaries(records, 3)

    def train(data, rng):
        assert isinstance(data, array) and data.dtype == records.dtype
        return np.array(data.tolist()).sum(0)

    algorithm = planted(train, records, canaries, lambda released, rows: rows @ released)
    included = np.array([True, False, True])
    due = canaries @ (ROWS.sum(0) + canaries[included].sum(0))
    assert algorithm(included, np.random.default_rng(0)) == pytest.approx(due, rel=1e-5)


@pytest.mark.parametrize("made", [torch_rows, jax_rows])
def test_sensitivity_on_its_own_kind_of_array(made):
    """Fractions that take the place of whole numbers stay fractions."""
    records, array = made("int32")

    def query(data):
        assert isinstance(data, array)
        return np.clip(np.array(data.tolist()), 0, 0.5).sum()

    found = audit_sensitivity(query, records[:, 0], [0.0, 0.25, 0.5], claimed=0.25)
    assert (found.verdict, found.sensitivity) == ("violated", 0.5)
    assert audit_sensitivity(query, records[:, 0], [0.0, 0.25], claimed=0.5).verdict == "consistent"


def test_a_minibatch_of_tensors_is_a_copy():
    """A gradient that writes into its minibatch changes no record."""
    records, _ = torch_rows("float32")
    given = read(records)
    given.back(given.values)[0] = 7.0
    assert (read(records).values == ROWS).all()


@pytest.mark.parametrize("made", [torch_rows, jax_rows])
def test_equal_datasets_are_refused(made):
    records, _ = made("float32")
    again, _ = made("float32")

    def mechanism(data, rng):
        return float(data[0].sum()) + rng.normal()

    for neighbour in (again, ROWS, ROWS.tolist()):
        with pytest.raises(InputError, match=r"^neighbour must differ from data in one record, got its equal$"):
            audit_privacy(mechanism, records, neighbour, epsilon=1.0, trials=200)
    with pytest.raises(InputError, match=r"^neighbour must differ from data in one record"):
        audit_privacy(mechanism, (records, 1), (again, 1.0), epsilon=1.0, trials=200)


def test_a_tensor_that_is_overwritten_is_noticed():
    records, _ = torch_rows("float32")
    neighbour = records.clone()
    neighbour[0] += 5

    def overwrites(data, rng):
        data[0] = 0
        return float(data.sum()) + rng.normal()

    with pytest.raises(InputError, match=r"^mechanism must leave its datasets as they are"):
        audit_privacy(overwrites, records, neighbour, epsilon=1.0, trials=200)
