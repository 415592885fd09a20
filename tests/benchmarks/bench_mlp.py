"""A step of DP-SGDA on a 784-256 perceptron beside Opacus and JAX, on as many cores, in one run.

    pip install '.[test,benchmark]' opacus && pytest -n 0 tests/benchmarks/bench_mlp.py

AUC maximisation with 201,219 parameters in w and one in v, both gradients clipped per record, Gaussian noise;
minibatches of 20,000 records drawn with replacement. A timing is of ``STEPS[batch]`` steps. dpcheck, Opacus (ghost
clipping, its "fast gradient clipping") and JAX (per-record gradients by vmap(grad), and ghost clipping written out by
hand) are run in double precision and in single.
DPCHECK_BENCH_CORES sets how many cores all of them get, 1 by default. Read the ratios within one run. Where two are
within a few per cent of each other, other work on the machine decides which one comes out ahead. ``-s -k in_turn``
therefore times dpcheck and JAX's ghost clipping in turn, and prints the ratio of such pairs.

The peers use their own threads. dpcheck goes through a minibatch on one thread; all that runs in parallel is what
SciPy's BLAS does within a product, on DPCHECK_BENCH_BLAS threads, as many as cores by default. That loses where other
programs want the same cores (10 to 30 times were seen), and the last bits depend on the number of these threads.
"""

from __future__ import annotations

import os
import time

CORES = int(os.environ.get("DPCHECK_BENCH_CORES", "1"))
BLAS = int(os.environ.get("DPCHECK_BENCH_BLAS", CORES))  # NumPy and SciPy only: neither peer calls them
os.environ["OPENBLAS_NUM_THREADS"] = str(BLAS)
for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, str(CORES))
if CORES == 1:
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import numpy as np
import pytest

from dpcheck.catalogue.yang2022.dp_sgda import DPSGDA
from dpcheck.problems.auc_mlp import AUCMLP

pytestmark = pytest.mark.filterwarnings("ignore:Full backward hook is firing")  # Opacus's way
STEPS = {64: 40, 2048: 4}
TURNS = 30
N, WIDTH, HIDDEN, P, SLOPE, ETA, SIGMA, CLIP = 20_000, 784, 256, 0.4, 0.01, 0.1, 1e-3, 0.5


def data(n=N):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, WIDTH), dtype=np.float32).astype(float)
    X /= 1.0001 * np.linalg.norm(X, axis=1, keepdims=True)
    return X, np.where(np.arange(n) % 3, 1.0, -1.0)


@pytest.fixture(autouse=True)
def cores():
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, set(sorted(before)[-CORES:]))
    yield
    os.sched_setaffinity(0, before)


def start():
    """theta, a, b, v as dpcheck begins."""
    return AUCMLP.from_data(*data(3), positive_share=P, hidden=(HIDDEN,), slope=SLOPE).start


def ours(X, y, batch, sigma, steps, dtype):
    problem = AUCMLP.from_data(X, y, positive_share=P, hidden=(HIDDEN,), slope=SLOPE, dtype=dtype)
    eta, scheme = np.full(steps, ETA), "with_replacement" if batch < len(X) else "without_replacement"
    solver = DPSGDA(eta, eta, sigma, sigma, batch, scheme, CLIP, CLIP, "last")
    # the last iterate that is returned has seen one update less
    return lambda seed=0: solver.outputs(problem, np.random.default_rng(seed), 1)[0]


