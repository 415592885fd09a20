"""Orders of magnitude: is a sum of monomials dominated by a rate over a region?

With every letter replaced by its logarithm, a monomial is a linear function, a region of monomial
relations is a polyhedron, and "c^-1 t <= r_1^{w_1} r_2^{w_2} ..., weights adding to one" is Farkas'
lemma: rational multipliers, found by a linear program and checked exactly, make it an identity. By
the weighted inequality of means the product is at most the sum of the rate's terms. If there are
none, the program's dual is a path along which the term outgrows the rate.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import sympy

from dpcheck.bounds.kind import Method
from dpcheck.bounds.terms import distinct, exact, free
from dpcheck.errors import InputError, require

_MARGIN = 1e-6  # by which the logarithms of a strict relation's sides differ


@dataclass(frozen=True)
class Monomial:
    """``coefficient * prod letter**power`` with rational powers."""

    coefficient: Any
    powers: Mapping[Any, Fraction]


@dataclass(frozen=True, init=False)
class Region:
    """All positive values of the letters at which the relations hold, each between monomials.

    Letters that are integers are at least one without a word.
    """

    relations: tuple[Any, ...]

    def __init__(self, *relations: Any) -> None:
        """Raise :class:`~dpcheck.errors.InputError` for a relation that is not between monomials."""
        require(sympy.false not in relations, "the relations", "leave something", "a false one")
        kept = tuple(exact(relation) for relation in relations if relation is not sympy.true)
        object.__setattr__(self, "relations", kept)
        for relation in kept:
            require(hasattr(relation, "lts"), "a relation of a region", "be <=, <, >= or >", relation)
            as_monomial(relation.lts / relation.gts)

    def rows(self, *expressions: Any) -> list[Monomial]:
        """Return each relation as a monomial that is at most one, for what these expressions speak of too."""
        sides = [relation.lts / relation.gts for relation in self.relations]
        letters = set().union(*(expression.free_symbols for expression in (*sides, *expressions)))
        whole = sorted((letter for letter in letters if letter.is_integer), key=str)
        return [as_monomial(quotient) for quotient in (*sides, *(1 / letter for letter in whole))]

    def empty(self, *expressions: Any) -> bool:
        """Say whether a linear program finds no logarithms of the letters at which the relations hold.

        A strict relation has to hold by a margin.
        """
        import numpy as np
        from scipy.optimize import linprog

        rows = self.rows(*expressions)
        letters = sorted(letters_of(*rows), key=str)
        if not letters:
            return any(row.coefficient > 1 for row in rows)
        strict = [isinstance(relation, sympy.Lt | sympy.Gt) for relation in self.relations]
        margins = [*strict, *[False] * (len(rows) - len(strict))]
        matrix = [
            [*(float(row.powers.get(letter, 0)) for letter in letters), float(margin)]
            for row, margin in zip(rows, margins, strict=True)
        ]
        right = [-float(sympy.log(row.coefficient)) for row in rows]
        costs = np.array([0.0] * len(letters) + [-1.0])
        ends = [(None, None)] * len(letters) + [(0, 1)]
        program = linprog(costs, A_ub=np.array(matrix), b_ub=np.array(right), bounds=ends, method="highs-ds")
        return bool(program.status != 0 or (any(strict) and program.x[-1] < _MARGIN))

    def __str__(self) -> str:
        """Return the relations in one line."""
        signs = ("<" if isinstance(relation, sympy.Lt | sympy.Gt) else "<=" for relation in self.relations)
        shown = [f"{relation.lts} {sign} {relation.gts}" for relation, sign in zip(self.relations, signs, strict=True)]
        return ", ".join(shown) or "all positive values"


def terms_of(expression: Any) -> tuple[Any, ...]:
    """Return the terms of a sum, or of a maximum."""
    if expression.func is sympy.Max:
        return tuple(part for argument in expression.args for part in terms_of(argument))
    return tuple(sympy.Add.make_args(sympy.expand(expression)))


def as_monomial(expression: Any) -> Monomial:
    """Return the coefficient and the powers; refuse what is not a monomial."""
    expression = sympy.powsimp(sympy.powdenest(expression, force=True), force=True)
    coefficient = sympy.Integer(1)
    powers: dict[Any, Fraction] = {}
    for factor in sympy.Mul.make_args(sympy.expand_power_base(expression, force=True)):
        base, power = factor.as_base_exp()
        if not factor.free_symbols:
            coefficient *= factor
        elif base.is_Symbol and base.is_positive and power.is_Rational:
            powers[base] = powers.get(base, Fraction(0)) + Fraction(int(power.p), int(power.q))
        else:
            raise InputError(f"an order must be made of rational powers of positive letters, got the factor {factor}")
    require(bool(coefficient.is_positive), "the coefficient of a monomial", "be positive", coefficient)
    return Monomial(coefficient, powers)


def letters_of(*monomials: Monomial) -> set[Any]:
    """Return the letters that occur in any of them."""
    return set().union(*(monomial.powers.keys() for monomial in monomials))


def rational(value: Fraction) -> Any:
    """Return a fraction as a sympy number."""
    return sympy.Rational(value.numerator, value.denominator)


s = sympy.Symbol("s", positive=True)  # along a path, s grows without bound


@dataclass(frozen=True)
class Domination:
    """``term <= constant * prod rate_k**weight_k`` from ``prod relation_i**multiplier_i <= 1``.

    ``extra`` are the powers of further letters, each at least one in the region, that the rate had
    to be multiplied by.
    """

    term: Any
    weights: tuple[Fraction, ...]
    multipliers: tuple[Fraction, ...]
    extra: Mapping[Any, Fraction]
    constant: Any

    def holds(self, rate: tuple[Any, ...], region: Region) -> bool:
        """Multiply out again, in rational arithmetic."""
        quotient = as_monomial(self.term)
        product = dict(quotient.powers)
        factor = quotient.coefficient
        pairs = [(as_monomial(mean), weight) for mean, weight in zip(rate, self.weights, strict=True)]
        pairs += list(zip(region.rows(self.term, *rate), self.multipliers, strict=True))
        for monomial, weight in pairs:
            factor = factor / monomial.coefficient ** rational(weight)
            for letter, power in monomial.powers.items():
                product[letter] = product.get(letter, Fraction(0)) - weight * power
        for letter, power in self.extra.items():
            product[letter] = product.get(letter, Fraction(0)) - power
        fair = sum(self.weights) == 1 and all(weight >= 0 for weight in (*self.weights, *self.multipliers))
        return fair and not any(product.values()) and sympy.simplify(factor - self.constant) == 0


@dataclass(frozen=True)
class Dominated:
    """Each monomial of ``terms`` is at most a constant times the sum ``rate``, over ``region``.

    ``up_to`` are letters (logarithms, at least one in the region) of which the rate may be multiplied
    by a power; the powers needed are minimised and reported.
    """

    says: str
    terms: Any
    rate: Any
    region: Region
    up_to: tuple[Any, ...] = ()
    METHOD: ClassVar[Method] = Method.EXPONENTS

    def __post_init__(self) -> None:
        """Keep exact sides."""
        _keep(self)
        require(isinstance(self.up_to, tuple), "up_to", "be a tuple of letters", self.up_to)
        distinct((*self.terms.free_symbols, *map(exact, self.up_to)))

    def formula(self) -> str:
        """Return the domination of each term, with its weights and constant."""
        lines = []
        for term, proof in zip(terms_of(self.terms), self._proofs(), strict=True):
            if proof is None:
                lines.append(f"{term}: not dominated")
                continue
            pairs = zip(terms_of(self.rate), proof.weights, strict=True)
            means = [f"({mean})**({weight})" for mean, weight in pairs if weight]
            extra = [f"({letter})**({power})" for letter, power in proof.extra.items() if power]
            lines.append(f"{term} <= {proof.constant} * {' * '.join([*means, *extra])}")
        return f"{self.terms} = O({self.needed_rate()}) for {self.region}: " + "; ".join(lines)

    def latex(self) -> str:
        """Return the order."""
        return rf"{sympy.latex(self.terms)} = O\left({sympy.latex(self.needed_rate())}\right)"

    def holds(self) -> bool:
        """Say whether the region has a point, and multipliers are found for every term and check out exactly."""
        rate = terms_of(self.rate)
        used = [letter for letter, power in self.extra().items() if power]
        return (
            not self.region.empty(self.terms, self.rate)
            and all(proof is not None and proof.holds(rate, self.region) for proof in self._proofs())
            # a power of a letter serves the terms that need less of it only where the letter is bounded below
            and all(dominate(sympy.Integer(1), (letter,), self.region) is not None for letter in used)
        )

    def extra(self) -> dict[Any, Fraction]:
        """Return the powers of the letters of ``up_to`` that suffice for all terms."""
        proofs = [proof for proof in self._proofs() if proof is not None]
        return {letter: max((proof.extra[letter] for proof in proofs), default=Fraction(0)) for letter in self.up_to}

    def needed_rate(self) -> Any:
        """Return the rate with the powers of further letters that it needs."""
        powers = self.extra() if self.up_to else {}
        needed = [letter ** rational(power) for letter, power in powers.items() if power]
        return sympy.Mul(self.rate, *needed) if needed else self.rate

    def _proofs(self) -> tuple[Domination | None, ...]:
        return tuple(dominate(term, terms_of(self.rate), self.region, self.up_to) for term in terms_of(self.terms))


@dataclass(frozen=True)
class Exceeds:
    """Along a path inside ``region`` some term outgrows the rate, whatever the constant.

    ``path`` gives letters as functions of ``s`` from this module, which grows without bound; letters
    it leaves out stay 1, and without a path the linear program's is taken. Logarithms of letters may
    be written out.
    """

    says: str
    terms: Any
    rate: Any
    region: Region
    path: Mapping[Any, Any] | None = None
    METHOD: ClassVar[Method] = Method.EXPONENTS

    def __post_init__(self) -> None:
        """Keep exact sides and an exact path."""
        _keep(self)
        if self.path is not None:
            object.__setattr__(self, "path", {letter: exact(value) for letter, value in self.path.items()})

    def formula(self) -> str:
        """Return the path and the ratio along it."""
        path = self._path()
        at = ", ".join(f"{letter} = {value}" for letter, value in path.items())
        ratio = self._ratio(path)
        shown = f"{self.terms} is not O({self.rate}) for {self.region}: at {at} the ratio is {ratio}, s -> oo"
        return f"{shown}; it fails where {self.where()}" if self.where() else shown

    def latex(self) -> str:
        """Return the order that fails, and the path."""
        path = ", ".join(f"{sympy.latex(letter)} = {sympy.latex(value)}" for letter, value in self._path().items())
        order = rf"{sympy.latex(self.terms)} \neq O\left({sympy.latex(self.rate)}\right)"
        return rf"{order} \text{{ along }} {path}, s \to \infty"

    def where(self) -> str:
        """Return the region where the claim fails, as inequalities."""
        worst = [t for t in terms_of(self.terms) if dominate(t, terms_of(self.rate), self.region) is None]
        return "; ".join(
            " and ".join(f"{sympy.simplify(term / mean)} > constant" for mean in terms_of(self.rate)) for term in worst
        )

    def holds(self) -> bool:
        """Say whether the path stays positive and in the region, and the ratio's limit is infinite."""
        path = self._path()
        if any(_limit(end) < 0 for value in path.values() for end in (value, 1 / value)):
            return False
        if any(letter.is_integer and _limit(value) < 1 for letter, value in path.items()):
            return False
        for relation in self.region.relations:
            quotient = sympy.simplify(relation.gts.subs(path) / relation.lts.subs(path))
            least = quotient > 1 if isinstance(relation, sympy.Lt | sympy.Gt) else quotient >= 1
            inside = least if quotient.is_number else _limit(quotient) > 1
            if inside != sympy.true:
                return False
        return bool(_limit(self._ratio(path)) == sympy.oo)

    def _ratio(self, path: Mapping[Any, Any]) -> Any:
        return sympy.simplify(self.terms.subs(path) / self.rate.subs(path))

    def _path(self) -> dict[Any, Any]:
        letters = set().union(*(part.free_symbols for part in (self.terms, self.rate, *self.region.relations)))
        if self.path is not None:
            return {letter: self.path.get(letter, sympy.S.One) for letter in sorted(letters, key=str)}
        for term in terms_of(self.terms):
            direction = escape(term, terms_of(self.rate), self.region)
            if direction is not None:
                return {
                    letter: s ** rational(direction.get(letter, Fraction(0))) for letter in sorted(letters, key=str)
                }
        raise InputError(f"a path must exist along which {self.terms} outgrows {self.rate}, got none")


