"""Trains a small ResNet on shifted digits, stops, and goes on from a checkpoint.

A plain PyTorch program: run it as it is, or with PyTorch by changing one import.
"""

import argparse
import tempfile
from pathlib import Path

from digits import load_digits

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F
from rushlight.utils.data import DataLoader, Dataset


class ShiftedDigits(Dataset):
    """Each image (1, 8, 8) moved by up to one pixel in each direction."""

    def __init__(self, images, labels):
        self.images, self.labels = images, labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        image = F.pad(self.images[index], (1, 1, 1, 1))
        row, column = torch.randint(0, 3, (2,)).tolist()
        return image[:, row : row + 8, column : column + 8], self.labels[index]


class Block(nn.Module):
    def __init__(self, channels_in, channels, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.shortcut = nn.Identity()
        if stride != 1 or channels_in != channels:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels_in, channels, 1, stride, bias=False), nn.BatchNorm2d(channels)
            )

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return F.relu(out + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self, width=16, classes=10):
        super().__init__()
        self.stem = nn.Conv2d(1, width, 3, padding=1, bias=False)
        self.blocks = nn.Sequential(Block(width, width), Block(width, 2 * width, stride=2))
        self.head = nn.Linear(2 * width, classes)

    def forward(self, x):
        x = self.blocks(F.relu(self.stem(x)))
        return self.head(x.mean(dim=(2, 3)))


class Training:
    """A model, its optimizer and schedule: what a checkpoint holds."""

    def __init__(self, steps):
        self.model = ResNet()
        self.optimizer = torch.optim.SGD(
            self.model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-4
        )
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(self.optimizer, 0.1, steps)
        self.epoch = 0

    def run_epoch(self, loader):
        self.model.train()
        for images, labels in loader:
            loss = F.cross_entropy(self.model(images), labels, label_smoothing=0.1)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.schedule.step()
        self.epoch += 1
        return loss.item()

    def save(self, path):
        parts = (self.model, self.optimizer, self.schedule)
        torch.save({"epoch": self.epoch, "parts": [part.state_dict() for part in parts]}, path)

    def load(self, path):
        checkpoint = torch.load(path)
        self.epoch = checkpoint["epoch"]
        parts = (self.model, self.optimizer, self.schedule)
        for part, state in zip(parts, checkpoint["parts"], strict=True):
            part.load_state_dict(state)


@torch.no_grad()
def accuracy(model, images, labels):
    model.eval()
    return (model(images).argmax(1) == labels).float().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--images", type=int, default=1437)
    args = parser.parse_args()
    torch.manual_seed(0)
    images, labels = load_digits()
    data = ShiftedDigits(images[: args.images], labels[: args.images])
    loader = DataLoader(data, batch_size=64, shuffle=True, drop_last=True)
    path = Path(tempfile.mkdtemp()) / "resnet.pt"
    steps = args.epochs * len(loader)
    training = Training(steps)
    for epoch in range(args.epochs):
        if epoch == args.epochs // 2:
            training.save(path)
            training = Training(steps)
            training.load(path)
            print(f"went on from {path.name} after epoch {training.epoch}")
        loss = training.run_epoch(loader)
        held_out = accuracy(training.model, images[1437:], labels[1437:])
        print(f"epoch {training.epoch}  loss {loss:.4f}  held-out accuracy {held_out:.2%}")


if __name__ == "__main__":
    main()
