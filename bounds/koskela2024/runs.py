r"""The privacy of the best of a random number of runs, released alone: tuning, by one point of the curve of a run.

Problem. K runs are made, each on its own, K drawn from a law and kept secret, and the run with the highest score is
released, ties broken at random. One run has the privacy curve delta(.), for both orders of the data sets.

Guarantee. The release is (epsilon, delta)-private, where the schedule has epsilon and the bound is delta
(``koskela2024.negative_binomial``, of which shape 1 is the geometric law; ``koskela2024.poisson``). Any e_1 and e_2
prove one; ``dpcheck.accounting.best_of_runs`` takes the best of a curve.

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> runs = theorem("koskela2024.negative_binomial")
>>> point = {"e_1": 0.4, "delta_1": 1e-6, "e_2": 0.1, "delta_2": 0.005, "shape": 1, "gamma": 0.05}
>>> {name: round(value, 4) for name, value in runs.schedule(**point).items()}
{'mean': 20.0, 'epsilon': 0.6}
>>> round(runs.bound(**point), 9)
2e-05
"""

from sympy import exp, symbols

from dpcheck.bounds.symbols import epsilon
from dpcheck.bounds.theorem import Assumption, Parameter, Theorem

PLACE = "the theorem on private selection, derived anew"
shape, gamma, mean, e_1, e_2, delta_0, delta_1, delta_2 = symbols(
    "shape gamma mean e_1 e_2 delta_0 delta_1 delta_2", positive=True
)

MEAN = shape * (1 - gamma) * gamma ** (-shape - 1) / (gamma ** (-shape) - 1)
EPSILON, BOUND = e_1 + (1 + shape) * e_2, mean * delta_1
POISSON_EPSILON, POISSON_DELTA = e_1 + mean * delta_0, mean * delta_1

POINT = (Parameter(e_1, "any epsilon"), Parameter(delta_1, "delta(e_1) of one run"))
RUNS = (
    Assumption("independent", "the runs are independent of each other and of K, and alike", PLACE),
    Assumption("secret", "of K, the scores and the other runs nothing is released", PLACE),
)

THEOREMS = (
    Theorem(
        id="koskela2024.negative_binomial",
        title="The best of K runs, K truncated negative binomial",
        location=PLACE,
        parameters=(
            *POINT,
            Parameter(e_2, "a further epsilon"),
            Parameter(delta_2, "delta(e_2) of one run"),
            Parameter(shape, "of the law, here above 0: 1 is geometric"),
            Parameter(gamma, "of the law: the smaller, the more runs"),
        ),
        assumptions=(
            *RUNS,
            Assumption("gamma", "gamma < 1", PLACE, gamma < 1),
            Assumption(
                "tail",
                "(1 - gamma) delta_2 <= gamma (e^e_2 - 1)",
                PLACE,
                (1 - gamma) * delta_2 <= gamma * (exp(e_2) - 1),
            ),
        ),
        schedule_formulas=((mean, MEAN), (epsilon, EPSILON)),
        bound_formula=BOUND,
        quantity="delta of the best run, at the epsilon of the schedule",
        quantity_latex=r"\delta",
    ),
    Theorem(
        id="koskela2024.poisson",
        title="The best of K runs, K with Poisson's law",
        location=PLACE,
        parameters=(*POINT, Parameter(delta_0, "delta(0) of one run"), Parameter(mean, "mean of K")),
        assumptions=(*RUNS, Assumption("none", "where K is 0 that is what is released", PLACE)),
        schedule_formulas=((epsilon, POISSON_EPSILON),),
        bound_formula=POISSON_DELTA,
        quantity="delta of the best run, at the epsilon of the schedule",
        quantity_latex=r"\delta",
    ),
)
