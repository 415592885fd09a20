"""The theorems: values against closed forms worked out here, regions, shapes, printing."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import math
import pickle
import pkgutil
import re
import subprocess
import sys
from fractions import Fraction
from typing import Any

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcheck.bounds
from dpcheck.bounds import registry
from dpcheck.bounds.theorem import Assumption, Parameter, Theorem
from dpcheck.errors import InputError

THEOREMS = registry.theorems()
THM_1 = registry.theorem("yang2022.theorem_1")
OPEN_1 = registry.theorem("yang2022.theorem_1_existential")
THM_2A = registry.theorem("yang2022.theorem_2a")
THM_2B = registry.theorem("yang2022.theorem_2b")

SIZES = {"n": 10_000, "T": 10_000, "epsilon": 1.0, "delta": 1e-8}
LIPSCHITZ = {"G_w": 2.0, "G_v": 0.5}
PROBLEM = {"n": 10_000, "d": 50, "epsilon": 1.0, "delta": 1e-8, **LIPSCHITZ, "D_w": 1.0, "D_v": 3.0}
SMOOTH = {**PROBLEM, "L": 1.5}

quick = settings(deadline=None, max_examples=50)
positive = st.floats(0.01, 100)
problems = st.fixed_dictionaries(
    {
        "n": st.integers(2, 50_000),
        "d": st.integers(1, 5_000),
        "epsilon": st.floats(0.01, 1.0),
        "delta": st.floats(1e-30, 1e-10),
        "G_w": positive,
        "G_v": positive,
        "D_w": positive,
        "D_v": positive,
    }
)


def minibatch(n: int, T: int, epsilon: float) -> int:
    """The least m >= 1 with 4 T m^2 >= n^2 epsilon, in integers."""
    target = Fraction(repr(epsilon)) * n * n / (4 * T)
    m = math.isqrt(math.floor(target))
    return max(1, m if m * m >= target else m + 1)


def larger(p: dict[str, Any]) -> float:
    return max(math.sqrt(p["n"]), math.sqrt(p["d"] * math.log(1 / p["delta"])) / p["epsilon"])


# Values


@quick
@given(n=st.integers(2, 10**7), T=st.integers(1, 10**9), epsilon=st.floats(1e-6, 1.0))
def test_minibatch_is_the_exact_ceiling(n: int, T: int, epsilon: float) -> None:
    found = THM_1.schedule(n=n, T=T, epsilon=epsilon, delta=1e-20)["m"]
    assert found == minibatch(n, T, epsilon)
    assert isinstance(found, int)
    assert found <= n


@pytest.mark.parametrize(
    ("n", "T", "epsilon", "m"),
    [(1000, 3, 0.27, 150), (2000, 50, 0.405, 90), (1000, 1000, 0.324, 9)],
)
def test_minibatch_has_no_rounding_error(n: int, T: int, epsilon: float, m: int) -> None:
    assert Fraction(repr(epsilon)) * n * n == 4 * T * m * m
    assert math.ceil(n * math.sqrt(epsilon / (4 * T))) == m + 1, "floating point is one too large"
    assert THM_1.schedule(n=n, T=T, epsilon=epsilon, delta=1e-9)["m"] == m


def test_default_constant_of_the_step_is_one() -> None:
    assert THM_2A.bound(**SMOOTH) == THM_2A.bound(**SMOOTH, c=1)
    assert THM_2A.bound(**SMOOTH) != THM_2A.bound(**SMOOTH, c=2)


def test_existential_form_takes_its_constants_from_the_reader() -> None:
    values = {**SIZES, **LIPSCHITZ, "m": 50, "c_1": 5.0}
    assert OPEN_1.noise(**values, c_2=8, c_3=8) == THM_1.noise(**SIZES, **LIPSCHITZ)
    with pytest.raises(InputError, match=r"^c_2, c_3 must be given to .*existential\.noise"):
        OPEN_1.noise(**values)
    with pytest.raises(InputError, match=r"epsilon < c_1 m\^2 T/n\^2 \(Theorem 1\), got 1\.0 at T"):
        OPEN_1.noise(**values | {"c_1": 4.0}, c_2=8, c_3=8)  # 4 * 50^2 * 10^4/10^8 is 1


def test_overflow_is_infinity() -> None:
    assert THM_2A.bound(**SMOOTH, c=1e3) == math.inf


# Shape


@quick
@given(p=problems)
def test_bounds_are_of_the_order_of_the_rate(p: Any) -> None:
    """With G = D = L = c = 1 each bound lies between the rate and a constant times it."""
    p |= dict.fromkeys(("G_w", "G_v", "D_w", "D_v"), 1.0)
    values = {s: p[str(s)] for s in THM_2A.rate.free_symbols}
    rate = float(THM_2A.rate.subs(values))
    assert rate == pytest.approx(larger(p) / p["n"], rel=1e-12)
    shared = 1 + 1 + 2 + 128  # eta G^2, D^2/(eta T), D G/sqrt(m T), noise
    assert rate <= THM_2A.bound(**p, L=1.0) <= (16 * math.sqrt(2) * math.e + shared) * rate
    assert rate <= THM_2B.bound(**p) <= (32 * math.sqrt(2) + shared) * rate


@pytest.mark.parametrize("thm", [THM_2A, THM_2B], ids=lambda thm: thm.id)
def test_rate_exponents(thm: Theorem) -> None:
    assert thm.rate_exponents() == {
        "statistical": {"n": -0.5},
        "privacy": {"n": -1.0, "d": 0.5, "epsilon": -1.0},
    }


@pytest.mark.parametrize("thm", [t for t in registry.theorems() if t.rate is not None], ids=lambda thm: thm.id)
def test_every_utility_theorem_gives_a_number(thm: Theorem) -> None:
    """With its own constants, or, where the paper states an order only, with the constant the reader names."""
    values = {str(p.symbol): 1.0 for p in thm.parameters if p.default is None}
    values |= {
        k: v
        for k, v in {"n": 10**4, "T": 100, "m": 10, "epsilon": 0.3, "delta": 1e-13, "delta_1": 0.1}.items()
        if k in values
    }
    values = {k: int(v) if k in ("d", "n") else v for k, v in values.items()}
    if thm.bound_formula is not None:
        assert thm.bound(**values) > 0
        with pytest.raises(InputError, match="constant must be left out"):
            thm.bound(constant=2.0, **values)
        return
    assert thm.bound(constant=2.0, **values) == 2 * thm.bound(constant=1.0, **values) > 0
    with pytest.raises(InputError, match="constant must be given"):
        thm.bound(**values)
    with pytest.raises(InputError, match="constant must be"):
        thm.bound(constant=-1.0, **values)


def test_a_privacy_theorem_has_no_rate_and_no_bound() -> None:
    assert THM_1.rate is None
    assert THM_1.rate_exponents() == {}
    with pytest.raises(InputError, match="states no bound"):
        THM_1.bound(**SIZES)
    with pytest.raises(InputError, match="existential states no schedule"):
        OPEN_1.schedule(**SIZES)


# Refusals


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 2.0}, "epsilon must satisfy epsilon <= 1 (Remark 1), got 2.0"),
        (
            {"delta": 1e-7},
            "delta must satisfy delta <= 1/n^2 (Remark 1), got 1e-07 at n = 10000",
        ),
        ({"n": 1.5}, "n must be a whole number >= 1, got 1.5"),
        ({"n": 1e4}, "n must be a whole number >= 1, got 10000.0"),
        ({"n": -3}, "n must be a whole number >= 1, got -3"),
        ({"n": 0}, "n must be a whole number >= 1, got 0"),
        ({"n": True}, "n must be a whole number >= 1, got True"),
        ({"d": 2.0}, "d must be a whole number >= 1, got 2.0"),
        ({"epsilon": math.nan}, "epsilon must be a finite number > 0, got nan"),
        ({"epsilon": math.inf}, "epsilon must be a finite number > 0, got inf"),
        ({"epsilon": 0.0}, "epsilon must be a finite number > 0, got 0.0"),
        ({"G_w": -1.0}, "G_w must be a finite number > 0, got -1.0"),
        ({"G_w": "1"}, "G_w must be a finite number > 0, got '1'"),
        ({"L": None}, "L must be a finite number > 0, got None"),
        ({"delta": 1.0}, "delta must lie in (0, 1), got 1.0"),
        ({"delta": 0.0}, "delta must lie in (0, 1), got 0.0"),
        ({"delta": math.nan}, "delta must lie in (0, 1), got nan"),
    ],
)
@pytest.mark.parametrize("method", ["bound", "schedule", "noise"])
def test_refused_values(method: str, change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        getattr(THM_2A, method)(**SMOOTH | change)
    assert str(caught.value) == message


def test_unknown_and_missing_names() -> None:
    with pytest.raises(InputError) as unknown:
        THM_2A.bound(**SMOOTH, T=5)
    assert str(unknown.value) == (
        "T must be a parameter of yang2022.theorem_2a (n, epsilon, delta, d, G_w, G_v, D_w, D_v, L, c), got 5"
    )
    with pytest.raises(InputError) as missing:
        THM_2A.bound(**{k: v for k, v in SMOOTH.items() if k not in ("D_w", "L")})
    assert str(missing.value) == (
        "D_w, L must be given to yang2022.theorem_2a.bound, got n, d, epsilon, delta, G_w, G_v, D_v"
    )
    with pytest.raises(InputError, match=r"^n, epsilon, delta, T must be given .*got nothing$"):
        THM_1.schedule()


def test_schedule_does_not_ask_for_what_it_does_not_use() -> None:
    used = {k: SMOOTH[k] for k in ("n", "d", "epsilon", "delta", "L")}
    assert THM_2A.schedule(**used) == THM_2A.schedule(**SMOOTH)


@quick
@given(n=st.integers(2, 10**6))
def test_the_region_includes_its_edge_as_floats_compute_it(n: int) -> None:
    values = {"n": n, "T": 10, "epsilon": 1.0, "delta": 1 / n**2}
    assert THM_1.violated(**values) == ()
    outside = THM_1.violated(**values | {"delta": math.nextafter(1 / n**2, 1)})
    assert [a.name for a in outside] == ["delta"]


def test_violated_lists_every_failing_assumption() -> None:
    assert [a.name for a in THM_1.violated(n=10, T=1, epsilon=2, delta=0.5)] == ["epsilon", "delta"]


def test_violated_judges_a_schedule_of_ones_own() -> None:
    values = {"n": 1000, "T": 10, "epsilon": 1.0, "delta": 1e-6}
    assert THM_1.schedule(**values) == {"m": 159}
    assert THM_1.violated(**values, m=159) == THM_1.violated(**values, m=1000) == ()
    assert [a.name for a in THM_1.violated(**values, m=158)] == ["m"]
    assert [a.name for a in THM_2B.violated(n=1000, epsilon=1.0, delta=1e-6, T=250, m=31)] == ["m"]
    assert THM_2B.violated(n=1000, epsilon=1.0, delta=1e-6, m=7) == ()  # at its own T
    with pytest.raises(InputError, match=r"^m must be a whole number >= 1, got 1\.5$"):
        THM_1.violated(**values, m=1.5)
    with pytest.raises(InputError, match=r"^m must be a parameter of yang2022\.theorem_1 .*got 200$"):
        THM_1.noise(**values, m=200)


def test_numbers_are_refused_before_they_are_computed_with() -> None:
    """The noise of phase k has 2^k below it, which no memory holds here."""
    with pytest.raises(
        InputError, match=r"^k must satisfy k <= K \(the phases are .*\), got 1000000000000000 at K = 13$"
    ):
        registry.theorem("zhang2022.theorem_3_4").noise(n=10**4, d=5, epsilon=0.5, delta=1e-6, L=1, D=1, k=10**15)


def test_assumptions_are_found_by_name() -> None:
    assert THM_2A.assumption("start").sentence == "w_1 = v_1 = 0"
    assert [a.name for a in THM_2A.conditions] == [
        "A1", "A3", "convex-concave", "bounded", "start", "records", "sampling",
    ]  # fmt: skip
    with pytest.raises(InputError, match=r"assumption must be one of yang2022.theorem_2a \(A1, A3, .*\), got A9"):
        THM_2A.assumption("A9")
    with pytest.raises(InputError, match=r"names of the assumptions of x must be unique, got A1"):
        dataclasses.replace(THM_1, id="x", assumptions=(THM_1.assumption("A1"),) * 2)


def test_assumptions_may_restrict_what_the_schedule_defines() -> None:
    n, eta = sympy.symbols("n", integer=True, positive=True), sympy.Symbol("eta", positive=True)
    toy = Theorem(
        id="toy.one", title="", paper="toy", location="", quantity="", quantity_latex="x",
        parameters=(Parameter(n, "records"),),
        assumptions=(Assumption("eta", "eta < 1/2", "here", sympy.Lt(eta, sympy.Rational(1, 2))),),
        schedule_formulas=((eta, 1 / n),),
        bound_formula=eta,
    )  # fmt: skip
    assert toy.bound(n=3) == 1 / 3
    with pytest.raises(InputError, match=r"^eta must satisfy eta < 1/2 \(here\), got 0\.5$"):
        toy.bound(n=2)


# Form


@pytest.mark.parametrize("thm", THEOREMS, ids=lambda thm: thm.id)
def test_sentences_say_what_the_relations_test(thm: Theorem) -> None:
    letters = {"e": sympy.E} | {str(p.symbol): p.symbol for p in thm.parameters}
    letters |= {str(symbol): symbol for symbol, _ in (*thm.schedule_formulas, *thm.noise_formulas)}
    for assumption in (each for each in thm.assumptions if each.relation is not None):
        text = re.sub(r"(?<=[\w)]) (?=[\w(])", "*", assumption.sentence.replace("^", "**"))
        assert sympy.sympify(text, locals=letters) == assumption.relation
        assert str(assumption) in thm.region


@pytest.mark.parametrize("thm", THEOREMS, ids=lambda thm: thm.id)
def test_formulas_use_only_letters_that_are_defined(thm: Theorem) -> None:
    known = {p.symbol for p in thm.parameters}
    for symbol, formula in (*thm.schedule_formulas, *thm.noise_formulas):
        assert formula.free_symbols <= known
        known.add(symbol)
    for expression in (thm.bound_formula, thm.rate):
        assert expression is None or expression.free_symbols <= known


@pytest.mark.thorough
@pytest.mark.parametrize("thm", THEOREMS, ids=lambda thm: thm.id)
def test_latex_compiles(thm: Theorem) -> None:
    from matplotlib.mathtext import MathTextParser

    lines = thm.to_latex().splitlines()
    assert lines
    for line in lines:
        assert line.startswith("$")
        assert line.endswith("$")
        width = MathTextParser("path").parse(line).width
        assert width > 10


@pytest.mark.parametrize("thm", THEOREMS, ids=lambda thm: thm.id)
def test_theorems_are_frozen_and_picklable(thm: Theorem) -> None:
    assert pickle.loads(pickle.dumps(thm)) == thm
    with pytest.raises(dataclasses.FrozenInstanceError):
        thm.title = "other"  # type: ignore[misc]
    assert hash(thm) == hash(pickle.loads(pickle.dumps(thm)))


def _modules() -> list[str]:
    found = pkgutil.walk_packages(dpcheck.bounds.__path__, "dpcheck.bounds.")
    return [entry.name for entry in found]


@pytest.mark.parametrize("name", _modules())
def test_examples_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


# Registry


def test_registry_finds_by_id_and_paper() -> None:
    assert [thm.id for thm in registry.theorems("yang2022")] == sorted(
        thm.id for thm in THEOREMS if thm.paper == "yang2022"
    )
    assert registry.theorem("yang2022.theorem_2a") is THM_2A
    assert all(thm.id.startswith(f"{thm.paper}.") for thm in THEOREMS)


def test_unknown_ids_are_refused_with_close_matches() -> None:
    with pytest.raises(InputError, match=r"perhaps .*yang2022\.theorem_2a.*got yang2022\.theorem2a"):
        registry.theorem("yang2022.theorem2a")
    with pytest.raises(InputError, match=r"paper must be a known one .*yang2022.*got yang2021"):
        registry.theorems("yang2021")


def test_the_library_itself_does_not_load_sympy() -> None:
    code = "import dpcheck, sys; sys.exit('sympy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_theorem_with_a_schedule_is_looked_up_without_claims_and_provers() -> None:
    ids = [thm.id for thm in THEOREMS if thm.schedule_formulas or thm.noise_formulas]
    code = """if True:
        import sys
        from dpcheck.bounds.registry import theorem
        for id in sys.argv[1:]:
            assert theorem(id).id == id
            loaded = {"dpcheck.bounds.claim", "dpcheck.bounds.prover"} & {*sys.modules}
            assert not loaded, (id, sorted(loaded))
        """
    assert len(ids) > 15
    run = subprocess.run([sys.executable, "-c", code, *ids], check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
