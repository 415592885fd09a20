"""Edits of the package's source that are named, or drawn anew: which test or finding of ``dpcheck check`` kills them.

``python -m tests.mutation`` runs them on a copy, a row a mutant in ``tests/measured``; ``--help`` names the options.
"""
