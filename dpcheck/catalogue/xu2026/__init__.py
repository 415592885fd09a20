"""Xu et al. 2026: DP-RGDA, and the private SPIDER methods that it is compared with."""
