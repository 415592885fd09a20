"""Zhang et al., Bring Your Own Algorithm for Optimal Differentially Private Stochastic Minimax Optimization, \
NeurIPS 2022."""
