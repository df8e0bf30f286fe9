"""Names of what is refused: they can be mentioned, and say what is missing when they are used."""

import abc
import copy
import importlib
import pickle

import pytest

import rushlight as torch
from rushlight import nn


@pytest.mark.parametrize(
    "place", ["distributed.tensor:DTensor", "package:PackageImporter",
              "ao.quantization:QConfig", "distributed.fsdp:FullyShardedDataParallel"]
)  # fmt: skip
def test_a_refused_class_can_be_mentioned(place):
    module, _, name = place.partition(":")
    kind = getattr(importlib.import_module(f"rushlight.{module}"), name)
    assert not isinstance(nn.Linear(1, 1), kind) and kind[int] is kind

    class Derived(kind):
        pass

    assert issubclass(Derived, kind)
    for made in (kind, Derived):
        with pytest.raises(NotImplementedError, match=rf"torch\.{module}\.{name} is not supported"):
            made(1)


@pytest.mark.parametrize("place", ["onnx:export", "distributed:all_reduce", "jit:load",
                                   "sparse:sampled_addmm"])  # fmt: skip
def test_a_refused_function_says_so(place):
    module, _, name = place.partition(":")
    function = getattr(importlib.import_module(f"rushlight.{module}"), name)
    with pytest.raises(NotImplementedError, match=rf"torch\.{module}\.{name} is not supported: "):
        function(1)


def test_what_pytorch_lacks_is_absent():
    for module in (torch.fx, torch.onnx, torch.distributed, torch.cuda, torch.jit, torch._C):
        assert not hasattr(module, "nothing_of_this_name")
    with pytest.raises(ImportError):
        importlib.import_module("rushlight.distributed.nothing_of_this_name")


REFUSED = (
    "distributed.checkpoint.api distributed.elastic.rendezvous.api nested package "
    "fx.experimental.unification.core ao.quantization.observer nn.quantized.modules "
    "quantization.observer onnx.verification nn.parallel.scatter_gather accelerator.memory "
    "mps.event xpu.streams cuda.nccl jit.frontend utils.benchmark.utils.timer "
    "backends.xnnpack _subclasses.fake_tensor"
)


@pytest.mark.parametrize("name", REFUSED.split())
def test_a_refused_module_can_be_imported(name):
    module = importlib.import_module(f"rushlight.{name}")
    assert not hasattr(module, "nothing_of_this_name") and f"rushlight.{name}" == module.__name__


def test_members_and_decorators_of_what_is_refused():
    from rushlight._subclasses.fake_tensor import is_fake
    from rushlight.distributed.distributed_c10d import is_initialized
    from rushlight.distributed.elastic.multiprocessing.errors import record
    from rushlight.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy
    from rushlight.jit._script import script

    assert record(len) is len and is_fake(torch.ones(1)) is False
    assert is_initialized() is False and script is torch.jit.script
    assert str(ShardingStrategy.FULL_SHARD) == "ShardingStrategy.FULL_SHARD"
    with pytest.raises(NotImplementedError, match="FullyShardedDataParallel is not supported"):
        FullyShardedDataParallel.state_dict_type(None)
    assert not hasattr(FullyShardedDataParallel, "__len__")

    class Both(torch.fx.Tracer, abc.ABC):
        pass

    with pytest.raises(NotImplementedError, match=r"torch\.quantize_per_tensor is not supported: "):
        torch.quantize_per_tensor(torch.ones(1), 0.1, 0, torch.qint8)
    with pytest.raises(RuntimeError, match=r"in favor of `torch\.linalg\.eigh`"):
        torch.symeig(torch.eye(2))


def test_scans():
    from rushlight._higher_order_ops.associative_scan import associative_scan
    from rushlight._higher_order_ops.scan import scan

    x = torch.arange(6.0).view(2, 3)
    assert torch.equal(associative_scan(torch.add, x, 1), x.cumsum(1))
    assert torch.equal(associative_scan(torch.add, x, 0, reverse=True)[0], x.sum(0))
    carry, sums = scan(lambda c, a: (c + a, c), torch.zeros(2), x, dim=1)
    assert carry.tolist() == [3, 12] and sums.tolist() == [[0, 0, 1], [0, 3, 7]]


def test_queries_answer_as_without_devices():
    assert not torch.distributed.is_available() and not torch.cuda.is_available()
    assert torch.cuda.device_count() == torch.xpu.device_count() == torch.mtia.device_count() == 0
    torch.cuda.manual_seed_all(1)
    torch.cuda.empty_cache()
    assert torch.cuda.memory.memory_allocated() == 0 and torch.cuda.random.manual_seed(2) is None
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        torch.cuda.current_device()
    with pytest.raises(RuntimeError, match="requires CUDA support"):
        torch.cuda.Stream()
    assert torch.accelerator.current_accelerator() is None
    assert torch.get_device_module() is torch.cpu
    with torch.cuda.stream(None), torch.cpu.stream(torch.cpu.current_stream()):
        pass
    first, last = torch.Event(), torch.Event()
    first.record()
    last.record(torch.Stream())
    assert first.elapsed_time(last) >= 0


