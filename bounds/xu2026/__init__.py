"""Xu et al., Finding Differentially Private Second Order Stationary Points in Stochastic Minimax Optimization, 2026.

This is [1] in the files of this folder, and DP-RGDA is its algorithm.
"""
