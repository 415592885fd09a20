r"""Theorem 5 with Remark 2: the noise with which PrivateDiff Minimax is said to be private.

Problem. As in ``theorem_1``, the mean loss mu-strongly concave in y, f <= M, Y bounded (A1).

Algorithm. PrivateDiff Minimax [1, Algorithms 3 and 4]. For r = 0, ..., R, minibatches of m records
without replacement: y_{r+1} by T_2 steps of clipped minibatch ascent from ytilde_r; then

    T | r:      d = mean clip(grad_x f(x_r, y_{r+1}; z_r), C_1),  C = C_1, sigma_x = sigma_x1, vtilde_r = 0
    otherwise:  d = mean clip(grad_x f(x_r, y_{r+1}; z_r) - grad_x f(x_{r-1}, y_r; z_{r-1}), C),
                C = C_{2,r} = C_2 |x_r - x_{r-1}| + C_3, sigma_x = sigma_x2
    vtilde_{r+1} = vtilde_r + d + N(0, sigma_x^2 C^2 I),  x_{r+1} = x_r - eta_x vtilde_{r+1},
    ytilde_{r+1} = y_{r+1} + N(0, sigma_y^2 I).

``zhang2025.theorem_5_existential`` has the noise of Theorem 5, ``zhang2025.theorem_5`` that of Remark 2, m rounded up.
The objects state what the paper states, for comparison with an accountant; they promise no privacy.

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> thm = theorem("zhang2025.theorem_5")
>>> sizes = dict(n=10_000, T=10, R=100, epsilon=1.0, delta=1e-8)
>>> thm.schedule(**sizes)
{'m': 1119}
>>> noise = thm.noise(**sizes, C_0=1.0, beta=1.0, M=1.0, mu=0.5)
>>> {name: round(sigma, 6) for name, sigma in noise.items()}
{'sigma_x1': 0.005429, 'sigma_x2': 0.017168, 'sigma_y': 0.103006}
"""

from sympy import Max, ceiling, log, sqrt, symbols

from dpcheck.bounds.symbols import R, T, delta, epsilon, m, mu, n, sigma_y
from dpcheck.bounds.theorem import BUDGET, Assumption, Parameter, Theorem

C_0, beta, M, sigma_x1, sigma_x2 = symbols("C_0 beta M sigma_x1 sigma_x2", positive=True)
c_4, c_5, c_6, c_7 = symbols("c_4 c_5 c_6 c_7", positive=True)

SIZES = (
    *BUDGET,
    Parameter(T, "rounds from one restart to the next"),
    Parameter(R, "rounds"),
    Parameter(C_0, "clipping threshold of the inner ascent"),
    Parameter(beta, "smoothness of f in y"),
    Parameter(M, "upper bound of f"),
)
A1 = Assumption("A1", "L-hat(x, .) is mu-strongly concave, Y is bounded, f <= M on R^{d_1} x Y", "Assumption 1")
MECHANISM = (
    Assumption("beta", "f is beta-smooth in y for every record; not named in Theorem 5", "Lemma 10"),
    Assumption("sampling", "each minibatch is drawn uniformly without replacement", "Algorithms 3 and 4, line 2"),
    Assumption("clipping", "each record's gradients and differences are clipped", "Algorithms 3 and 4"),
    Assumption("steps", "the inner ascent takes the steps 1/(mu i)", "Lemma 9, by [Hardt et al., Theorem 3.10]"),
)
LIMITS = (
    Assumption("epsilon", "epsilon <= 1", "Remark 2", epsilon <= 1),
    Assumption("delta", "delta <= 1/n^2", "Remark 2", delta <= 1 / n**2),
    Assumption("m", "m >= n sqrt(epsilon/(8 T))", "Remark 2", m >= n * sqrt(epsilon / (8 * T))),
    Assumption("most", "m <= n", "Algorithm 3, drawn without replacement", m <= n),
)
X_NOISE = (
    (sigma_x1, c_5 * sqrt(R / T * log(1 / delta)) / (n * epsilon)),
    (sigma_x2, c_6 * sqrt(R * log(1 / delta)) / (n * epsilon)),
)
Y_NOISE = c_7 * (2 * C_0**2 + beta * M) * sqrt(R * log(1 / delta)) / (n * epsilon)
REMARK_2 = (
    *((symbol, formula.subs({c_5: 4, c_6: 4})) for symbol, formula in X_NOISE),
    (sigma_y, Y_NOISE.subs(c_7, 4) / mu),
)

THEOREMS = (
    Theorem(
        id="zhang2025.theorem_5",
        title="Noise of PrivateDiff Minimax, with the constants of Remark 2 (refuted)",
        location="Theorem 5 and Remark 2",
        quantity="(epsilon, delta)-differential privacy, which does not follow",
        quantity_latex=r"(\epsilon, \delta)",
        parameters=(*SIZES, Parameter(mu, "strong concavity of L-hat in y")),
        assumptions=(A1, *MECHANISM, *LIMITS),
        schedule_formulas=((m, ceiling(Max(1, n * sqrt(epsilon / (8 * T))))),),
        noise_formulas=REMARK_2,
    ),
    Theorem(
        id="zhang2025.theorem_5_existential",
        title="Noise of PrivateDiff Minimax, for constants that the paper leaves open (refuted)",
        location="Theorem 5",
        quantity="(epsilon, delta)-differential privacy for some c_4, ..., c_7, which does not follow",
        quantity_latex=r"(\epsilon, \delta)",
        parameters=(
            *SIZES,
            Parameter(m, "records in a minibatch"),
            Parameter(c_4, "constant of the region, which the paper leaves open"),
            Parameter(c_5, "constant of sigma_x1, which the paper leaves open"),
            Parameter(c_6, "constant of sigma_x2, which the paper leaves open"),
            Parameter(c_7, "constant of sigma_y, which the paper leaves open"),
        ),
        assumptions=(
            A1,
            *MECHANISM,
            Assumption("most", "m <= n", "Algorithm 3, drawn without replacement", m <= n),
            Assumption("epsilon", "epsilon < c_4 m^2 T/n^2", "Theorem 5", epsilon < c_4 * m**2 * T / n**2),
        ),
        noise_formulas=(*X_NOISE, (sigma_y, Y_NOISE)),
    ),
)
