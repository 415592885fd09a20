"""Inequalities as text and LaTeX: the grammar, what it refuses and where, and that what is printed is read back."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
import sympy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpcheck.bounds import terms
from dpcheck.bounds.formula import plain
from dpcheck.bounds.printed import printed
from dpcheck.bounds.text import parse
from dpcheck.bounds.tokens import TextError
from dpcheck.errors import InputError


def tree(text: str) -> Any:
    return parse(f"{text} <= 1").relations[0][1]


SMALL = st.sampled_from(["x", "n", "eps_1", "eta_{t,1}", "x'", "ε", "2", "10", "0.5", "1/2", "pi", "e", "1e-3"])
TWO = [
    "({}) + ({})", "{} - {}", "({})*{}", "({})/({})", "{}/{}", "({})^({})", "({})^-{}", "{} ({})", "min({}, {})",
    "sum({}, t = 1..{})", "prod({} + t, t = {}..9)",
]  # fmt: skip
ONE = ["exp({})", "log({})", "sqrt({})", "|{}|", "floor({})", "-({})", "-{}", "({})!", "({})"]
TEXTS = st.recursive(
    SMALL,
    lambda part: st.one_of(
        st.builds(lambda shape, a, b: shape.format(a, b), st.sampled_from(TWO), part, part),
        st.builds(lambda shape, a: shape.format(a), st.sampled_from(ONE), part),
    ),
    max_leaves=12,
)


@given(TEXTS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_printed_is_read_as_the_same_tree(text: str) -> None:
    try:
        once = tree(text)
    except TextError:  # such as a/b c
        return
    assert without_signs(tree(printed(once))) == without_signs(once)


def without_signs(part: Any) -> Any:
    """A tree without the sign of a factorial's own letter, which a printed range 1..n says instead."""
    if isinstance(part, dict):
        return {name: value for name, value in part.items() if name != "positive"}
    return [*map(without_signs, part)] if isinstance(part, list) else part


@given(st.one_of(st.text(max_size=60), st.binary(max_size=60).map(lambda b: b.decode("latin-1")),
                 st.text("x1+-*/^()|<=>,.! fornlgsqt\\{}_$&[]", max_size=60)))  # fmt: skip
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_text_is_read_or_refused_with_its_place(text: str) -> None:
    with suppress(TextError):
        parse(text)
        return
    with pytest.raises(TextError) as refused:
        parse(text)
    assert 0 <= refused.value.place <= len(text)
    assert refused.value.caret.splitlines()[-1].endswith("^")


@pytest.mark.parametrize(
    "text",
    ["__import__('os').system('true') <= 1", "lambda: 1 <= 2", "x.__class__ <= 1", "exec(1) <= 1", "x; y <= 1",
     "x <= 1\0", "x if 1 else y <= 1", "x := 1 <= 2", "[x] <= 1", "{x} <= 1", "x <= 'a'", "f'{x}' <= 1", "x @ y <= 1",
     "1e99999 <= 1", "x <= 1 or y <= 1", "x <= 1, y <= 1", "x <= 1 if x <= 0", "not x <= 1", "x != 1", "x => 1",
     "x <= 1 for integr x >= 1", "x", "", "1/2 x <= 1", "x/0 <= 1", "I <= 1", "zoo <= 1", "nan <= 1",
     "e <= 3 for e >= 1", "log <= 1", "x(1 + x) <= 2", "x² <= 1", "x⅓ <= 1"],
)  # fmt: skip
def test_what_nobody_means_as_an_inequality_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse(text)


@pytest.mark.parametrize("start", ["(", "-", "x^", "\\frac{", "|", "sqrt(", "{", "2 "])
def test_what_never_ends_is_refused(start: str) -> None:
    for count in (1_000, 4_000, 50_000):
        with pytest.raises(InputError):
            parse(start * count + "x <= 1\\")


