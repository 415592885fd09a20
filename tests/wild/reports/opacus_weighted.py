"""A weighted sampler is accounted as Poisson samples, whatever its weights (opacus 1.6.0).

Expected: with poisson_sampling=False, another epsilon, or a refusal. Seen: the epsilon of Poisson samples of rate 1/8,
but a record of large weight is in nearly every batch, and more than once in some. The documentation calls this an
approximation, which it cannot be for weights. With poisson_sampling=True the sampler is replaced by one of the rate
that is accounted: the epsilon is right, and larger than batch_size suggests. Mend: refuse samplers with weights.
"""

import warnings

import torch
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

warnings.simplefilter("ignore")
weights = torch.ones(1000)
weights[0] = 200.0


def trained(poisson):
    torch.manual_seed(0)
    model, engine, held = torch.nn.Linear(1, 1), PrivacyEngine(accountant="rdp"), []
    sampler = WeightedRandomSampler(weights, num_samples=128)
    model, optimizer, loader = engine.make_private(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1), noise_multiplier=1.0, max_grad_norm=1.0,
        data_loader=DataLoader(TensorDataset(torch.arange(1000.0).reshape(-1, 1)), batch_size=16, sampler=sampler),
        poisson_sampling=poisson,
    )  # fmt: skip
    for (batch,) in (batch for _ in range(5) for batch in loader):
        held.append(int((batch == 0).sum()))
        model(batch).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return f"epsilon {engine.get_epsilon(1e-5):.3f}, the record in {sum(map(bool, held))} of {len(held)} batches"


print(f"poisson_sampling=True: {trained(True)}; False: {trained(False)}")
