"""What code remembers between calls is found by name, put back, and left alone where it is randomness."""

from __future__ import annotations

import functools
import random

import numpy as np
import pytest

from dpcheck.audits.running.memory import Memory

TOTAL = 0.0
SUMS = {"all": np.zeros(2)}


def in_a_variable(value):
    global TOTAL
    TOTAL += value
    return TOTAL


def in_a_dictionary(value):
    SUMS["all"] += value
    return SUMS["all"].sum()


def in_a_helper(value):
    return in_a_dictionary(value)


def in_a_default(value, kept=[0.0]):  # noqa: B006 (that is the fault)
    kept[0] += value
    return kept[0]


def in_its_attribute(value):
    in_its_attribute.total += value
    return in_its_attribute.total


in_its_attribute.total = 0.0


def closure():
    momentum = np.zeros(2)

    def step(value):
        momentum[:] = 0.9 * momentum + value
        return momentum.sum()

    return step


def rebound():
    last = None

    def step(value):
        nonlocal last
        last = value if last is None else last + value
        return last

    return step


class Optimiser:
    """Adam's like: state in attributes, changed by a method that another calls."""

    def __init__(self):
        self.first, self.count = np.zeros(2), 0

    def step(self, value):
        self._advance(value)
        return self.first.sum()

    def _advance(self, value):
        self.count += 1
        self.first = 0.9 * self.first + value

    def __call__(self, value):
        return self.step(value)


def partially(kept, value):
    kept.append(value)
    return sum(kept)


REMEMBERS = {
    "TOTAL": in_a_variable, "SUMS": in_a_dictionary, "SUMS ": in_a_helper, "kept": in_a_default,
    "in_its_attribute.total": in_its_attribute, "momentum": closure(), "last": rebound(),
    "self.first": Optimiser().step, "self.count": Optimiser(), "argument 0": functools.partial(partially, []),
}  # fmt: skip


@pytest.mark.parametrize("name", REMEMBERS)
def test_what_is_remembered_is_named_and_put_back(name):
    function = REMEMBERS[name]
    memory = Memory(function)
    first = function(1.0)
    assert any(name.strip() in place for place in memory.changed()), memory.changed()
    for _ in range(6):
        assert function(1.0) != first
        memory.restore()
        assert function(1.0) == first
    memory.restore()
    assert memory.changed() == []


def test_an_alias_sees_what_is_put_back():
    state = {"m": [0.0]}

    def step(value):
        state["m"][0] += value
        return state["m"][0]

    memory = Memory(step)
    step(1.0)
    memory.restore()
    assert state == {"m": [0.0]}


def test_a_generator_goes_on_where_it_is():
    own, keys = np.random.default_rng(0), {"rng": random.Random(0)}

    def noise():
        return own.normal() + keys["rng"].random()

    memory = Memory(noise)
    first = noise()
    memory.restore()
    assert noise() != first


def test_code_without_memory_changes_nothing():
    def pure(value):
        return np.sqrt(value)

    memory = Memory(pure)
    pure(2.0)
    assert memory.changed() == []