@functools.lru_cache(maxsize=1024)
def dominate(term: Any, rate: tuple[Any, ...], region: Region, up_to: tuple[Any, ...] = ()) -> Domination | None:
    """Return rational multipliers that show ``term <= constant * weighted mean of rate``, or ``None``."""
    claim, means, rows = as_monomial(term), [as_monomial(part) for part in rate], region.rows(term, *rate)
    letters = letters_of(claim, *means, *rows) | set(up_to)
    columns = [monomial.powers for monomial in (*means, *rows)] + [{letter: Fraction(1)} for letter in up_to]
    # The fewest extra letters first, then the smallest multipliers.
    costs = [0.0] * len(means) + [1e-3] * len(rows) + [1.0] * len(up_to)
    equations = [
        ([column.get(letter, Fraction(0)) for column in columns], claim.powers.get(letter, Fraction(0)))
        for letter in sorted(letters, key=str)
    ]
    equations.append(([Fraction(1)] * len(means) + [Fraction(0)] * (len(rows) + len(up_to)), Fraction(1)))
    solution = _program(costs, equations)
    if solution is None:
        return None
    weights, rest = solution[: len(means)], solution[len(means) :]
    multipliers, extra = rest[: len(rows)], dict(zip(up_to, rest[len(rows) :], strict=True))
    constant = claim.coefficient
    for monomial, weight in zip((*means, *rows), (*weights, *multipliers), strict=True):
        constant = constant / monomial.coefficient ** rational(weight)
    proof = Domination(term, tuple(weights), tuple(multipliers), extra, constant)
    return proof if proof.holds(rate, region) else None


