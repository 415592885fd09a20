"""An executor by name, as the command's ``--backend`` and ``--scheduler`` ask for it."""

from __future__ import annotations

from dpcheck.errors import require, require_count
from dpcheck.running.executor import Executor
from dpcheck.running.process_pool import Processes
from dpcheck.running.streams import workers
from dpcheck.running.threads import Threads

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
    >>> from dpcheck.running.choice import executor
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
        from dpcheck.running.dask_cluster import Dask

        return Dask(count, scheduler)
    if backend == "ray":
        from dpcheck.running.ray_cluster import Ray

        return Ray(count, scheduler)
    return Threads(count) if backend == "threads" else Processes(count)
