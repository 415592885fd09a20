"""Wrong input, at every door: one line that says what must be given and what was, no traceback, nothing written.

Each row is a call of the library that must raise InputError, or a command line that must end with exit code 2.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from slices import first

import dpcheck
from dpcheck import datasets, testing
from dpcheck.accounting import privacy_curve
from dpcheck.audits.bands import band_bound
from dpcheck.audits.bayesian import credible_bound
from dpcheck.audits.claim import PrivacyClaim
from dpcheck.audits.gaussian import gaussian_bound
from dpcheck.audits.neighbours import canary, patterns
from dpcheck.audits.noise import audit_noise_sample
from dpcheck.audits.split import split_bound
from dpcheck.cli import main
from dpcheck.events import Gaussian, Laplace
from dpcheck.problems import example
from dpcheck.problems.auc import AUC
from dpcheck.problems.quadratic import Quadratic
from dpcheck.report.findings import Report

HUGE = 10**400  # too large for a float
LONG = "1" * 5_000  # more digits than Python reads
NAN, INF = float("nan"), float("inf")


def laplace(data: Any, rng: np.random.Generator) -> Any:
    return data + rng.laplace()


def door(function: Callable[..., object], *positional: str, **usual: Any) -> Callable[..., Callable[[], object]]:
    """Make calls of a function with its usual arguments, some of them in another's place."""

    def changed(**given: Any) -> Callable[[], object]:
        def call() -> object:
            arguments = usual | given
            first = [arguments.pop(name) for name in positional]
            return function(*first, **arguments)

        return call

    return changed


def asks(oracle: Any, rng: np.random.Generator) -> Any:
    return oracle(np.zeros(2)) + rng.normal(size=2)


PAIR = ("mechanism", "data", "neighbour")
N = np.repeat([100.0, 200, 400, 800], 4)
audit = door(dpcheck.audit_privacy, *PAIR, mechanism=laplace, data=1, neighbour=0, trials=200)
sequential = door(dpcheck.audit_sequential, *PAIR, mechanism=laplace, data=1, neighbour=0, epsilon=1.0, most=200)
noise = door(dpcheck.audit_noise, *PAIR[:2], mechanism=laplace, data=1, scale=1.0, trials=60)
sensitivity = door(
    dpcheck.audit_sensitivity, "query", "dataset", "replacements",
    query=np.mean, dataset=np.zeros(5), replacements=[0.0, 1.0], claimed=1.0, budget=50,
)  # fmt: skip
scores = door(
    dpcheck.audit_one_run_scores, "scores", "included",
    scores=np.arange(200.0), included=np.arange(200) % 2 == 0, epsilon=1.0,
)  # fmt: skip
one_run = door(
    dpcheck.audit_one_run, "algorithm", "canaries",
    algorithm=lambda coins, rng: coins + rng.normal(size=coins.size), canaries=50, epsilon=1.0,
)  # fmt: skip
minibatches = door(
    dpcheck.audit_sampling, "drawn", drawn=np.arange(40).reshape(20, 2), scheme="poisson", population=40, batch=2
)
rate = door(dpcheck.fit_rate, "frame", frame=pd.DataFrame({"n": N, "gap": N**-0.5}), response="gap", factors=["n"])
solve = door(partial(dpcheck.solve, "dp_sgda"), "problem", problem="quadratic", steps=5)
clipping = door(
    dpcheck.audit_clipping, "query", "records",
    query=lambda batch: np.clip(batch, -1, 1).sum(), records=np.ones((5, 1)), bound=1.0,
)  # fmt: skip
low_bits = door(dpcheck.audit_floating_point, *PAIR, mechanism=laplace, data=1.0, neighbour=0.0, trials=200)
randomness = door(dpcheck.audit_randomness, *PAIR, mechanism=laplace, data=1.0, neighbour=2.0)
points = door(dpcheck.audit_evaluation_points, "mechanism", "oracle", mechanism=asks, oracle=np.negative)
declared = door(
    dpcheck.Algorithm, name="mine", epsilon=1.0, delta=1e-5, data=np.zeros(10), replacements=[0.0, 1.0],
    run=lambda data, rng: np.clip(data, 0, 1).mean() + rng.normal(), events=Gaussian(1.0),
)  # fmt: skip
promised = door(dpcheck.RateClaim, measure=lambda rng, n: 1.0, grid={"n": (1, 2, 4)}, claimed={"n": -0.5})
theory = door(dpcheck.theorem("zhang2022.theorem_4_5").bound, n=100, d=5, epsilon=1.0, delta=1e-8, L=1, D=1)


def changed(column: str, value: Any) -> pd.DataFrame:
    frame = pd.DataFrame({"n": N, "gap": N**-0.5}).astype(object)
    frame.loc[3, column] = value
    return frame


def curve(values: Callable[[np.ndarray], Any]) -> Callable[[], object]:
    return audit(claim=values, delta=1e-5)


def auc(X: Any, y: Any = (1, -1)) -> Callable[[], object]:
    return lambda: AUC.from_data(X, y)


def mutates_late() -> Callable[[], object]:
    calls = iter(range(10**9))

    def mechanism(data: Any, rng: np.random.Generator) -> Any:
        if next(calls) == 300:
            data[0] = 5.0
        return float(rng.laplace())

    return audit(mechanism=mechanism, data=np.zeros(3), neighbour=np.ones(3), trials=1_000)


MASKED = np.ma.masked_array([0.1, 0.2, 0.3], mask=[False, True, False])
COMPLEX = np.array([0.1 + 1j, 0.2, 0.3])

