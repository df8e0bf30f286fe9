"""Trains an LSTM to say whether brackets are balanced, on sequences of different lengths.

A plain PyTorch program: run it as it is, or with PyTorch by changing one import.
"""

import argparse
import random

import rushlight as torch
from rushlight import nn
from rushlight.nn.utils.rnn import pack_padded_sequence, pad_sequence

SYMBOLS = "()[]"


def balanced(length):
    """A balanced text of `length` brackets (an even number)."""
    if length == 0:
        return ""
    inner = 2 * random.randrange(length // 2)
    opening, closing = random.choice(["()", "[]"])
    return opening + balanced(inner) + closing + balanced(length - 2 - inner)


def sample():
    """A text, and 1 where its brackets are balanced; in the others one bracket was changed."""
    text = balanced(2 * random.randint(2, 8))
    label = random.randint(0, 1)
    if not label:
        i = random.randrange(len(text))
        text = text[:i] + random.choice(SYMBOLS.replace(text[i], "")) + text[i + 1 :]
    return text, label


def batch(size):
    """Padded symbols (size, longest), lengths (size,) and labels (size,)."""
    texts, labels = zip(*(sample() for _ in range(size)), strict=True)
    rows = [torch.tensor([SYMBOLS.index(c) + 1 for c in text]) for text in texts]
    lengths = torch.tensor([len(row) for row in rows])
    return pad_sequence(rows, batch_first=True), lengths, torch.tensor(labels)


class Classifier(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embedding = nn.Embedding(len(SYMBOLS) + 1, 16, padding_idx=0)
        self.lstm = nn.LSTM(16, width, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * width, 2)

    def forward(self, symbols, lengths):
        packed = pack_padded_sequence(
            self.embedding(symbols), lengths, batch_first=True, enforce_sorted=False
        )
        _, (hidden, _) = self.lstm(packed)
        return self.head(torch.cat([hidden[-2], hidden[-1]], dim=1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    args = parser.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(1, args.steps + 1):
        symbols, lengths, labels = batch(64)
        loss = nn.functional.cross_entropy(model(symbols, lengths), labels)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 100 == 0 or step == args.steps:
            print(f"step {step:3}  loss {loss.item():.4f}")
    model.eval()
    with torch.inference_mode():
        symbols, lengths, labels = batch(500)
        right = (model(symbols, lengths).argmax(1) == labels).float().mean().item()
    print(f"right about {right:.1%} of 500 new texts")


if __name__ == "__main__":
    main()
