"""Inequalities whose truth is known without the prover, to measure the prover by.

Each begins as a theorem that is tight, or nearly so, at a named point. The true items are the theorem itself, or the
theorem with some slack; the false ones take away more than there is room for at that point, which then is the exact
witness. Nothing here asks the prover; ``test_inequalities.py`` checks the witnesses and samples the true ones.
"""

from inequalities.item import Item, Theorem, collection

__all__ = ["Item", "Theorem", "collection"]
