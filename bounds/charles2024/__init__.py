"""Charles et al., Fine-Tuning Large Language Models with User-Level Differential Privacy, 2024 (arXiv 2407.07737).

This is [1] in the files of this folder: example-level sampling, each record of a user by a coin of its own.
Its results are named by subject: the numbers of its theorems were not looked up.
"""
