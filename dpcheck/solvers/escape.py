"""The escape of DP-RGDA from strict saddles: its parameters by Lemmas 6 and 7, and what they are short of."""

from __future__ import annotations

import math

from dpcheck.errors import require, require_positive


def escape(
    R: float, most: float, share: float, eta_H: float, curvature: float, r: float | None, t_thres: int | None,
    D_bar: float | None,
) -> tuple[float, int, float]:  # fmt: skip
    """Those of r, t_thres and D_bar that are not given, by Lemmas 6 and 7; r_0 is ``share`` of r."""
    r = min(R, most) / 2 if r is None else r
    require_positive(r, "r")
    if t_thres is None:
        X = most / (share * r)
        require(X > 1, "t_thres", f"be given where r is far beyond {most:.3g}", None)
        t_thres = math.ceil(2 * math.log(X) / (eta_H * curvature))
    return r, t_thres, R**2 / t_thres**2 if D_bar is None else D_bar


def outside(steps: int, t_thres: int, r: float, most: float, escapes: float, way: float) -> tuple[str, ...]:
    """What the analysis of the escape assumes and these numbers break.

    escapes : how many perturbations there are;  way : alpha over the curvature, from a saddle to |grad| = alpha
    """
    broken = {
        f"perturbations, at most {escapes} of length {r:.3g}, are short of the {way:.3g} from a saddle of curvature "
        "-sqrt(rho alpha) to |grad| = alpha: a run that comes near one is likely to end there": escapes * r < way,
        f"an escape takes {t_thres} steps and there are {steps}: nothing can be certified": t_thres >= steps,
        f"Lemma 7 assumes r <= {most:.6g}, got {r}": r > most,
    }
    return tuple(sentence for sentence, is_broken in broken.items() if is_broken)


def unproved(
    X: float, C: float, smooth: float, t_thres: int, growth: float, D_bar: float, room: float, noise: float,
    allowed: float,
) -> tuple[str, ...]:  # fmt: skip
    """What the repaired proofs of Lemmas 6 and 7 ask for and these numbers are short of; X as in the file's head."""
    least_C, least_t, most_D = 12 * smooth * math.log(4 * X), 2 * math.log(4 * X) / growth, (room / t_thres) ** 2
    short = {
        f"C >= {least_C:.4g}, not {C:.4g}": least_C > C,
        f"t_thres >= {math.ceil(least_t)}, not {t_thres}": t_thres < least_t,
        f"D_bar <= {most_D:.3g}, not {D_bar:.3g}": most_D < D_bar,
        f"estimates within {allowed:.3g}, where the noise alone is about {noise:.3g}": allowed < noise,
    }
    asked = "; ".join(sentence for sentence, is_short in short.items() if is_short)
    return (f"an unbroken escape is no proof: Lemmas 6 and 7, repaired, ask for {asked}",) if asked else ()
