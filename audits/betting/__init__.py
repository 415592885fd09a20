"""Bets on which dataset an output came from, made from past outputs alone, and the wealth that they win."""
