"""The noise is divided by a batch size that comes from the private number of records."""

CASE = {
    "library": "opacus", "affected": "1.6.0", "mended": "open",
    "requires": ["opacus=={version}", "torch==2.13.0"],
    "claim": "the engine's get_epsilon(1e-5) after one full step at noise multiplier 4, which makes twice that for two "
    "records at a delta of 1 + e^epsilon as much",
    "fault": "expected_batch_size is the number of records times the sampling rate, so that the scale of sum and noise "
    "gives the number of records away",
    "reported": "https://github.com/pytorch/opacus/issues/571",
    "seen": "audit_privacy",
    "assumption": "that the number of records is public, which is no claim for added or removed records",
}  # fmt: skip
DELTA = 1e-5


def _engine(records):
    import warnings

    import torch
    from opacus import PrivacyEngine
    from torch.utils.data import DataLoader, TensorDataset

    warnings.simplefilter("ignore")
    data = torch.zeros(records, 30)
    model, engine = torch.nn.Linear(30, 1, bias=False), PrivacyEngine(accountant="rdp")
    torch.nn.init.zeros_(model.weight)
    model, optimizer, _ = engine.make_private(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=1.0), max_grad_norm=1.0, noise_multiplier=4.0,
        data_loader=DataLoader(TensorDataset(data), batch_size=records), poisson_sampling=False,
    )  # fmt: skip
    model(data).mean().backward()
    optimizer.step()
    return model, engine


def release(records, rng):
    import torch

    torch.manual_seed(int(rng.integers(2**62)))
    return next(_engine(records)[0].parameters()).detach().numpy().ravel()


def promised():
    return float(_engine(4)[1].get_epsilon(DELTA))


def audit(run):
    import math

    import dpcheck

    one = run("promised")()
    delta = (1 + math.exp(one)) * DELTA
    return dpcheck.audit_privacy(run("release"), 4, 2, epsilon=2 * one, delta=delta, trials=4_000, confidence=0.999)
