"""Bok et al., Shifted Interpolation for Differential Privacy, ICML 2024 (arXiv 2403.00278), and minimax steps.

This is [1] in the files of this folder. What ``steps`` states is not in the paper: which steps, those of minimax
problems among them, meet its condition, and with which Lipschitz constant.
"""
