"""Wang, Balle and Kasiviswanathan, Subsampled Renyi Differential Privacy, AISTATS 2019 (arXiv 1808.00087).

This is [1] in the files of this folder: minibatches of a fixed size, drawn without replacement, between replaced
records, and what a noise multiplier is over there.
"""
