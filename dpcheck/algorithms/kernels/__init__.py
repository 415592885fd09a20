"""Compiled loops: arrays in, numbers out, no validation and no objects.

Every kernel has an explicit signature, so it compiles once, whatever calls it: when it is first called. It is kept
on disk between runs (beside the package, or in the user's cache folder where the package is read-only).
With ``NUMBA_DISABLE_JIT=1`` the same functions run as plain Python.
"""
