"""AUC maximisation with a linear score: Yang et al. 2022, Appendices A and E.5.

With h = <theta, x>, w = (theta, a, b) and scalar v,
f = s+ (h - a)^2 [y=1] + s- (h - b)^2 [y=-1] + 2 (1 + v) (s- h [y=-1] - s+ h [y=1]) - s0 v^2.

``repaired``: s+ = 1 - p, s- = p, s0 = p (1 - p) with a public class share p (the population form).
``as_printed``: s+ = 1/n+, s- = 1/n-, s0 = 1/n, counted on the private data, which changing one label
moves for every record; the accounting of Algorithm 2 does not see that release.

On |x| <= 1, |theta|, |a|, |b| <= B, |v| <= 2B, with s = max(s+, s-):
G_w = 2 s sqrt((4B+1)^2 + (2B)^2): the gradient in theta is 2 s (h - a - (1 + v)) x or
2 s (h - b + (1 + v)) x, that in a or b is at most 4 s B;  G_v = 2 s B + 4 s0 B.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpcheck.algorithms.kernels import gradients
from dpcheck.algorithms.kernels.jit import kernel
from dpcheck.algorithms.kernels.parts import Shape, project
from dpcheck.algorithms.problem import Array, Constants, Defaults, blocks, columns
from dpcheck.arrays import real_numbers
from dpcheck.errors import require, require_positive
from dpcheck.problems import as_records, within_bound
from dpcheck.problems import linear_scores as linear


@kernel("gradient")
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Partial gradients of one record (x, y); equation (26)."""
    d = w.size - 2
    h = 0.0
    for i in range(d):
        h += w[i] * record[i]
    if record[d] > 0:
        weight, centre, sign = params[0], w[d], -1.0
    else:
        weight, centre, sign = params[1], w[d + 1], 1.0
    slope = 2.0 * weight * (h - centre + sign * (1.0 + v[0]))
    for i in range(d):
        out_w[i] = slope * record[i]
    pull = 2.0 * weight * (centre - h)
    out_w[d] = pull if sign < 0 else 0.0
    out_w[d + 1] = pull if sign > 0 else 0.0
    out_v[0] = 2.0 * (sign * weight * h - params[2] * v[0])


@kernel("value")
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """f of one record (x, y)."""
    d = w.size - 2
    h = 0.0
    for i in range(d):
        h += w[i] * record[i]
    if record[d] > 0:
        weight, centre, sign = params[0], w[d], -1.0
    else:
        weight, centre, sign = params[1], w[d + 1], 1.0
    return weight * ((h - centre) * (h - centre) + 2.0 * sign * (1.0 + v[0]) * h) - params[2] * v[0] * v[0]


@kernel("void(vector, int64, int64, vector, vector, linear.Scores, vector)", apart=True)
def weigh(params, count, batch, x, clip, scores, out):  # type: ignore[no-untyped-def]
    """Clipped gradients of ``count`` records with labels y, |x|^2 = q and scores h, over ``batch``.

    Their sums in a, b and v are added to ``out``; ``h`` receives what x is multiplied by in each record's gradient in
    theta. Arithmetic tells the classes apart, not a branch, so that several records are dealt with at a time.
    """
    y, h, q = scores
    d = x.size - 3
    sum_a = sum_b = sum_v = 0.0
    share = 1.0 / batch
    rise, weight_b, weight_ab = 1.0 + x[d + 2], 2.0 * params[1], 2.0 * (params[0] - params[1])
    b, a_b, drop = x[d + 1], x[d] - x[d + 1], 2.0 * params[2] * x[d + 2]
    share_2, bound_w_2, bound_v = share * share, (clip[0] * share) ** 2, clip[1]
    for k in range(count):
        positive = 1.0 if y[k] > 0 else 0.0
        weight = weight_b + positive * weight_ab
        signed = weight - 2.0 * positive * weight
        pull = weight * (b + positive * a_b - h[k])
        slope = signed * rise - pull
        square = max(slope * slope * q[k] + pull * pull, 1e-300)  # no gradient needs no clipping, nor a division by 0
        scale = np.sqrt(min(share_2, bound_w_2 / square))
        part = scale * pull
        sum_a += part * positive
        sum_b += part - part * positive
        rest = signed * h[k] - drop
        sum_v += min(max(rest, -bound_v), bound_v) + 0.0 * rest  # what is not finite stays so
        h[k] = scale * slope
    out[d] += sum_a
    out[d + 1] += sum_b
    out[d + 2] += sum_v * share