def test_backends_remember_their_switches():
    backends = torch.backends
    before = torch.get_float32_matmul_precision()
    backends.cuda.matmul.allow_tf32 = True
    assert torch.get_float32_matmul_precision() == "high"
    torch.set_float32_matmul_precision(before)
    assert not backends.cuda.matmul.allow_tf32
    with pytest.raises(AttributeError, match="Unknown attribute nothing"):
        backends.cuda.matmul.nothing = 1
    with backends.cudnn.flags(enabled=False, benchmark=True):
        assert (backends.cudnn.enabled, backends.cudnn.benchmark) == (False, True)
    assert (backends.cudnn.enabled, backends.cudnn.benchmark) == (True, False)
    backends.cuda.enable_flash_sdp(False)
    assert not backends.cuda.flash_sdp_enabled() and backends.cuda.math_sdp_enabled()
    backends.cuda.enable_flash_sdp(True)


def test_a_compiled_module_is_the_module_behind_a_wrapper():
    model = nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.5))
    compiled = torch.compile(model, mode="reduce-overhead")
    assert type(compiled) is torch._dynamo.OptimizedModule and compiled._orig_mod is model
    assert list(compiled.state_dict()) == ["_orig_mod.0.weight", "_orig_mod.0.bias"]
    compiled.eval()
    assert not model.training and not compiled.training
    x = torch.ones(1, 2)
    assert torch.equal(compiled(x), model(x))
    compiled.note = 5
    assert model.note == 5
    again = copy.deepcopy(compiled)
    assert torch.equal(again(x), model(x)) and again._orig_mod is not model
    assert torch.equal(pickle.loads(pickle.dumps(compiled))(x), model(x))

    @torch.compile
    def double(x):
        "Twice."
        return 2 * x

    assert double(3) == 6 and double.__doc__ == "Twice."


def test_scripts_and_traces_are_what_they_were_given():
    model = nn.Linear(2, 2)
    assert torch.jit.script(model) is model and not isinstance(model, torch.jit.ScriptModule)
    assert torch.jit.trace(model, torch.ones(1, 2)) is model
    assert torch.jit.wait(torch.jit.fork(lambda a: a + 1, 2)) == 3
    assert torch.jit.isinstance([1], list[int]) and not torch.jit.isinstance(["a"], list[int])
    assert torch.jit.isinstance({"a": (1, 2.0)}, dict[str, tuple[int, float]])


def test_checks_raise_as_asked():
    torch._check(True)
    with pytest.raises(RuntimeError, match=r"^why$"):
        torch._check(False, lambda: "why")
    with pytest.raises(ValueError, match="Expected cond to be True"):
        torch._check_value(False)
    with pytest.raises(TypeError, match="cond must be a bool, but got a Tensor"):
        torch._check(torch.tensor(True))
    with pytest.raises(RuntimeError, match="Expected cond"):
        torch._check_tensor_all(torch.tensor([True, False]))
    assert (torch.sym_max(1, 2.0), torch.sym_int(-2.5), torch.sym_not(True)) == (2.0, -2, False)


def test_grouped_products_are_products_of_parts():
    F = nn.functional
    a, b = torch.randn(6, 4), torch.randn(2, 4, 3)
    offs = torch.tensor([2, 6], dtype=torch.int32)
    expected = torch.cat([a[:2] @ b[0], a[2:] @ b[1]])
    torch.testing.assert_close(F.grouped_mm(a, b, offs=offs), expected)
    c = torch.randn(6, 5)
    parts = torch.stack([a[:2].T @ c[:2], a[2:].T @ c[2:]])
    torch.testing.assert_close(F.grouped_mm(a.T, c, offs=offs), parts)
    with pytest.raises(RuntimeError, match="Offsets have to be int32"):
        F.grouped_mm(a, b, offs=offs.long())


def test_flops_are_counted_by_module():
    from rushlight.utils.flop_counter import FlopCounterMode

    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    with FlopCounterMode(display=False) as counter:
        model(torch.randn(2, 8)).sum().backward()
    aten = torch.ops.aten
    assert counter.get_total_flops() == 1792
    assert counter.get_flop_counts()["Sequential.2"] == {aten.addmm: 256, aten.mm: 512}
    assert "Sequential.0" in counter.get_table(3)


def test_names_of_torch_come_from_the_module_that_the_table_says():
    for name, module in torch._HOME.items():
        assert hasattr(importlib.import_module(f"rushlight.{module}"), name), (name, module)


def test_symbols_are_plain_numbers():
    assert torch._C.SymInt is torch.SymInt and not isinstance(3, torch.SymInt)
    with pytest.raises(NotImplementedError, match=r"torch\.SymFloat is not supported"):
        torch.SymFloat(3)
    assert torch.sym_ite(True, 1, 2) == 1
    with pytest.raises(AssertionError, match="expected SymBool or bool, got <class 'int'>"):
        torch.sym_ite(1, 1, 2)
    with pytest.raises(AssertionError, match="type mismatch: <class 'int'> vs <class 'float'>"):
        torch.sym_ite(True, 1, 2.0)
