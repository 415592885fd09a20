"""The regularised saddle problem that the base solvers share: operator, projected step, certificate.

Over the records ``index``, with z = (w, v), the problem of the type ``base`` of ``dpcheck.algorithms.kernels.jit``
has the operator (the gradient in w, minus the gradient in v)

    W(z) = mean of W_i(z),   W_i(z) = (grad_w f_i + r_w (w - c_w), -grad_v f_i + r_v (v - c_v)).

All steps and distances are measured in the coordinates (sqrt(mu_w) w, sqrt(mu_v) v): there W is
strongly monotone with modulus 1, a step tau moves w by tau/mu_w and v by tau/mu_v, and as the factors
are constant on w and on v, the projection onto the domains is the plain one.

W splits into the identity of these coordinates (plus a constant), which a solver may treat exactly,
and the monotone rest B. The implicit step for the one after an explicit step for the other,
(I + tau)^-1 (z - tau (B^(z) - constant)), is z - tau/(1 + tau) W^(z) with W^ = B^ + the exact part at z.
So "regulariser by prox" is a shorter step here, and costs no code.

Every record's f is convex-concave with the moduli mu_w - r_w, mu_v - r_v and its joint gradient l-Lipschitz. At the end
are the base solvers that read all records at every step.
"""

import numpy as np

from dpcheck.algorithms.kernels.jit import kernel
from dpcheck.algorithms.kernels.parts import copy, project

L, MU_W, MU_V, R_W, R_V, ENERGY, MOST = range(7)  # the entries of ``constants``


@kernel("float64(vector, int64, int64)")
def least(constants, d, size):  # type: ignore[no-untyped-def]
    """Return the smaller modulus; mu_w where there is no v."""
    return min(constants[MU_W], constants[MU_V]) if size > d else constants[MU_W]


@kernel("float64(vector, int64, int64)")
def lipschitz(constants, d, size):  # type: ignore[no-untyped-def]
    """Return the Lipschitz constant l' of W: that of f is l / min(mu_w, mu_v), the regulariser's r/mu on each block."""
    exact = constants[R_W] / constants[MU_W]
    if size > d:
        exact = max(exact, constants[R_V] / constants[MU_V])
    return constants[L] / least(constants, d, size) + exact


@kernel("float64(vector, int64, int64)")
def rest_lipschitz(constants, d, size):  # type: ignore[no-untyped-def]
    """Return the Lipschitz constant of every record's B_i = W_i - identity, raised to 1 where it is below.

    In plain coordinates B_i is f's operator M less a_w w, a_v v, with a = mu - r. Where a_w = a_v = a,
    |M x - a x|^2 = |M x|^2 - 2a <x, M x> + a^2 |x|^2 <= (l^2 - a^2) |x|^2, as <x, M x> >= a |x|^2; the
    difference of a_w and a_v adds at most itself.
    """
    excess = 0.0
    if size > d:
        excess = abs(constants[MU_W] - constants[R_W] - constants[MU_V] + constants[R_V])
    return max((constants[L] + excess) / least(constants, d, size), 1.0)


@kernel("void(gradient, data, vector, vector, int64, vector, vector)")
def pull(gradient, data, constants, centre, i, z, out):  # type: ignore[no-untyped-def]
    """Compute W_i(z) of record ``i``: one gradient."""
    params, records, d = data.params, data.records, data.dim_w
    gradient(params, records[i], z[:d], z[d:], out[:d], out[d:])
    for j in range(d):
        out[j] += constants[R_W] * (z[j] - centre[j])
    for j in range(d, z.size):
        out[j] = constants[R_V] * (z[j] - centre[j]) - out[j]


@kernel("int64(gradient, data, indices, vector, vector, vector, vector)")
def full(gradient, data, index, constants, centre, z, out):  # type: ignore[no-untyped-def]
    """Compute W(z) over the records ``index``; returns how many gradients that were."""
    params, records, _, _, _, d = data
    one = np.empty(z.size)
    w, v, g_w, g_v = z[:d], z[d:], one[:d], one[d:]  # once: each view that is made, or passed, counts references
    out[:] = 0.0
    for k in range(index.size):
        gradient(params, records[index[k]], w, v, g_w, g_v)
        for j in range(d):
            one[j] += constants[R_W] * (z[j] - centre[j])
        for j in range(d, z.size):
            one[j] = constants[R_V] * (z[j] - centre[j]) - one[j]
        for j in range(z.size):
            out[j] += one[j]
    for j in range(z.size):
        out[j] /= index.size
    return index.size


@kernel("void(data, vector)")
def confine(data, z):  # type: ignore[no-untyped-def]
    """Project z onto the domains."""
    d = data.dim_w
    project(z[:d], data.domain_w)
    project(z[d:], data.domain_v)


@kernel("void(data, vector, vector, vector, float64, vector)")
def step(data, constants, z, g, tau, out):  # type: ignore[no-untyped-def]
    """Write P(z - tau g) in the weighted coordinates to ``out``, which may be z."""
    d = data.dim_w
    for j in range(z.size):
        out[j] = z[j] - tau / (constants[MU_W] if j < d else constants[MU_V]) * g[j]
    confine(data, out)


