"""Processes of this machine, which serve plain Python; they inherit the work, as a lambda cannot be sent."""

from __future__ import annotations

import multiprocessing
import pickle
import signal
import warnings
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from dpcheck.errors import InputError, raised, require, require_count
from dpcheck.running.executor import Executor, LostWorkersError, Threads
from dpcheck.running.processes import end_with_parent
from dpcheck.running.streams import workers

# Signals that a process brings upon itself; SIGKILL and SIGTERM come from outside.
_OWN_FAULT = (signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE, signal.SIGILL, getattr(signal, "SIGBUS", signal.SIGSEGV))


class Processes(Executor):
    """So many processes, which end with this one; one that is killed is replaced."""

    _lost = (BrokenProcessPool,)

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._pool: ProcessPoolExecutor | None = None
        self._work: Callable[[Any], Any] | None = None

    def _begin(self, work: Callable[[Any], Any]) -> None:
        if self._pool is not None and self._work is work and not self._pool._broken:
            return
        if self._pool is not None and self._pool._broken:
            _require_lost(list((self._pool._processes or {}).values()))
        self._end(now=False)
        forks = "fork" in multiprocessing.get_all_start_methods()
        if not forks:
            _require_picklable(work, self.jobs)
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


def _require_picklable(work: Any, jobs: int) -> None:
    try:
        pickle.dumps(work)
    except Exception as error:
        raise InputError(
            f"mechanism and datasets must be picklable where jobs = {jobs}, got {raised(error)}"
        ) from error


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
    if backend == "dask":
        from dpcheck.running.clusters import Dask

        return Dask(count, scheduler)
    if backend == "ray":
        from dpcheck.running.clusters import Ray

        return Ray(count, scheduler)
    return Threads(count) if backend == "threads" else Processes(count)
