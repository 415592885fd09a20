"""Accounting by a second route that shares no code with the engine, and the stage that compares the two."""
