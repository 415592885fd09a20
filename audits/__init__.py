"""Empirical tests of mechanisms, one tester a file on top; the rooms below hold what the testers are made of.

Each tester states its null hypothesis, and calls a mechanism that obeys it violated at most as often as it says.
"""
