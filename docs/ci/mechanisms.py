"""Three mechanisms of a project. One leaks: a record moves it by 1/3, and its noise is for a move by 1/60."""


def noisy_sum(data, rng, size):
    """Return the sum of records in [0, 1]."""
    return sum(data) + rng.laplace(scale=1 / 1.0, size=size)


def noisy_count(data, rng, size):
    """Count the positive records."""
    return sum(each > 0 for each in data) + rng.laplace(scale=1 / 0.5, size=size)


def leaking_mean(data, rng, size):
    """Return the mean of records in [0, 1]."""
    return sum(data) / len(data) + rng.laplace(scale=1 / 60, size=size)
