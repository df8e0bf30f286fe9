"""Exported programs: PyTorch's nodes and signatures, the module's results, files, errors."""

import copy
import io
import json
import lzma
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import rushlight as torch
from rushlight.utils import _pytree as pytree

from . import models

ANSWERS = json.loads(
    lzma.decompress(
        (Path(__file__).parents[1] / "golden" / "export" / "export.json.xz").read_bytes()
    )
)
ROWS = {row[0]: row[1:] for row in models.rows(torch)}
Dim, export = torch.export.Dim, torch.export.export
# Where attention brings heads together: contiguous and view here, reshape in PyTorch; and x & y is
# bitwise_and here, __and__ in PyTorch.
OTHER_NODES = {"encoder eval", "multihead", "arithmetic"}
# PyTorch binds the length of an LSTM's sequence.
OTHER_RANGES = {"lstm dynamic"}


def exported(name):
    module, args, kwargs, shapes, _ = ROWS[name]
    return export(module, args, kwargs, dynamic_shapes=shapes)


def assert_same(found, expected):
    for a, b in zip(pytree.tree_leaves(found), pytree.tree_leaves(expected), strict=True):
        if isinstance(b, torch.Tensor):
            assert torch.equal(a.nan_to_num(), b.nan_to_num())
        else:
            assert a == b


@pytest.mark.parametrize("name", list(ROWS))
def test_nodes_and_signature(name):
    found, expected = models.described(exported(name)), ANSWERS[name]
    left_out = {"targets"} if name in OTHER_NODES else {"ranges"} if name in OTHER_RANGES else ()
    for part in found.keys() - set(left_out):
        assert found[part] == expected[part], part


@pytest.mark.parametrize("name", list(ROWS))
def test_results_before_and_after_a_file(name):
    module, _, kwargs, _, call = ROWS[name]
    program = exported(name)
    file = io.BytesIO()
    torch.export.save(program, file)
    loaded = torch.export.load(io.BytesIO(file.getvalue()))
    expected = copy.deepcopy(module)(*call, **kwargs)
    assert_same(loaded.module()(*call, **kwargs), expected)
    assert_same(copy.deepcopy(program).module()(*call, **kwargs), expected)
    assert loaded.graph_module.code == program.graph_module.code


def test_gradients_and_buffers():
    layer = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    program = export(layer, (torch.randn(5, 3),))
    assert layer[1].num_batches_tracked == 0
    module = program.module()
    assert dict(module.named_parameters())["0.weight"] is layer[0].weight
    module(torch.randn(5, 3)).square().sum().backward()
    assert layer[0].weight.grad is not None
    assert layer[1].num_batches_tracked == 1


def test_calls_that_do_not_fit():
    module = export(
        torch.nn.Linear(3, 3), (torch.randn(4, 3),), dynamic_shapes=({0: Dim("b", max=10)},)
    ).module()
    for call, error, text in (
        ((torch.randn(4, 4),), AssertionError, r"Guard failed: input.size\(\)\[1\] == 3"),
        ((torch.randn(40, 3),), AssertionError, r"Guard failed: input.size\(\)\[0\] <= 10"),
        ((), ValueError, "Trying to flatten user inputs with exported input tree spec"),
    ):
        with pytest.raises(error, match=text):
            module(*call)
    with pytest.raises(ValueError, match="Ran into a kwarg keyword mismatch"):
        module(input=torch.randn(4, 3))
    with pytest.raises(NotImplementedError, match="Calling train"):
        module.train()


class Called(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x, y=None):
        return self.function(x) if y is None else self.function(x, y)


@pytest.mark.parametrize(
    ("function", "shapes", "text"),
    [
        (lambda x: x + torch.ones(4, 3), ({0: Dim("B")},), "specialized it to be a constant (4)"),
        (lambda x: x + 1 if x.shape[0] > 3 else x, ({0: Dim("B")},), "B = Dim('B', min=4)"),
        (lambda x: sum(x * i for i in range(x.shape[0])), ({0: Dim("B")},), "B = 4"),
        (lambda x: x * 2, ({1: Dim("B"), 2: Dim("C")},), None),
        (lambda x: x * 2, {"z": {0: Dim("B")}}, "top-level keys must be the arg names ['x']"),
    ],
)
def test_sizes_that_are_bound(function, shapes, text):
    with pytest.raises((RuntimeError, IndexError)) as caught:
        export(Called(function), (torch.randn(4, 3),), dynamic_shapes=shapes)
    assert text is None or text in str(caught.value)


