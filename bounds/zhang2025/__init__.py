"""Zhang et al., Improved Rates of Private Nonconvex-Strongly-Concave Minimax Optimization, AAAI 2025."""
