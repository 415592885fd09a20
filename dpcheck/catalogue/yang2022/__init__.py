"""Yang et al. 2022: DP-SGDA, and the methods that its Table 1 compares it with."""
