"""What a claim is about."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What a claim is about, in one word for reports and filters."""

    PRIVACY = "privacy"
    """A mechanism or a whole algorithm is (epsilon, delta)-differentially private, or a choice in it costs nothing."""

    SENSITIVITY = "sensitivity"
    """How far results on neighbouring datasets lie apart, at most or in the mean."""

    CALIBRATION = "noise calibration"
    """A formula for the noise is enough for the privacy that is promised."""

    ACCOUNTING = "privacy accounting"
    """How privacy losses add up: composition, moments, amplification by sampling, shares of delta."""

    UTILITY = "utility"
    """How small the risk, the duality gap or the gradient of the result is."""

    RATE = "rate"
    """The order of a bound in n, d and epsilon, or how two such orders compare."""

    LOWER_BOUND = "lower bound"
    """What no private algorithm can do better than."""

    COMPLEXITY = "gradient complexity"
    """How many gradients are computed."""

    SCHEDULE = "schedule"
    """A choice of step sizes, batch sizes, thresholds or numbers of steps does what it is made for."""

    ASSUMPTION = "assumption"
    """What has to hold for a result: whether it can hold, is enough, or is met where it is used."""

    LEMMA = "lemma"
    """An auxiliary result with a name or number of its own."""

    STEP = "proof step"
    """An identity or inequality on the way to a result."""

    CONSTANT = "constant"
    """A number in a bound: a factor, an exponent's coefficient, a power of two."""

    PROBABILITY = "probability"
    """How likely an event is, such as a failure."""

    ALGORITHM = "algorithm"
    """What a line of the pseudo-code computes."""

    REMARK = "remark"
    """A statement of the running text or about a table."""