def escape(term: Any, rate: tuple[Any, ...], region: Region) -> dict[Any, Fraction] | None:
    """Return powers of s along which ``term`` outgrows every part of the rate inside the region, or ``None``."""
    claim, means, rows = as_monomial(term), [as_monomial(part) for part in rate], region.rows(term, *rate)
    letters = sorted(letters_of(claim, *means, *rows), key=str)
    # u = plus - minus; rows . u + slack = 0; (claim - mean) . u - slack = 1
    width = 2 * len(letters) + len(rows) + len(means)
    equations = []
    for index, row in enumerate(rows):
        line = [row.powers.get(letter, Fraction(0)) for letter in letters]
        slack = [Fraction(int(k == index)) for k in range(len(rows) + len(means))]
        equations.append(([*line, *(-entry for entry in line), *slack], Fraction(0)))
    for index, mean in enumerate(means):
        line = [claim.powers.get(x, Fraction(0)) - mean.powers.get(x, Fraction(0)) for x in letters]
        slack = [-Fraction(int(k == len(rows) + index)) for k in range(len(rows) + len(means))]
        equations.append(([*line, *(-entry for entry in line), *slack], Fraction(1)))
    solution = _program([1.0] * (2 * len(letters)) + [0.0] * (width - 2 * len(letters)), equations)
    if solution is None:
        return None
    count = len(letters)
    return {letter: solution[i] - solution[count + i] for i, letter in enumerate(letters)}


