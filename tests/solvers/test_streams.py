"""Chunks on any number of workers, and BLAS on one thread."""

from __future__ import annotations

import os

import numpy as np
import pytest
import scipy.linalg.cython_blas  # noqa: F401  # loaded, so that its threads are counted
from chunks import map_chunks
from threadpoolctl import threadpool_info, threadpool_limits

from dpcheck.running.executor import cores, one_blas_thread


def test_results_do_not_depend_on_the_workers():
    found = [
        np.concatenate(map_chunks(lambda rng, size: rng.random(size), 25, seed=3, chunk=4, jobs=jobs))
        for jobs in (1, 4)
    ]
    np.testing.assert_array_equal(*found)
    assert found[0].size == 25


def threads():
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}


@pytest.mark.skipif(not threads(), reason="no BLAS whose threads can be held")
def test_blas_is_held_until_the_last_holder_lets_go():
    with threadpool_limits(2, "blas"):
        with one_blas_thread():
            assert threads() == {1}
            with one_blas_thread():
                assert threads() == {1}
            assert threads() == {1}
        assert threads() == {2}
        with pytest.raises(ZeroDivisionError), one_blas_thread():
            raise ZeroDivisionError
        assert threads() == {2}


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity here")
def test_as_many_workers_as_this_process_may_use():
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)
    assert cores() == len(allowed)
