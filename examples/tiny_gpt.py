"""A GPT of two blocks that learns to count: short enough to be read beside its x-ray.

It says `import torch`, so `rushlight` runs it:

    rushlight run examples/tiny_gpt.py
    rushlight xray examples/tiny_gpt.py
"""

import torch
from torch import nn

BATCH, TIME, HEADS, WIDTH, SYMBOLS = 16, 32, 4, 64, 10


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.queries_keys_values = nn.Linear(WIDTH, 3 * WIDTH)
        self.project = nn.Linear(WIDTH, WIDTH)
        self.think = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )
        self.register_buffer("future", torch.ones(TIME, TIME).triu(1).bool())

    def attend(self, h):
        parts = self.queries_keys_values(h).view(-1, TIME, 3, HEADS, WIDTH // HEADS)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / (WIDTH // HEADS) ** 0.5
        seen = scores.masked_fill(self.future, float("-inf")).softmax(-1) @ v
        seen = seen.transpose(1, 2).contiguous()
        return self.project(seen.view(-1, TIME, WIDTH))

    def forward(self, h):
        h = h + self.attend(self.norm1(h))
        return h + self.think(self.norm2(h))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.symbols = nn.Embedding(SYMBOLS, WIDTH)
        self.places = nn.Parameter(torch.zeros(TIME, WIDTH))
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(WIDTH, SYMBOLS)

    def forward(self, text):
        h = self.symbols(text) + self.places
        for block in self.blocks:
            h = block(h)
        return self.head(h)


def batch():
    """Runs of digits that go up by one to three each time, and what follows each."""
    start = torch.randint(0, SYMBOLS, (BATCH, 1))
    step = torch.randint(1, 4, (BATCH, 1))
    text = (start + step * torch.arange(TIME + 1)) % SYMBOLS
    return text[:, :-1], text[:, 1:]


torch.manual_seed(0)
model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(40):
    text, following = batch()
    logits = model(text)
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), following.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
