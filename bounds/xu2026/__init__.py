"""Xu et al., Private Second-Order Stationary Points in Stochastic Minimax Optimization, 2026."""
