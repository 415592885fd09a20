"""Adaptive clipping: the noise multiplier that is accounted is not the one of the whole step."""

CASE = {
    "library": "opacus", "affected": "1.5.4", "mended": "1.6.0",
    "requires": ["opacus=={version}", "torch==2.13.0"],
    "claim": "the engine's get_epsilon(1e-5) after one full step at noise multiplier 1, unclipped_num_std 0.6",
    "fault": "AdaClipDPOptimizer overwrites its noise multiplier by that of the gradient alone, and the engine "
    "accounts "
    "that: the noisy count, which is released too, is free",
    "reported": "https://github.com/pytorch/opacus/issues/757",
    "seen": "certify, against the library's own number",
}  # fmt: skip
MULTIPLIER, DELTA = 1.0, 1e-5


def promised():
    import warnings

    import torch
    from opacus import PrivacyEngine
    from torch.utils.data import DataLoader, TensorDataset

    warnings.simplefilter("ignore")
    data, model, engine = torch.ones(8, 2), torch.nn.Linear(2, 1), PrivacyEngine(accountant="rdp")
    model, optimizer, _ = engine.make_private(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1), noise_multiplier=MULTIPLIER,
        data_loader=DataLoader(TensorDataset(data), batch_size=8), max_grad_norm=1.0, clipping="adaptive",
        poisson_sampling=False, target_unclipped_quantile=0.5, clipbound_learning_rate=0.2, max_clipbound=10.0,
        min_clipbound=0.1, unclipped_num_std=0.6,
    )  # fmt: skip
    model(data).mean().backward()
    optimizer.step()
    return float(engine.get_epsilon(DELTA))


def audit(run):
    import dpcheck
    from dpcheck.events import Gaussian

    # Gradient and count together are one Gaussian of the multiplier that was asked for (arXiv 1905.03871, Theorem 1).
    claimed, exact = run("promised")(), dpcheck.certify(Gaussian(MULTIPLIER), delta=DELTA).epsilon
    words = f"exact epsilon {exact:.4g} of the step, where the engine says {claimed:.4g}"
    return "violated" if exact > claimed else "consistent", claimed, exact, words
