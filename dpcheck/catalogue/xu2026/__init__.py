"""Xu et al. 2026: DP-RGDA, and the private SPIDER methods that it is compared with."""

# Assumptions of the paper's theorems that no run can answer, with what it would have to know.
UNKNOWN = {
    "A5": "how far the records' gradients spread",
    "records": "where the records come from",
    "y_0": "how good an answer y_0 is for these records",
}
