"""Minimax objectives with per-record gradients and closed forms, one a file."""
