"""DP-SGDA by the path that the notebooks and the documentation show; its record is in the catalogue."""

from dpcheck.catalogue.yang2022.dp_sgda import DPSGDA, GradientDescentAscent

__all__ = ["DPSGDA", "GradientDescentAscent"]
