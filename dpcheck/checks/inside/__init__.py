"""A recorded run from inside: what it released, from which records, and where it went."""
