"""Workloads written once against a torch-like module; each yields a callable to be timed.

    python benchmarks/workloads.py MODULE [NAME ...]    one JSON line per workload

BENCH_THREADS says how many threads work (2). With one, what counts is CPU time, which a busy
machine disturbs less; with more, time on the clock.
"""

import importlib
import json
import math
import os
import statistics
import sys
import time

WORKLOADS = {}  # name -> builder(torch) -> callable


def workload(name):
    def enter(build):
        WORKLOADS[name] = build
        return build
    return enter


def values(torch, *shape, seed=0):
    """Numbers from -0.5 to 0.5, the same in every module: no generator is used."""
    n = math.prod(shape)
    i = torch.arange(n, dtype=torch.int64) + 7919 * seed
    mixed = (i * 1103515245 + 12345) % 2147483647
    return ((mixed % 65536).float() / 65536 - 0.5).reshape(*shape)


def classes(torch, n, count):
    return torch.arange(n, dtype=torch.int64) * 7 % count


def weights(torch, model):
    """Sets a model's parameters to fixed values, so that two modules train alike."""
    with torch.no_grad():
        for k, p in enumerate(model.parameters()):
            if p.dim() > 1:
                p.copy_(values(torch, *p.shape, seed=k) * (2 / math.sqrt(math.prod(p.shape[1:]))))
            else:
                p.zero_()
    return model


# ---- the cost of a call

def call(name, make):
    workload(f"overhead/{name}")(make)


def _add(torch):
    a, b = values(torch, 4), values(torch, 4, seed=1)
    return lambda: a + b


def _add_grad(torch):
    a, b = values(torch, 4).requires_grad_(), values(torch, 4, seed=1)
    return lambda: a + b


def _view(torch):
    x = values(torch, 4)
    return lambda: x.view(2, 2)


def _index(torch):
    x = values(torch, 4, 4)
    return lambda: x[0]


def _zeros(torch):
    zeros = torch.zeros
    return lambda: zeros(4)


def _item(torch):
    x = values(torch, 1)
    return lambda: x.item()


def _sum(torch):
    x = values(torch, 4)
    return lambda: x.sum()


def _chain(torch):
    x, w = values(torch, 4).requires_grad_(), values(torch, 4, seed=1) + 1.5

    def run():
        x.grad = None
        y = x
        for _ in range(10):
            y = y * w
        y.sum().backward()
    return run


def _linear(torch):
    layer, x = weights(torch, torch.nn.Linear(4, 4)), values(torch, 1, 4)
    return lambda: layer(x)


for _name, _make in (("add of 4", _add), ("add of 4, recorded", _add_grad), ("view", _view),
                     ("x[0]", _index), ("zeros(4)", _zeros), ("item", _item), ("sum of 4", _sum),
                     ("10 mul, sum, backward", _chain), ("Linear(4, 4)", _linear)):
    call(_name, _make)


# ---- training steps

def trainer(torch, model, optimizer, x, y):
    def step():
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss
    return step


def mlp(torch, d_in, hidden, d_out):
    nn = torch.nn
    layers = [nn.Linear(d_in, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
              nn.Linear(hidden, d_out)]
    return weights(torch, nn.Sequential(*layers))


def mlp_step(batch, hidden):
    def build(torch):
        model = mlp(torch, 64, hidden, 10)
        return trainer(torch, model, torch.optim.Adam(model.parameters(), lr=1e-3),
                       values(torch, batch, 64), classes(torch, batch, 10))
    return build


for _b, _h in ((1, 64), (32, 64), (64, 128), (256, 512)):
    workload(f"training/MLP, Adam, batch {_b}, hidden {_h}")(mlp_step(_b, _h))


@workload("training/convolutional net, batch 64")
def _conv_net(torch):
    nn = torch.nn
    model = weights(torch, nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.ReLU(),
        nn.Flatten(), nn.Linear(16 * 144, 10)))
    return trainer(torch, model, torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9),
                   values(torch, 64, 1, 28, 28), classes(torch, 64, 10))


