"""Zhang et al. 2025: PrivateDiff, clipped DP-SGDA, and the baseline DPTD."""
