"""Work that is sent to other machines: packed once here, unpacked once by each worker.

dpcheck itself and what is installed are imported by the worker; a user's own modules, which lie in the working folder
or below it, travel with the work.
"""

from __future__ import annotations

import sys
import sysconfig
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any

from dpcheck.errors import InputError, raised

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
