"""Calls a function in the Python of its own environment, which needs NumPy and no dpcheck; runs as a script there.

It is written for Python 3.8 and NumPy 1.17, and is also what the other end packs and unpacks values with.
"""

import sys

if __name__ == "__main__":
    del sys.path[0]  # of this file, whose neighbours are no modules of the function's

import importlib
import io
import os
import pickle
import struct
from pathlib import Path
from typing import IO, Any

import numpy as np


class _Packer(pickle.Pickler):
    """Packs arrays, their numbers and tables in a way that every NumPy and pandas reads."""

    def reducer_override(self, value: Any) -> Any:
        """Return what makes the value anew."""
        if type(value) is np.ndarray and value.dtype.kind in "biufcSUmM":
            whole = np.ascontiguousarray(value)
            return np.ndarray, (value.shape, value.dtype.str, bytearray(whole.tobytes()))
        if isinstance(value, np.generic) and value.dtype.kind in "biufc" and value.dtype.type is type(value):
            return getattr(np, value.dtype.name), (value.item(),)
        if type(value).__name__ == "DataFrame":
            return type(value), ({name: value[name].tolist() for name in value}, value.index.tolist())
        return NotImplemented


def packed(value: Any) -> bytes:
    """Return the bytes of a value, their number before them."""
    stream = io.BytesIO()
    _Packer(stream, 4).dump(value)
    return struct.pack("<q", stream.tell()) + stream.getvalue()


def unpacked(stream: IO[bytes]) -> Any:
    """Read a value; EOFError where the other end is gone."""
    head = stream.read(8)
    body = stream.read(struct.unpack("<q", head)[0]) if len(head) == 8 else b""
    if not body:
        raise EOFError
    return pickle.loads(body)


def _function(path: str, folder: str) -> Any:
    """Import the function MODULE:NAME of a folder, or the NAME of a FILE.py."""
    os.chdir(folder)
    module, _, name = path.rpartition(":")
    home = Path.cwd()
    if module.endswith(".py"):
        file = Path(module).resolve()
        home, module = file.parent, file.stem
        while (home / "__init__.py").is_file():
            home, module = home.parent, f"{home.name}.{module}"
    sys.path.insert(0, str(home))
    return getattr(importlib.import_module(module), name)


def _serve(questions: IO[bytes], answers: IO[bytes]) -> None:
    function = None
    while True:
        try:
            question = unpacked(questions)
        except EOFError:
            return
        try:
            if function is None:
                function, answer = _function(*question), (True, None)
            else:
                arguments, seed = question
                if seed is not None:
                    arguments[1] = np.random.default_rng(seed)
                answer = True, function(*arguments)
            answers.write(packed(answer))
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            answers.write(packed((False, (type(error).__name__, str(error)))))
        answers.flush()


if __name__ == "__main__":
    with os.fdopen(os.dup(0), "rb") as asked, os.fdopen(os.dup(1), "wb") as told:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)  # what the function prints is no answer
        _serve(asked, told)
