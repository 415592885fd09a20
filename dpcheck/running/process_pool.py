"""Workers beside this process: processes of this machine, and clusters that others keep, Dask's and Ray's.

Processes inherit the work, as a lambda cannot be sent. For a cluster it is packed once here, and unpacked once by each
worker; the chunks of a lost worker are run elsewhere.
"""

from __future__ import annotations

import logging
import multiprocessing
import pickle
import signal
import sys
import sysconfig
import warnings
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any

import numpy as np

from dpcheck.errors import InputError, one_line, raised, require, require_count
from dpcheck.running.executor import Executor, LostWorkersError, Result, Task, Threads, one_blas_thread, workers
from dpcheck.running.processes import end_with_parent
from dpcheck.running.store import code_and_libraries

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
    modules = [module for module in list(sys.modules.values()) if _is_the_users(module)]
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)


def _is_the_users(module: ModuleType) -> bool:
    """Whether a module is the user's, so that other machines do not have it."""
    file = getattr(module, "__file__", None)
    if not file or module.__name__.partition(".")[0] in ("dpcheck", "__main__", "__mp_main__"):
        return False
    path = Path(file).resolve()
    return path.is_relative_to(Path.cwd()) and not path.is_relative_to(_PYTHON) and not _INSTALLED & {*path.parts}


_KEPT = 4
_unpacked: OrderedDict[bytes, Callable[[Any], Any]] = OrderedDict()
_lock = Lock()


def _unpack_and_run(work: bytes, code: str, chunk: Any) -> Any:
    """Do the work on one chunk, in a worker whose code and libraries must be those of the command."""
    with _lock:
        if work not in _unpacked:
            _require_same(code_and_libraries(), code)
            _unpacked[work] = pickle.loads(work)
            while len(_unpacked) > _KEPT:
                _unpacked.popitem(last=False)
        function = _unpacked[work]
    with one_blas_thread():
        return function(chunk)


def _require_same(there: str, here: str) -> None:
    """Require that workers compute with what the command computes with; the kind of machine alone may differ."""
    if there.split()[:-1] != here.split()[:-1]:
        raise InputError(f"workers must have the code and libraries of this command, {here}, got {there}: install the "
                         "same dpcheck there")  # fmt: skip


def _code() -> str:
    return code_and_libraries()  # which Ray takes for no function


_LOST_SCHEDULER = (
    "scheduler must stay reachable with its workers, got one that was lost; a store keeps what is done, and the same "
    "command goes on with a new scheduler"
)
_WITHIN = 30.0  # seconds, a scheduler answers


class _Cluster(Executor):
    """Workers of others, on machines that may be lost, and may have other code."""

    _gone: tuple[type[BaseException], ...] = (OSError, TimeoutError, CancelledError)

    @abstractmethod
    def _share(self, work: Callable[[Any], Any]) -> None:
        """Make the work known to the workers."""

    @abstractmethod
    def _there(self) -> list[str]:
        """Return what workers compute with."""

    def _begin(self, work: Callable[[Any], Any]) -> None:
        try:
            self._share(work)
        except self._gone as error:
            raise InputError(_LOST_SCHEDULER) from error

    def _explained(self, error: Exception) -> Exception:
        """Say so where workers have other code, on which the work may fail in any way."""
        if isinstance(error, InputError):
            return error
        if isinstance(error, self._gone):
            return InputError(_LOST_SCHEDULER)
        try:
            for there in self._there():
                _require_same(there, code_and_libraries())
        except InputError as other:
            return other
        except Exception as other:  # an older dpcheck, or none, or nobody answers
            return InputError(f"workers must have the dpcheck of this command, got {raised(other)[:200]}")
        return error


class Dask(_Cluster):
    """The workers of the scheduler at ``address``, such as tcp://host:8786; without one, ``jobs`` processes here."""

    def __init__(self, jobs: int, address: str | None = None) -> None:
        try:
            import cloudpickle
            import distributed
        except ImportError as error:
            raise InputError("backend dask must be installed: pip install 'dpcheck[dask]'") from error
        self._cloudpickle, self._cluster = cloudpickle, None
        self._lost = (distributed.scheduler.KilledWorker, distributed.client.FutureCancelledError, CancelledError)
        self._gone = (*_Cluster._gone, distributed.client.FutureCancelledError)
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what it says of what is lost is no news here
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
        self._payload: Any = None

    def _share(self, work: Callable[[Any], Any]) -> None:
        if self._work is not work or self._payload is None or self._payload.status != "finished":
            self._work = work
            # a task rather than data: it is made again where all workers that had it are lost
            self._payload = self._client.submit(bytes, packed(work, self._cloudpickle), pure=False)
            self._payload.result()
        self.jobs = max(1, sum(self._client.nthreads().values()))

    def _submit(self, chunk: Any) -> Future[Any]:
        future: Future[Any] = self._pool.submit(_unpack_and_run, self._payload, code_and_libraries(), chunk)
        return future

    def _there(self) -> list[str]:
        return list(self._client.run(code_and_libraries).values())

    def _end(self, *, now: bool) -> None:
        self._pool.shutdown(wait=False)
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()


