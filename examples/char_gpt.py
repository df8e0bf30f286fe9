"""Trains a small GPT, letter by letter, on The Devil's Dictionary, and lets it write an entry.

A plain PyTorch program, attention written out: run it as it is, or with PyTorch by changing one
import.
"""

import argparse
import gzip
import math
import time
from pathlib import Path

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F

try:
    from tqdm import tqdm
except ImportError:
    def tqdm(steps, **_):
        return steps

DATA = Path(__file__).parent / "data" / "devils_dictionary.txt.gz"


class Attention(nn.Module):
    """Every position looks at itself and at what came before it."""

    def __init__(self, width, heads, context):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.register_buffer("past", torch.tril(torch.ones(context, context, dtype=torch.bool)))

    def forward(self, x):
        batch, time_steps, width = x.shape
        q, k, v = self.qkv(x).split(width, dim=2)
        q, k, v = (t.view(batch, time_steps, self.heads, -1).transpose(1, 2) for t in (q, k, v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        scores = scores.masked_fill(~self.past[:time_steps, :time_steps], float("-inf"))
        y = F.softmax(scores, dim=-1) @ v
        return self.out(y.transpose(1, 2).reshape(batch, time_steps, width))


class Block(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, context)
        widen, narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.mlp = nn.Sequential(widen, nn.GELU(), narrow)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, letters, width=96, layers=3, heads=4, context=64):
        super().__init__()
        self.context = context
        self.letter = nn.Embedding(letters, width)
        self.position = nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads, context) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, letters)

    def forward(self, x):
        h = self.letter(x) + self.position(torch.arange(x.shape[1]))
        return self.head(self.norm(self.blocks(h)))

    @torch.no_grad()
    def write(self, start, length, temperature=0.8):
        x = start
        for _ in range(length):
            logits = self(x[:, -self.context:])[:, -1] / temperature
            x = torch.cat([x, torch.multinomial(F.softmax(logits, dim=-1), 1)], dim=1)
        return x


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=24)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    with gzip.open(DATA, "rt", encoding="ascii") as file:
        text = file.read()
    alphabet = sorted(set(text))
    number = {letter: i for i, letter in enumerate(alphabet)}
    data = torch.tensor([number[letter] for letter in text])
    model = GPT(len(alphabet))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{len(text):,} letters, {len(alphabet)} different; {parameters:,} parameters")

    begun, running = time.perf_counter(), None
    bar = tqdm(range(1, args.steps + 1), unit="step", dynamic_ncols=True)
    for step in bar:
        for group in optimizer.param_groups:
            group["lr"] = 2e-3 * min(1.0, step / 50) * (0.1 + 0.9 * (1 - step / args.steps))
        at = torch.randint(0, len(data) - model.context - 1, (args.batch, 1))
        at = at + torch.arange(model.context)
        logits = model(data[at])
        loss = F.cross_entropy(logits.flatten(0, 1), data[at + 1].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        running = loss.item() if running is None else 0.95 * running + 0.05 * loss.item()
        if step == 1 or step % (args.steps // 5 or 1) == 0:
            line = f"step {step:5d}  loss {running:.3f}"
            bar.write(line) if hasattr(bar, "write") else print(line)
    seconds = time.perf_counter() - begun
    print(f"{args.steps} steps in {seconds:.0f} s, {1000 * seconds / args.steps:.0f} ms each")

    model.eval()
    start = torch.tensor([[number[letter] for letter in "\n\nLOVE, n."]])
    written = model.write(start, 400)[0].tolist()
    print("".join(alphabet[i] for i in written).strip())


if __name__ == "__main__":
    main()
