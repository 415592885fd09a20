"""The formulas that people type when they account for privacy, each beside the exact value that dpcheck computes."""