@workload("training/LeNet, batch 64")
def _lenet(torch):
    nn = torch.nn
    model = weights(torch, nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84),
        nn.ReLU(), nn.Linear(84, 10)))
    return trainer(torch, model, torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9),
                   values(torch, 64, 1, 28, 28), classes(torch, 64, 10))


def gpt(torch, layers, width, heads, vocabulary, length):
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(),
                                     nn.Linear(4 * width, width))

        def forward(self, x):
            b, t, _ = x.shape
            q, k, v = (part.view(b, t, heads, -1).transpose(1, 2)
                       for part in self.qkv(self.first(x)).split(width, dim=2))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(b, t, width))
            return x + self.mlp(self.second(x))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.place = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
            self.blocks = nn.Sequential(*[Block() for _ in range(layers)])
            self.last, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

        def forward(self, tokens):
            x = self.token(tokens) + self.place(torch.arange(length))
            return self.head(self.last(self.blocks(x))).flatten(0, 1)

    return weights(torch, Model())


def gpt_step(layers, width, heads):
    def build(torch):
        model = gpt(torch, layers, width, heads, 65, 64)
        tokens = classes(torch, 16 * 64, 65)
        return trainer(torch, model, torch.optim.AdamW(model.parameters(), lr=1e-3),
                       tokens.view(16, 64), tokens)
    return build


for _layers, _width, _heads in ((4, 128, 4), (6, 384, 6)):
    workload(f"training/GPT, {_layers} layers of {_width}, 16 x 64 tokens")(
        gpt_step(_layers, _width, _heads))


# ---- kernels

def kernel(name, make):
    workload(f"kernels/{name}")(make)


def product(n):
    def build(torch):
        a, b = values(torch, n, n), values(torch, n, n, seed=1)
        return lambda: a @ b
    return build


for _n in (256, 1024, 2048):
    kernel(f"matmul {_n}", product(_n))


def of_two(left, right, f=lambda torch, a, b: a @ b, dtype="float32"):
    """f of two tensors of these shapes."""
    def build(torch):
        a, b = (values(torch, *shape, seed=k).to(getattr(torch, dtype))
                for k, shape in enumerate((left, right)))
        return lambda: f(torch, a, b)
    return build


kernel("matmul 2048, bfloat16", of_two((2048, 2048), (2048, 2048), dtype="bfloat16"))
kernel("matmul of a transposed matrix, 1024",
       of_two((1024, 1024), (1024, 1024), lambda torch, a, b: a.t() @ b))
kernel("64 products of 64 x 64", of_two((64, 64, 64), (64, 64, 64)))
kernel("vector by matrix, 1024", of_two((1, 1024), (1024, 1024)))
kernel("linear, 32 x 2048 to 2048",
       of_two((32, 2048), (2048, 2048), lambda torch, a, b: torch.nn.functional.linear(a, b)))


def convolution(x, w, dtype="float32", **settings):
    return of_two(x, w, lambda torch, a, b: torch.nn.functional.conv2d(a, b, **settings), dtype)


kernel("convolution 3x3", convolution((8, 64, 56, 56), (64, 64, 3, 3), padding=1))
kernel("convolution 3x3, bfloat16",
       convolution((8, 64, 56, 56), (64, 64, 3, 3), "bfloat16", padding=1))
kernel("convolution 1x1", convolution((8, 256, 28, 28), (64, 256, 1, 1)))
kernel("convolution 7x7, stride 2",
       convolution((2, 3, 224, 224), (64, 3, 7, 7), stride=2, padding=3))
kernel("depthwise convolution", convolution((8, 96, 56, 56), (96, 1, 3, 3), padding=1, groups=96))


@workload("training/causal attention, 32 heads of 512 x 64")
def _attention(torch):
    q, k, v = (values(torch, 4, 8, 512, 64, seed=s).requires_grad_() for s in range(3))

    def step():
        q.grad = k.grad = v.grad = None
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        y.sum().backward()
        return q.grad
    return step