def _program(costs: list[float], equations: list[tuple[list[Fraction], Fraction]]) -> list[Fraction] | None:
    """Return nonnegative rationals that solve the equations at least cost, or ``None``.

    The linear program is solved in floating point; its basis is then solved exactly.
    """
    import numpy as np
    from scipy.optimize import linprog

    matrix = np.array([[float(entry) for entry in row] for row, _ in equations])
    right = np.array([float(value) for _, value in equations])
    program = linprog(costs, A_eq=matrix, b_eq=right, bounds=(0, None), method="highs-ds")
    if program.status != 0:
        return None
    support = [i for i, value in enumerate(program.x) if value > 1e-9]
    rows = [[rational(row[i]) for i in support] for row, _ in equations]
    values = solved(rows, [rational(value) for _, value in equations], [float(program.x[i]) for i in support], 64)
    if values is None:
        return None
    solution = [Fraction(0)] * len(costs)
    for i, value in zip(support, values, strict=True):
        solution[i] = Fraction(int(value.p), int(value.q))
    return solution


def solved(rows: list[list[Any]], right: list[Any], guesses: list[float], grain: int) -> list[Any] | None:
    """Return nonnegative rationals that solve the equations, or ``None``.

    A degenerate basis may leave letters free; they take the value that was guessed, with a denominator up to ``grain``.
    """
    letters = sympy.symbols(f"x:{len(guesses)}")
    found = list(sympy.linsolve((sympy.Matrix(rows), sympy.Matrix(right)), *letters)) if guesses else []
    free = {x: sympy.Rational(guess).limit_denominator(grain) for x, guess in zip(letters, guesses, strict=True)}
    values = [value.subs(free) for value in found[0]] if found else []
    return values if values and all(value >= 0 for value in values) else None


def _keep(step: Any) -> None:
    """Keep the sides of an order exact, in letters that a reader can tell apart."""
    for name in ("terms", "rate"):
        object.__setattr__(step, name, exact(getattr(step, name)))
    require(isinstance(step.region, Region), "region", "be a Region", step.region)
    sides = (step.terms, step.rate, *step.region.relations)
    free(*sides)
    distinct(set().union(*(side.free_symbols for side in sides)))


def _limit(expression: Any) -> Any:
    return sympy.limit(expression, s, sympy.oo)
