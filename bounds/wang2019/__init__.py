"""Wang et al., Subsampled Renyi Differential Privacy and Analytical Moments Accountant, AISTATS 2019.

This is [1] in the files of this folder (arXiv 1808.00087): minibatches of a fixed size, drawn without replacement,
between replaced records, and what a noise multiplier is over there.
"""
