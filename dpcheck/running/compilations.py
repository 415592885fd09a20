"""What JAX compiles while code of others runs: it is said once, with the remedy, while the work goes on."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_EVENT = "/jax/core/compile/backend_compile_duration"
_MANY, _LONG = 20, 5.0  # compilations, and their seconds, that are said
_counted: list[list[float]] = []  # seconds of each compilation, one list for each context that is open
_heard: list[Any] = []  # the modules that report to us: JAX takes no listener back


@contextmanager
def compilations_said() -> Iterator[None]:
    """Log a warning once where JAX, if imported, compiles many times within, as it does for each size of an array."""
    jax = sys.modules.get("jax")
    if jax is not None and jax not in _heard:
        jax.monitoring.register_event_duration_secs_listener(_listen)
        _heard.append(jax)
    seconds: list[float] = []
    _counted.append(seconds)
    try:
        yield
    finally:
        _counted[:] = [other for other in _counted if other is not seconds]


def _listen(event: str, seconds: float, **_: Any) -> None:
    if event != _EVENT or not _counted:
        return
    counted = _counted[-1]
    before = len(counted) > _MANY and sum(counted) > _LONG
    counted.append(seconds)
    if not before and len(counted) > _MANY and sum(counted) > _LONG:
        words = (
            f"JAX compiled {len(counted)} times, in {sum(counted):.0f} s so far: it compiles anew for each size of a "
            "minibatch, and each time a step calls jax.jit. Pad minibatches to one size, with weight 0 for what is no "
            "record, and call jax.jit once, outside the step."
        )
        logging.getLogger("dpcheck").warning(words)  # no warning, which may be an error, or silenced where it is raised
