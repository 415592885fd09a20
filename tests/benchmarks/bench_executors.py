"""What handing out chunks costs: the time of many chunks of 100 ms on two workers, over that of the chunks alone.

    pip install '.[test,dask,ray]' && pytest -n 0 -s [--keep-tables] tests/benchmarks/bench_executors.py

A chunk waits for 100 ms and returns 1,000 numbers, so that what is seen is the handing out and not the processor, which
others may use. "start" is what opening the backend and its first chunk take, once a command. Backends that are not
installed are left out, and keep the rows that they have.
"""

from __future__ import annotations

import importlib.util
import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tables

from dpcheck.running.process_pool import BACKENDS, executor

CHUNK, CHUNKS, JOBS, REPEATS = 0.1, 100, 2, 3
NEEDS = {"dask": "distributed", "ray": "ray"}
NAME = "executor_overhead"


def chunk(number: int) -> np.ndarray:
    time.sleep(CHUNK)
    return np.full(1_000, float(number))


def measured(backend: str) -> dict[str, Any]:
    """Seconds to start, and the overhead in its best and in its median repeat."""
    started = time.perf_counter()
    with executor(backend, jobs=JOBS) as workers:
        list(workers.map(chunk, range(JOBS)))
        start = time.perf_counter() - started - CHUNK
        shares = []
        for _ in range(REPEATS):
            started = time.perf_counter()
            found = [result[0] for _, result in workers.map(chunk, range(CHUNKS))]
            shares.append((time.perf_counter() - started) / (CHUNK * CHUNKS / JOBS) - 1)
            assert found == [float(k) for k in range(CHUNKS)]
    return {
        "backend": backend, "workers": JOBS, "chunk seconds": CHUNK, "start seconds": start,
        "least overhead": min(shares), "median overhead": float(np.median(shares)),
    }  # fmt: skip


@pytest.mark.filterwarnings("default")  # the backends' own
def test_overhead_of_handing_out_chunks(keep) -> None:
    here = [each for each in BACKENDS if each not in NEEDS or importlib.util.find_spec(NEEDS[each])]
    rows = {each: measured(each) for each in here}
    before = tables.read(NAME).to_dict("records") if (tables.FOLDER / f"{NAME}.csv").exists() else []
    rows = {row["backend"]: row for row in before} | rows
    keep(NAME, pd.DataFrame([rows[each] for each in BACKENDS if each in rows]))
    assert all(rows[each]["least overhead"] < 0.1 for each in here)
