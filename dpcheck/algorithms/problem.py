"""What every problem offers: records, a gradient kernel, domains and proved constants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpcheck.algorithms.kernels import gradients
from dpcheck.algorithms.kernels.jit import Data
from dpcheck.algorithms.kernels.parts import Shape
from dpcheck.arguments import checked
from dpcheck.arrays import real_numbers
from dpcheck.errors import InputError, require, require_count, require_positive

Array = NDArray[np.float64]


class Problem(Protocol):
    """Minimise over w in W the maximum over v in V of the mean over records z of f(w, v; z).

    The closed forms concern the mean over the records, over the whole space where no domain is named, and raise
    InputError where the problem has none.

    Attributes
    ----------
    name : str
        The file that defines it.
    records : ndarray, (n, k) float64
        A record a row.
    params : ndarray, (p,) float64
        Public constants.
    arranged : ndarray, (n, >= k) float64
        The records as kernels read them, with what a problem's own kernels keep beside them.
    gradient : kernel
        ``(params, record, w, v, out_w, out_v)``, both partial gradients of one record, a row of ``arranged``.
    value : kernel
        ``(params, record, w, v)``, its objective.
    mean, difference : kernel
        Those of ``dpcheck.algorithms.kernels.gradients``, or faster ones of the problem's own.
    ascent : kernel
        Steps up in v at a fixed w, likewise; the problem's own computes once what does not depend on v.
    dim_w, dim_v : int
        Dimensions of w and v.
    domain_w, domain_v : ndarray, (blocks, 4) float64
        Rows (start, stop, shape, radius), the shape a ``Shape`` of ``dpcheck.algorithms.kernels.parts``.
    start : ndarray, (dim_w + dim_v,)
        Where algorithms begin, (w, v).
    lipschitz_w, lipschitz_v : float
        Bounds on the partial gradients' norms over the domains and all admissible records (a public constant, never
        read off the data); inf where there is none.
    smoothness : float
        Lipschitz constant of the joint gradient, inf where there is none.
    convexity, concavity : float
        Strong convexity of f in w, strong concavity in v, of one record; 0 where f is convex (concave) and no more,
        negative where it is not even that: minus ``smoothness``, by which any f may fall short.
    empirical_concavity : float
        Strong concavity in v of the mean over these records, no less than ``concavity``; where it is more, the records
        decide it.
    ascent_limit : float
        Largest step at which v -> v + step clip(grad_v f(w, v; z), C) moves no two points apart, for every w,
        admissible z and C; 0 where there is none.
    hessian_lipschitz : float
        Lipschitz constant of the Hessian of Phi, inf where there is none.
    """

    @property
    def name(self) -> str: ...
    @property
    def records(self) -> Array: ...
    @property
    def arranged(self) -> Array: ...
    @property
    def params(self) -> Array: ...
    @property
    def gradient(self) -> Callable[..., Any]: ...
    @property
    def value(self) -> Callable[..., Any]: ...
    @property
    def mean(self) -> Callable[..., Any]: ...
    @property
    def difference(self) -> Callable[..., Any]: ...
    @property
    def ascent(self) -> Callable[..., Any]: ...
    @property
    def dim_w(self) -> int: ...
    @property
    def dim_v(self) -> int: ...
    @property
    def domain_w(self) -> Array: ...
    @property
    def domain_v(self) -> Array: ...
    @property
    def start(self) -> Array: ...
    @property
    def lipschitz_w(self) -> float: ...
    @property
    def lipschitz_v(self) -> float: ...
    @property
    def smoothness(self) -> float: ...
    @property
    def convexity(self) -> float: ...
    @property
    def concavity(self) -> float: ...
    @property
    def empirical_concavity(self) -> float: ...
    @property
    def ascent_limit(self) -> float: ...
    @property
    def hessian_lipschitz(self) -> float: ...
    def best_response(self, w: Array) -> Array:
        """Return the argmax over v of f(w, v), (d_v,), at w (d_w,)."""

    def primal(self, w: Array) -> float:
        """Return Phi(w), the maximum over v of f(w, v), at w (d_w,)."""

    def primal_gradient(self, w: Array) -> Array:
        """Return the gradient of Phi, (d_w,), at w (d_w,)."""

    def primal_hessian(self, w: Array) -> Array:
        """Return the Hessian of Phi, (d_w, d_w), at w (d_w,)."""

    def saddle(self) -> tuple[Array, Array]:
        """Return (w, v) with grad f = 0, or the domains' saddle."""

    def gap(self, w: Array, v: Array) -> float:
        """Return the duality gap of w (d_w,) and v (d_v,)."""


@dataclass(frozen=True)
class Constants:
    """The constants that are proved of a problem; :class:`Problem` says what each of them bounds.

    They are public numbers: fields and sizes decide them, never the values of the records. ``convexity`` and
    ``concavity`` may be left out; they follow from :attr:`Defaults.convex` and :attr:`Defaults.concave` then.
    """

    lipschitz_w: float = inf
    lipschitz_v: float = inf
    smoothness: float = inf
    convexity: float | None = None
    concavity: float | None = None
    hessian_lipschitz: float = inf
    ascent_limit: float = 0.0


def ball(size: int, radius: float) -> Array:
    """Return the domain that is the Euclidean ball of this radius in ``size`` dimensions."""
    return np.array([[0.0, size, Shape.BALL, radius]])


def blocks(*parts: tuple[int, int, float]) -> Array:
    """Return the domain that is the product of consecutive blocks ``(size, kind, radius)``."""
    rows, start = [], 0
    for size, kind, radius in parts:
        rows.append([start, start + size, kind, radius])
        start += size
    return np.array(rows, dtype=float)


