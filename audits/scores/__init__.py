"""Scores learned from the outputs of earlier runs: numbers whose tails tell two datasets apart."""
