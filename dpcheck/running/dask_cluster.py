"""Dask: a cluster that others keep, or processes of this machine. The chunks of a lost worker are run elsewhere."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any

from dpcheck.errors import InputError, one_line
from dpcheck.running import sent
from dpcheck.running.executor import Executor

_WITHIN = 30.0  # seconds, a scheduler answers


class Dask(Executor):
    """The workers of the scheduler at ``address``, such as tcp://host:8786; without one, ``jobs`` processes here."""

    def __init__(self, jobs: int, address: str | None = None) -> None:
        try:
            import cloudpickle
            import distributed
        except ImportError as error:
            raise InputError("backend dask must be installed: pip install 'dpcheck[dask]'") from error
        self._cloudpickle, self._cluster = cloudpickle, None
        self._lost = (distributed.scheduler.KilledWorker, distributed.client.FutureCancelledError, CancelledError)
        logging.getLogger("distributed").setLevel(logging.ERROR)  # what it says of a lost worker is no news here
        try:
            if address is None:
                self._cluster = distributed.LocalCluster(
                    n_workers=jobs, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
                )
            self._client = distributed.Client(self._cluster or address, timeout=_WITHIN, set_as_default=False)
            if address is not None:
                self._client.wait_for_workers(1, timeout=_WITHIN)
        except (OSError, ValueError, TimeoutError) as error:
            if self._cluster is not None:
                self._cluster.close()
            raise InputError(f"scheduler must be that of a Dask cluster with workers, got {address}: "
                             f"{one_line(error)}") from error  # fmt: skip
        self.jobs = sum(self._client.nthreads().values())
        self._pool = self._client.get_executor(pure=False, retries=0)
        self._work: Callable[[Any], Any] | None = None
        self._payload: Any = None

    def _begin(self, work: Callable[[Any], Any]) -> None:
        if self._work is not work or self._payload is None or self._payload.status != "finished":
            self._work = work
            # a task rather than data: it is made again where all workers that had it are lost
            self._payload = self._client.submit(bytes, sent.packed(work, self._cloudpickle), pure=False)
            self._payload.result()
        self.jobs = max(1, sum(self._client.nthreads().values()))

    def _submit(self, chunk: Any) -> Future[Any]:
        found: Future[Any] = self._pool.submit(sent.run, self._payload, chunk)
        return found

    def _end(self, *, now: bool) -> None:
        self._pool.shutdown(wait=False)
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()
