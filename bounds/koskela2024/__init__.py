"""Koskela et al., Privacy Profiles for Private Selection, ICML 2024 (arXiv 2402.13087).

This is [1] in the files of this folder; the problem is that of Papernot and Steinke, ICLR 2022.
"""
