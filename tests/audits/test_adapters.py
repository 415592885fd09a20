"""Steps of other libraries through their adapters: as the library makes them, and with its known traps.

Null of the sound ones: the library's own step; level 5 %, fixed seed.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from dpcheck import InputError, audit_training_step

pytestmark = pytest.mark.filterwarnings("ignore")  # as the libraries work

N, BATCH = 32, 8
RECORDS = np.random.default_rng(0).normal(size=(N, 3))
CLAIM = {"batch": BATCH, "steps": 2, "epsilon": 30.0, "delta": 1e-5, "trials": 200, "confidence": 0.999}


def amiss(audit):
    return {finding.part: finding.reason for finding in audit.findings if finding.verdict != "consistent"}


@pytest.mark.parametrize("poisson", [True, False])
def test_opacus(poisson):
    """Both loaders have one epsilon in Opacus; only one of them draws as that was accounted."""
    torch, opacus = pytest.importorskip("torch"), pytest.importorskip("opacus")
    from dpcheck.adapters.opacus import training_step

    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.as_tensor(RECORDS, dtype=torch.float32))
    model = torch.nn.Linear(3, 1, bias=False)
    model, optimizer, loader = opacus.PrivacyEngine().make_private(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
        data_loader=torch.utils.data.DataLoader(data, batch_size=BATCH, shuffle=True),
        noise_multiplier=1.0, max_grad_norm=1.0, poisson_sampling=poisson,
    )  # fmt: skip

    def loss(model, batch):
        return model(torch.as_tensor(np.asarray(batch), dtype=torch.float32)).mean()

    audit = audit_training_step(training_step(model, optimizer, loader, loss), RECORDS, **CLAIM)
    assert amiss(audit).get("sampling", "").startswith("minibatches are cut from a shuffled epoch") != poisson
    assert not amiss(audit).keys() - {"sampling", "empty batch"}


def test_opacus_takes_its_divisor_from_the_private_number_of_records():
    """Issue 819: ``expected_batch_size = int(len(dataset) * sample_rate)`` is 4 on 16 records and 3 on 15."""
    torch, opacus = pytest.importorskip("torch"), pytest.importorskip("opacus")
    from dpcheck.adapters.opacus import training_step

    def built(records):
        data = torch.utils.data.TensorDataset(torch.as_tensor(records, dtype=torch.float32))
        model = torch.nn.Linear(3, 1, bias=False)
        with torch.no_grad():
            model.weight.copy_(torch.tensor([[0.5, -1.0, 0.25]]))
        made = opacus.PrivacyEngine().make_private(
            module=model, optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
            data_loader=torch.utils.data.DataLoader(data, batch_size=4), noise_multiplier=1.0, max_grad_norm=1.0,
        )  # fmt: skip
        return training_step(
            *made, lambda model, batch: model(torch.as_tensor(np.asarray(batch), dtype=torch.float32)).mean()
        )

    found = amiss(audit_training_step(built, RECORDS[:16], **CLAIM | {"batch": 4}))
    assert "set up on 16 and on 15 records" in found["divisor"]
    assert "has another divisor and another noise" in found["divisor"]


@pytest.mark.parametrize("mixed", [True, False])
def test_opacus_with_a_layer_whose_gradients_are_its_own(mixed):
    """Issue 484: a gradient sampler that somebody wrote is believed; one that mixes records breaks the clipping."""
    torch, opacus = pytest.importorskip("torch"), pytest.importorskip("opacus")
    from opacus.grad_sample.utils import register_grad_sampler

    from dpcheck.adapters.opacus import training_step

    class Scale(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3))

        def forward(self, x):
            return x * self.weight

    @register_grad_sampler(Scale)
    def sampled(layer, activations, backprops):
        each = activations[0] * backprops
        return {layer.weight: each - each.mean(0, keepdim=True) if mixed else each}

    data = torch.utils.data.TensorDataset(torch.as_tensor(RECORDS, dtype=torch.float32))
    model = Scale()
    made = opacus.PrivacyEngine().make_private(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
        data_loader=torch.utils.data.DataLoader(data, batch_size=BATCH), noise_multiplier=1.0, max_grad_norm=1.0,
    )  # fmt: skip
    step = training_step(
        *made, lambda model, batch: model(torch.as_tensor(np.asarray(batch), dtype=torch.float32)).sum(1).mean()
    )
    assert ("clipping" in amiss(audit_training_step(step, RECORDS, **CLAIM))) == mixed


def private(model, **options):
    """Return what Opacus makes of a small model; skip the test where it is not installed."""
    torch, opacus = pytest.importorskip("torch"), pytest.importorskip("opacus")
    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.as_tensor(RECORDS, dtype=torch.float32))
    return opacus.PrivacyEngine().make_private(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
        data_loader=torch.utils.data.DataLoader(data, batch_size=BATCH), noise_multiplier=1.0, max_grad_norm=1.0,
        **options,
    )  # fmt: skip


def mean_output(model, batch):
    torch = pytest.importorskip("torch")
    return model(torch.as_tensor(np.asarray(batch), dtype=torch.float32)).mean()


@pytest.mark.parametrize("column", [True, False])
def test_opacus_with_ghost_clipping(column):
    """A loss of shape (n, 1) is multiplied with (n,) coefficients, each with each: no gradient is clipped."""
    torch, opacus = pytest.importorskip("torch"), pytest.importorskip("opacus")
    from dpcheck.adapters.opacus import training_step

    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.as_tensor(RECORDS, dtype=torch.float32))
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    model, optimizer, criterion, loader = opacus.PrivacyEngine().make_private(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=1.0), criterion=torch.nn.MSELoss(),
        data_loader=torch.utils.data.DataLoader(data, batch_size=BATCH), noise_multiplier=1.0, max_grad_norm=1.0,
        grad_sample_mode="ghost",
    )  # fmt: skip

    def loss(model, batch):
        output = model(torch.as_tensor(np.asarray(batch), dtype=torch.float32))
        output = output if column else output.squeeze(1)
        return criterion(output, torch.ones_like(output))

    audit = audit_training_step(training_step(model, optimizer, loader, loss), RECORDS, **CLAIM)
    assert set(amiss(audit)) == ({"clipping"} if column else set())


def test_opacus_with_adaptive_clipping_is_refused():
    torch = pytest.importorskip("torch")
    from dpcheck.adapters.opacus import training_step

    made = private(
        torch.nn.Linear(3, 1), clipping="adaptive", min_clipbound=0.1, target_unclipped_quantile=0.5,
        clipbound_learning_rate=0.2, max_clipbound=10.0, unclipped_num_std=1.0,
    )  # fmt: skip
    with pytest.raises(InputError, match=r"^optimizer must keep its clip from step to step, got adaptive AdaClip"):
        training_step(*made, loss=lambda model, batch: model(batch).mean())


def test_opacus_with_dropout():
    """Layers of dropout are off while the gradient is taken, and on again; what torch draws next stays the same."""
    torch = pytest.importorskip("torch")
    from dpcheck.adapters.opacus import training_step

    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 1))
    made = private(model)
    torch.manual_seed(1)
    due = torch.rand(1)
    torch.manual_seed(1)
    audit = audit_training_step(training_step(*made, mean_output), RECORDS, **CLAIM)
    assert (audit.verdict, amiss(audit)) == ("consistent", {})
    assert torch.rand(1) == due
    assert made[0].training and all(layer.training for layer in made[0].modules())


def test_opacus_with_dropout_that_is_no_layer():
    """Its numbers come from torch's own generator, which is seeded from the audit's: no error, and no verdict."""
    torch = pytest.importorskip("torch")
    from dpcheck.adapters.opacus import training_step

    def loss(model, batch):
        return model(torch.nn.functional.dropout(torch.as_tensor(np.asarray(batch), dtype=torch.float32))).mean()

    model = torch.nn.Linear(3, 1)
    audit = audit_training_step(training_step(*private(model), loss), RECORDS * 0.1, **CLAIM)
    assert audit.verdict == "inconclusive" and "dropout" in str(audit)


def test_opacus_after_a_loss_that_raised():
    """A forward pass without its backward pass leaves activations; the next minibatch must not meet them."""
    torch = pytest.importorskip("torch")
    from dpcheck.adapters.opacus import training_step

    broken = []

    def loss(model, batch):
        value = mean_output(model, batch)
        if broken:
            raise ArithmeticError(broken.pop())
        return value

    model, optimizer, loader = private(torch.nn.Linear(3, 1))
    step = training_step(model, optimizer, loader, loss)
    before = step.release(RECORDS[:5], np.random.default_rng(0))
    broken.append("no value")
    with pytest.raises(ArithmeticError, match="no value"):
        step.release(RECORDS[:7], np.random.default_rng(0))
    np.testing.assert_array_equal(step.release(RECORDS[:5], np.random.default_rng(0)), before)
    mean_output(model, RECORDS[:7])  # the user's own pass, left unfinished
    np.testing.assert_array_equal(step.release(RECORDS[:5], np.random.default_rng(0)), before)


def test_opacus_loaders_that_serve_one_epoch_are_cycled():
    """Opacus' loader of 32 records gives four minibatches an epoch, and so does torch's sampler."""
    torch = pytest.importorskip("torch")
    from dpcheck.audits.step_parts import TrainingStep

    _, _, loader = private(torch.nn.Linear(3, 1))
    for sampler in (loader, loader.batch_sampler):
        step = TrainingStep(lambda *_: 0.0, sampler, 1.0, 1.0)
        drawn = step.minibatches(N, np.random.default_rng(0), 50)
        assert len(drawn) == 50 and max(map(max, filter(None, drawn))) < N


@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_jax_privacy(factor):
    """With the noise that was accounted, and with half of it."""
    jax = pytest.importorskip("jax")
    pytest.importorskip("jax_privacy")
    from jax_privacy import batch_selection, clipping, noise_addition

    from dpcheck.adapters.jax_privacy import training_step

    gradient = clipping.clipped_grad(lambda w, row: (row @ w).sum(), l2_clip_norm=1.0, keep_batch_dim=False)
    noise = noise_addition.gaussian_privatizer(stddev=factor, prng_key=jax.random.key(0))
    strategy = batch_selection.CyclicPoissonSampling(sampling_prob=BATCH / N, iterations=1000)
    step = training_step(gradient, strategy, noise, np.zeros(3, np.float32), stddev=1.0)
    found = amiss(audit_training_step(step, RECORDS, **CLAIM))
    assert ("times the claimed" in found.get("noise", "")) == (factor == 0.5)
    assert not found.keys() - {"noise", "release"}


def noise_of(jax, init, key_and_rest):
    """Noise as a transformation of optax, of a random key that its state gives, and the state after it."""
    import optax

    def update(gradient, state, params=None):
        key, state = key_and_rest(state)
        return jax.tree.map(lambda leaf: leaf + jax.random.normal(key, leaf.shape), gradient), state

    return optax.GradientTransformation(lambda params: init, update)


def test_random_keys_of_noise_in_jax_privacy():
    """Keys that are never split, and keys out of reach, are refused; the keys of two parts are drawn apart."""
    jax = pytest.importorskip("jax")
    pytest.importorskip("jax_privacy")
    import optax
    from jax_privacy import batch_selection, clipping

    from dpcheck.adapters.jax_privacy import training_step

    gradient = clipping.clipped_grad(
        lambda w, row: (row @ w["a"]).sum() + (row @ w["b"]).sum(), l2_clip_norm=1.0, keep_batch_dim=False
    )
    strategy = batch_selection.CyclicPoissonSampling(sampling_prob=BATCH / N, iterations=1000)
    params = {"a": np.zeros(3, np.float32), "b": np.zeros(3, np.float32)}

    def described(noise):
        return training_step(gradient, strategy, noise, params, stddev=1.0)

    key = jax.random.key(0)
    with pytest.raises(InputError, match="noise must be drawn afresh in each step: split its random key"):
        described(noise_of(jax, key, lambda state: (state, state)))
    with pytest.raises(InputError, match="noise must keep its random key in its state"):
        described(noise_of(jax, 0, lambda count: (jax.random.fold_in(key, count), count + 1)))
    parts = {name: noise_of(jax, jax.random.key(k), jax.random.split) for k, name in enumerate("ab")}
    apart = described(optax.multi_transform(parts, {"a": "a", "b": "b"}))
    drawn = np.array([apart.release(RECORDS[:0], np.random.default_rng(seed)) for seed in range(300)])
    correlations = np.corrcoef(drawn.T)
    assert np.abs(correlations - np.eye(6)).max() < 0.3


def planned(gradient, records, params, bands=1, **options):
    """Audit a plan of jax_privacy as it makes it; skip where it is not installed."""
    execution_plan = pytest.importorskip("jax_privacy.experimental.execution_plan")
    from dpcheck.adapters.jax_privacy import training_step

    plan = execution_plan.BandMFExecutionPlanConfig.default(
        num_bands=bands, iterations=400 * bands, epsilon=None, delta=None, noise_multiplier=1.0,
        sampling_prob=bands * BATCH / N, noise_seed=0,
    ).plan  # fmt: skip
    made = plan.clipped_grad(gradient, keep_batch_dim=False)
    options = {"padding": None, "multiple": 1, "outlier": None, "scheme": "poisson"} | options
    given = {name: options[name] for name in ("padding", "multiple")}
    step = training_step(
        made, plan.batch_selection_strategy, plan.noise_addition_transform, params, stddev=1.0, **given
    )
    return step, lambda **more: audit_training_step(
        step, records, **CLAIM, outlier=options["outlier"], scheme=options["scheme"], **more
    )


@pytest.mark.parametrize("multiple", [1, 4])
def test_a_plan_of_jax_privacy(multiple):
    """Its gradient raises on no records; padding that is masked stands in, as in jax_privacy's own loops."""
    _, audit = planned(lambda w, row: (row @ w).sum(), RECORDS, np.zeros(3, np.float32), multiple=multiple)
    found = audit()
    assert (found.verdict, amiss(found)) == ("consistent", {})


