"""How a claim is decided."""

from __future__ import annotations

from enum import StrEnum


class Method(StrEnum):
    """How a claim is decided: what its verdict rests on, the most telling first where there are several."""

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
