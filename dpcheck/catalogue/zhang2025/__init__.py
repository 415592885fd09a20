"""Zhang et al. 2025: PrivateDiff, clipped DP-SGDA, and the baseline DPTD."""

from dpcheck.algorithms.problem import Problem
from dpcheck.algorithms.promises import breaches
from dpcheck.algorithms.schedule import Schedule, modulus

# Assumptions of the paper's theorems that no run can answer, with what it would have to know.
UNKNOWN = {
    "A4": "how far the records' gradients spread",
    "below": "how low the primal function of these records goes",
}


def answers(problem: Problem, schedule: Schedule) -> tuple[dict[str, float], dict[str, str]]:
    """Answer what Theorems 2 and 6 both ask for; no problem has a number for the bound M on f."""
    values = schedule.letters | {"l": problem.smoothness, "mu": modulus(problem)}
    broken = breaches(problem)
    conditions = dict.fromkeys(("A3", "smooth", "every", "beta"), broken["smooth"]) | {
        "A1": " and ".join(filter(None, (broken["strongly concave"], broken["W"], broken["V"]))),
        "A2": broken["Lipschitz"], "sampling": "", "clipping": "",
    }  # fmt: skip
    return values, conditions


def too_small(**pairs: tuple[float, float]) -> str:
    """Name the thresholds that are below what they are to bound; ``pairs`` is name=(threshold, bound)."""
    return ", ".join(
        f"{name} = {clip:.6g} is below {least:.6g}"
        for name, (clip, least) in pairs.items()
        if clip < least * (1 - 1e-12)
    )
