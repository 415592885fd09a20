"""Zhang et al., Bring Your Own Algorithm for Private Stochastic Minimax Optimization, NeurIPS 2022."""
