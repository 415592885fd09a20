"""What holds the catalogue's own code against a second way to compute the same."""
