"""Norms and inner products in a typed line; what they say is compared with a second reader in test_lemmas.py."""

from __future__ import annotations

import pytest

from dpcheck.bounds.text import parse
from dpcheck.errors import InputError


def test_a_line_about_vectors_has_all_their_inner_products_as_letters_and_none_of_the_vectors():
    typed = parse("inner(x, y) <= c*norm(x)**2/2 + norm(y)**2/(2*c) for vectors x, y, c > 0")
    assert set(typed.letters) == {"c", "<x, x>", "<x, y>", "<y, y>"}
    assert typed.letters["<x, x>"] == {"nonnegative": True} and typed.letters["<x, y>"] == {"real": True}
    assert typed.letters["c"]["positive"]


def test_a_squared_norm_is_no_root_and_equal_terms_are_counted():
    ((_, left, _),) = parse("norm(x + y)**2 <= 1 for vectors x, y").relations
    assert left == [
        "Add",
        ["letter", "<x, x>", {"nonnegative": True}],
        ["Mul", ["number", "0x2", "0x1"], ["letter", "<x, y>", {"real": True}]],
        ["letter", "<y, y>", {"nonnegative": True}],
    ]


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("x <= norm(x) for vector x", "vector x must stand within"),
        ("norm(x*y) <= 1 for vectors x, y", "sum of the vectors"),
        ("norm(x + 1) <= 1 for vector x", "sum of the vectors"),
        ("norm(exp(x)) <= 1 for vector x", "sum of the vectors"),
        ("norm(x) <= 1 for vector x, x > 0", "vector x must stand within"),
        ("inner(x) <= 1 for vector x", "inner must have 2 arguments"),
        ("norm(c) <= 1 for c > 0", "sum of vectors, which the domain names"),
    ],
)
def test_what_is_no_sum_of_vectors_is_refused(line, word):
    with pytest.raises(InputError, match=word):
        parse(line)