API: dict[str, Callable[[], object]] = {
    # claims and settings of the membership audit
    **{f"epsilon {value!r}"[:30]: audit(epsilon=value) for value in (-1, NAN, INF, HUGE, "1", True, [1], 1j)},
    **{f"delta {value!r}"[:30]: audit(delta=value) for value in (-1e-9, 1, NAN, INF, HUGE, "0", False, 1j)},
    **{f"trials {value!r}"[:30]: audit(trials=value) for value in (0, 99, -5, 200.0, "200", True, NAN)},
    **{f"confidence {value!r}"[:30]: audit(confidence=value) for value in (0.5, 1, 0, -1, NAN, HUGE, "0.9")},
    **{f"seed {value!r}"[:30]: audit(seed=value) for value in (-1, 0.5, "0", None, True, NAN)},
    **{f"jobs {value!r}"[:30]: audit(jobs=value) for value in (0, -1, 1.5, "2", True)},
    "mechanism None": audit(mechanism=None),
    "mechanism without arguments": audit(mechanism=lambda: 1),
    "mechanism returns None": audit(mechanism=lambda data, rng: None),
    "mechanism returns complex": audit(mechanism=lambda data, rng: 1j * rng.normal()),
    "mechanism returns a masked array": audit(mechanism=lambda data, rng: MASKED + rng.normal()),
    "mechanism returns text": audit(mechanism=lambda data, rng: "seven"),
    "mechanism returns dates": audit(mechanism=lambda data, rng: np.datetime64("2026-01-01")),
    "mechanism returns nothing": audit(mechanism=lambda data, rng: []),
    "mechanism returns rows of two lengths": audit(mechanism=lambda data, rng: [[1], [1, 2]]),
    "mechanism returns a huge integer": audit(mechanism=lambda data, rng: HUGE),
    "mechanism raises": audit(mechanism=lambda data, rng: 1 / 0),
    "mechanism whose shape follows the data": audit(mechanism=lambda data, rng: np.zeros(1 + data)),
    "mechanism of changing shape": audit(mechanism=lambda data, rng: np.zeros(rng.integers(1, 3))),
    "mechanism leaves": audit(mechanism=lambda data, rng: sys.exit(0)),
    "mechanism recurses": audit(mechanism=lambda data, rng: (f := lambda: f())()),
    "mechanism with randomness of its own": audit(mechanism=lambda data, rng: np.random.default_rng().normal()),
    "mechanism changes its data late": mutates_late(),
    "vectorized without size": audit(vectorized=True),
    "vectorized with one draw": audit(mechanism=lambda data, rng, size: np.full(size, rng.normal()), vectorized=True),
    "vectorized of another length": audit(mechanism=lambda data, rng, size: rng.normal(size=size + 1), vectorized=True),
    "unseeded and parallel": audit(seeded=False, jobs=2),
    "epsilon and claim": audit(epsilon=1.0, claim=Laplace(1.0)),
    "claim of text": audit(claim="private"),
    "claim of a number": audit(claim=3),
    "claim that rises": curve(lambda e: np.minimum(1.0, np.asarray(e) / 10)),
    "claim that rises late": curve(
        lambda e: np.where((np.asarray(e) > 30) & (np.asarray(e) < 60), 0.5, np.exp(-np.asarray(e)))
    ),
    "claim above 1": curve(lambda e: np.asarray(e) * 0 + 2),
    "claim below 0": curve(lambda e: np.asarray(e) * 0 - 1),
    "claim of NaN": curve(lambda e: np.asarray(e) * NAN),
    "claim of another shape": curve(lambda e: 0.1),
    "claim of complex deltas": curve(lambda e: np.exp(-np.asarray(e)) + 0.1j),
    "claim that promises nothing": curve(lambda e: np.asarray(e) * 0 + 1),
    "claim that raises": curve(lambda e: 1 / 0),
    "claim of arrays of two lengths": lambda: PrivacyClaim("two lengths", np.array([0.0, 1.0]), np.array([0.1])),
    "claim of no points": lambda: PrivacyClaim("nothing", np.array([]), np.array([])),
    "claim of rising points": lambda: PrivacyClaim("rises", np.array([0.0, 1.0]), np.array([0.1, 0.2])),
    "claim of falling epsilons": lambda: PrivacyClaim("falls", np.array([1.0, 0.0]), np.array([0.2, 0.1])),
    "claim of a negative epsilon": lambda: PrivacyClaim("negative", np.array([-1.0]), np.array([0.1])),
    "claim of delta 1": lambda: PrivacyClaim("one", np.array([1.0]), np.array([1.0])),
    "renyi without orders": lambda: PrivacyClaim.renyi({}),
    "renyi of order 1": lambda: PrivacyClaim.renyi({1: 0.1}),
    "renyi of order NaN": lambda: PrivacyClaim.renyi({NAN: 0.1}),
    "renyi below 0": lambda: PrivacyClaim.renyi({2: -0.1}),
    "renyi of text": lambda: PrivacyClaim.renyi({"2": 0.1}),
    # sequential audits
    **{f"sequential epsilon {value!r}"[:40]: sequential(epsilon=value) for value in (-1, NAN, HUGE, None)},
    **{f"sequential most {value!r}"[:40]: sequential(most=value) for value in (0, 10, 20.5, "100", NAN)},
    **{f"sequential seed {value!r}"[:40]: sequential(seed=value) for value in (-1, 0.5)},
    "sequential delta 1.5": sequential(delta=1.5),
    "sequential confidence 1": sequential(confidence=1.0),
    "sequential jobs 0": sequential(jobs=0),
    "sequential of no mechanism": sequential(mechanism=3),
    **{
        f"earlier {value!r}"[:40]: sequential(earlier=value)
        for value in ({}, [], 3, "audit", {"state": {}}, None.__class__)
    },
    "earlier of an unseeded audit": sequential(seeded=False, earlier={}),
    # noise
    **{f"noise scale {value!r}"[:40]: noise(scale=value) for value in (0, -1, NAN, INF, HUGE, "1", None, 1j)},
    **{f"noise trials {value!r}"[:40]: noise(trials=value) for value in (0, 49, 60.5, "60")},
    **{f"noise seed {value!r}"[:40]: noise(seed=value) for value in (-1, 0.5, "0")},
    **{f"noise confidence {value!r}"[:40]: noise(confidence=value) for value in (0.5, 1, NAN)},
    "noise of no law": noise(distribution="levy"),
    "noise of a law that is no word": noise(distribution=["gaussian"]),
    "noise on too wide a lattice": noise(distribution="geometric", scale=1e9),
    "noise of NaN": noise(mechanism=lambda data, rng: NAN),
    "noise of text": noise(mechanism=lambda data, rng: "seven"),
    "noise that is complex": noise(mechanism=lambda data, rng: rng.normal() + 1j),
    "noise that is masked": noise(mechanism=lambda data, rng: np.ma.masked_array(rng.normal(size=3), [0, 1, 0])),
    "noise of nothing": noise(mechanism=lambda data, rng: []),
    "noise of changing shape": noise(mechanism=lambda data, rng: rng.normal(size=int(rng.integers(1, 3)))),
    "noise of a mechanism that leaves": noise(mechanism=lambda data, rng: sys.exit(0)),
    "sample of one axis": lambda: audit_noise_sample(np.zeros(60), scale=1.0),
    "sample of no columns": lambda: audit_noise_sample(np.zeros((60, 0)), scale=1.0),
    "sample that is complex": lambda: audit_noise_sample(np.ones((60, 1)) * 1j, scale=1.0),
    "sample of text": lambda: audit_noise_sample([["a"]] * 60, scale=1.0),
    "sample of ragged rows": lambda: audit_noise_sample([[1.0], [1.0, 2.0]] * 30, scale=1.0),
    # sensitivity
    **{f"claimed {value!r}"[:40]: sensitivity(claimed=value) for value in (-1, NAN, INF, HUGE, "1", None)},
    **{f"norm {value!r}"[:40]: sensitivity(norm=value) for value in (3, 0, "2", None, NAN)},
    **{f"budget {value!r}"[:40]: sensitivity(budget=value) for value in (0, 9, 50.5, "50")},
    **{f"sensitivity seed {value!r}"[:40]: sensitivity(seed=value) for value in (-1, 0.5)},
    "dataset without records": sensitivity(dataset=np.zeros(0)),
    "dataset that is a number": sensitivity(dataset=3.0),
    "no replacements": sensitivity(replacements=[]),
    "replacements that are a number": sensitivity(replacements=3.0),
    "replacement of another shape": sensitivity(replacements=[[1.0, 2.0]]),
    "replacement of text": sensitivity(replacements=["seven"]),
    "query of text": sensitivity(query=lambda data: "seven"),
    "query that is complex": sensitivity(query=lambda data: 1j * data.sum()),
    "query that is masked": sensitivity(query=lambda data: MASKED),
    "query that is random": sensitivity(query=lambda data: np.random.default_rng().normal()),
    "query of NaN": sensitivity(query=lambda data: NAN),
    "query that raises": sensitivity(query=lambda data: 1 / 0),
    "query that leaves": sensitivity(query=lambda data: sys.exit(0)),
    "query that is no function": sensitivity(query=3),
    # one run
    **{f"canaries {value!r}"[:40]: one_run(canaries=value) for value in (0, -1, 50.0, "50")},
    **{f"runs {value!r}"[:40]: one_run(runs=value) for value in (0, 1.5)},
    **{f"one run seed {value!r}"[:40]: one_run(seed=value) for value in (-1, 0.5)},
    **{f"guesses {value!r}"[:40]: one_run(guesses=value) for value in (0, 51, [], [0], 1.5, "5")},
    "one run without a claim": one_run(epsilon=None),
    "one run returns one number": one_run(algorithm=lambda coins, rng: 1.0),
    "one run returns complex": one_run(algorithm=lambda coins, rng: coins * 1j),
    "one run returns NaN": one_run(algorithm=lambda coins, rng: coins * NAN),
    "one run raises": one_run(algorithm=lambda coins, rng: 1 / 0),
    "one run leaves": one_run(algorithm=lambda coins, rng: sys.exit(0)),
    "scores of another length": scores(scores=np.arange(199.0)),
    "scores of NaN": scores(scores=np.full(200, NAN)),
    "scores that are complex": scores(scores=np.arange(200) * 1j),
    "scores that are masked": scores(scores=np.ma.masked_array(np.arange(200.0), np.arange(200) == 3)),
    "scores of text": scores(scores=["a"] * 200),
    "scores of ragged rows": scores(scores=[[1.0], [1.0, 2.0]]),
    "scores of three axes": scores(scores=np.zeros((2, 2, 2)), included=np.zeros((2, 2, 2), bool)),
    "no scores": scores(scores=[], included=np.zeros(0, bool)),
    "coins that are numbers": scores(included=np.zeros(200)),
    "coins that are not fair": scores(included=np.ones(200, bool)),
    "scores with a rising claim": scores(epsilon=None, claim=lambda e: np.minimum(1.0, np.asarray(e) / 10)),
    # bounds from scores at hand
    **{
        f"{bound.__name__} of {words}": lambda bound=bound, a=a, b=b: bound(a, b, delta=1e-5)
        for bound in (band_bound, split_bound, gaussian_bound)
        for words, a, b in (
            ("two lengths", np.arange(100.0), np.arange(99.0)),
            ("NaN", np.full(100, NAN), np.arange(100.0)),
            ("complex scores", np.arange(100) * 1j, np.arange(100.0)),
            ("text", ["a"] * 100, ["b"] * 100),
            ("nothing", [], []),
            ("ragged rows", [[1], [1, 2]], [[1], [1, 2]]),
            ("masked scores", np.ma.masked_array(np.arange(100.0), np.arange(100) == 3), np.arange(100.0)),
        )
    },
    "credible_bound below 0": lambda: credible_bound(-1, 0, 100, delta=0.0),
    "credible_bound of NaN": lambda: credible_bound(NAN, 0, 100, delta=0.0),
    "credible_bound of more hits than trials": lambda: credible_bound(11, 0, 10),
    "gaussian_bound of constants": lambda: gaussian_bound([1.0, 1.0], [2.0, 2.0], delta=0.1),
    "gaussian_bound of infinity": lambda: gaussian_bound([1.0, INF], [1.0, 2.0], delta=0.1),
    "gaussian_bound at delta 0": lambda: gaussian_bound([1.0, 2.0], [2.0, 2.0], delta=0.0),
    # minibatches
    "minibatches of one axis": minibatches(drawn=np.arange(40)),
    "minibatches of floats": minibatches(drawn=np.zeros((20, 2))),
    "minibatches that are masked": minibatches(drawn=np.ma.masked_array(np.zeros((20, 2), int), True)),
    "minibatches beyond the population": minibatches(population=10),
    "minibatches below -1": minibatches(drawn=np.full((20, 2), -7)),
    "minibatches of nested rows": minibatches(drawn=[[[1]], [[1, 2]]] * 10),
    "minibatches of ragged halves": minibatches(drawn=[[1], [1, 0.5]] * 10),
    "minibatches of no scheme": minibatches(scheme="shuffled"),
    "minibatches larger than the population": minibatches(batch=50),
    "minibatches of half a record": minibatches(batch=0.5),
    "minibatches seed -1": minibatches(seed=-1),
    # rates
    "rate of a response whose squares overflow": rate(
        frame=pd.DataFrame({"n": [1.0, 2, 4, 8, 16], "gap": [1e308, 1e307, 1e306, 1e305, 1e304]})
    ),
    "rate of a response whose squares vanish": rate(
        frame=pd.DataFrame({"n": [1.0, 2, 4, 8, 16], "gap": [1e-200, 1e-201, 1e-202, 1e-203, 1e-204]})
    ),
    "frame that is a list": rate(frame=[1, 2]),
    "frame without rows": rate(frame=pd.DataFrame({"n": [], "gap": []})),
    "frame with a column twice": rate(frame=pd.DataFrame([[1.0, 2.0, 3.0]] * 9, columns=["n", "n", "gap"])),
    "frame with text": rate(frame=changed("n", "many")),
    "frame with NaN": rate(frame=changed("gap", NAN)),
    "frame with infinity": rate(frame=changed("gap", INF)),
    "frame with complex numbers": rate(frame=changed("gap", 1j).assign(gap=lambda f: f["gap"].astype(complex))),
    "frame with a huge integer": rate(frame=changed("n", HUGE)),
    "frame with a factor of 0": rate(frame=changed("n", 0.0)),
    "frame of one size": rate(frame=pd.DataFrame({"n": [1.0] * 9, "gap": np.arange(9.0)})),
    "response that is missing": rate(response="loss"),
    "response that is a factor": rate(response="n"),
    "factors that are text": rate(factors="n"),
    "factors that are none": rate(factors=[]),
    "factors twice": rate(factors=["n", "n"]),
    "claimed as text": rate(claimed="n=-0.5"),
    "claimed as a word": rate(claimed={"n": "half"}),
    "claimed as NaN": rate(claimed={"n": NAN}),
    "claimed as infinity": rate(claimed={"n": -INF}),
    "claimed as a huge integer": rate(claimed={"n": HUGE}),
    "claimed of no factor": rate(claimed={"d": 1.0}),
    "margin 0": rate(margin=0),
    "margin huge": rate(margin=HUGE),
    "offset of calls": rate(offset="__import__('os')"),
    "offset of nothing": rate(offset=""),
    "offset nested deep": rate(offset="(" * 5_000 + "n" + ")" * 5_000),
    "cluster that is missing": rate(cluster="data set"),
    # problems, solvers and checks
    **{f"solve seed {value!r}"[:40]: solve(seed=value) for value in (-1, 0.5, "0", None, True)},
    **{f"solve epsilon {value!r}"[:40]: solve(epsilon=value) for value in (0, -1, NAN, INF, HUGE, "1", 1j)},
    **{f"solve delta {value!r}"[:40]: solve(delta=value) for value in (0, 1, -1, NAN, HUGE, "1e-5")},
    **{f"solve steps {value!r}"[:40]: solve(steps=value) for value in (0, -1, 2.5, "5", HUGE, True)},
    **{f"solve at {value!r}"[:40]: solve(at=value) for value in ([-1], [99], "all", 1.5)},
    "solve no problem": solve(problem="riddle"),
    "solve a list": solve(problem=[1, 2]),
    "solve an unknown option": solve(pace=3),
    "solve an unknown variant": solve(variant="mended"),
    "solve an unknown algorithm": lambda: dpcheck.solve("gradient_prayer"),
    "solve an algorithm that is no word": lambda: dpcheck.solve(["dp_sgda"]),
    "auc of labels of another length": auc([[0.1], [0.2]], [1]),
    "auc of one class": auc([[0.1], [0.2]], [1, 1]),
    "auc of labels 0 and 1": auc([[0.1], [0.2]], [0, 1]),
    "auc of rows beyond the ball": auc([[0.1], [1.1]]),
    "auc of NaN": auc([[0.1], [NAN]]),
    "auc of text": auc([["a"], ["b"]]),
    "auc of complex rows": auc(np.array([[0.1], [0.2j]])),
    "auc of masked rows": auc(np.ma.masked_array([[0.1], [0.2]], [[True], [False]])),
    "auc of masked labels": auc([[0.1], [0.2]], np.ma.masked_array([1, -1], [True, False])),
    "auc of complex labels": auc([[0.1], [0.2]], [1 + 1j, -1]),
    "auc of text labels": auc([[0.1], [0.2]], ["a", "b"]),
    "auc of ragged rows": auc([[0.1], [0.2, 0.3]]),
    "auc of no rows": auc(np.zeros((0, 2)), []),
    "problem of an unknown name": lambda: example("riddle"),
    "problem with seed -1": lambda: example("quadratic", seed=-1),
    "quadratic of complex records": lambda: Quadratic(records=np.ones((3, 4)) * 1j),
    "check of nothing known": lambda: dpcheck.check("gradient_prayer"),
    "check of a number": lambda: dpcheck.check(3),
    "check of a list of numbers": lambda: dpcheck.check([3]),
    "check of no profile": lambda: dpcheck.check("dp_sgda", profile="slow"),
    "check with seed -1": lambda: dpcheck.check("dp_sgda", seed=-1),
    "check with jobs 0": lambda: dpcheck.check("dp_sgda", jobs=0),
    # theory
    "theorem that is missing": lambda: dpcheck.theorem("fermat.last"),
    "theorem that is a number": lambda: dpcheck.theorem(3),
    "theorem outside its region": theory(n=-1),
    "theorem at a huge integer": theory(n=HUGE),
    "theorem at text": theory(n="many"),
    "theorem at NaN": theory(n=NAN),
    "theorem at complex numbers": theory(epsilon=1j),
    "theorem without its numbers": lambda: dpcheck.theorem("zhang2022.theorem_4_5").bound(),
    "claims of no paper": lambda: dpcheck.prove("euclid"),
    "claims within no time": lambda: dpcheck.prove("Y17", seconds=0),
    "claims within NaN": lambda: dpcheck.prove("Y17", seconds=NAN),
    "claims by half a process": lambda: dpcheck.prove("Y17", jobs=0.5),
    # accounting
    "certify nothing known": lambda: dpcheck.certify("noise", 1e-5),
    "certify at delta 2": lambda: dpcheck.certify(Gaussian(1.0), 2.0),
    "certify at delta NaN": lambda: dpcheck.certify(Gaussian(1.0), NAN),
    "noise of standard deviation -1": lambda: Gaussian(-1.0),
    "noise of standard deviation NaN": lambda: Gaussian(NAN),
    "noise of standard deviation 1j": lambda: Gaussian(1j),
    "curve of nothing known": lambda: privacy_curve([3]),
    # what is inside a mechanism
    **{f"clipping bound {value!r}"[:40]: clipping(bound=value) for value in (0, NAN, HUGE, "1")},
    "clipping of no function": clipping(query=None),
    "clipping of one record": clipping(records=np.ones((1, 1))),
    "clipping of a table": clipping(records=pd.DataFrame(np.ones((5, 1)))),
    "clipping of an iterator": clipping(records=iter(np.ones((5, 1)))),
    "clipping with divisor -1": clipping(divisor=-1),
    "clipping of a number": clipping(records=3.0),
    "clipping of text": clipping(records="ab"),
    "clipping that is complex": clipping(query=lambda batch: 1j * np.sum(batch)),
    "clipping that is masked": clipping(query=lambda batch: MASKED),
    "clipping of text outputs": clipping(query=lambda batch: "seven"),
    "clipping that leaves": clipping(query=lambda batch: sys.exit(0)),
    "clipping with a divisor of no name": clipping(divisor="n"),
    "clipping with a scale that is a number": clipping(scale=3),
    "clipping with a scale that raises": clipping(scale=lambda record, factor: 1 / 0),
    "clipping seed -1": clipping(seed=-1),
    "clipping of no batches": clipping(batches=0),
    "low bits of no function": low_bits(mechanism=None),
    "low bits that are complex": low_bits(mechanism=lambda data, rng: 1j * rng.normal()),
    "low bits of text": low_bits(mechanism=lambda data, rng: "seven"),
    "low bits that leave": low_bits(mechanism=lambda data, rng: sys.exit(0)),
    "low bits seed -1": low_bits(seed=-1),
    "low bits at confidence 2": low_bits(confidence=2),
    "low bits by no workers": low_bits(jobs=0),
    "constants of no function": lambda: dpcheck.audit_constants(None, [1], [[2]]),
    "constants that raise": lambda: dpcheck.audit_constants(lambda data: 1 / 0, [1], [[2]]),
    "constants that leave": lambda: dpcheck.audit_constants(lambda data: sys.exit(0), [1], [[2]]),
    "constants without neighbours": lambda: dpcheck.audit_constants(len, [1], []),
    "constants with a number as neighbours": lambda: dpcheck.audit_constants(len, [1], 3),
    "tables of no pipeline": lambda: dpcheck.audit_tables(None, [1], [2], epsilon=1.0),
    "tables of a pipeline that raises": lambda: dpcheck.audit_tables(lambda data, rng: 1 / 0, [1], [2], epsilon=1.0),
    "tables without a neighbour": lambda: dpcheck.audit_tables(lambda data, rng: data, [1], epsilon=1.0),
    "points of no mechanism": points(mechanism=3),
    "points of no oracle": points(oracle=None),
    "points of a complex oracle": points(oracle=lambda x: 1j * x),
    "points of an oracle that raises": points(oracle=lambda x: 1 / 0),
    "points that are text": points(mechanism=lambda oracle, rng: oracle("here")),
    "points of text": points(mechanism=lambda oracle, rng: "seven"),
    "points that leave": points(mechanism=lambda oracle, rng: sys.exit(0)),
    "points without a call": points(mechanism=lambda oracle, rng: rng.normal()),
    "points with a draw of another size": points(mechanism=lambda oracle, rng: oracle(0.0) + rng.normal(size=3)),
    "points seed -1": points(seed=-1),
    "points of weight NaN": points(weight=NAN),
    "randomness of no mechanism": randomness(mechanism=None),
    "randomness that is complex": randomness(mechanism=lambda data, rng: 1j),
    "randomness of NaN": randomness(mechanism=lambda data, rng: NAN),
    "randomness that leaves": randomness(mechanism=lambda data, rng: sys.exit(0)),
    "randomness without a neighbour": randomness(neighbour=None),
    "randomness with two kinds of neighbour": randomness(replacements=[1.0]),
    "randomness at epsilon NaN": randomness(epsilon=NAN),
    "randomness seed -1": randomness(seed=-1),
    # algorithms of one's own
    **{f"algorithm epsilon {value!r}"[:40]: declared(epsilon=value) for value in (-1, NAN, HUGE, "1")},
    "algorithm delta 2": declared(delta=2),
    "algorithm on a number": declared(data=3),
    "algorithm with a number as replacements": declared(replacements=3),
    "algorithm without replacements": declared(replacements=[]),
    "algorithm of two words": declared(name="a b"),
    "algorithm without code": declared(run=None),
    "algorithm of no function": declared(run=3),
    "algorithm that is both": declared(step=lambda state, data, rng: 0.0),
    "algorithm with steps and no step": declared(steps=2),
    "algorithm with an update and no step": declared(update=len),
    "algorithm without records": declared(data=[]),
    "algorithm with events of text": declared(events="Gaussian"),
    "algorithm with a rate that is a number": declared(rate=3),
    "rate of two levels": promised(grid={"n": (1, 2)}),
    "rate of a number as levels": promised(grid={"n": 3}),
    "rate without a grid": promised(grid=None),
    "rate without runs": promised(seeds=0),
    "rate of no function": promised(measure=None),
    "rate of no claim": promised(claimed={}),
    "rate of another setting": promised(claimed={"d": 1.0}),
    "rate of a claim and a theorem": promised(theorem=dpcheck.theorem("yang2022.theorem_2a")),
    # further testers
    "patterns of no queries": lambda: patterns(0),
    "patterns of size NaN": lambda: patterns(2, size=NAN),
    "canary with low above high": lambda: canary(laplace, [0.5], low=1, high=0),
    "canary of text": lambda: canary(laplace, ["a"], low=0, high=1),
    "canary outside": lambda: canary(laplace, [0.5], low=0, high=1, index=7),
    "neighbours without pairs": lambda: dpcheck.audit_neighbours(laplace, [], epsilon=1.0),
    "neighbours that are no pairs": lambda: dpcheck.audit_neighbours(laplace, [3], epsilon=1.0),
    "neighbours of no mechanism": lambda: dpcheck.audit_neighbours(None, [(0, 1)], epsilon=1.0),
    "neighbours and outputs of code": lambda: dpcheck.audit_neighbours(lambda data, rng: len, [(0, 1)], epsilon=1.0),
    "data set that is missing": lambda: datasets.load("iris"),
    "data set of radius 0": lambda: datasets.load("a9a").unit_ball(radius=0),
    "data set of radius NaN": lambda: datasets.load("a9a").unit_ball(radius=NAN),
    "assertion of a negative epsilon": lambda: testing.assert_private(laplace, 1, 0, epsilon=-1),
    "report that is empty": lambda: Report.from_json(""),
    "report nested deep": lambda: Report.from_json("[" * 100_000),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", API)
def test_the_library_refuses(name: str) -> None:
    with pytest.raises(dpcheck.InputError) as refused:
        API[name]()
    said = str(refused.value)
    assert "\n" not in said and 0 < len(said) <= 600, said


MODULE = """
import numpy as np
from dpcheck.events import Laplace
def f(data, rng): return np.sum(data) + rng.laplace()
def takes_data(data): return np.sum(data)
def leaves(data, rng): raise SystemExit(0)
def returns_code(data, rng): return len
def returns_iterator(data, rng): return iter([1])
def raises(data, rng): raise ValueError("first line\\nsecond line")
def nests(data, rng): return (nested := []).append(nested) or nested
def randomness_of_its_own(data, rng): return np.random.default_rng().normal()
def takes_size(data, rng, size): return np.sum(data) + rng.laplace(size=size)
def rises(epsilons): return np.minimum(1.0, epsilons / 10)
words = "text"
"""
FILES = {
    "users_own.py": MODULE,
    "broken.py": "def f(:",
    "leaving.py": "raise SystemExit(0)",
    "stopping.py": "class Stop(BaseException): pass\nraise Stop('now')",
    "claimless.py": "x = 1",
    "empty.csv": "",
    "names.csv": "a,b\n",
    "words.csv": "n,gap\nmany,few\n",
    "ragged.csv": "1,2\n3\n",
    "twice.csv": "n,n,gap\n1,2,3\n",
    "longer.csv": "n,gap\n1,2\n1,2,3\n",
    "headed.csv": "age,income\n1\n",
    "marks.csv": "?,?\n1,2\n",
    "gaps.csv": "n,gap\n" + "\n".join(f"{n},{n**-0.5}" for n in (100, 200, 400, 800) for _ in range(4)),
    "holes.csv": "n,gap\n" + "\n".join(f"{n}," for n in (100, 200, 400, 800) for _ in range(4)),
    "zeros.csv": "n,gap\n" + "\n".join(f"0,{n}" for n in (100, 200, 400, 800) for _ in range(4)),
    "quotes.csv": 'n,gap\n"1,2\n',
    "null.csv": "n,gap\n1,\x00\n",
    "empty.json": "",
    "null.json": "null",
    "list.json": "[]",
    "deep.json": "[" * 100_000,
    "half.json": '{"schema": "dpcheck.sequential/1", "sta',
    "other.json": '{"schema": "another/1"}',
    "digits.json": "1" * 5_000,
    "text.npy": "no array",
    "table.csv": "another,table\n1,2\n",
}
RUN = "--batch 256 --population 60000 --steps 10000 --delta 1e-5"
AT = "yang2022.theorem_1 n=10000 epsilon=0.5 delta=1e-8 T=100 G_w=1 G_v=2"
FURTHER = {  # what follows a command, line by line
    "audit users_own:": """
        returns_iterator %A; raises %A; nests %A; randomness_of_its_own %A; takes_size %A
        f --data headed.csv --neighbour 0 --epsilon 1
        f %A --unseeded --jobs 2""",
    "show ": f"""
        {AT} epsilon=3; {AT} delta=1; {AT} n=-1; {AT} k=1; yang2022.theorem_1 n=10; yang2022.theorem_1 n=ten
        yang2022.theorem2a; Y17""",
    "rate ": """
        %R --theorem yang2022.theorem_2a; gaps.csv G_w=1 --response gap --factors n; %R --offset n.real
        gaps.csv G=1 --response gap --factors n --theorem yang2022.theorem_2a; %R --offset n --theorem x
        gaps.csv n=1 --response gap --factors n --theorem yang2022.theorem_2a; %R --claimed n=1,n:2
        twice.csv --response gap --factors n; longer.csv --response gap --factors n""",
    "solve ": """
        output_perturbation --data a9a; privatediff --epsilon 1e9; dp_sgda epsilon=2; dp_sgda eta=0; dp_sgda clip_w=0
        dp_sgda --delta 1; dp_sgda --data a9a --radius -1; dp_sgda --data a9a --positive-share 2
        nseg --like xu2026.table_2; nispp --like xu2026.table_2 --radius 2""",
    "measure ": """
        dp_sgda --vary n=; dp_sgda --vary n=10..x; dp_sgda --vary n=1...4; dp_sgda --vary n=inf; dp_sgda --vary n=-8^.5
        dp_sgda --vary n=8..4; dp_sgda --vary n=0..4; dp_sgda --vary n=10,10; dp_sgda --vary n=10 --vary n=20
        dp_sgda n=10 --vary n=20; dp_sgda --vary n=1.5; dp_sgda d=0; dp_sgda --variant mended; dp_sgda --problem auc
        dp_sgda --problem nosuch; dp_sgda --problem polyak d=3; dp_sgda seed=3; dp_sgda nosuch=3
        dp_sgda --vary seed=1,2; dp_sgda --problem hyperbola; dp_sgda --scheduler tcp://host:1
        dp_sgda --backend threads --scheduler x; dp_sgda --backend dask --scheduler x --jobs 2""",
    "certify ": f"""
        --delta 1e-5; --multiplier 1 --epsilon 1 {RUN}; --multiplier 1 --batch 5 --population 10 --delta 1e-5
        --multiplier -1 {RUN}; --multiplier nan {RUN}; --epsilon 0 {RUN}; nosuch.json; nosuch.json --delta 1.5
        --epsilon 2 --batch 1 --population 9 --steps 0; --epsilon 2 --batch 1 --population 9 --steps 3 --delta 0
        --multiplier 1 --sampling balls_in_bins --neighbours replace_one {RUN}
        --multiplier 1 --batch 5.5 --population 10 --steps 3 --delta 0 --sampling fixed
        --multiplier 1 --batch inf --population 10 --steps 3 --delta 0 --sampling shuffled
        --multiplier 1 --batch 11 --population 10 --steps 3 --delta 0 --sampling fixed
        --multiplier 1 --batch 1 --population 0 --steps 3 --delta 0 --sampling fixed
        --multiplier 1 --sampling fixed --neighbours add_or_remove_one {RUN}
        --multiplier 1 --sampling without_replacement --neighbours add_or_remove_one {RUN}
        --multiplier 1 --sampling balls_in_bins --batch -5 --population 9 --steps 3
        --multiplier 1 --sampling balls_in_bins --batch 1 --population 0 --steps 3
        --multiplier 1 --encoder nosuch.npy; --multiplier 1 --encoder tree; --multiplier 1 --encoder tree --steps 99999
        --multiplier 1 --encoder tree --steps 8 --batch 2; --multiplier 1 --encoder tree --steps 8 --participations -1
        --multiplier 1 --sampling none --population 3 --steps 9; --multiplier 1 --separation 2 {RUN}
        nosuch.json --encoder tree; nosuch.json --steps 3""",
    "reproduce ": """
        nothing; --only ijcnn1; xu2026.table_2 --seeds 0; xu2026.table_2 --only cifar
        xu2026.table_2 --plot x.nothing; xu2026.table_2 --store gaps.csv""",
    "report ": "xu2026.table_2 --format sarif; nosuch.json",
    "audit ": """users_own:f; users_own:f --all; --data 1 --neighbour 0 --epsilon 1; --all --repro r.py
        users_own:f %A --repro gaps.csv; users_own:f %A --repro users_own.py; users_own:f %A --repro no/r.py
        users_own:f %A --repro r.py --sequential""",
    "write ": "nosuch; gaps.csv; users_own --output gaps.csv; users_own --output no/test.py; users_own --output .",
    "check ": "./nosuch; --seed one",
}
AUDIT = ("audit", "users_own:f", "--data", "1", "--neighbour", "0")
ONE = (*AUDIT, "--epsilon", "1", "--trials", "200")
RATE = ("rate", "gaps.csv", "--response", "gap", "--factors", "n")


def command_lines() -> list[tuple[str, ...]]:
    """Wrong command lines."""
    found: list[tuple[str, ...]] = [("pray",), ("--format", "json"), ("check", "--format", "yaml")]
    found += [(*AUDIT, "--trials", "200"), (*ONE, "--claim", "users_own:rises"), (*ONE, "--jobs", "2", "--unseeded")]
    numbers = {
        "--epsilon": ("-1", "nan", "inf", "1e999", "one", LONG), "--delta": ("-1", "1", "nan", "x"),
        "--trials": ("0", "-1", "1.5", "many", LONG), "--confidence": ("0", "0.5", "1", "nan", "x"),
        "--seed": ("-1", "0.5", "x"), "--jobs": ("0", "-1", "x"),
    }  # fmt: skip
    found += [(*ONE, option, value) for option, values in numbers.items() for value in values]
    data = [
        "",
        "[1,",
        "[" * 100_000,
        "{",
        "nosuch.npy",
        "text.npy",
        "empty.csv",
        "names.csv",
        "ragged.csv",
    ]
    data += ["nosuch.csv", "empty.json", "deep.json", "nosuch.json", ".", LONG, "digits.json", "\x1b[2J", "a" * 5_000]
    pairs = (("--data", "--neighbour"), ("--neighbour", "--data"))
    found += [("audit", "users_own:f", a, value, b, "0", "--epsilon", "1") for a, b in pairs for value in data]
    names = [f"users_own:{name}" for name in ("", "nosuch", "words", "takes_data", "leaves", "returns_code", "f:g")]
    names += ["users_own", ":f", "nosuch:f", "broken:f", "leaving:f", "stopping:f", "a b:f", "..:f", ".py:f", "./:f"]
    names += ["nosuch.py:f", "users_own.py:nosuch", "broken.py:f"]
    found += [("audit", name, *AUDIT[2:], "--epsilon", "1", "--trials", "200") for name in names]
    found += [(*AUDIT, "--claim", claim) for claim in ("users_own:rises", "users_own:words", "users_own:nosuch", "x")]
    saved = ("null.json", "list.json", "empty.json", "half.json", "other.json", "deep.json", "digits.json", "gaps.csv")
    found += [(*ONE, "--earlier", file) for file in (*saved, "nosuch.json", "null", "[]", ".", "")]
    found += [(*ONE, "--sequential", "--plot", "a.png"), (*ONE, "--plot", "a.doc"), (*ONE, "--plot", "nosuch/a.png")]
    found += [(*ONE, *rest.split()) for rest in (
        "--call-seconds 1", "--isolate --call-seconds 0", "--isolate --jobs 2", "--isolate --megabytes nan",
        "--megabytes 100",
    )]  # fmt: skip
    tables = ("nosuch.csv", "empty.csv", "names.csv", "words.csv", "ragged.csv", "holes.csv", "zeros.csv", "quotes.csv")
    tables += ("null.csv", ".", "text.npy", "https://localhost/gaps.csv", "file:///etc/passwd", "-")
    found += [("rate", table, "--response", "gap", "--factors", "n") for table in tables]
    found += [("rate", "/dev/zero", "--response", "gap", "--factors", "n")] if Path("/dev/zero").exists() else []
    found += [("rate", "gaps.csv", "--response", *rest) for rest in (
        ("loss", "--factors", "n"), ("gap", "--factors", "d"), ("gap", "--factors", ","), ("gap", "--factors", "gap"),
        ("gap", "--factors", "n,n"), ("gap",), ("gap", "--factors", "n", "d"), ("gap", "--factors", "n", "d=1"),
    )]  # fmt: skip
    found += [
        (*RATE, "--claimed", claim) for claim in ("n", "n=", "=1", "n=x", "n=1/0", "n=nan", "n=1e999", "d=1", "n=1,n=2")
    ]
    found += [(*RATE, *rest) for rest in (
        ("--margin", "0"), ("--margin", "nan"), ("--confidence", "2"), ("--cluster", "x"), ("--offset", "open('x')"),
        ("--offset", "(" * 5_000), ("--offset", "n."), ("--theorem", "fermat"), ("G=1",), ("--plot", "a.doc"),
        ("--theorem", "yang2022.theorem_2a", "G=" + LONG), ("--cluster", "n", "--seed", "n"),
    )]  # fmt: skip
    found += [("solve", *rest) for rest in (
        ("pray",), ("dp_sgda", "--problem", "riddle"), ("dp_sgda", "--epsilon", "0"), ("dp_sgda", "--epsilon", "1e999"),
        ("dp_sgda", "--delta", "0"), ("dp_sgda", "--seed", "-1"), ("dp_sgda", "steps"), ("dp_sgda", "steps=0"),
        ("dp_sgda", "steps=" + LONG), ("dp_sgda", "steps=1e999"), ("dp_sgda", "steps=[1]"),
        ("dp_sgda", "pace=1"), ("dp_sgda", "steps=" + "[" * 100_000), ("dp_sgda", "steps=3", "steps=4"),
        ("dp_sgda", "--variant", "x"), ("dp_sgda", "--data", "iris"), ("dp_sgda", "--plot", "a.doc"),
        ("dp_sgda", "--radius", "1"), ("dp_sgda", "--data", "a9a", "--radius", "nan"),
    )]  # fmt: skip
    found += [("measure", *rest) for rest in (
        ("pray",), ("dp_sgda", "--vary", "n"), ("dp_sgda", "--vary", "n=x"), ("dp_sgda", "--vary", "n=2^9999"),
        ("dp_sgda", "--vary", "n=10..35"), ("dp_sgda", "--vary", "n=1..1e999"), ("dp_sgda", "--vary", "n=0,0"),
        ("dp_sgda", "--seeds", "0"), ("dp_sgda", "--seeds", "x"), ("dp_sgda", "n=0"), ("dp_sgda", "n=0.5"),
        ("dp_sgda", "--vary", "epsilon=1,2", "--epsilon", "1"), ("dp_sgda", "--jobs", "0", "--seeds", "1", "n=50"),
        ("dp_sgda", "--output", "nosuch/a.csv"), ("dp_sgda", "--output", "table.csv"), ("dp_sgda", "--output", "."),
        ("dp_sgda", "--vary", "n=" + LONG), ("phased_primal", "--vary", "n=1e30", "--seeds", "1"),
        ("dp_sgda", "--output", ""),
    )]  # fmt: skip
    found += [("show", *rest) for rest in (
        (), ("fermat",), ("yang2022.theorem_2a", "n"), ("yang2022.theorem_2a", "n=x"), ("yang2022.theorem_2a", "n=-1"),
        ("yang2022.theorem_2a", "n=" + LONG), ("yang2022.theorem_2a", "=1"), ("yang2022.theorem_2a", "n=nan"),
        ("yang2022.theorem_2a", "speed=3"),
    )]  # fmt: skip
    found += [("prove", *rest) for rest in (
        ("euclid",), ("nosuch.py",), ("broken.py",), ("leaving.py",), ("claimless.py",), ("Y17", "--jobs", "0"),
        ("log(n) <= sqr(n)",), ("Y17", "--seconds", "0"), ("Y17", "--seconds", "nan"), ("Y17", "--seconds", "x"),
    )]  # fmt: skip
    found += [("check", *rest) for rest in (
        ("pray",), ("nosuch.py",), ("broken.py",), ("leaving.py",), ("claimless.py",), (".",), ("stopping.py",),
        ("dp_sgda", "--seed", "-1"), ("dp_sgda", "--jobs", "0"), ("dp_sgda", "--profile", "slow"),
        ("dp_sgda", "--output", "nosuch/a.txt"),
        ("dp_sgda", "--html-output", "."), ("dp_sgda", "--seed", LONG), ("dp_sgda", "--store", "empty.csv/store"),
        ("dp_sgda", "--store", "gaps.csv"), ("dp_sgda", "--store", ""), ("dp_sgda", "--output", ""),
        ("dp_sgda", "--json-output", "both", "--html-output", "./both"),
    )]  # fmt: skip
    found += [("list", "theorms"), ("list", "theorems", "no such words"), ("list", LONG)]
    found += [("certify", "--sampling", "none", "--batch", "3", "--multiplier", "1", "--steps", "9")]
    found += [("bugs", "no-such-bug"), ("bugs", "all", "--seed", "x"), ("bugs", "--format", "sarif")]
    reports = ("nosuch.json", "empty.json", "null.json", "list.json", "deep.json", "half.json", "other.json", ".")
    found += [("report", file) for file in (*reports, "digits.json", "gaps.csv", "text.npy")]
    short = {"%A": "--data 1 --neighbour 0 --epsilon 1 --trials 200", "%R": "gaps.csv --response gap --factors n"}
    for start, lines in FURTHER.items():
        for line in re.split(r"\n|; ", lines.strip()):
            found.append(tuple(re.sub("%[AR]", lambda match: short[match[0]], start + line.strip()).split()))
    return found


LINES = command_lines()
COMMANDS = sorted({line[0] if line else "" for line in LINES})


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_a_table_is_not_kept_in_a_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """To read what it holds would wait for ever."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    assert main(["measure", "dp_sgda", "n=50", "steps=5", "--seeds", "1", "--output", "pipe"]) == 2
    said = "dpcheck: error: --output must be a file that rows can be added to, got pipe"
    assert capsys.readouterr().err.splitlines()[-1] == said


@pytest.mark.parametrize("name", first(6, COMMANDS))
def test_the_command_refuses(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, nothing on stdout, one line on stderr after the usage, where it shows it, and the progress."""
    for file, content in FILES.items():
        (tmp_path / file).write_text(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    before = sorted(path.name for path in tmp_path.iterdir())
    for line in LINES:
        if (line[0] if line else "") != name:
            continue
        try:
            code: Any = main(line)
        except SystemExit as stop:  # how argparse ends
            code = stop.code
        out, err = capsys.readouterr()
        shown = [word[:60] for word in line]
        assert (code, out) == (2, ""), (shown, err[-500:])
        assert "Traceback" not in err, shown
        *rest, last = err.splitlines()
        assert "error: " in last and len(last) < 700, (shown, last[:900])
        told = [each for each in rest if not each.startswith(("usage: ", "  ", "dpcheck: "))]
        assert not told, (shown, told)
        left = sorted(path.name for path in tmp_path.iterdir() if path.name != "__pycache__")
        assert left == before, shown
