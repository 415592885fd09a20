"""Zhang et al., Improved Rates of Differentially Private Nonconvex-Strongly-Concave Minimax Optimization, AAAI 2025."""
