"""What other libraries' accountants say of the same events, beside the certificate, and where the truth lies.

Claims W01 to W03 say what a multiplier between replaced records is over, and what is lost by taking it for another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dpcheck.accounting import certify
from dpcheck.accounting.certificates import Certificate
from dpcheck.accounting.event_counts import count_events
from dpcheck.accounting.other_events import between_replaced
from dpcheck.accounting.sampling_below import sampled_epsilon_below
from dpcheck.arguments import checked
from dpcheck.errors import one_line
from dpcheck.events import Disjoint, Event, Gaussian, Laplace, Repeated, Sampled, read_events
from dpcheck.shown import Result

_SAME = 1e-3  # relative: what an accountant's grid may differ by
_ERROR = 0.01  # of the epsilon of prv_accountant, which it bounds itself


@dataclass(frozen=True)
class Opinion:
    """What another accountant says of the same events.

    Attributes
    ----------
    accountant : str
        The library and its accountant.
    epsilon : float or None
        At the same delta (natural log); None where it has none.
    remark : str
        How it differs from the certificate and why, or why there is none.
    """

    accountant: str
    epsilon: float | None
    remark: str


@dataclass(frozen=True)
class SecondOpinion(Result):
    """A certificate beside what others compute.

    Attributes
    ----------
    certificate : Certificate
        Of dpcheck.
    opinions : tuple of Opinion
        Of each other accountant: its epsilon for the same events and relation of neighbours, and how it differs.
    at_least : float or None
        A lower bound on the epsilon of the worst mechanism with these events: the certificate itself where that is
        exact, else the larger of prv_accountant's and of a pair's; None where there is none.
    """

    certificate: Certificate
    opinions: tuple[Opinion, ...]
    at_least: float | None

    def _sentence(self) -> str:
        epsilon, least = self.certificate.epsilon, self.at_least
        lies = f"is at most {epsilon:.6g}" if least is None else f"lies between {least:.6g} and {epsilon:.6g}"
        lies = f"is {epsilon:.6g}" if least == epsilon else lies
        terms = f"({self.certificate.terms}) at delta {self.certificate.delta:g}"
        return f"epsilon of the worst mechanism with these events {lies} {terms}"

    def _facts(self) -> dict[str, Any]:
        return {each.accountant: _shown(each) for each in self.opinions}


def _shown(opinion: Opinion) -> str:
    return opinion.remark if opinion.epsilon is None else f"{opinion.epsilon:.6g}, {opinion.remark}"


@checked
def second_opinion(events: Any, delta: float = 1e-5) -> SecondOpinion:
    """Ask the accountants of dp_accounting, prv_accountant and Opacus, as far as they are installed.

    Parameters
    ----------
    events : event or sequence of events
        As :func:`dpcheck.certify` reads them: of dpcheck or dp_accounting, or an accountant or history of Opacus.
    delta : float
        In [0, 1).

    Returns
    -------
    SecondOpinion
        The certificate, every other accountant's epsilon with the reason why it differs, and between which two numbers
        the truth lies.

    Raises
    ------
    InputError
        For anything else.

    Examples
    --------
    >>> from dpcheck.accounting.second_opinion import second_opinion
    >>> from dpcheck.events import Gaussian
    >>> found = second_opinion(Gaussian(2.0), delta=1e-5)
    >>> found.at_least == found.certificate.epsilon
    True
    """
    certificate = certify(events, delta)
    read = read_events(events)
    relation = count_events(read).neighbours or "add_or_remove_one"
    singles = list(_singles(read))
    peers: dict[str, Callable[[], tuple[float, str]]] = {
        "dp_accounting, RDP": lambda: _renyi(singles, relation, certificate),
        "dp_accounting, PLD": lambda: _grid(singles, relation, certificate),
        "opacus, RDP": lambda: _opacus(singles, "RDPAccountant", certificate),
        "opacus, PRV": lambda: _opacus(singles, "PRVAccountant", certificate),
    }
    low, high, remark = _prv(singles, certificate)
    opinions = [Opinion(name, *_asked(ask)) for name, ask in peers.items()]
    exact = certificate.method.startswith("exact") or certificate.epsilon == 0
    known = [bound for bound in (low, _below(singles, certificate)) if bound is not None]
    least = certificate.epsilon if exact else min(max(known), certificate.epsilon) if known else None
    return SecondOpinion(certificate, (*opinions, Opinion("prv_accountant", high, remark)), least)


def _below(singles: Sequence[tuple[Any, int]], certificate: Certificate) -> float | None:
    """Return a lower bound of dpcheck's own on many steps of one kind, None where it has none."""
    (event, count), *others = singles or [(None, 0)]
    if isinstance(event, Sampled) and not others:
        return sampled_epsilon_below(event, count, certificate.delta, certificate.epsilon)
    return None


def _asked(ask: Callable[[], tuple[float, str]]) -> tuple[float | None, str]:
    try:
        return ask()
    except ImportError as error:
        return None, f"not installed ({error.name})"
    except (NotImplementedError, TypeError, ValueError, ArithmeticError) as error:
        return None, f"has no accounting of these events: {one_line(error)[:100]}"


