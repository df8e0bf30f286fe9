"""Two networks play against each other: one draws points on a ring, one tells them from real ones.

A plain PyTorch program: run it as it is, or with PyTorch by changing one import.
"""

import argparse
import math

import rushlight as torch
from rushlight import nn


def ring(n):
    """Points (n, 2) close to the circle of radius 2."""
    angle = 2 * math.pi * torch.rand(n)
    radius = 2 + 0.1 * torch.randn(n)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1)


def network(inputs, outputs, hidden=64):
    return nn.Sequential(
        nn.Linear(inputs, hidden), nn.LeakyReLU(0.2),
        nn.Linear(hidden, hidden), nn.LeakyReLU(0.2),
        nn.Linear(hidden, outputs),
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=2000)
    args = parser.parse_args()
    torch.manual_seed(0)
    generator, discriminator = network(8, 2), network(2, 1)
    g_optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    d_optimizer = torch.optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    criterion = nn.BCEWithLogitsLoss()
    real, fake = torch.ones(128, 1), torch.zeros(128, 1)
    for step in range(1, args.steps + 1):
        points = generator(torch.randn(128, 8))

        d_loss = criterion(discriminator(ring(128)), real)
        d_loss = d_loss + criterion(discriminator(points.detach()), fake)
        d_optimizer.zero_grad()
        d_loss.backward()
        d_optimizer.step()

        g_loss = criterion(discriminator(points), real)
        g_optimizer.zero_grad()
        g_loss.backward()
        g_optimizer.step()
        if step % 500 == 0 or step == args.steps:
            print(f"step {step:4}  losses {d_loss.item():.3f} and {g_loss.item():.3f}")
    with torch.no_grad():
        radius = generator(torch.randn(1000, 8)).norm(dim=1)
    print(f"radius of 1000 drawn points: {radius.mean():.2f}, give or take {radius.std():.2f}")


if __name__ == "__main__":
    main()