@kernel("mean")
def mean(gradient, data, index, batch, x, clip, out):  # type: ignore[no-untyped-def]
    """Clipped mean of many records' gradients at once, see ``dpcheck.problems.linear_scores``."""
    params, rows = data.params, data.records
    d, width = x.size - 3, rows.shape[1]
    if width < d + 2 or width % linear.LINE != 0:  # records that are not arranged
        gradients.mean(gradient, data, index, batch, x, clip, out)
        return
    chunk = linear.chunk(rows)
    scratch = np.empty(3 * chunk + 2 * width)
    scores = linear.Scores(scratch[:chunk], scratch[chunk : 2 * chunk], scratch[2 * chunk : 3 * chunk])
    theta, total = scratch[3 * chunk : 3 * chunk + width], scratch[3 * chunk + width :]
    for i in range(width):
        theta[i], total[i] = x[i] if i < d else 0.0, 0.0
    for i in range(x.size):
        out[i] = 0.0
    for start in range(0, index.size, chunk):
        rest, count = index[start:], min(chunk, index.size - start)
        linear.products(rows, rest, count, d, theta, scores)
        weigh(params, count, batch, x, clip, scores, out)
        linear.add_combination(rows, rest, count, scores.h, total)
    for i in range(d):
        out[i] = total[i]


@kernel("void(float64, vector, vector, float64, matrix, vector)")
def climb(s0, pulls, steps, bound, domain_v, v):  # type: ignore[no-untyped-def]
    """Take steps up in v by the mean of 2 (pull - s0 v), each clipped to the bound; pulls : (records,)."""
    for i in range(steps.size):
        total, drop = 0.0, s0 * v[0]
        for j in range(pulls.size):
            g = 2.0 * (pulls[j] - drop)
            total += min(max(g, -bound), bound) + 0.0 * g  # what is not finite stays so
        v[0] += steps[i] * total / pulls.size
        project(v, domain_v)


@kernel("ascent")
def ascent(gradient, mean, data, index, steps, clip, point, g):  # type: ignore[no-untyped-def]
    """Climb with scores that are computed once, since v is not in them."""
    params, rows = data.params, data.records
    d, width = point.size - 3, rows.shape[1]
    if width < d + 2 or width % linear.LINE != 0:  # records that are not arranged
        gradients.ascent(gradient, mean, data, index, steps, clip, point, g)
        return
    chunk = linear.chunk(rows)
    scratch, pulls = np.empty(3 * chunk + width), np.empty(index.size)
    scores = linear.Scores(scratch[:chunk], scratch[chunk : 2 * chunk], scratch[2 * chunk : 3 * chunk])
    theta = scratch[3 * chunk :]
    for i in range(width):
        theta[i] = point[i] if i < d else 0.0
    for start in range(0, index.size, chunk):
        count = min(chunk, index.size - start)
        linear.products(rows, index[start:], count, d, theta, scores)
        for k in range(count):
            pulls[start + k] = (-params[0] if scores.y[k] > 0 else params[1]) * scores.h[k]
    climb(params[2], pulls, steps, clip[1], data.domain_v, point[d + 2 :])