def fields_read(*names: str) -> Any:
    """Return the property ``params`` of a problem whose kernels read these fields, in this order."""
    return property(lambda problem: np.array([*map(partial(getattr, problem), names)], float))


def columns(count: Callable[[int], int]) -> Any:
    """Return a property that computes a dimension from the number of columns of the records."""
    return property(lambda problem: count(int(problem.records.shape[1])))


def constant(name: str, sign: str = "") -> Any:
    """Return the property that reads a proved constant of a problem; ``sign`` is what decides one that is left out."""

    def proved(problem: Any) -> Any:
        stated = getattr(problem.constants(), name)
        return stated if stated is not None else 0.0 if getattr(problem, sign) else -float(problem.smoothness)

    return property(proved)


class Defaults:
    """What holds for a problem that does not say otherwise.

    A problem states its numbers in :meth:`constants`. Its domains are the balls of radius :attr:`radius` for w and
    :attr:`reach` for v, unless it has domains of its own.
    """

    name: str
    records: Any
    radius: Any
    gradient: ClassVar[Callable[..., Any]]
    value: ClassVar[Callable[..., Any]]
    sample: ClassVar[Callable[..., Any]]
    mean: ClassVar[Callable[..., Any]] = staticmethod(gradients.mean)
    difference: ClassVar[Callable[..., Any]] = staticmethod(gradients.difference)
    ascent: ClassVar[Callable[..., Any]] = staticmethod(gradients.ascent)
    convex: ClassVar[bool] = True  # in w
    concave: ClassVar[bool] = True  # in v
    example_size: ClassVar[tuple[int, int]] = (200, 3)  # n and d

    dim_w: Any = columns(lambda count: count)
    dim_v: Any

    def constants(self) -> Constants:
        """Return the constants that are proved of this problem."""
        return Constants()

    @classmethod
    def example(cls, rng: np.random.Generator) -> Self:
        """Draw the small instance that algorithms run on by default, of :attr:`example_size` records and dimensions."""
        drawn: Self = cls.sample(*cls.example_size, rng)
        return drawn

    @property
    def zbar(self) -> Array:
        """The mean record."""
        mean: Array = self.records.mean(0)
        return mean

    @property
    def arranged(self) -> Array:
        """The records as they are."""
        return np.asarray(self.records)

    @property
    def start(self) -> Array:
        return np.zeros(self.dim_w + self.dim_v)

    @property
    def reach(self) -> float:
        """The radius of the domain of v."""
        return float(self.radius)

    @property
    def domain_w(self) -> Array:
        return ball(self.dim_w, self.radius)

    @property
    def domain_v(self) -> Array:
        return ball(self.dim_v, self.reach)

    lipschitz_w: Any = constant("lipschitz_w")
    lipschitz_v: Any = constant("lipschitz_v")
    smoothness: Any = constant("smoothness")
    hessian_lipschitz: Any = constant("hessian_lipschitz")
    ascent_limit: Any = constant("ascent_limit")

    convexity: Any = constant("convexity", "convex")
    concavity: Any = constant("concavity", "concave")

    @property
    def empirical_concavity(self) -> float:
        return float(self.concavity)

    def best_response(self, w: Array) -> Array:
        raise self._missing("best response")

    def primal(self, w: Array) -> float:
        raise self._missing("primal function")

    def primal_gradient(self, w: Array) -> Array:
        raise self._missing("primal gradient")

    def primal_hessian(self, w: Array) -> Array:
        raise self._missing("primal Hessian")

    def saddle(self) -> tuple[Array, Array]:
        raise self._missing("saddle point")

    def gap(self, w: Array, v: Array) -> float:
        raise self._missing("duality gap")

    def _missing(self, what: str) -> InputError:
        return InputError(f"problem must have a {what} in closed form, got {self.name}")

    def _require_positive(self, *names: str) -> None:
        """Raise InputError unless these fields are finite numbers above 0."""
        for name in names:
            require_positive(getattr(self, name), name)

    def _set(self, **fields: Any) -> None:
        """Replace fields by what checking made of them; the dataclasses are frozen."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)


class Minimisation(Defaults):
    """A problem without v: its Phi is the mean objective itself, and its best response is the empty vector."""

    params: Any = fields_read()
    dim_v = 0
    lipschitz_v = 0.0

    @property
    def domain_v(self) -> Array:
        return np.empty((0, 4))

    def best_response(self, w: Array) -> Array:
        return np.empty(0)


AnyProblem = TypeVar("AnyProblem", bound=Problem)


def data_of(problem: Problem, **changes: Any) -> Data:
    """Return what kernels read of a problem, save what is given."""
    start = np.ascontiguousarray(problem.start, dtype=float)
    data = Data(problem.params, problem.arranged, problem.domain_w, problem.domain_v, start, problem.dim_w)
    return data._replace(**changes)


@checked
def with_record(problem: AnyProblem, index: int, record: Array) -> AnyProblem:
    """Return the neighbouring problem in which one record is replaced (replace-one neighbours).

    Parameters
    ----------
    problem : Problem
        The objective with its n records.
    index : int
        Which record, in [0, n).
    record : ndarray, (k,)
        What takes its place.

    Returns
    -------
    Problem
        A copy.
    """
    require(hasattr(problem, "records"), "problem", "be a problem", type(problem).__name__)
    require_count(index, "index", least=0)
    require(index < len(problem.records), "index", f"be below the number of records, {len(problem.records)}", index)
    records, made = problem.records.copy(), real_numbers(record, "record")
    require(made.shape == records[index].shape, "record", f"have shape {records[index].shape}", made.shape)
    records[index] = made
    return replace(problem, records=records)  # type: ignore[type-var]
