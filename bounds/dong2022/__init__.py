"""Dong, Roth and Su, Gaussian Differential Privacy, JRSS B 2022 (arXiv 1905.02383), and what a curve means.

This is [1] in the files of this folder. Its trade-off functions say what a test between neighbours can do; what
``curve`` states of several records of one person, of an advantage and of a guess follows from lines above them.

Its results are named by subject: the numbers of its theorems were not looked up.
"""