def test_sizes_bound_to_each_other():
    x = torch.randn(4, 3)
    module = Called(lambda x, y: x + y)
    with pytest.raises(RuntimeError, match=r"must always be equal.\nSuggested fixes:\n  b = a"):
        export(module, (x, x + 1), dynamic_shapes=({0: Dim("a")}, {0: Dim("b")}))
    program = export(module, (x, x + 1), dynamic_shapes=({0: Dim.AUTO}, {0: Dim.AUTO}))
    assert len(program.range_constraints) == 1
    with pytest.raises(AssertionError, match=r"Guard failed: y.size.*== x.size"):
        program.module()(torch.randn(5, 3), torch.randn(6, 3))


@pytest.mark.parametrize(
    "function",
    [lambda x: x + 1 if x.sum() > 0 else x, lambda x: x * float(x.sum()), lambda x: range(x.sum())],
)
def test_control_flow_by_data(function):
    with pytest.raises(RuntimeError, match="Could not guard on data-dependent expression"):
        export(Called(function), (torch.randn(4, 3),))


def test_item_is_recorded():
    x = torch.randn(3)
    module = export(Called(lambda x: x + x.sum().item()), (x,)).module()
    assert_same(module(x + 1), x + 1 + (x + 1).sum().item())


def test_no_grad_inside():
    def function(x):
        with torch.no_grad():
            y = x * 2
        return y + x

    x = torch.ones(3, requires_grad=True)
    module = export(Called(function), (torch.ones(3),)).module()
    module(x).sum().backward()
    assert torch.equal(x.grad, torch.ones(3))
    assert torch.is_grad_enabled()


def test_files_that_are_refused():
    file = io.BytesIO()
    torch.export.save(exported("mlp"), file)
    data = file.getvalue()
    for broken in (data[: len(data) // 2], b"", b"no archive"):
        with pytest.raises(RuntimeError):
            torch.export.load(io.BytesIO(broken))
    for old, new in (
        ("aten.relu.default", "os.system"),
        ("input.size()[0] == 4", "input.__class__ == 4"),
    ):
        changed = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(changed, "w") as target:
            for name in source.namelist():
                content = source.read(name)
                if name == "program.json":
                    assert old in content.decode()
                    content = content.decode().replace(old, new).encode()
                target.writestr(name, content)
        with pytest.raises(RuntimeError):
            torch.export.load(io.BytesIO(changed.getvalue()))


def test_an_exported_module_can_be_exported():
    again = export(export(torch.nn.Linear(2, 3), (torch.ones(4, 2),)).module(), (torch.ones(4, 2),))
    assert again.module()(torch.ones(4, 2)).shape == (4, 3)


def test_import_is_lazy():
    code = "import sys, rushlight; assert 'rushlight.export' not in sys.modules"
    subprocess.run([sys.executable, "-P", "-c", code], check=True)


def test_dims():
    assert repr(Dim("b", min=2) * 2 + 1) == "2*b + 1"
    assert [repr(d) for d in torch.export.dims("a", "b", max=3)] == [
        "Dim('a', min=0, max=3)", "Dim('b', min=0, max=3)",
    ]  # fmt: skip
    assert repr(Dim.AUTO) == "DimHint(AUTO)"
    with pytest.raises(AssertionError, match="inconsistent min=5, max=3"):
        Dim("b", min=5, max=3)
    x, y = torch.randn(8), torch.randn(7)
    b = Dim("b")
    program = export(Called(lambda x, y: x[1:] + y), (x, y), dynamic_shapes=({0: b + 1}, {0: b}))
    assert program.module()(torch.ones(5), torch.ones(4)).shape == (4,)
