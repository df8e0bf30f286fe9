"""The examples' models, trained: every loss is recorded from PyTorch.

Fifty steps in float64, five in float32: there PyTorch's own curves part after some ten steps when
its number of threads changes. Weights, batches and noise come from the same seeds.
"""

from __future__ import annotations

import contextlib
import random
import sys
import types
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(torch, name: str):
    """The program examples/NAME.py as a module, with the one import changed that it speaks of."""
    path = EXAMPLES / f"{name}.py"
    source = path.read_text()
    for ours, word in (("import rushlight as torch", "import"), ("from rushlight", "from")):
        source = source.replace(ours, ours.replace(f"{word} rushlight", f"{word} {torch.__name__}"))
    module = types.ModuleType(f"example_{name}")
    module.__file__ = str(path)
    if "from digits import" in source:
        sys.modules["digits"] = example(torch, "digits")
    exec(compile(source, path, "exec"), vars(module))
    sys.modules.pop("digits", None)
    return module


@contextlib.contextmanager
def seeded(torch, dtype):
    """Both random streams from seed 0, and tensors of ``dtype`` unless another one is said."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, dtype))
    torch.manual_seed(0)
    random.seed(0)
    try:
        yield 50 if dtype == "float64" else 5
    finally:
        torch.set_default_dtype(before)


def lstm(torch, show, dtype):
    program = example(torch, "lstm")
    with seeded(torch, dtype) as steps:
        model = program.Classifier(width=16)
        optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
        for _ in range(steps):
            symbols, lengths, labels = program.batch(16)
            loss = torch.nn.functional.cross_entropy(model(symbols, lengths), labels)
            optimizer.zero_grad()
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            show(loss.item(), norm.item())


def resnet(torch, show, dtype):
    program = example(torch, "resnet")
    with seeded(torch, dtype) as steps:
        images, labels = program.load_digits()
        data = program.ShiftedDigits(images[:400], labels[:400])
        loader = program.DataLoader(data, batch_size=16, shuffle=True)
        training = program.Training(steps)
        left = steps
        while left:
            batches = [batch for _, batch in zip(range(left), loader, strict=False)]
            for batch in batches:
                show(training.run_epoch([batch]))
            left -= len(batches)
        show(program.accuracy(training.model, images[400:500], labels[400:500]))


def transformer(torch, show, dtype):
    program = example(torch, "transformer")
    with seeded(torch, dtype) as steps:
        model = program.Sorter()
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
        for _ in range(steps):
            source, target = program.batch(16)
            scores = model(source, target[:, :-1])
            loss = torch.nn.functional.cross_entropy(
                scores.flatten(0, 1), target[:, 1:].flatten(), ignore_index=program.PAD
            )
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            show(loss.item())


def vae(torch, show, dtype):
    program = example(torch, "vae")
    with seeded(torch, dtype) as steps:
        images, _ = program.load_digits()
        model = program.VAE(hidden=64)
        optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
        for batch in images[torch.randperm(len(images))].split(32)[:steps]:
            logits, posterior = model(batch)
            loss = program.negative_elbo(logits, batch, posterior)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            show(loss.item())


def gan(torch, show, dtype):
    program = example(torch, "gan")
    with seeded(torch, dtype) as steps:
        generator, discriminator = program.network(8, 2), program.network(2, 1)
        adam = [
            torch.optim.Adam(net.parameters(), lr=1e-3, betas=(0.5, 0.999))
            for net in (generator, discriminator)
        ]
        criterion = torch.nn.BCEWithLogitsLoss()
        real, fake = torch.ones(32, 1), torch.zeros(32, 1)
        for _ in range(steps):
            points = generator(torch.randn(32, 8))
            d_loss = criterion(discriminator(program.ring(32)), real)
            d_loss = d_loss + criterion(discriminator(points.detach()), fake)
            adam[1].zero_grad()
            d_loss.backward()
            adam[1].step()
            g_loss = criterion(discriminator(points), real)
            adam[0].zero_grad()
            g_loss.backward()
            adam[0].step()
            show(d_loss.item(), g_loss.item())


def _of(train, dtype):
    def program(torch, show):
        train(torch, show, dtype)

    program.__name__ = f"{train.__name__}_{dtype}"
    return program


for _train in (lstm, resnet, transformer, vae, gan):
    for _dtype in ("float64", "float32"):
        globals()[f"{_train.__name__}_{_dtype}"] = _of(_train, _dtype)
