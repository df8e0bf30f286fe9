"""Modules of PyTorch that programs and libraries import by name."""

import importlib
import logging
import multiprocessing as stdlib
import pickle
import tempfile
from types import SimpleNamespace

import pytest

import rushlight as torch
from rushlight import nn

NAMES = {
    "autograd.profiler_legacy": "profile",
    "distributed.checkpoint.state_dict": "StateDictOptions get_model_state_dict DTensor",
    "masked.maskedtensor": "MaskedTensor",
    "masked.maskedtensor.core": "MaskedTensor",
    "multiprocessing.pool": "Pool",
    "multiprocessing.queue": "Queue SimpleQueue ConnectionWrapper",
    "profiler.python_tracer": "_prefix_regex",
    "signal.windows.windows": "hann kaiser",
    "utils.data.backward_compatibility": "worker_init_fn",
    "utils.debug_log": "debug_grad_log",
    "utils.file_baton": "FileBaton",
    "utils.module_tracker": "ModuleTracker",
    "utils.serialization.config": "save load",
    "utils.show_pickle": "main DumpUnpickler FakeObject",
}


@pytest.mark.parametrize("name", NAMES)
def test_it_can_be_imported(name):
    module = importlib.import_module(f"rushlight.{name}")
    assert all(hasattr(module, word) for word in NAMES[name].split())


def _double(t):
    return t * 2


def test_a_pool_passes_tensors():
    from rushlight.multiprocessing.pool import Pool

    with Pool(1, context=stdlib.get_context("fork")) as pool:
        made = pool.map(_double, [torch.ones(2), torch.arange(3.0)])
    assert made[1].tolist() == [0, 2, 4]


def test_a_queue_of_its_module_passes_tensors():
    from rushlight.multiprocessing.queue import Queue

    queue = Queue(ctx=stdlib.get_context("fork"))
    queue.put(torch.arange(3))
    assert queue.get(timeout=30).tolist() == [0, 1, 2]


def test_the_module_tracker_names_what_runs():
    from rushlight.utils.module_tracker import ModuleTracker

    model, seen = nn.Sequential(nn.Linear(2, 2), nn.ReLU()), []
    with ModuleTracker() as tracker:
        model[0].register_forward_pre_hook(lambda *_: seen.append(set(tracker.parents)))
        x = torch.ones(1, 2, requires_grad=True)
        x.register_hook(lambda g: seen.append((set(tracker.parents), tracker.is_bw)))
        model(x).sum().backward()
        assert tracker.parents == {"Global"}
        assert not tracker.is_bw
    assert seen[0] <= {"Global", "Sequential", "Sequential.0"}
    assert seen[1] == ({"Global", "Sequential", "Sequential.0"}, True)


def test_show_pickle_needs_no_class(capsys, tmp_path):
    from rushlight.utils import show_pickle

    path = tmp_path / "a"
    data = pickle.dumps({"d": complex(1, 2)}).replace(b"builtins", b"notthere")
    path.write_bytes(data)
    assert show_pickle.main(["show_pickle", str(path)]) is None
    assert capsys.readouterr().out == "{'d': notthere.complex(1.0, 2.0)}\n"
    torch.save({"w": torch.ones(2)}, tmp_path / "a.pt")
    show_pickle.main(["show_pickle", f"{tmp_path}/a.pt@*/data.pkl"])
    assert "_rebuild_tensor_v2(pers.obj(('storage', torch.FloatStorage" in capsys.readouterr().out
    assert show_pickle.main(["show_pickle"]) == 2


def test_a_file_baton_is_had_once(tmp_path):
    from rushlight.utils.file_baton import FileBaton

    first, second = FileBaton(str(tmp_path / "lock")), FileBaton(str(tmp_path / "lock"))
    assert first.try_acquire()
    assert not second.try_acquire()
    first.release()
    second.wait()
    assert second.try_acquire()


def test_norms_of_gradients_are_logged(caplog):
    from rushlight.utils.debug_log import debug_grad_log

    x, y = torch.ones(4, requires_grad=True), torch.ones(1)
    with caplog.at_level(logging.INFO):
        debug_grad_log(x, y)
        (x * 3).sum().backward()
    assert "t0_grad_norm=6.0000" in caplog.text


def test_settings_of_saving():
    from rushlight.utils.serialization import config

    assert torch.serialization.get_crc32_options() is True
    before = torch.serialization.get_default_mmap_options()
    with torch.serialization.set_default_mmap_options(1):
        assert config.load.mmap_flags == 1
    assert torch.serialization.get_default_mmap_options() == before
    with pytest.raises(ValueError, match=r"expected mmap\.MAP_PRIVATE or mmap\.MAP_SHARED"):
        torch.serialization.set_default_mmap_options(5)


def test_a_shared_map_writes_to_the_file(tmp_path):
    torch.save({"w": torch.ones(3)}, tmp_path / "w.pt")
    for flags, kept in ((2, 1.0), (1, 7.0)):
        with torch.serialization.set_default_mmap_options(flags):
            torch.load(tmp_path / "w.pt", mmap=True)["w"].fill_(7)
        assert torch.load(tmp_path / "w.pt")["w"].tolist() == [kept] * 3


def test_what_is_saved_to_an_open_file_can_be_read_by_its_name():
    with tempfile.NamedTemporaryFile() as file:
        torch.save({"w": torch.ones(3)}, file)
        assert torch.load(file.name)["w"].tolist() == [1, 1, 1]


