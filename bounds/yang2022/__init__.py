"""Yang et al., Differentially Private SGDA for Minimax Problems, UAI 2022."""
