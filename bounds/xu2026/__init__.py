"""Xu et al., Finding Differentially Private Second Order Stationary Points in Stochastic Minimax Optimization, 2026."""