def with_opacus(X, y, batch, sigma, steps, dtype):
    torch = pytest.importorskip("torch")
    clipping = pytest.importorskip("opacus.utils.fast_gradient_clipping_utils")
    from opacus.grad_sample import GradSampleModuleFastGradientClipping
    from opacus.optimizers import DPOptimizerFastGradientClipping

    torch.set_num_threads(CORES)
    kind = getattr(torch, dtype)
    features, labels = torch.as_tensor(X, dtype=kind), torch.as_tensor(y, dtype=kind)
    sides = torch.stack([labels > 0, labels < 0], 1).to(kind)
    weights = torch.where(labels > 0, 1 - P, P).to(kind)
    first = torch.as_tensor(start(), dtype=kind)
    cut = (WIDTH + 1) * HIDDEN

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(WIDTH, HIDDEN, dtype=kind)
            self.last = torch.nn.Linear(HIDDEN, 1, dtype=kind)
            self.centres = torch.nn.Linear(2, 1, bias=False, dtype=kind)
            with torch.no_grad():
                matrix = first[:cut].reshape(WIDTH + 1, HIDDEN)
                self.layer.weight.copy_(matrix[:-1].T)
                self.layer.bias.copy_(matrix[-1])
                self.last.weight.copy_(first[None, cut : cut + HIDDEN])
                self.last.bias.copy_(first[cut + HIDDEN : cut + HIDDEN + 1])
                self.centres.weight.copy_(first[None, -3:-1])

        def forward(self, x, side):
            h = self.last(torch.nn.functional.leaky_relu(self.layer(x), SLOPE))
            return h[:, 0], self.centres(side)[:, 0]

    class Loss:
        reduction = "mean"

        def __call__(self, h, centre, sign, weight, v):
            return weight * ((h - centre) ** 2 + 2 * sign * (1 + v) * h) - P * (1 - P) * v**2

    def run(seed=0):
        torch.manual_seed(seed)
        model = GradSampleModuleFastGradientClipping(Model(), max_grad_norm=CLIP)
        optimizer = DPOptimizerFastGradientClipping(
            torch.optim.SGD(model.parameters(), lr=ETA), noise_multiplier=sigma * batch / CLIP, max_grad_norm=CLIP,
            expected_batch_size=batch,
        )  # fmt: skip
        loss = clipping.DPLossFastGradientClipping(model, optimizer, Loss())
        v = first[-1].clone()
        for _ in range(steps):
            index = torch.randint(len(X), (batch,)) if batch < len(X) else torch.arange(batch)
            sign, weight = -labels[index], weights[index]
            h, centre = model(features[index], sides[index])
            optimizer.zero_grad()
            loss(h, centre, sign, weight, v).backward()
            optimizer.step()
            g_v = 2 * (sign * weight * h.detach() - P * (1 - P) * v)
            v = v + ETA * (g_v.clamp(-CLIP, CLIP).mean() + sigma * torch.randn((), dtype=kind))
        return model, v

    def flat(seed=0):
        model, v = run(seed)
        inner = model._module
        parts = (inner.layer.weight.T, inner.layer.bias, inner.last.weight, inner.last.bias, inner.centres.weight, v)
        return np.concatenate([part.detach().numpy().ravel() for part in parts])

    run.flat = flat
    return run


def with_jax(X, y, batch, sigma, steps, dtype, *, ghost=False):
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    jax.config.update("jax_enable_x64", True)
    kind = getattr(jnp, dtype)
    features, labels = jnp.asarray(X, kind), jnp.asarray(y, kind)
    first, cut = jnp.asarray(start(), kind), (WIDTH + 1) * HIDDEN

    def loss(w, v, x, label):
        h = jnp.dot(x, w["W"]) + w["b"]
        h = jnp.dot(jnp.where(h >= 0, h, SLOPE * h), w["c"]) + w["d"]
        sign, weight = -label, jnp.where(label > 0, 1 - P, P)
        centre = jnp.where(label > 0, w["ab"][0], w["ab"][1])
        return weight * ((h - centre) ** 2 + 2 * sign * (1 + v) * h) - P * (1 - P) * v**2

    def per_record(w, v, x, label):
        g, g_v = jax.vmap(jax.grad(loss, (0, 1)), (None, None, 0, 0))(w, v, x, label)
        leaves = jax.tree.leaves(g)
        square = sum(jnp.sum(leaf.reshape(batch, -1) ** 2, 1) for leaf in leaves)
        factor = jnp.minimum(1, CLIP / jnp.sqrt(square)) / batch
        return jax.tree.map(lambda leaf: jnp.tensordot(factor, leaf, 1), g), jnp.clip(g_v, -CLIP, CLIP).mean()

    def by_ghost(w, v, x, label):
        z = x @ w["W"] + w["b"]
        a = jnp.where(z >= 0, z, SLOPE * z)
        h = a @ w["c"] + w["d"]
        sign, weight = -label, jnp.where(label > 0, 1 - P, P)
        pull = 2 * weight * (jnp.where(label > 0, w["ab"][0], w["ab"][1]) - h)
        top = 2 * weight * sign * (1 + v) - pull
        s = top[:, None] * w["c"] * jnp.where(z >= 0, 1, SLOPE)
        square = (1 + (x * x).sum(1)) * (s * s).sum(1) + (1 + (a * a).sum(1)) * top**2 + pull**2
        factor = jnp.minimum(1, CLIP / jnp.sqrt(square)) / batch
        s, top, pull = s * factor[:, None], top * factor, pull * factor
        g = {
            "W": x.T @ s, "b": s.sum(0), "c": a.T @ top, "d": top.sum(),
            "ab": jnp.array([jnp.where(label > 0, pull, 0).sum(), jnp.where(label > 0, 0, pull).sum()]),
        }  # fmt: skip
        return g, jnp.clip(2 * (sign * weight * h - P * (1 - P) * v), -CLIP, CLIP).mean()

    clipped = by_ghost if ghost else per_record

    @jax.jit
    def whole(key, features, labels):
        matrix = first[:cut].reshape(WIDTH + 1, HIDDEN)
        w = {
            "W": matrix[:-1], "b": matrix[-1], "c": first[cut : cut + HIDDEN], "d": first[cut + HIDDEN],
            "ab": first[-3:-1],
        }  # fmt: skip

        def step(_, state):
            w, v, key = state
            key, one, two = jax.random.split(key, 3)
            index = jax.random.randint(one, (batch,), 0, len(X)) if batch < len(X) else jnp.arange(batch)
            g, g_v = clipped(w, v, features[index], labels[index])
            leaves, tree = jax.tree.flatten(w)
            keys = jax.tree.unflatten(tree, list(jax.random.split(two, len(leaves) + 1))[1:])
            w = jax.tree.map(
                lambda leaf, g, k: leaf - ETA * (g + sigma * jax.random.normal(k, leaf.shape, kind)), w, g, keys
            )
            return w, v + ETA * (g_v + sigma * jax.random.normal(two, (), kind)), key

        w, v, _ = jax.lax.fori_loop(0, steps, step, (w, first[-1], key))
        return jnp.concatenate([w["W"].ravel(), w["b"], w["c"], w["d"][None], w["ab"], v[None]])

    return lambda seed=0: whole(jax.random.key(seed), features, labels).block_until_ready()


