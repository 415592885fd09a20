"""A loader with weights is accounted as if it drew Poisson samples."""

CASE = {
    "library": "opacus", "affected": "1.6.0", "mended": "open",
    "requires": ["opacus=={version}", "torch==2.13.0"],
    "claim": "minibatches of a WeightedRandomSampler are Poisson samples of rate 1/8, as the engine accounts them",
    "fault": "make_private(poisson_sampling=False) keeps a weighted sampler, and the engine accounts its steps as "
    "Poisson samples, however often a record is drawn; the default replaces it by Poisson samples of the rate that is "
    "accounted, so that the epsilon that surprised the reporter is no loss of privacy",
    "reported": "https://github.com/pytorch/opacus/issues/813",
    "seen": "audit_sampling; the numbers are shares of the minibatches that hold the record whose weight is largest",
    "assumption": "documented as an approximation for poisson_sampling=False; with weights it is none",
}  # fmt: skip
RECORDS, RATE = 1_000, 1 / 8


def drawn(poisson):
    import warnings

    import torch
    from opacus import PrivacyEngine
    from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    weights = torch.ones(RECORDS)
    weights[0] = 200.0
    sampler = WeightedRandomSampler(weights, num_samples=128)
    model = torch.nn.Linear(1, 1)
    _, _, loader = PrivacyEngine().make_private(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=1.0), max_grad_norm=1.0, noise_multiplier=1.0,
        data_loader=DataLoader(TensorDataset(torch.arange(RECORDS)), batch_size=16, sampler=sampler),
        poisson_sampling=poisson,
    )  # fmt: skip
    return [batch.tolist() for _ in range(10) for (batch,) in loader]


def audit(run):
    import numpy as np

    import dpcheck

    kept, replaced = run("drawn")(False), run("drawn")(True)
    how = {"scheme": "poisson", "population": RECORDS, "batch": round(RECORDS * RATE), "confidence": 0.999}
    result, control = dpcheck.audit_sampling(kept, **how), dpcheck.audit_sampling(replaced, **how)
    words = f"{str(result).splitlines()[0]}; with poisson_sampling=True {control.verdict}"
    return result.verdict, RATE, float(np.mean([0 in batch for batch in kept])), words