def _trained(rate):
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    model(torch.rand(3, 2)).square().sum().backward()
    optimizer.step()
    return SimpleNamespace(model=model, optimizer=optimizer)


@pytest.mark.parametrize("flat", [False, True])
def test_states_with_names(flat):
    from rushlight.distributed.checkpoint import state_dict as states

    options = states.StateDictOptions(flatten_optimizer_state_dict=flat)
    a = _trained(0.1)
    b = SimpleNamespace(model=nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)))
    b.optimizer = torch.optim.Adam(b.model.parameters(), lr=0.3)
    of_model, of_optimizer = states.get_state_dict(a.model, a.optimizer, options=options)
    assert list(of_model) == list(a.model.state_dict())
    key = "state.0.weight.exp_avg" if flat else "state"
    assert key in of_optimizer
    made = states.set_state_dict(b.model, b.optimizer, model_state_dict=of_model,
                                 optim_state_dict=of_optimizer, options=options)
    assert not made.missing_keys
    assert b.optimizer.param_groups[0]["lr"] == 0.1
    assert torch.equal(b.model[0].weight, a.model[0].weight)
    mine, his = b.optimizer.state_dict()["state"], a.optimizer.state_dict()["state"]
    assert all(torch.equal(mine[i]["exp_avg"], his[i]["exp_avg"]) for i in his)


def test_states_of_a_part_and_of_what_is_not_frozen():
    from rushlight.distributed.checkpoint import state_dict as states

    model = _trained(0.1).model
    part = states.get_model_state_dict(model, submodules={model[0]})
    assert list(part) == ["0.weight", "0.bias"]
    model[0].weight.requires_grad_(False)
    options = states.StateDictOptions(ignore_frozen_params=True, keep_submodule_prefixes=False)
    assert list(states.get_model_state_dict(model, submodules={model[0]}, options=options)) == [
        "bias"
    ]
    loose = states.StateDictOptions(strict=False)
    assert states.set_model_state_dict(model, {"q": 1}, options=loose).unexpected_keys == ["q"]


def test_aten_has_the_ops_over_lists():
    xs = [torch.tensor([1.0, -1.0])]
    torch.ops.aten._foreach_maximum_(xs, 0.0)
    assert xs[0].tolist() == [1, 0]


def test_compile_refuses_what_it_does_not_know():
    def f(x):
        return x + 1

    with pytest.raises(torch._dynamo.exc.TorchDynamoException, match="Invalid backend: 'nope'"):
        torch.compile(f, backend="nope")
    with pytest.raises(RuntimeError, match="Unrecognized mode=nope, should be one of: default"):
        torch.compile(f, mode="nope")
    with pytest.raises(RuntimeError, match="Unrecognized mode"):
        torch.compile(mode="nope")(f)
    with pytest.raises(AssertionError, match="A callable function is expected, but <class 'int'>"):
        torch.compile(3)
    assert torch.compile(f, backend="eager", mode="nope")(1) == 2
    assert torch.compile(f, backend=lambda graph, inputs: graph)(1) == 2
    assert "inductor" in torch.compiler.list_backends()


def test_the_precision_of_products_is_seen_in_the_backends():
    before = torch.get_float32_matmul_precision()
    try:
        for precision, theirs, ours in (("high", "tf32", "tf32"), ("medium", "tf32", "bf16"),
                                        ("highest", "ieee", "ieee")):
            torch.set_float32_matmul_precision(precision)
            assert torch.backends.cuda.matmul.fp32_precision == theirs
            assert torch.backends.mkldnn.matmul.fp32_precision == ours
    finally:
        torch.set_float32_matmul_precision(before)


def test_subjects_of_an_accelerator_answer_as_it_does():
    from rushlight.xpu import memory, random

    assert memory.memory_allocated() == memory.max_memory_reserved() == 0
    assert memory.empty_cache() is None and memory.memory_stats(0) == {}
    with pytest.raises(AssertionError, match="Torch not compiled with XPU enabled"):
        random.get_rng_state()
    assert torch.xpu.get_arch_list() == torch.mtia.get_rng_state_all() == []
    assert torch.cuda.memory_stats_as_nested_dict(0) == torch.mtia.memory_stats() == {}
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        torch.cuda.graph_pool_handle()


def test_parameters_can_be_made_anew_where_a_module_is_converted():
    switch = torch.__future__.set_overwrite_module_params_on_conversion
    layer = nn.Linear(2, 2)
    layer(torch.ones(1, 2)).sum().backward()
    weight, grad = layer.weight, layer.weight.grad
    switch(True)
    try:
        layer.double()
    finally:
        switch(False)
    assert layer.weight is not weight and weight.dtype == grad.dtype == torch.float32
    assert layer.weight.dtype == layer.weight.grad.dtype == torch.float64
    weight = layer.weight
    assert layer.float().weight is weight
    torch.__future__.set_swap_module_params_on_conversion(False)
    with pytest.raises(NotImplementedError, match="set_overwrite_module_params_on_conversion"):
        torch.__future__.set_swap_module_params_on_conversion(True)


def test_everything_from_torch():
    names = {}
    exec("from rushlight import *", names)
    there = "save load einsum meshgrid tensordot autocast vmap FloatTensor ones Tensor float32"
    assert not [name for name in there.split() if name not in names]
    modules = "annotations random version storage functional autograd overrides nn explain _C"
    assert not [name for name in modules.split() if name in names]
    assert names["save"] is torch.save and set(torch.__all__) <= set(names)
