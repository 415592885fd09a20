"""Zhang et al., Bring Your Own Algorithm for Optimal Differentially Private Stochastic Minimax Optimization, \
NeurIPS 2022.

This is [1] in the files of this folder: L. Zhang, K. K. Thekumparampil, S. Oh, N. He.
"""
