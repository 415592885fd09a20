"""The kinds of claims, and the methods that decide them."""

from enum import StrEnum

TYPED = "typed"  # the kind of a claim that is a line of text, or a relation


class Kind(StrEnum):
    """The subject of a claim, in one word for reports and filters."""

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
    """A bound that no private algorithm can beat."""

    COMPLEXITY = "gradient complexity"
    """How many gradients are computed."""

    SCHEDULE = "schedule"
    """A choice of step sizes, batch sizes, thresholds or numbers of steps does what it is made for."""

    ASSUMPTION = "assumption"
    """A condition of a result: whether it can hold, is enough, or is met where it is used."""

    LEMMA = "lemma"
    """An auxiliary result with a name or number of its own."""

    STEP = "proof step"
    """An identity or inequality on the way to a result."""

    CONSTANT = "constant"
    """A number in a bound: a factor, an exponent's coefficient, a power of two."""

    PROBABILITY = "probability"
    """How likely an event is, such as a failure."""

    ALGORITHM = "algorithm"
    """A line of the pseudo-code computes this."""

    REMARK = "remark"
    """A statement of the running text or about a table."""


class Method(StrEnum):
    """The ways in which a claim is decided, the most telling first where its verdict rests on several."""

    ALGEBRA = "exact algebra"
    """Identities, and inequalities between sums of products of positive letters, decided symbolically."""

    ARITHMETIC = "exact arithmetic"
    """Numbers compared: rational ones exactly, others in ball arithmetic. Most counterexamples are of this kind."""

    ENUMERATION = "exact enumeration"
    """Every case of a small instance, such as every minibatch, in rational arithmetic."""

    STEPS = "the algorithm's own steps"
    """Lines of the pseudo-code, run on a small instance in rational arithmetic."""

    PROVER = "prover"
    """Inequalities decided by ``dpcheck.bounds.prover``; the result names its routes, such as ``certificate``."""

    EXPONENTS = "linear program with exact multipliers"
    """Orders of growth compared through the exponents of their letters."""

    PRIVACY_CURVE = "exact privacy curve"
    """The least delta of a Gaussian release at each epsilon: bounded by its tail, or evaluated in ball arithmetic."""

    EVENT = "exact chances of an event"
    """The probabilities of one set of outputs on two neighbouring datasets, in ball arithmetic."""

    MOMENTS = "exact moments"
    """The moments of a privacy loss, on an instance."""

    CITED = "cited facts"
    """Textbook facts and other claims of the catalogue, named with their source."""

    PUBLISHED = "published rates"
    """Rates and lower bounds of other papers, taken as they were published."""

    NONE = "none"
    """Nothing was decided."""
