"""The escape of DP-RGDA from strict saddles: its numbers by Lemmas 6 and 7, and what they are short of.

X = L_Phi eta_H alpha_H/(C rho_Phi r_0), r_0 = delta_2 r/sqrt d, alpha_H = sqrt(rho_Phi alpha).
"""

import math

from dpcheck.algorithms.schedule import Schedule, fixed, modulus, number, positive, share, whole
from dpcheck.errors import require


class Escape(Schedule):
    """The part of the schedule that an escape needs.

    Attributes
    ----------
    eta_H : float
        Step size > 0 of the escape, 1/L_Phi by default.
    r : float
        Size of the perturbation, > 0.
    t_thres : int
        Steps of an escape.
    D_bar : float
        Mean square move below which an escape has failed, > 0.
    C : float
        The escape's constant, > 0.
    failure : float
        delta_1 and delta_2 of the paper, probabilities of failure in (0, 1).
    """

    alpha: float  # accuracy of the second-order point
    steps: int
    escapes: int

    @number(positive, checked=False)
    def eta_H(self) -> float:
        return 1 / self.L_Phi

    @number(positive)
    def r(self) -> float:
        return min(self.R, self.most) / 2

    @number(whole, checked=False)
    def t_thres(self) -> int:
        X = self.most / (self.share * self.r)
        require(X > 1, "t_thres", f"be given where r is far beyond {self.most:.3g}", None)
        return math.ceil(2 * math.log(X) / (self.eta_H * self.curvature))

    @number(positive, checked=False)
    def D_bar(self) -> float:
        return self.R**2 / self.t_thres**2

    C = fixed(4.0, positive)
    failure = fixed(0.1, share)

    @property
    def L_Phi(self) -> float:
        """Smoothness of the primal function."""
        L, mu = self.problem.smoothness, modulus(self.problem)
        return L * (1 + L / mu) if mu > 0 else math.inf

    @property
    def rho(self) -> float:
        """Lipschitz constant of the primal function's Hessian, or next to nothing."""
        return max(self.problem.hessian_lipschitz, 1e-12)

    @property
    def alpha_H(self) -> float:
        """Curvature of the saddles that are escaped from."""
        return math.sqrt(self.rho * self.alpha)

    @property
    def most(self) -> float:
        """The longest perturbation that Lemma 7 allows."""
        return self.L_Phi * self.eta_H * self.alpha_H / (self.C * self.rho)

    @property
    def share(self) -> float:
        """r_0 over r."""
        return self.failure / math.sqrt(self.problem.dim_w)

    @property
    def R(self) -> float:
        """How far an escape goes."""
        return 1 / (2 * self.L_Phi * self.eta_H)

    @property
    def curvature(self) -> float:
        """The divisor of the steps of an escape beside eta_H."""
        return 1.0

    @property
    def bounded_escapes(self) -> float:
        """How many perturbations there can be."""
        return math.inf

    @property
    def outside(self) -> tuple[str, ...]:
        """Sentences on the assumptions of the escape's analysis that these numbers break."""
        most, r, escapes = self.most, self.r, self.bounded_escapes
        way = self.alpha / self.alpha_H if self.problem.hessian_lipschitz > 0 else 0.0  # from a saddle to alpha
        broken = {
            f"perturbations, at most {escapes} of length {r:.3g}, are short of the {way:.3g} from a saddle of "
            "curvature -sqrt(rho alpha) to |grad| = alpha: a run that comes near one is likely to end there":
                escapes * r < way,
            f"an escape takes {self.t_thres} steps and there are {self.steps}: nothing can be certified":
                self.t_thres >= self.steps,
            f"Lemma 7 assumes r <= {most:.6g}, got {r}": r > most,
        }  # fmt: skip
        return tuple(sentence for sentence, is_broken in broken.items() if is_broken)


class RepairedEscape(Escape):
    """The escape as the repaired proofs of Lemmas 6 and 7 have it."""

    @property
    def R(self) -> float:
        return self.most

    @property
    def curvature(self) -> float:
        return self.alpha_H

    @property
    def bounded_escapes(self) -> float:
        return self.escapes

    @property
    def noise_at_most(self) -> float:
        """The root mean square of the noise on an estimate that is made of the most sums."""
        raise NotImplementedError

    @property
    def unproved(self) -> tuple[str, ...]:
        """A sentence on the conditions of Lemmas 6 and 7, repaired, that these numbers are short of."""
        most, t_thres = self.most, self.t_thres
        if not self.r < most < math.inf:
            return ()
        X = most * math.sqrt(self.problem.dim_w) / (self.failure * self.r)
        least_C = 12 * (self.L_Phi * self.eta_H) * math.log(4 * X)
        least_t = 2 * math.log(4 * X) / (self.eta_H * self.alpha_H)
        most_D = ((most - self.r) / t_thres) ** 2
        noise, allowed = self.noise_at_most, self.alpha_H * most / (4 * X)
        short = {
            f"C >= {least_C:.4g}, not {self.C:.4g}": least_C > self.C,
            f"t_thres >= {math.ceil(least_t)}, not {t_thres}": t_thres < least_t,
            f"D_bar <= {most_D:.3g}, not {self.D_bar:.3g}": most_D < self.D_bar,
            f"estimates within {allowed:.3g}, where the noise alone is about {noise:.3g}": allowed < noise,
        }
        asked = "; ".join(sentence for sentence, is_short in short.items() if is_short)
        return (f"an unbroken escape is no proof: Lemmas 6 and 7, repaired, ask for {asked}",) if asked else ()
