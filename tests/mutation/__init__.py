"""Named edits of the package's source, and what ``dpcheck check`` says of a copy that has one of them.

``python -m tests.mutation`` runs them, a row a mutant in ``tests/measured/mutants.csv``; ``--help`` names the options.
"""
