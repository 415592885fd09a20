"""Ray: a cluster that others keep, or processes of this machine. The chunks of a lost worker are run elsewhere."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import numpy as np

from dpcheck.errors import InputError, one_line
from dpcheck.running import sent
from dpcheck.running.executor import Executor


class Ray(Executor):
    """The cluster at ``address``, such as ray://host:10001 or auto; without one, ``jobs`` processes here."""

    def __init__(self, jobs: int, address: str | None = None) -> None:
        try:
            import ray
        except ImportError as error:
            raise InputError("backend ray must be installed: pip install 'dpcheck[ray]'") from error
        self._ray = ray
        self._lost = (ray.exceptions.WorkerCrashedError, ray.exceptions.ObjectLostError)
        started: dict[str, Any] = {"address": address} if address else {"num_cpus": jobs, "include_dashboard": False}
        self._ours = not ray.is_initialized()  # the caller's own connection is used, and left open
        try:
            if self._ours:
                ray.init(logging_level=logging.ERROR, log_to_driver=False, configure_logging=False, **started)
        except (OSError, ValueError, RuntimeError, ConnectionError) as error:
            raise InputError(f"scheduler must be the address of a Ray cluster, got {address}: "
                             f"{one_line(error)[:200]}") from error  # fmt: skip
        self.jobs = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._remote = ray.remote(sent.run)
        self._work: Callable[[Any], Any] | None = None
        self._payload: Any = None

    def _begin(self, work: Callable[[Any], Any]) -> None:
        if self._work is not work:
            self._work = work
            self._payload = self._ray.put(sent.packed(work, self._ray.cloudpickle))

    def _submit(self, chunk: Any) -> Future[Any]:
        found: Future[Any] = self._remote.remote(self._payload, chunk).future()
        return found

    def _taken(self, result: Any) -> Any:
        """Ray's arrays lie in memory that all share, and cannot be written."""
        return result.copy() if isinstance(result, np.ndarray) else result

    def _end(self, *, now: bool) -> None:
        if self._ours:
            self._ray.shutdown()
