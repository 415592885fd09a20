"""Exact tests and confidence limits on counts, and the estimated tails by which thresholds are chosen."""