def _singles(events: Sequence[Event]) -> Iterator[tuple[Any, int]]:
    for event in events:
        count = 1
        while isinstance(event, Repeated):
            count, event = count * event.count, event.event
        yield event, count


def _named(singles: Sequence[tuple[Any, int]], relation: str) -> Any:
    """The events in the terms of dp_accounting, whose multipliers are over one record's part."""
    from dp_accounting import dp_event as dp

    changed = 2 if relation == "replace_one" else 1
    made = []
    for event, count in singles:
        event = event.worst if isinstance(event, Disjoint) else event  # which is as private as all of its parts
        noise = event.noise_multiplier * changed
        laplace = isinstance(event, Laplace) or (isinstance(event, Sampled) and event.laplace)
        plain = dp.LaplaceDpEvent(noise) if laplace else dp.GaussianDpEvent(noise)
        match event:
            case Gaussian() | Laplace():
                made.append(dp.SelfComposedDpEvent(plain, count))
            case Sampled(scheme="poisson", records=1):
                made.append(dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(event.rate, plain), count))
            case Sampled(scheme="without_replacement"):
                part = dp.SampledWithoutReplacementDpEvent(int(event.population), int(event.batch), plain)
                made.append(dp.SelfComposedDpEvent(part, count))
            case _:
                raise ValueError(f"{type(event).__name__} is not among its events")
    return dp.ComposedDpEvent(made)


def _renyi(singles: Sequence[tuple[Any, int]], relation: str, certificate: Certificate) -> tuple[float, str]:
    from dp_accounting.rdp import RdpAccountant

    event = _named(singles, relation)
    epsilon = _composed(RdpAccountant, event, relation, certificate)
    if relation == "replace_one":  # where that library takes a multiplier over C for one over 2C
        halved = _composed(RdpAccountant, between_replaced(event), relation, certificate)
        return epsilon, f"with the multiplier over C, which it takes for one over 2C; {halved:.6g} with half of it"
    return epsilon, _compared(epsilon, certificate, "lost where Rényi orders become (epsilon, delta)")


def _grid(singles: Sequence[tuple[Any, int]], relation: str, certificate: Certificate) -> tuple[float, str]:
    from dp_accounting.pld import PLDAccountant

    epsilon = _composed(PLDAccountant, _named(singles, relation), relation, certificate)
    return epsilon, _compared(epsilon, certificate, "of a grid that is coarser")


def _composed(make: Callable[..., Any], event: Any, relation: str, certificate: Certificate) -> float:
    from dp_accounting import NeighboringRelation

    accountant = make(neighboring_relation=NeighboringRelation[relation.upper()])
    if not accountant.supports(event):
        raise ValueError(f"none for {relation.replace('_', '-')} neighbours")
    return float(accountant.compose(event).get_epsilon(certificate.delta))


def _steps(singles: Sequence[tuple[Any, int]]) -> list[tuple[float, float, int]]:
    """Multiplier, rate and count of Gaussians, Poisson sampled or not; ValueError for others."""
    rows = []
    for event, count in singles:
        sampled = isinstance(event, Sampled) and event.scheme == "poisson" and event.neighbours == "add_or_remove_one"
        if not (isinstance(event, Gaussian) or (sampled and not event.laplace and event.records == 1)):
            raise ValueError("only of Gaussians, under Poisson sampling or none")
        rows.append((event.noise_multiplier, event.rate if sampled else 1.0, count))
    return rows


def _opacus(singles: Sequence[tuple[Any, int]], kind: str, certificate: Certificate) -> tuple[float, str]:
    from opacus import accountants

    accountant = getattr(accountants, kind)()
    accountant.history = _steps(singles)
    epsilon = float(accountant.get_epsilon(certificate.delta))
    lost = "lost where Rényi orders become (epsilon, delta)" if kind == "RDPAccountant" else "within its stated error"
    return epsilon, _compared(epsilon, certificate, lost)


def _prv(singles: Sequence[tuple[Any, int]], certificate: Certificate) -> tuple[float | None, float | None, str]:
    """Return prv_accountant's bounds from below and above, None where it has none, and a remark."""

    def ask() -> tuple[float, str]:
        import prv_accountant as prv

        rows, delta = _steps(singles), certificate.delta
        parts = [
            prv.GaussianMechanism(z) if rate == 1 else prv.PoissonSubsampledGaussianMechanism(rate, z)
            for z, rate, _ in rows
        ]
        counts = [count for *_, count in rows]
        made = prv.PRVAccountant(
            prvs=parts, max_self_compositions=counts, eps_error=_ERROR, delta_error=delta / 1000,
        )  # fmt: skip
        low, _, high = made.compute_epsilon(delta=delta, num_self_compositions=counts)
        bounds.append(float(low))
        return float(high), f"within its stated error of {_ERROR:g}; not below {low:.6g}"

    bounds: list[float] = []
    high, remark = _asked(ask)
    return (bounds[0] if bounds else None), high, remark


def _compared(epsilon: float, certificate: Certificate, reason: str) -> str:
    ratio = epsilon / certificate.epsilon if certificate.epsilon else math.inf
    if epsilon == certificate.epsilon or abs(ratio - 1) <= _SAME:
        return "the same within 0.1 %"
    return f"{abs(ratio - 1):.1%} {'more' if ratio > 1 else 'less'}: {reason}"
