"""What a command works with where its options ask for it: a store of what was measured, and workers."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from dpcheck.errors import require

if TYPE_CHECKING:
    from dpcheck.running.executor import Executor
    from dpcheck.running.store import Store


@contextmanager
def chosen_store(options: Namespace) -> Iterator[Store | None]:
    """Open the store that was asked for; None where none was."""
    if options.store is None:
        yield None
        return
    from dpcheck.running.store import open_store

    with closing(open_store(options.store)) as store:
        yield store


@contextmanager
def chosen_executor(options: Namespace) -> Iterator[Executor | None]:
    """Start the workers that were asked for; None where each kind of work chooses for itself."""
    if options.backend is None:
        require(options.scheduler is None, "--scheduler", "come with --backend dask or ray", options.scheduler)
        yield None
        return
    from dpcheck.running.process_pool import executor

    with executor(options.backend, jobs=options.jobs, scheduler=options.scheduler) as workers:
        yield workers


@contextmanager
def said_when_interrupted(options: Namespace) -> Iterator[None]:
    """Let an interrupt say where the store keeps what was done."""
    try:
        yield
    except KeyboardInterrupt:
        if options.store is None:
            raise
        raise KeyboardInterrupt(f"what was done is in {options.store}, and the same command goes on") from None
