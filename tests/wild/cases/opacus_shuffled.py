"""A shuffled loader is accounted as if it drew Poisson samples."""

CASE = {
    "library": "opacus", "affected": "1.6.0", "mended": "open",
    "requires": ["opacus=={version}", "torch==2.13.0"],
    "claim": "minibatches are Poisson samples of rate 1/10, as the engine accounts them",
    "fault": "make_private(poisson_sampling=False) keeps the user's shuffled loader, and the engine accounts its steps "
    "as Poisson samples all the same",
    "reported": "https://github.com/pytorch/opacus/issues/80",
    "seen": "audit_sampling",
    "assumption": "documented as an approximation; shuffled batches can be much less private (Chua et al., ICML 2024)",
}  # fmt: skip


def drawn():
    import warnings

    import torch
    from opacus import PrivacyEngine
    from torch.utils.data import DataLoader, TensorDataset

    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    model = torch.nn.Linear(1, 1)
    _, _, loader = PrivacyEngine().make_private(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=1.0), max_grad_norm=1.0, noise_multiplier=1.0,
        data_loader=DataLoader(TensorDataset(torch.arange(100)), batch_size=10, shuffle=True), poisson_sampling=False,
    )  # fmt: skip
    return [batch.tolist() for _ in range(5) for (batch,) in loader]


def audit(run):
    import math

    import dpcheck

    result = dpcheck.audit_sampling(run("drawn")(), scheme="poisson", population=100, batch=10, confidence=0.999)
    return result.verdict, math.nan, math.nan, str(result).splitlines()[0]
