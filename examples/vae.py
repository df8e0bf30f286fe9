"""Trains a variational autoencoder on handwritten digits, and draws digits that nobody wrote.

A plain PyTorch program: run it as it is, or with PyTorch by changing one import.
"""

import argparse

from digits import load_digits

import rushlight as torch
from rushlight import nn
from rushlight.distributions import Normal, kl_divergence
from rushlight.nn import functional as F


class VAE(nn.Module):
    def __init__(self, latent=6, hidden=128):
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(64, hidden), nn.ReLU())
        self.mean, self.log_std = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(
            nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, 64), nn.Unflatten(1, (1, 8, 8))
        )

    def forward(self, images):
        hidden = self.encoder(images)
        posterior = Normal(self.mean(hidden), self.log_std(hidden).exp())
        return self.decoder(posterior.rsample()), posterior


def negative_elbo(logits, images, posterior):
    """Nats per image: the code's length and what it fails to tell."""
    reconstruction = F.binary_cross_entropy_with_logits(logits, images, reduction="sum")
    prior = Normal(torch.zeros_like(posterior.loc), torch.ones_like(posterior.scale))
    return (reconstruction + kl_divergence(posterior, prior).sum()) / len(images)


def draw(images):
    """Images (n, 1, 8, 8) beside each other, as text."""
    for row in images.squeeze(1).permute(1, 0, 2).reshape(8, -1):
        print("".join(" .:-=+*#%@"[int(v * 9.99)] * 2 for v in row.tolist()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=30)
    args = parser.parse_args()
    torch.manual_seed(0)
    images, _ = load_digits()
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(1, args.epochs + 1):
        total = 0.0
        for batch in images[torch.randperm(len(images))].split(64):
            logits, posterior = model(batch)
            loss = negative_elbo(logits, batch, posterior)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)
        if epoch % 5 == 0 or epoch == args.epochs:
            print(f"epoch {epoch:2}  {total / len(images):.3f} nats per image")
    model.eval()
    with torch.no_grad():
        draw(model.decoder(torch.randn(5, 6)).sigmoid())


if __name__ == "__main__":
    main()
