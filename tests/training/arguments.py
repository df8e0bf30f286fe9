"""Calls with arguments that are seldom given, or given wrongly: results and errors."""

from __future__ import annotations

import warnings

NUMBERS_FIRST = """
torch.add(1, torch.ones(1)); torch.sub(1, torch.ones(1)); torch.mul(1, 2.5); torch.div(1, 2)
torch.div(1, 2, rounding_mode="floor"); torch.floor_divide(1, torch.ones(1))
torch.multiply(1, 2); torch.divide(1, 2); torch.subtract(1, 2); torch.true_divide(1, 2)
torch.add(True, 2); torch.add(1, 2, alpha=3); torch.add(1j, 2); torch.fmod(1, torch.ones(1))
torch.remainder(1, torch.ones(1)); torch.pow(2, torch.ones(1)); torch.maximum(1, 2)
torch.max(torch.ones(3), torch.tensor(2)); torch.min(torch.ones(3), torch.tensor(0))
torch.max(torch.ones(3), torch.tensor(0), True); torch.median(torch.ones(3), torch.tensor(0))
torch.ones(3).max(torch.tensor(0.0)); torch.clamp(x, torch.tensor(0.5)).grad_fn.name()
torch.clamp_max(x, torch.tensor(0.5)).grad_fn.name(); torch.clamp_max(x, 0.5).grad_fn.name()
torch.clamp_min(x, torch.tensor(0.5)).grad_fn.name(); torch.clamp_min(x, 0.5).grad_fn.name()
torch.broadcast_shapes(torch.ones(3), 1); torch.broadcast_shapes(None, 1)
torch.broadcast_shapes([1, 2], (3, 1), 4); torch.broadcast_shapes((-1, 2))
torch.broadcast_tensors(x, x)[0].grad_fn; torch.broadcast_tensors(x, x.view(3, 1))[0].grad_fn.name()
"""
LENGTHS = """
F.max_pool1d(line, (2, 1)); F.max_pool1d(line, 2, (2, 1)); F.max_pool1d(line, 2, 1, (2, 1))
F.max_pool1d(line, 2, 1, 0, (2, 1)); F.max_pool1d(line, 2, (1, 2), return_indices=True)
F.max_pool1d(line, 2, padding=(), return_indices=True); F.avg_pool1d(line, 2, (), ())
F.avg_pool1d(line, 2, 1, (1, 2)); F.avg_pool1d(line, ()); F.avg_pool1d(line, (2, 1))
F.adaptive_avg_pool1d(line, (2, 1)); F.adaptive_avg_pool1d(line, ())
F.adaptive_max_pool1d(line, (2, 1)); F.adaptive_avg_pool2d(plane, (1, 1, 1))
F.adaptive_avg_pool2d(plane, (2, 1, 1)); F.adaptive_avg_pool3d(cube, (2, 1))
F.adaptive_max_pool2d(plane, (2, 1, 1)); F.adaptive_max_pool3d(cube, (2, 1))
F.adaptive_avg_pool2d(torch.ones(3, 5), 1); F.adaptive_avg_pool2d(torch.ones(5), 1)
F.conv1d(line, torch.ones(2, 2, 3), stride=(1, 2)); F.conv1d(line, torch.ones(2, 2, 3), padding=())
F.conv2d(plane, kernel, stride=(1, 2, 2)); F.conv2d(plane, kernel, dilation=(1, 2, 2))
F.conv2d(plane, kernel, padding=(-1, 1, 1)); F.conv2d(plane[0], kernel, stride=())
F.conv3d(cube, torch.ones(2, 2, 3, 3, 3), stride=(1, 2))
F.conv_transpose2d(plane, kernel, output_padding=(0, 0, 0))
torch.convolution(plane, kernel, None, (1, 1, 1), (0, 0), (1, 1), False, (0, 0), 1)
"""
METHODS = """
x.requires_grad_(0.5); x.requires_grad_(1); x.requires_grad_(None); x.float(1); x.int(1, 2)
x.float(memory_format=3); x.float(y=3); x.cpu(1)
plane.half(memory_format=torch.channels_last).stride()
plane.cpu(memory_format=torch.channels_last).stride(); plane.size(True); x.is_pinned("cpu")
torch.adjoint(torch.tensor(2.0)); torch.tensor(2j).mH; torch.tensor(2.0).mT; torch.tensor(2j).H
torch.tensor(2.0).T; torch.ones(2).adjoint(); torch.ones(2).mT; torch.empty(2, device=0)
torch.ones(2).to(0); torch.device(0); nn.Linear(1, 1).to(0); x.norm(1j)
torch.linalg.vector_norm(x, 1j)
torch.bitwise_not(torch.ones(0)); torch.bitwise_and(torch.ones(0), torch.ones(0)); torch.ones(0) & 1
torch.lcm(torch.ones(0), torch.ones(0)); torch.gcd(torch.ones(0), torch.ones(0))
torch.ones(0).bitwise_or_(1); torch.tensordot(torch.ones(2, 2), torch.ones(2, 2).long())
F.cosine_similarity(torch.ones(2, 3), torch.ones(2, 3).long())
F.cosine_similarity(torch.ones(2, 3).half(), torch.ones(2, 3)).dtype
F.cosine_similarity(torch.ones(2, 3).long(), torch.ones(2, 3).long())
F.cross_entropy(torch.ones(2, 3), torch.tensor([0, 1]), label_smoothing=-1.0)
F.cross_entropy(torch.ones(2, 3), torch.ones(2, 3), label_smoothing=-1.0)
F.cross_entropy(torch.ones(2, 3), torch.tensor([0, 1]), label_smoothing=2.0)
F.dropout3d(torch.ones(2, 5), 0.5); F.dropout3d(torch.ones(2, 5, 3), 0.5)
F.dropout3d(torch.ones(5), 1.0)
"""


def _shown(torch, show, table):
    from importlib import import_module

    package = torch.__name__
    names = {
        "torch": torch, "nn": torch.nn, "F": import_module(f"{package}.nn.functional"),
        "x": torch.ones(3, requires_grad=True), "line": torch.ones(1, 2, 5),
        "plane": torch.ones(1, 2, 5, 5), "cube": torch.ones(1, 2, 5, 5, 5),
        "kernel": torch.ones(2, 2, 3, 3),
    }  # fmt: skip
    for expression in table.strip().replace("\n", "; ").split("; "):
        torch.manual_seed(0)
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            try:
                value = eval(expression, names)
            except Exception as error:
                value = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        texts = [str(w.message).split(" (Triggered")[0] for w in heard]
        show(expression, value, *texts)


def numbers_first(torch, show):
    _shown(torch, show, NUMBERS_FIRST)


def lengths(torch, show):
    _shown(torch, show, LENGTHS)


def methods(torch, show):
    _shown(torch, show, METHODS)