@workload("training/LSTM, 50 steps, batch 32")
def _lstm(torch):
    model = weights(torch, torch.nn.LSTM(64, 128, batch_first=True))
    x = values(torch, 32, 50, 64)

    def step():
        model.zero_grad()
        loss = model(x)[0].square().mean()
        loss.backward()
        return loss
    return step


def elementwise(f):
    def build(torch):
        x, y = values(torch, 1 << 22), values(torch, 1 << 22, seed=1)
        return lambda: f(torch, x, y)
    return build


kernel("exp, 4M", elementwise(lambda torch, x, y: torch.exp(x)))
kernel("add, 4M", elementwise(lambda torch, x, y: x + y))
kernel("gelu, 4M", elementwise(lambda torch, x, y: torch.nn.functional.gelu(x)))


def square(f):
    def build(torch):
        x = values(torch, 2048, 2048)
        return lambda: f(torch, x)
    return build


kernel("sum(0), 2048", square(lambda torch, x: x.sum(0)))
kernel("sum(1), 2048", square(lambda torch, x: x.sum(1)))
kernel("softmax, 2048", square(lambda torch, x: torch.softmax(x, -1)))
kernel("cumsum, 2048", square(lambda torch, x: torch.cumsum(x, 1)))
kernel("transposed copy, 2048", square(lambda torch, x: x.t().contiguous()))
kernel("layer norm, 2048 rows of 2048",
       square(lambda torch, x: torch.nn.functional.layer_norm(x, (2048,))))
kernel("sort, 2048 rows of 2048", square(lambda torch, x: torch.sort(x)))
kernel("real FFT, 2048 rows of 2048", square(lambda torch, x: torch.fft.rfft(x)))


@workload("kernels/65,536 rows of 128 at indices")
def _rows(torch):
    table, at = values(torch, 100_000, 128), classes(torch, 65_536, 100_000)
    return lambda: torch.index_select(table, 0, at)


# ---- data

@workload("data/DataLoader, 20,000 rows, batch 64")
def _loader(torch):
    data = torch.utils.data
    rows = data.TensorDataset(values(torch, 20000, 32), classes(torch, 20000, 10))
    loader = data.DataLoader(rows, batch_size=64, shuffle=True)

    def run():
        for _ in loader:
            pass
    return run


def measure(f, clock, seconds=0.3, batches=5):
    """The median and the least of several batches, in seconds per call."""
    f()
    f()
    n, t = 1, 0.0
    while t < seconds / batches / 4 and n < 1 << 22:
        n *= 2
        begun = clock()
        for _ in range(n):
            f()
        t = clock() - begun
    n = max(1, int(n * seconds / batches / max(t, 1e-9)))
    times = []
    for _ in range(batches):
        begun = clock()
        for _ in range(n):
            f()
        times.append((clock() - begun) / n)
    return statistics.median(times), min(times)


def main():
    module, names = sys.argv[1], sys.argv[2:]
    threads = os.environ.get("BENCH_THREADS", "2")
    for v in ("OMP", "MKL", "RUSHLIGHT"):
        os.environ[f"{v}_NUM_THREADS"] = threads
    torch = importlib.import_module(module)
    for part in ("nn", "optim", "utils.data"):
        importlib.import_module(f"{module}.{part}")
    torch.set_num_threads(int(threads))
    clock = time.process_time if threads == "1" else time.perf_counter
    for name, build in WORKLOADS.items():
        if names and not any(n in name for n in names):
            continue
        try:
            median, least = measure(build(torch), clock)
            print(json.dumps({"name": name, "median": median, "least": least}), flush=True)
        except Exception as e:  # a workload that fails is a row that says so
            print(json.dumps({"name": name, "error": f"{type(e).__name__}: {e}"}), flush=True)


if __name__ == "__main__":
    main()
