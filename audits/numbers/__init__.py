"""Numbers in outputs: NaN as a value, the low-order bits of a double, and how a sentence or a file writes them."""
