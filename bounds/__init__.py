"""Published guarantees: what each theorem promises, and whether its derivation holds."""
