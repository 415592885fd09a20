"""Batches of a shuffled loader are accounted as Poisson samples (opacus 1.6.0).

Expected: with poisson_sampling=False, another epsilon, or a refusal. Seen: the epsilon is that of Poisson samples, but
each batch has exactly 10 records. The documentation calls it an approximation; shuffled batches can be much less
private (Chua et al., ICML 2024). Mend: warn when get_epsilon is called, or account without amplification.
"""

import warnings

import numpy as np
import torch
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset

warnings.simplefilter("ignore")


def trained(poisson):
    torch.manual_seed(0)
    model, engine, sizes = torch.nn.Linear(1, 1), PrivacyEngine(accountant="rdp"), []
    model, optimizer, loader = engine.make_private(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1), noise_multiplier=1.0, max_grad_norm=1.0,
        data_loader=DataLoader(TensorDataset(torch.ones(100, 1)), batch_size=10, shuffle=True),
        poisson_sampling=poisson,
    )  # fmt: skip
    for (batch,) in loader:
        sizes.append(len(batch))
        model(batch).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return engine.get_epsilon(1e-5), np.std(sizes)


for poisson in (True, False):
    epsilon, spread = trained(poisson)
    print(f"poisson_sampling={poisson}: epsilon {epsilon:.4f}, sizes of batches have standard deviation {spread:.3f}")
