"""The games of every record, by the name of its algorithm."""

from dpcheck.solvers import ALGORITHMS, algorithm

# Looked up when they are called, so that a record that a test replaces has its own.
GAMES = {name: lambda name=name: algorithm(name).games() for name in ALGORITHMS}
