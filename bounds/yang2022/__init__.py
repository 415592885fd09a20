"""Yang et al., Differentially Private SGDA for Minimax Problems, UAI 2022.

This is [1] in the files of this folder: Z. Yang, S. Hu, Y. Lei, K. R. Varshney, S. Lyu, Y. Ying.
"""
