"""Zhang et al., Improved Rates of Differentially Private Nonconvex-Strongly-Concave Minimax Optimization, AAAI 2025.

This is [1] in the files of this folder; claims are numbered 003 in its main text and 004 in its version with proofs.
"""