class Ray(_Cluster):
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
        self._remote = ray.remote(_unpack_and_run)
        self._payload: Any = None

    def _share(self, work: Callable[[Any], Any]) -> None:
        if self._work is not work:
            self._work = work
            self._payload = self._ray.put(packed(work, self._ray.cloudpickle))

    def _submit(self, chunk: Any) -> Future[Any]:
        future: Future[Any] = self._remote.remote(self._payload, code_and_libraries(), chunk).future()
        return future

    def _there(self) -> list[str]:
        return [self._ray.get(self._ray.remote(_code).remote(), timeout=_WITHIN)]

    def _taken(self, result: Any) -> Any:
        """Ray's arrays lie in memory that all share, and cannot be written."""
        return result.copy() if isinstance(result, np.ndarray) else result

    def _end(self, *, now: bool) -> None:
        if self._ours:
            self._ray.shutdown()


# Signals that a process brings upon itself; SIGKILL and SIGTERM come from outside.
_OWN_FAULT = (signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE, signal.SIGILL, getattr(signal, "SIGBUS", signal.SIGSEGV))


class Processes(Executor):
    """So many processes, which end with this one; one that is killed is replaced."""

    _lost = (BrokenProcessPool,)

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._pool: ProcessPoolExecutor | None = None

    def _run(
        self, work: Callable[[Task], Result], chunks: Iterable[Task], *, in_order: bool
    ) -> Iterator[tuple[Task, Result]]:
        """Run the chunks here where JAX is at work: its threads stay behind when a process forks, which then hangs."""
        jax = sys.modules.get("jax._src.xla_bridge")
        if jax is not None and getattr(jax, "backends_are_initialized", lambda: True)():
            return ((chunk, work(chunk)) for chunk in chunks)
        return super()._run(work, chunks, in_order=in_order)

    def _begin(self, work: Callable[[Any], Any]) -> None:
        if self._pool is not None and self._work is work and not self._pool._broken:
            return
        if self._pool is not None and self._pool._broken:
            _require_lost(list((self._pool._processes or {}).values()))
        self._end(now=False)
        forks = "fork" in multiprocessing.get_all_start_methods()
        if not forks:
            try:
                pickle.dumps(work)
            except Exception as error:
                must = f"mechanism and datasets must be picklable where jobs = {self.jobs}"
                raise InputError(f"{must}, got {raised(error)}") from error
        self._work = work
        self._pool = ProcessPoolExecutor(
            self.jobs, multiprocessing.get_context("fork" if forks else None), _start_worker, (work,)
        )

    def _submit(self, chunk: Any) -> Future[Any]:
        assert self._pool is not None
        with warnings.catch_warnings():
            # Workers only do the work, and inherit it.
            warnings.filterwarnings("ignore", "This process.*fork", DeprecationWarning)
            return self._pool.submit(_in_worker, chunk)

    def _end(self, *, now: bool) -> None:
        if self._pool is None:
            return
        workers = list((self._pool._processes or {}).values())
        if now:
            self._pool.shutdown(wait=False, cancel_futures=True)
            for worker in workers:
                worker.terminate()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool = None


def _require_lost(workers: list[Any]) -> None:
    """Refuse a worker that was not killed from outside, but ended by what it did: to run its chunk again hides that."""
    for worker in workers:
        code = worker.exitcode
        if code is not None and (code >= 0 or -code in _OWN_FAULT):
            how = f"exit code {code}" if code >= 0 else f"signal {-code}"
            raise LostWorkersError(f"workers must survive their work, got one that ended itself with {how}")


_worker_work: Callable[[Any], Any] | None = None


def _start_worker(work: Callable[[Any], Any]) -> None:
    global _worker_work
    # The parent handles an interrupt, and ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    _worker_work = work


def _in_worker(chunk: Any) -> Any:
    assert _worker_work is not None
    return _worker_work(chunk)


BACKENDS = ("threads", "processes", "dask", "ray")
_CLUSTERS = ("dask", "ray")


def executor(backend: str, *, jobs: int | None = None, scheduler: str | None = None) -> Executor:
    """Open an executor.

    Parameters
    ----------
    backend : {"threads", "processes", "dask", "ray"}
        Who does the work. The last two are extras of their own.
    jobs : int, optional
        Workers; one a core by default. A cluster has the workers that it has.
    scheduler : str, optional
        Address of a cluster of Dask or Ray; without it they use processes of this machine.

    Returns
    -------
    Executor
        A context manager, to be given to ``dpcheck.check``, ``dpcheck.audit_privacy`` or ``dpcheck.audit_sequential``.

    Raises
    ------
    InputError
        For an unknown backend, one that is not installed, and a cluster that does not answer.

    Examples
    --------
    >>> import dpcheck
    >>> from dpcheck.running.process_pool import executor
    >>> with executor("threads", jobs=2) as threads:
    ...     audit = dpcheck.audit_privacy(
    ...         lambda value, rng: value + rng.laplace(), 0, 1, epsilon=1, trials=1000, executor=threads
    ...     )
    >>> audit.verdict
    'consistent'
    """
    require(backend in BACKENDS, "backend", f"be one of {', '.join(BACKENDS)}", backend)
    require(scheduler is None or backend in _CLUSTERS, "scheduler", "come with backend dask or ray", backend)
    require(scheduler is None or jobs is None, "jobs", "be left out beside a scheduler, which has its workers", jobs)
    if jobs is not None:
        require_count(jobs, "jobs")
    count = workers(jobs)
    if backend in _CLUSTERS:
        return (Dask if backend == "dask" else Ray)(count, scheduler)
    return Threads(count) if backend == "threads" else Processes(count)
