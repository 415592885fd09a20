"""The regression behind the rates: a table of measurements, a power law fitted to it, and the verdict on a claim."""