@pytest.mark.parametrize(
    ("text", "named", "column"),
    [("log(n) <= sqrtt(n)", "unknown function sqrtt (did you mean sqrt?)", 11),
     ("x <= 1 for integr x >= 1", "unknown word integr (did you mean integer?)", 12),
     (r"\log n \le \sqroot{n}", r"unknown command \sqroot", 12),
     (r"\log 2 n \le 1", r"write brackets around what \log is taken of", 8),
     ("x <= nT(1)", "unknown function nT", 6),
     ("sum_{t=1}^T t <= T^2", "unknown sign '{' (write sum(1/t, t = 1..T), or all of it in LaTeX)", 5),
     ("sum_{t=1}^{T} t <= T^2", r"sum is 3 letters in LaTeX: write \sum", 1)],
)  # fmt: skip
def test_an_unknown_word_is_named_with_its_column(text: str, named: str, column: int) -> None:
    with pytest.raises(TextError, match=rf"at column {column} of") as refused:
        parse(text)
    assert str(refused.value).startswith(named)
    assert refused.value.caret == f"  {text}\n  {' ' * (column - 1)}^"


def test_powers_products_and_signs_are_those_of_mathematics() -> None:
    """Against Python's numbers, which the parser knows nothing of."""
    for text, value in (("2^3^2", 512), ("-2^2", -4), ("2^-1*4", 2), ("1/2/2*8", 2), ("(1 - 3) 4 - (-2)", -6),
                        ("|1 - |2 - 5||", 2), ("7 - 2 - 1", 4), ("8/2*4", 16), ("2 sqrt(9)", 6)):  # fmt: skip
        assert terms.evaluated(terms.grown(tree(text))) == value, text
    assert tree("2*3!") == tree("2*factorial(3)")
    assert terms.grown(tree("0.1")) == terms.grown(tree("1/10"))


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("x <= q for q = p/(p - 1), p > 1", "x <= p/(p - 1) for p > 1"),
        ("x <= q for q = 2 r, r = s + 1, q > 0", "x <= 2 (s + 1) for 2 (s + 1) > 0"),
        ("sum(q/t, t = 1..T) <= T for q = r, integer T", "sum(r/t, t = 1..T) <= T for integer T"),
    ],
)
def test_a_letter_that_the_domain_defines_is_what_it_says(text: str, same: str) -> None:
    assert parse(text) == parse(same)


@pytest.mark.parametrize("kind", [sympy.Sum, sympy.Product])
def test_a_sum_is_printed_as_it_is_typed(kind: Any) -> None:
    t, T, x = sympy.symbols("t T x")
    printed = plain(kind(x / t, (t, 2, T)))
    head = "sum" if kind is sympy.Sum else "prod"
    assert parse(f"{printed} <= x for integer T") == parse(f"{head}(x/t, t = 2..T) <= x for integer T")


@pytest.mark.parametrize("text", ["q <= 1 for q = r, r = q", "sum(q, t = 1..3) <= q for q = t", "n <= 1 for n = n + 1",
                                  "m <= 1 for integer m = n/2", "sum(q, q = 1..3) <= r for q = 2, r = q"])  # fmt: skip
def test_what_defines_no_letter_stays_a_condition(text: str) -> None:
    assert any(head == "Equality" for head, *_ in parse(text).conditions)


@pytest.mark.parametrize(
    ("domain", "facts", "conditions"),
    [("integer n >= 1", {"n": {"integer", "positive"}}, 1), ("n integer, n > 0", {"n": {"integer", "positive"}}, 0),
     ("positive integers m <= n", {"m": {"integer", "positive"}, "n": {"integer", "positive"}}, 1),
     ("integer m <= n", {"m": {"integer"}, "n": {"real"}}, 1), ("real x, n", {"x": {"real"}, "n": {"real"}}, 0),
     ("integer m, n", {"m": {"integer"}, "n": {"integer"}}, 0), ("all real numbers x", {"x": {"real"}}, 0),
     ("0 < a <= b < 1", {"a": {"real", "positive"}, "b": {"real"}}, 2), ("x in (0, 1]", {"x": {"real", "positive"}}, 1),
     ("x in [0, oo)", {"x": {"real", "nonnegative"}}, 1), ("x < 0 and y <= 0", {"x": {"real", "negative"}}, 1),
     ("even n >= 2; x", {"n": {"even", "positive"}, "x": {"real"}}, 1)],
)  # fmt: skip
def test_a_domain_says_what_letters_are(domain: str, facts: dict[str, set[str]], conditions: int) -> None:
    typed = parse(f"m + n + a + b + x + y <= 0 for {domain}")
    assert {name: set(typed.letters[name]) for name in facts} == facts
    assert len(typed.conditions) == conditions
    assert all(typed.letters[name] == {"real": True} for name in "mnabxy" if name not in domain)


