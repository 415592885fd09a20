"""Output sets: chosen from earlier runs, and counted on fresh ones."""
