"""What the libraries' own tests asked for: names, operators, decorators and classes to inherit."""

import importlib
import subprocess
import sys

import pytest

import rushlight as torch
from rushlight import nn

MENTIONED = (
    "_C:_are_functorch_transforms_active _C:_get_tracing_state _dynamo.testing:CompileCounter "
    "_prims_common:is_contiguous_or_false _utils_internal:get_file_path "
    "backends.cuda:SDPAParams distributed._composable.fsdp:FSDPModule "
    "distributed._tensor.experimental:implicit_replication distributed._tensor:DTensor "
    "distributed.constants:default_pg_timeout distributed:reduce_op hub:urlopen "
    "nn.utils._per_sample_grad:call_for_per_sample_grads serialization:MAP_LOCATION sparse:Tensor "
    "utils._sympy.numbers:IntInfinity utils.data.dataloader:_collate_fn_t"
)


@pytest.mark.parametrize("place", MENTIONED.split())
def test_it_can_be_mentioned(place):
    module, _, name = place.partition(":")
    assert hasattr(importlib.import_module(f"rushlight.{module}"), name)


def test_every_refused_module_has_a_reason():
    from rushlight import _absent

    for module in _absent._table():
        importlib.import_module(f"rushlight.{module.partition('.')[0]}")  # may state one
        assert _absent._reason(module), module
    with pytest.raises(NotImplementedError, match="vmap of torch"):
        torch.nn.utils._per_sample_grad.call_for_per_sample_grads(nn.Linear(1, 1))


def test_decorators_of_refused_packages_decorate():
    from rushlight.distributed.rpc import api, functions

    def work():
        return 1

    assert api._require_initialized(work) is work
    assert functions.async_execution(work) is work


def test_operators_that_pytorch_has_can_be_mentioned():
    aten = torch.ops.aten
    for overload in (aten._pin_memory.default, aten._sparse_addmm.default, aten.__and__.Tensor):
        assert str(overload).startswith("aten.")
    x = torch.tensor([1, 3])
    assert aten.__and__.Tensor(x, x - 1).tolist() == [0, 2]
    out = torch.empty(2)
    assert aten.add.out(torch.ones(2), torch.ones(2), out=out) is out and out.tolist() == [2, 2]
    assert {"Tensor", "out"} <= set(aten.add.overloads())
    assert not hasattr(aten, "nothing_of_this_name") and not hasattr(aten, "__path__")
    for call in (aten._sparse_addmm, aten._sparse_addmm.default):
        with pytest.raises(NotImplementedError, match="aten::_sparse_addmm is not supported"):
            call(x, x, x)


def test_a_distribution_can_be_a_module():
    class Prior(torch.distributions.Normal, nn.Module):
        def __init__(self, loc, scale):
            nn.Module.__init__(self)
            torch.distributions.Normal.__init__(self, loc, scale)

    prior = Prior(torch.zeros(2), torch.ones(2))
    assert prior.batch_shape == (2,) and prior.log_prob(torch.zeros(2)).shape == (2,)
    assert not list(prior.parameters())


def test_a_tensor_has_a_number_of_its_own():
    module = nn.Linear(2, 2)
    assert module.weight._cdata == next(module.parameters())._cdata
    assert module.weight._cdata != module.weight.detach()._cdata


def test_optimizers_group_their_tensors():
    from rushlight.utils._foreach_utils import _group_tensors_by_device_and_dtype as group

    a, b = torch.ones(2), torch.ones(1, dtype=torch.float64)
    cpu = torch.device("cpu")
    found = group([[a, b, a], [None, a, b], []], with_indices=True)
    assert list(found) == [(cpu, torch.float64), (cpu, torch.float32)]
    lists, places = found[cpu, torch.float32]
    assert [[x if x is None else x.dtype for x in part] for part in lists] == [
        [torch.float32] * 2, [None, torch.float64], []
    ]  # fmt: skip
    assert places == [0, 2] and group([[a]])[cpu, torch.float32] == ([[a]], [])
    for lists, message in (
        ([[a, None]], "the 1-th Tensor is not"), ([[a], [a.long()]], "must be on the same device"),
        ([[a.half()], [a.half(), a]], "Expected"), ([], "Expected"), ([[]], "Expected"),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=message):
            group(lists)


def test_an_optimizer_is_fused_where_it_is_asked_for():
    from rushlight.optim import optimizer

    def chosen(tensor, **options):
        return optimizer._default_to_fused_or_foreach([tensor], False, **options)

    assert chosen(torch.ones(1), use_fused=True) == (True, False)
    assert chosen(torch.ones(1)) == chosen(torch.ones(1).long(), use_fused=True) == (False, False)
    assert optimizer._get_capturable_supported_devices(supports_xla=False) == [
        "cuda", "xpu", "hpu", "privateuseone"
    ]  # fmt: skip


@pytest.mark.parametrize("args, answer", [
    (("cpu",), "Expected a non cpu device, but got: cpu"), ((torch.device("cuda:1"),), 1),
    ((3,), 3), ((None, True), None), (("cuda", True), None), (("cpu", False, True), -1),
    ((None,), "Expected a torch.device with a specified index or an integer, but got:None"),
    (("cuda",), "Expected a torch.device with a specified index or an integer, but got:cuda"),
])  # fmt: skip
def test_numbers_of_devices(args, answer):
    from rushlight._utils import _get_device_index

    if isinstance(answer, str):
        with pytest.raises(ValueError, match=answer):
            _get_device_index(*args)
    else:
        assert _get_device_index(*args) == answer


def test_transforms_that_run_are_known():
    seen = []

    def work(x):
        seen.append(torch._C._are_functorch_transforms_active())
        return x.sum()

    x = torch.ones(2)
    for transform in (torch.func.grad, torch.func.vmap, lambda f: lambda x: torch.func.vjp(f, x)):
        transform(work)(x)
        work(x)
    torch.func.jvp(work, (x,), (x,))
    assert seen == [True, False] * 3 + [True]


def test_results_in_the_class_of_a_tensor():
    from rushlight._tensor import _convert

    class Marked(torch.Tensor):
        pass

    made = _convert([torch.ones(1), (torch.ones(1), 2)], Marked)
    assert type(made[0]) is type(made[1][0]) is Marked and made[1][1] == 2
    assert _convert(made, torch.Tensor) is made
    largest = _convert(torch.ones(2).max(0), Marked)
    assert type(largest) is torch.return_types.max and type(largest.indices) is Marked


def test_a_profiler_that_runs_is_known():
    assert not torch.autograd._profiler_enabled()
    with torch.autograd.profiler.profile():
        assert torch.autograd._profiler_enabled()
    action = torch.profiler.ProfilerAction.RECORD
    assert torch.profiler.profiler._default_schedule_fn(3) is action


def test_values_to_come_have_types():
    assert torch.futures.Future[int].__args__ == (int,)


NAMED = """
from rushlight._alias import install
install()
import torch, pickle
from torch import hub
from torch.nn import functional
assert torch.__name__ == "torch" and torch.Tensor is not None and torch.quasirandom is not None
print(torch.ones(2))
"""


def test_the_alias_has_its_own_name():
    command = [sys.executable, "-P", "-c", NAMED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "tensor([1., 1.])\n", done.stderr
