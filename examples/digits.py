"""Trains a digit classifier on the UCI handwritten digits and tests it on digits it never saw.

A plain PyTorch program: run it as it is, or with PyTorch by changing one import.
"""

import argparse
import csv
import gzip
import time
from pathlib import Path

import rushlight as torch
from rushlight import nn
from rushlight.utils.data import DataLoader, TensorDataset

DATA = Path(__file__).parent / "data" / "digits.csv.gz"


def load_digits():
    """Images (1797, 1, 8, 8) from 0 to 1, and labels (1797,)."""
    with gzip.open(DATA, "rt") as f:
        rows = torch.tensor([[float(v) for v in row] for row in csv.reader(f)])
    return (rows[:, :64] / 16).view(-1, 1, 8, 8), rows[:, 64].long()


def build_model():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(32 * 4 * 4, 64), nn.ReLU(), nn.Dropout(0.3),
        nn.Linear(64, 10),
    )


def accuracy(model, images, labels):
    model.eval()
    with torch.no_grad():
        return (model(images).argmax(1) == labels).float().mean().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    images, labels = load_digits()
    order = torch.randperm(len(images))
    train, test = order[:1437], order[1437:]
    loader = DataLoader(TensorDataset(images[train], labels[train]), batch_size=64, shuffle=True)
    model = build_model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

    begun = time.perf_counter()
    for epoch in range(1, args.epochs + 1):
        model.train()
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(x)
        if epoch % 3 == 0:
            held_out = accuracy(model, images[test], labels[test])
            loss = total / len(train)
            print(f"epoch {epoch:2d}  loss {loss:.4f}  held-out accuracy {held_out:.2%}")
    held_out = accuracy(model, images[test], labels[test])
    print(f"{held_out:.2%} of {len(test)} digits it never saw, "
          f"trained in {time.perf_counter() - begun:.1f} s")


if __name__ == "__main__":
    main()