def test_a_plan_of_jax_privacy_on_tokens():
    tokens = np.random.default_rng(0).integers(0, 9, (N, 2))
    table = np.random.default_rng(1).normal(size=(9, 3)).astype(np.float32)
    _, audit = planned(lambda w, row: (w[row] ** 2).sum(), tokens, table)
    assert audit().verdict == "consistent"


def test_a_plan_of_jax_privacy_on_records_of_parts():
    records = [(row, 1.0) for row in RECORDS.astype(np.float32)]
    options = {"outlier": lambda record, factor: (record[0] * np.float32(factor), record[1]), "padding": records[0]}
    _, audit = planned(lambda w, pair: (pair[0] @ w - pair[1]) ** 2, records, np.zeros(3, np.float32), **options)
    assert audit().verdict == "consistent"
    step, _ = planned(lambda w, pair: (pair[0] @ w - pair[1]) ** 2, records, np.zeros(3, np.float32))
    with pytest.raises(InputError, match=r"^padding must be given where records are a list"):
        step.release([], np.random.default_rng(0))


def test_a_plan_of_jax_privacy_with_two_bands():
    """Its noise is correlated over steps, which the adapter sees: the sampling is audited, and nothing is certified."""
    step, audit = planned(
        lambda w, row: (row @ w).sum(), RECORDS, np.zeros(3, np.float32), bands=2, scheme="cyclic_poisson"
    )
    found = audit(cycle=2, neighbours="replace_one")
    assert step.correlated and found.verdict == "inconclusive" and np.isnan(found.certified)
    assert amiss(found).keys() == {"accounting", "noise"}
    one, _ = planned(lambda w, row: (row @ w).sum(), RECORDS, np.zeros(3, np.float32))
    assert not one.correlated


def test_unused_adapters_import_nothing():
    said = "import sys, dpcheck; dpcheck.audit_training_step; print({'torch', 'jax', 'opacus'} & {*sys.modules})"
    ran = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"
