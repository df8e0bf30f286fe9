"""Programs about segments, grids of bins and norms; what they show is recorded from PyTorch."""

from __future__ import annotations

REDUCES = ("sum", "mean", "max", "min", "prod")


def reduced(torch, show):
    x = torch.arange(12.0).view(6, 2).sub(3)
    lengths = torch.tensor([2, 0, 4])
    for reduce in REDUCES:
        for initial in (None, 2):
            show(torch.segment_reduce(x, reduce, lengths=lengths, initial=initial).tolist())
    show(torch.segment_reduce(x, "sum", offsets=torch.tensor([0, 2, 2, 6])).tolist())
    show(torch.segment_reduce(x, "max", offsets=torch.tensor([1, 2, 5])).tolist())
    rows = torch.tensor([[1, 1], [2, 0], [0, 2], [1, 1], [1, 1], [2, 0]])
    for axis in (1, -1):
        show(torch.segment_reduce(x, "sum", lengths=rows, axis=axis).tolist())
    show(torch.segment_reduce(x.double(), "mean", lengths=lengths[::2], unsafe=True).dtype)


def gradients(torch, show):
    for reduce in REDUCES:
        for initial in (None, 4.0):
            x = torch.tensor([1.0, 3, 3, 2, 0.5, 5, 0], requires_grad=True)
            y = torch.segment_reduce(x, reduce, lengths=torch.tensor([3, 0, 4]), initial=initial)
            y = y.nan_to_num(0, 0, 0) * torch.tensor([1.0, 2.0, 3.0])
            show(torch.autograd.grad(y.sum(), x)[0].tolist())


def refusals(torch, show):
    x, lengths = torch.arange(12.0).view(6, 2), torch.tensor([2, 0, 4])
    call = torch.segment_reduce
    show.failure(lambda: call(x, "median", lengths=lengths))
    show.failure(lambda: call(x, "sum"))
    show.failure(lambda: call(x, "sum", indices=lengths))
    show.failure(lambda: call(x, "sum", lengths=torch.tensor([2, 3])))
    show.failure(lambda: call(x, "sum", lengths=torch.tensor([-2, 8])))
    show.failure(lambda: call(x, "sum", lengths=lengths, axis=1))
    show.failure(lambda: call(x, "sum", lengths=lengths, axis=2))


def grids(torch, show):
    x = torch.tensor([[0.0, 1], [2, 3], [1, 1], [4, 4]])
    for bins, options in (
        (3, {}),
        ([2, 3], {"range": [0.0, 4.0, 1.0, 3.0]}),
        ([torch.tensor([0.0, 1, 4]), torch.tensor([0.0, 2])], {}),
        ((2, 2), {"weight": torch.tensor([1.0, 2, 3, 4]), "density": True}),
    ):
        found = torch.histogramdd(x, bins, **options)
        show(found.hist.tolist(), [e.tolist() for e in found.bin_edges])
    show(torch.histogramdd(x.double().view(2, 2, 2), 2))
    show(torch.histogramdd(torch.empty(0, 2), 2).bin_edges)
    show(torch.histogramdd(torch.ones(3, 1), 2))
    for bad in (
        lambda: torch.histogramdd(x, [2]), lambda: torch.histogramdd(x, [0, 2]),
        lambda: torch.histogramdd(x[0], 2), lambda: torch.histogramdd(x, 2, range=[0.0, 1.0]),
        lambda: torch.histogramdd(x, 2, range=[1.0, 0.0, 0.0, 1.0]),
        lambda: torch.histogramdd(x, 2, weight=torch.ones(3)),
        lambda: torch.histogramdd(x * float("nan"), 2),
    ):  # fmt: skip
        show.failure(bad)


def norms(torch, show):
    v = torch.arange(24.0).view(2, 3, 4)
    for options in ({}, {"dim": 1}, {"pow": 1, "dim": 2}, {"dim": -1}, {"pow": 3}):
        show(torch.norm_except_dim(v, **options).tolist())
    show.failure(lambda: torch.norm_except_dim(v, dim=3))
    show.failure(lambda: torch.norm_except_dim(torch.tensor(3.0)))


def products_into_a_dtype(torch, show):
    a, b = torch.ones(2, 2), torch.ones(1, 2, 2)
    for call in (
        lambda: torch.mm(a, a, out_dtype=torch.float32),
        lambda: torch.bmm(b, b, torch.float32),
        lambda: torch.addmm(a, a, a, out_dtype=torch.float32),
        lambda: torch.baddbmm(b, b, b, out_dtype=torch.float32, beta=2),
    ):
        try:
            call()
        except Exception as error:
            show(type(error).__name__, str(error).partition(", or")[0].rstrip("."))


def threads_of_backward(torch, show):
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.set_multithreading_enabled(False):
        (x * x).sum().backward()
    show(x.grad.tolist())
