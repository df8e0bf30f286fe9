"""Trains a Transformer with encoder and decoder to sort digits, then lets it write its answers.

A plain PyTorch program: run it as it is, or with PyTorch by changing one import.
"""

import argparse

import rushlight as torch
from rushlight import nn
from rushlight.nn.utils.rnn import pad_sequence

PAD, BEGIN, END, FIRST = 0, 1, 2, 3
TOKENS, LONGEST = FIRST + 10, 8


def batch(size):
    """Digits (size, n) and the same in order, with BEGIN and END, padded with PAD."""
    sources, targets = [], []
    for _ in range(size):
        digits = torch.randint(FIRST, TOKENS, (int(torch.randint(2, LONGEST + 1, ())),))
        sources.append(digits)
        ends = torch.tensor([BEGIN]), torch.tensor([END])
        targets.append(torch.cat([ends[0], digits.sort().values, ends[1]]))
    return tuple(pad_sequence(rows, batch_first=True) for rows in (sources, targets))


class Sorter(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.tokens = nn.Embedding(TOKENS, width, padding_idx=PAD)
        self.places = nn.Parameter(0.1 * torch.randn(LONGEST + 2, width))
        self.transformer = nn.Transformer(
            width, nhead=4, num_encoder_layers=1, num_decoder_layers=2,
            dim_feedforward=2 * width, dropout=0.0, batch_first=True,
        )
        self.head = nn.Linear(width, TOKENS)

    def embed(self, tokens):
        return self.tokens(tokens) + self.places[: tokens.size(1)]

    def forward(self, source, target):
        n = target.size(1)
        future = torch.ones(n, n, dtype=torch.bool).triu(diagonal=1)
        hidden = self.transformer(
            self.embed(source), self.embed(target), tgt_mask=future,
            src_key_padding_mask=source == PAD, tgt_key_padding_mask=target == PAD,
            memory_key_padding_mask=source == PAD,
        )
        return self.head(hidden)

    @torch.no_grad()
    def write(self, source):
        """The likeliest token after what is written so far, until all rows are full."""
        written = torch.full((len(source), 1), BEGIN)
        for _ in range(LONGEST + 1):
            following = self(source, written)[:, -1].argmax(dim=1, keepdim=True)
            written = torch.cat([written, following], dim=1)
        return written[:, 1:]


def show(tokens):
    digits = tokens.tolist()
    digits = digits[: digits.index(END)] if END in digits else digits
    return " ".join(str(d - FIRST) for d in digits if d >= FIRST)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    args = parser.parse_args()
    torch.manual_seed(0)
    model = Sorter()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    for step in range(1, args.steps + 1):
        source, target = batch(64)
        scores = model(source, target[:, :-1])
        loss = nn.functional.cross_entropy(
            scores.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD
        )
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 0 or step == args.steps:
            print(f"step {step:3}  loss {loss.item():.4f}")
    model.eval()
    source, target = batch(100)
    pairs = zip(model.write(source), target[:, 1:], strict=True)
    pairs = [(show(answer), show(expected)) for answer, expected in pairs]
    for digits, (answer, _) in list(zip(source, pairs, strict=True))[:3]:
        print(f"{show(digits)}  ->  {answer}")
    print(f"{sum(a == b for a, b in pairs)} of 100 new rows sorted")


if __name__ == "__main__":
    main()