@pytest.mark.parametrize(
    ("latex", "plain"),
    [(r"\frac{1}{2} \log n \le \sqrt{n}", "(1/2)*log(n) <= sqrt(n)"), (r"e^{-x} \ge 1 - x", "exp(-x) >= 1 - x"),
     (r"$\sum_{t=1}^{T} \frac{1}{\sqrt{t}} + 1 \leq 2\sqrt{T}$ for integer T \ge 1",
      "sum(1/sqrt(t), t = 1..T) + 1 <= 2 sqrt(T) for integer T >= 1"),
     (r"\prod_{i=1}^n x \cdot i = n! x^n \quad \forall n \in \mathbb{Z}, n \geq 1",
      "prod(x i, i = 1..n) = n! x^n for integer n, n >= 1"),
     (r"\left( 1 + \frac{x}{n} \right)^{n} \leqslant \exp(x) \text{ for integer } n \ge 1, x \in [0, 1)",
      "(1 + x/n)^n <= exp(x) for integer n >= 1, x in [0, 1)"),
     (r"\lvert a \rvert + |b| \times 2 \ge \max\{a, b\}", "abs(a) + abs(b)*2 >= max(a, b)"),
     (r"\lfloor x \rfloor < \lceil x \rceil + \binom{n}{k}", "floor(x) < ceil(x) + binomial(n, k)"),
     (r"\sqrt[3]{x} \log^2 n \le \varepsilon_{1} \eta_t'", "x^(1/3) log(n)^2 <= varepsilon_1 eta'_t"),
     (r"\log_{2} n \le \ln(n)^2 n(n+1)", "log(n)/log(2) <= log(n)^2 n (n + 1)"),
     (r"\mathrm{eps} \, x \le \pi \left|x\right|", "eps x <= pi |x|"),
     (r"\langle x, 2 y \rangle <= \left\|x\right\| \lVert 2y \rVert_2^2 + \sum_{t=1}^T t for vectors x, y; T >= 1",
      "inner(x, 2 y) <= norm(x) norm(2 y)^2 + sum(t, t = 1..T) for vectors x, y; T >= 1")],
)  # fmt: skip
def test_latex_is_the_same_as_plain_text(latex: str, plain: str) -> None:
    one, other = parse(latex), parse(plain)
    assert one.letters == other.letters
    assert [_flat(relation) for relation in (*one.relations, *one.conditions)] == [
        _flat(relation) for relation in (*other.relations, *other.conditions)
    ]


def _flat(part: Any) -> Any:
    """Return a tree with products of products taken apart, since LaTeX has brackets of its own."""
    if not isinstance(part, list) or part[0] in ("letter", "number", "constant"):
        return part
    parts = [_flat(each) for each in part[1:]]
    if part[0] == "Mul":
        parts = [factor for each in parts for factor in (each[1:] if each[0] == "Mul" else [each])]
    return [part[0], *parts]


@pytest.mark.parametrize(
    "latex",
    [r"nT \le 1", r"x^10 \le 1", r"\frac12 x \le 1", r"\sum_{t} t \le 1", r"\begin{x} \le 1", r"x \le 1}", r"\frac{1",
     r"\left( x \le 1", r"\mathbb{N} \le 1", r"n \in \mathbb{N} \le 1", r"x_ \le 1", r"\log \le 1", r"x \le",
     r"\exec{x} \le 1", r"\|x\|_1 \le 1 for vector x", r"\|x \le 1"],
)  # fmt: skip
def test_latex_that_is_read_in_two_ways_or_in_none_is_refused(latex: str) -> None:
    with pytest.raises(TextError):
        parse(latex)