@dataclass(frozen=True, eq=False)
class AUC(Defaults):
    """AUC of a linear score as a saddle problem; build it with :meth:`from_data`.

    Parameters
    ----------
    records : ndarray, (n, d + 1) float64
        Rows (x, y) with |x| <= 1 and y in {-1, 1}; they are copied, and read-only.
    params : ndarray, (3,)
        Weights (s+, s-, s0).
    radius : float
        B > 0, which bounds |theta|, |a| and |b|.

    References
    ----------
    Z. Yang et al. Differentially private SGDA for minimax problems. UAI 2022, Appendices A and E.5.
    """

    records: Array
    params: Array
    radius: float = 1.0
    name: str = "auc"
    _rows: Array = field(init=False, repr=False)

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    mean = staticmethod(mean)
    ascent = staticmethod(ascent)
    dim_w = columns(lambda count: count + 1)
    dim_v = 1

    def __post_init__(self) -> None:
        records = as_records(self.records, "records")
        rows = linear.arranged(records)
        shown = rows[:, : records.shape[1]]
        shown.flags.writeable = False  # kernels read |x|^2 beside x: neither may change alone
        self._set(records=shown, _rows=rows)

    def __reduce__(self) -> tuple[type[AUC], tuple[Any, ...]]:
        """Make copies from the records, so that theirs are read-only too."""
        return type(self), (self.records, self.params, self.radius, self.name)

    @classmethod
    def from_data(cls, X: object, y: object, *, positive_share: float | None = None, radius: float = 1.0) -> AUC:
        """Make the problem of features and labels.

        Parameters
        ----------
        X : array_like, (n, d)
            Features with |x| <= 1.
        y : array_like, (n,)
            Labels in {-1, 1}.
        positive_share : float, optional
            A public p in (0, 1) gives the repaired weights; None counts the classes on the data, as printed.
        radius : float
            B > 0.

        Returns
        -------
        AUC
            The problem.
        """
        require_positive(radius, "radius")
        features = as_records(X, "X")
        labels = real_numbers(y, "y").ravel()
        require(len(labels) == len(features), "y", f"have one label a row of X ({len(features)})", len(labels))
        require(
            set(np.unique(labels)) == {-1.0, 1.0}, "y", "hold labels -1 and 1, both present",
            f"labels {np.unique(labels)[:5].tolist()}",
        )  # fmt: skip
        features = within_bound(features, 1, "X", "|x|")
        if positive_share is None:
            positives = int((labels > 0).sum())
            weights = [1 / positives, 1 / (len(labels) - positives), 1 / len(labels)]
        else:
            require(0 < positive_share < 1, "positive_share", "lie in (0, 1)", positive_share)
            p = positive_share
            weights = [1 - p, p, p * (1 - p)]
        return cls(np.column_stack([features, labels]), np.array(weights), radius)

    @classmethod
    def example(cls, rng: np.random.Generator) -> AUC:
        """Draw the example: 200 records in 5 dimensions, two overlapping classes, the positive one public at 0.3."""
        y = np.where(rng.random(200) < 0.3, 1.0, -1.0)
        X = 0.5 * rng.standard_normal((200, 5)) + 0.4 * y[:, None]
        return cls.from_data(X / np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True)), y, positive_share=0.3)

    @property
    def arranged(self) -> Array:
        """(x, y, |x|^2, 0, ...); ``records`` is a part of it."""
        return self._rows

    @property
    def domain_w(self) -> Array:
        """|theta| <= B, |a| <= B, |b| <= B."""
        return blocks((self.dim_w - 2, Shape.BALL, self.radius), (2, Shape.BOX, self.radius))

    @property
    def reach(self) -> float:
        """2B, the largest |v|."""
        return 2 * self.radius

    def constants(self) -> Constants:
        """G_w and G_v of the file's head, and L <= 6 s.

        In the coordinates (<theta, x>, a or b, v) the Hessian of a record is 2 [[s, -s, -+s], [-s, s, 0],
        [-+s, 0, -s0]], of norm at most 2 max(3 s, 2 s, s + s0) <= 6 s.
        """
        B, (s_plus, s_minus, s0) = self.radius, self.params
        s = max(s_plus, s_minus)
        return Constants(
            lipschitz_w=float(2 * s * np.hypot(4 * B + 1, 2 * B)),
            lipschitz_v=float(2 * s * B + 4 * s0 * B),
            smoothness=float(6 * s),
            concavity=float(2 * s0),
        )

    def optimum(self) -> Array:
        """Return the theta that maximises the square-loss AUC without privacy, unconstrained, up to scale.

        theta = -(S + D D')^+ D, D = m_- - m_+, S = Sigma_+ + Sigma_-.
        """
        X, y = self.records[:, :-1], self.records[:, -1]
        positive, negative = X[y > 0], X[y < 0]
        gap = negative.mean(0) - positive.mean(0)
        spread = sum((g - g.mean(0)).T @ (g - g.mean(0)) / len(g) for g in (positive, negative))
        matrix: Array = spread + np.outer(gap, gap)
        theta: Array = -np.linalg.pinv(matrix, hermitian=True) @ gap
        return theta


def auc_score(scores: Array, labels: Array) -> float:
    """Return the area under the ROC curve, ties counted half.

    Parameters
    ----------
    scores, labels : ndarray, (n,)
        The labels in {-1, 1}, both of them present.

    Returns
    -------
    float
        In [0, 1].
    """
    from scipy.stats import rankdata

    ranks = rankdata(scores)
    positive = labels > 0
    count = int(positive.sum())
    rest = len(labels) - count
    return float((ranks[positive].sum() - count * (count + 1) / 2) / (count * rest))