def with_jax_ghost(*arguments):
    return with_jax(*arguments, ghost=True)


CASES = [
    (ours, "float64"), (ours, "float32"), (with_opacus, "float64"), (with_jax, "float64"), (with_jax_ghost, "float64"),
    (with_opacus, "float32"), (with_jax, "float32"), (with_jax_ghost, "float32"),
]  # fmt: skip


@pytest.mark.parametrize("peer", [with_opacus, with_jax, with_jax_ghost])
def test_peers_compute_the_same(peer):
    """Without noise and with all records in every minibatch: two steps, clip active on a part of the records."""
    X, y = data(30)
    found = peer(X, y, 30, 0.0, 2, "float64")
    found = found.flat() if hasattr(found, "flat") else np.asarray(found())
    np.testing.assert_allclose(found, ours(X, y, 30, 0.0, 3, "float64")(), rtol=0, atol=1e-6)


@pytest.mark.parametrize("batch", STEPS)
@pytest.mark.parametrize(("run", "dtype"), CASES, ids=lambda value: getattr(value, "__name__", value))
def test_steps(benchmark, run, dtype, batch):
    steps = STEPS[batch]
    run = run(*data(), batch, SIGMA, steps, dtype)
    benchmark.group = f"{steps} steps at batch {batch}, {CORES} core(s), dpcheck on {BLAS} thread(s)"
    benchmark.extra_info["cores"] = CORES
    benchmark.extra_info["threads of dpcheck"] = BLAS
    benchmark.pedantic(run, rounds=5, warmup_rounds=1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("batch", STEPS)
def test_in_turn(batch, dtype):
    steps, each = STEPS[batch], []
    both = [made(*data(), batch, SIGMA, steps, dtype) for made in (ours, with_jax_ghost)]
    for run in both:
        run()  # compiles
    for seed in range(TURNS):
        each.append([])
        for run in both:
            begun = time.perf_counter()
            run(seed)
            each[-1].append(1e3 * (time.perf_counter() - begun) / steps)
    low, middle, high = np.quantile([one / other for one, other in each], [0.1, 0.5, 0.9])
    mine, jax = np.median(each, axis=0)
    print(
        f"\n{dtype}, batch {batch}: {mine:.2f} ms a step, JAX {jax:.2f}; ours over JAX's {middle:.2f} "
        f"({low:.2f} to {high:.2f} from the first to the ninth decile of {TURNS} pairs)"
    )