@kernel("float64(data, vector, vector, vector)")
def distance(data, constants, z, other):  # type: ignore[no-untyped-def]
    """Return mu_w |w - w'|^2 + mu_v |v - v'|^2."""
    d, total = data.dim_w, 0.0
    for j in range(z.size):
        total += (constants[MU_W] if j < d else constants[MU_V]) * (z[j] - other[j]) ** 2
    return total


@kernel("float64(data, vector, vector, vector, vector)")
def certificate(data, constants, z, g, ahead):  # type: ignore[no-untyped-def]
    """Bound mu_w |w - w*|^2 + mu_v |v - v*|^2 at a feasible z with g = W(z); costs no gradient.

    With ``ahead`` = z+ = P(z - W(z)/l'), in the weighted coordinates, |z - z*| <= 2 l' |z - z+|.
    Proof. Let eta = 1/l', r = z - z+, D = W(z) - W(z*). The projection gives
    <z - eta W(z) - z+, z* - z+> <= 0, the solution <W(z*), z+ - z*> >= 0; together
    <r - eta D, (z* - z) + r> <= 0, that is

        eta <D, z - z*> <= <r, z - z*> - |r|^2 + eta <D, r> <= (1 + eta l') |r| |z - z*|.

    The left side is at least eta |z - z*|^2, W being strongly monotone with modulus 1.
    """
    bound = lipschitz(constants, data.dim_w, z.size)
    step(data, constants, z, g, 1.0 / bound, ahead)
    return 4.0 * bound * bound * distance(data, constants, z, ahead)


@kernel("base")
def gradient_descent(gradient, data, index, constants, centre, rng, z):  # type: ignore[no-untyped-def]
    """Descend; each iteration contracts the distance by 1 - 1/kappa, kappa = (l + r)/mu.

    w <- P(w - grad F(w)/(l + r)), Nesterov, "Lectures on Convex Optimization", Theorem 2.2.14. The
    stopping certificate makes this very step, so it costs nothing.
    """
    n, g, ahead = index.size, np.empty(z.size), np.empty(z.size)
    confine(data, z)
    count = 0
    while count + n <= constants[MOST]:
        count += full(gradient, data, index, constants, centre, z, g)
        if certificate(data, constants, z, g, ahead) <= constants[ENERGY]:
            return count
        copy(ahead, z)
    return -max(count, 1)


@kernel("base")
def gda(gradient, data, index, constants, centre, rng, z):  # type: ignore[no-untyped-def]
    """Make one pass over the records an iteration.

    z <- P(z - W(z)/l'^2) in the weighted coordinates, all records at every step. As W is l'-Lipschitz
    and strongly monotone with modulus 1, the squared distance contracts by 1 - 2 eta + eta^2 l'^2, which
    eta = 1/l'^2 makes 1 - 1/l'^2.
    """
    n, g, ahead = index.size, np.empty(z.size), np.empty(z.size)
    eta = lipschitz(constants, data.dim_w, z.size) ** -2.0
    confine(data, z)
    count = 0
    while count + n <= constants[MOST]:
        count += full(gradient, data, index, constants, centre, z, g)
        if certificate(data, constants, z, g, ahead) <= constants[ENERGY]:
            return count
        step(data, constants, z, g, eta, z)
    return -max(count, 1)


@kernel("base")
def extragradient(gradient, data, index, constants, centre, rng, z):  # type: ignore[no-untyped-def]
    """Make two passes over the records an iteration; the first also serves the certificate.

    Korpelevich 1976; Tseng, "On linear convergence of iterative methods for the variational inequality
    problem", 1995 (zhang2022's [43]). In the weighted coordinates, with z' = P(z - eta W(z)),
    z <- P(z - eta W(z')). From |z+ - z*|^2 <= |z - z*|^2 - (1 - eta^2 l'^2) |z - z'|^2 - 2 eta |z' - z*|^2
    and |z' - z*|^2 >= |z - z*|^2 / 2 - |z - z'|^2, the squared distance contracts by 1 - eta as long as
    eta^2 l'^2 + 2 eta <= 1, which eta = (sqrt(2) - 1)/l' satisfies, l' being at least 1.
    """
    n, g, ahead = index.size, np.empty(z.size), np.empty(z.size)
    eta = (np.sqrt(2.0) - 1.0) / lipschitz(constants, data.dim_w, z.size)
    confine(data, z)
    count = 0
    while count + n <= constants[MOST]:
        count += full(gradient, data, index, constants, centre, z, g)
        if certificate(data, constants, z, g, ahead) <= constants[ENERGY]:
            return count
        if count + n > constants[MOST]:
            break
        step(data, constants, z, g, eta, ahead)
        count += full(gradient, data, index, constants, centre, ahead, g)
        step(data, constants, z, g, eta, z)
    return -max(count, 1)
