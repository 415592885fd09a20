"""Empirical checks, one tester a file: each states its null hypothesis and keeps its error rate."""
