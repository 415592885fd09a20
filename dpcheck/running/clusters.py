"""Clusters that others keep, Dask's and Ray's: work is packed once here, and unpacked once by each worker.

The chunks of a lost worker are run elsewhere.
"""

from __future__ import annotations

import logging
import sys
import sysconfig
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any

import numpy as np

from dpcheck.errors import InputError, one_line, raised
from dpcheck.running.executor import Executor

_INSTALLED = {"site-packages", "dist-packages"}
_PYTHON = Path(sysconfig.get_path("stdlib")).resolve()  # once: it is slow, and thousands of modules are asked about


def packed(work: Callable[[Any], Any], cloudpickle: Any) -> bytes:
    """The work as bytes; ``cloudpickle`` : the module that packs, which every library brings for itself."""
    with _by_value(cloudpickle):
        try:
            return bytes(cloudpickle.dumps(work))
        except Exception as error:
            raise InputError(f"the work must be fit to be sent to other machines, got {raised(error)}") from error


@contextmanager
def _by_value(cloudpickle: Any) -> Iterator[None]:
    own = [module for module in list(sys.modules.values()) if _is_own(module)]
    for module in own:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in own:
            cloudpickle.unregister_pickle_by_value(module)


def _is_own(module: ModuleType) -> bool:
    """Whether a module is the user's, so that other machines do not have it."""
    file = getattr(module, "__file__", None)
    if not file or module.__name__.partition(".")[0] in ("dpcheck", "__main__", "__mp_main__"):
        return False
    path = Path(file).resolve()
    return path.is_relative_to(Path.cwd()) and not path.is_relative_to(_PYTHON) and not _INSTALLED & {*path.parts}


_KEPT = 4
_unpacked: OrderedDict[bytes, Callable[[Any], Any]] = OrderedDict()
_lock = Lock()


def run(work: bytes, chunk: Any) -> Any:
    """Do the work on one chunk, in a worker."""
    import pickle

    from dpcheck.running.streams import one_blas_thread

    with _lock:
        if work not in _unpacked:
            _unpacked[work] = pickle.loads(work)
            while len(_unpacked) > _KEPT:
                _unpacked.popitem(last=False)
        found = _unpacked[work]
    with one_blas_thread():
        return found(chunk)


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
            self._payload = self._client.submit(bytes, packed(work, self._cloudpickle), pure=False)
            self._payload.result()
        self.jobs = max(1, sum(self._client.nthreads().values()))

    def _submit(self, chunk: Any) -> Future[Any]:
        found: Future[Any] = self._pool.submit(run, self._payload, chunk)
        return found

    def _end(self, *, now: bool) -> None:
        self._pool.shutdown(wait=False)
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()


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
        self._remote = ray.remote(run)
        self._work: Callable[[Any], Any] | None = None
        self._payload: Any = None

    def _begin(self, work: Callable[[Any], Any]) -> None:
        if self._work is not work:
            self._work = work
            self._payload = self._ray.put(packed(work, self._ray.cloudpickle))

    def _submit(self, chunk: Any) -> Future[Any]:
        found: Future[Any] = self._remote.remote(self._payload, chunk).future()
        return found

    def _taken(self, result: Any) -> Any:
        """Ray's arrays lie in memory that all share, and cannot be written."""
        return result.copy() if isinstance(result, np.ndarray) else result

    def _end(self, *, now: bool) -> None:
        if self._ours:
            self._ray.shutdown()
