"""torch.profiler: names, nesting, keys, tables, schedules and ranges, as PyTorch's."""

import threading

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    tensorboard_trace_handler,
)


def train_step(model, opt):
    x = torch.ones(4, 10)
    with record_function("forward"):
        loss = nn.functional.cross_entropy(model(x), torch.tensor([1, 2, 3, 4]))
    loss.backward()
    opt.step()
    opt.zero_grad()


@pytest.fixture(scope="module")
def trained():
    model = nn.Sequential(nn.Linear(10, 20), nn.ReLU(), nn.Linear(20, 5))
    opt = torch.optim.Adam(model.parameters())
    train_step(model, opt)
    with profile(
        activities=[ProfilerActivity.CPU],
        record_shapes=True,
        profile_memory=True,
        with_flops=True,
        with_stack=True,
    ) as p:
        train_step(model, opt)
    return p


def test_names_and_parents_are_pytorchs(trained):
    parents = {}
    for e in trained.events():
        parents.setdefault(e.name, set()).add(e.cpu_parent and e.cpu_parent.name)
    assert parents["aten::addmm"] == {"aten::linear"}
    assert parents["forward"] == {None}
    assert parents["aten::cross_entropy_loss"] == {"forward"}
    assert parents["ReluBackward0"] == {"autograd::engine::evaluate_function: ReluBackward0"}
    assert parents["aten::threshold_backward"] == {"ReluBackward0"}
    accumulate = "torch::autograd::AccumulateGrad"
    assert parents[accumulate] == {f"autograd::engine::evaluate_function: {accumulate}"}
    assert parents["Optimizer.step#Adam.step"] == {None}
    assert parents["Optimizer.zero_grad#Adam.zero_grad"] == {None}
    assert parents["nn.Module: Linear_1"] == {"nn.Module: Sequential_0"}


def test_shapes_flops_and_sequence_numbers(trained):
    linear = [e for e in trained.events() if e.name == "aten::addmm"]
    assert linear[0].input_shapes == [[20], [4, 10], [10, 20], [], []]
    assert [e.flops for e in linear] == [1600, 800]
    relu = next(e for e in trained.events() if e.name == "aten::relu")
    node = next(e for e in trained.events() if e.name == "ReluBackward0")
    assert relu.sequence_nr == node.sequence_nr >= 0 and node.fwd_thread == relu.thread
    assert node.place == relu.place, "a node stands at the line of its forward op"


def test_shapes_of_lists_and_of_tensors_left_out():
    x = torch.ones(3)
    with profile(record_shapes=True) as p:
        torch.stack([x, x])
        nn.functional.cross_entropy(torch.ones(2, 5), torch.tensor([1, 2]))
        torch.rand(2) + torch.arange(2).to(torch.float64)
        x[torch.tensor([1])]
    shapes = {e.name: e.input_shapes for e in p.events()}
    whole = {e.name: e.structured_input_shapes for e in p.events()}
    assert shapes["aten::stack"] == [[], []] and whole["aten::stack"] == [[[3], [3]], []]
    assert shapes["aten::index"] == [[3], []] and whole["aten::index"] == [[3], [[1]]]
    counts = {name: len(shapes[f"aten::{name}"]) for name in ("ones", "rand", "to")}
    assert counts == {"ones": 5, "rand": 5, "to": 5}, "of PyTorch's parameters"
    assert shapes["aten::cross_entropy_loss"] == [[2, 5], [2], [], [], [], []]


def test_memory_is_what_stays(trained):
    events = trained.events()
    relu = next(e for e in events if e.name == "aten::relu")
    assert relu.cpu_memory_usage == relu.self_cpu_memory_usage == 4 * 4 * 20
    zero = next(e for e in events if e.name.startswith("Optimizer.zero_grad"))
    assert zero.cpu_memory_usage == -4 * (10 * 20 + 20 + 20 * 5 + 5)
    assert any(e.name == "[memory]" for e in events)


def test_children_take_no_more_than_their_parent(trained):
    for e in trained.events():
        assert e.self_cpu_time_total > -0.01
        assert sum(c.cpu_time_total for c in e.cpu_children) <= e.cpu_time_total + 0.01
    top = sum(e.cpu_time_total for e in trained.events() if e.cpu_parent is None)
    assert trained.events().self_cpu_time_total == pytest.approx(top)


def test_averages_have_the_keys_that_scripts_read(trained):
    averages = {a.key: a for a in trained.key_averages()}
    a = averages["aten::addmm"]
    assert a.count == 2 and a.flops == 2400 and a.input_shapes == "" and a.stack == []
    assert a.cpu_time == a.cpu_time_total / 2 and a.self_cpu_time_total <= a.cpu_time_total
    for name in "cuda_time_total self_cuda_time_total device_time_total cuda_memory_usage".split():
        assert getattr(a, name) == 0
    apart = trained.key_averages(group_by_input_shape=True)
    assert [x.count for x in apart if x.key == "aten::addmm"] == [1, 1]
    by_line = trained.key_averages(group_by_stack_n=1)
    line = next(x for x in by_line if x.key == "aten::cross_entropy_loss").stack
    assert len(line) == 1 and line[0].endswith("): train_step")
    assert "test_profiler.py(" in line[0]
    total = trained.key_averages().total_average()
    assert total.key == "Total" and total.count == len(trained.events())


def test_table_has_pytorchs_columns_and_layout(trained):
    text = trained.key_averages().table(sort_by="self_cpu_time_total", row_limit=3)
    lines = text.split("\n")
    titles = "Name|Self CPU %|Self CPU|CPU total %|CPU total|CPU time avg"
    titles += "|CPU Mem|Self CPU Mem|# of Calls|Total KFLOPs"
    expected = titles.split("|")
    assert [t.strip() for t in lines[1].split("  ") if t.strip()] == expected
    assert set(lines[0]) == {"-", " "} and lines[0] == lines[2] == lines[6]
    assert lines[7].startswith("Self CPU time total: ") and lines[8] == "" and len(lines) == 9
    shares = [float(line.split("%")[0].split()[-1]) for line in lines[3:6]]
    assert shares == sorted(shares, reverse=True)
    by_cuda = trained.key_averages().table(sort_by="cuda_time_total", row_limit=1)
    assert by_cuda.count("\n") == 6
    with pytest.raises(AttributeError, match="object has no attribute 'foo'"):
        trained.key_averages().table(sort_by="foo")


def test_small_table_to_the_letter():
    with profile(profile_memory=True) as p:
        torch.ones(3) @ torch.ones(3)
    text = p.key_averages().table(header="HELLO", top_level_events_only=True)
    lines = text.split("\n")
    assert lines[0] == lines[2] == "=" * 128
    assert lines[1] == "HELLO" and lines[3] == "This report only display top-level ops statistics"
    assert lines[4] == "----------------  " + "------------  " * 8
    assert lines[5] == (
        "            Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg"
        "       CPU Mem  Self CPU Mem    # of Calls  "
    )
    assert [line.split()[0] for line in lines[7:10]] == ["aten::ones", "aten::matmul", "[memory]"]
    assert lines[9].split()[-5:] == ["-28", "B", "-28", "B", "3"]
    with profile() as p:
        pass
    assert p.key_averages().table() == ""


def test_in_place_ops_have_their_name_with_and_without_shapes():
    for shapes in (False, True):
        a = torch.ones(3)
        with profile(record_shapes=shapes) as p:
            a.add_(1)
            a += 1
            torch.add(a, 1)
        assert [e.name for e in p.events()] == ["aten::add_", "aten::add_", "aten::add"]


def test_ranges_nest_decorate_and_survive_exceptions():
    @record_function("twice")
    def double(x):
        return x * 2

    with profile() as p:
        with record_function("outer"), record_function("inner", "args"):
            double(torch.ones(1))
        with pytest.raises(ValueError), record_function("raises"):
            raise ValueError
        torch.ones(1)
    names = {e.name: e.cpu_parent and e.cpu_parent.name for e in p.events()}
    assert names["inner"] == "outer" and names["twice"] == "inner"
    assert names["aten::mul"] == "twice" and names["raises"] is None
    assert p.events()[-1].cpu_parent is None
    assert double(torch.ones(1)).item() == 2
    assert double.__name__ == "double"


def test_schedule():
    actions = schedule(wait=1, warmup=1, active=2, repeat=1, skip_first=1)
    assert [actions(i).name for i in range(7)] == [
        "NONE", "NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE", "NONE", "NONE",
    ]  # fmt: skip
    with pytest.raises(AssertionError, match=r"Invalid profiler schedule arguments\. Got wait=-1"):
        schedule(wait=-1, warmup=1, active=0)
    ready = []
    with profile(
        schedule=schedule(wait=1, warmup=1, active=2, repeat=2),
        on_trace_ready=lambda q: ready.append((q.step_num, [e.name for e in q.events()])),
    ) as p:
        for _ in range(10):
            torch.ones(3).sum()
            p.step()
    step = ["ProfilerStep*", "aten::ones", "aten::sum"]
    assert ready == [(4, step * 2), (8, step * 2)]
    assert next(e.trace_name for e in p.events()) == "ProfilerStep#6"
    assert p.schedule(0) is ProfilerAction.NONE


def test_acc_events_keeps_earlier_cycles():
    with profile(schedule=schedule(wait=0, warmup=1, active=1), acc_events=True) as p:
        for _ in range(4):
            torch.ones(3)
            p.step()
    assert [e.name for e in p.events()].count("aten::ones") == 2


def test_threads_have_rows_of_their_own():
    together = threading.Barrier(2)

    def work(alone=False):
        (torch.ones(3, requires_grad=True) * 2).sum().backward()
        if not alone:
            together.wait()  # or the second gets the first one's number

    with profile() as p:
        threads = [threading.Thread(target=work) for _ in range(2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        work(alone=True)
    assert len({e.thread for e in p.events()}) == 3
    for e in p.events():
        assert e.cpu_parent is None or e.cpu_parent.thread == e.thread


def test_errors_before_a_start():
    p = profile()
    for call, what in (
        (p.key_averages, "getting key averages"),
        (p.events, "accessing events"),
        (lambda: p.export_chrome_trace("x"), "exporting chrome trace"),
        (lambda: p.export_stacks("x"), "exporting stacks"),
    ):
        with pytest.raises(AssertionError, match=f"Profiler must be initialized before {what}"):
            call()
    with pytest.raises(AssertionError, match="No valid profiler activities found"):
        profile(activities=[])


PUBLIC = {
    "profiler": "DeviceType ExecutionTraceObserver ProfilerAction ProfilerActivity RecordScope itt "
    "kineto_available profile record_function schedule supported_activities _KinetoProfile "
    "tensorboard_trace_handler",
    "autograd.profiler": "DeviceType EventList FunctionEvent KinetoStepTracker MEMORY_EVENT_NAME "
    "OUT_OF_MEMORY_EVENT_NAME ProfilerActivity ProfilerState emit_itt emit_nvtx kineto_available "
    "load_nvprof parse_nvprof_trace profile record_function",
    "autograd.profiler_util": "DeviceType EventList FormattedTimesMixin FunctionEvent "
    "FunctionEventAvg Interval Kernel MEMORY_EVENT_NAME OUT_OF_MEMORY_EVENT_NAME",
}
OF_EVENTS = """activity_type append_cpu_child append_kernel concrete_inputs count cpu_children
cpu_memory_usage cpu_parent cpu_time cpu_time_str cpu_time_total cpu_time_total_str cuda_time
cuda_time_total device_index device_memory_usage device_resource_id device_time device_time_str
device_time_total device_time_total_str device_type event_metadata external_id flops flow_id
flow_start flow_type fwd_thread id input_dtypes input_shapes is_async is_legacy is_python_function
is_remote is_user_annotation kernels key kwinputs linked_correlation_id metadata_json name node_id
overload_name python_id python_module_id python_parent_id scope self_cpu_memory_usage
self_cpu_percent self_cpu_time_total self_cpu_time_total_str self_cuda_memory_usage
self_cuda_time_total self_device_memory_usage self_device_time_total self_device_time_total_str
sequence_nr set_cpu_parent stack structured_input_shapes structured_input_strides thread time_range
total_cpu_percent total_device_percent trace_name use_device"""
OF_PROFILES = """add_metadata add_metadata_json events export_chrome_trace export_memory_timeline
export_stacks get_trace_id key_averages prepare_trace preset_metadata_json start start_trace step
stop stop_trace toggle_collection_dynamic set_custom_trace_id_callback activities record_shapes
with_flops profile_memory with_stack with_modules schedule on_trace_ready step_num current_action
profiler use_device has_cudagraphs mem_tl experimental_config execution_trace_observer"""


def test_pytorchs_names_are_there(trained):
    for place, names in PUBLIC.items():
        module = torch
        for part in place.split("."):
            module = getattr(module, part)
        assert [n for n in names.split() if not hasattr(module, n)] == []
    event = trained.events()[0]
    assert [n for n in OF_EVENTS.split() if not hasattr(event, n)] == []
    assert [n for n in OF_PROFILES.split() if not hasattr(trained, n)] == []
    assert event.device_type is torch.profiler.DeviceType.CPU and not hasattr(event, "nothing")
    assert isinstance(trained, torch.profiler._KinetoProfile)
    made = torch.autograd.profiler.FunctionEvent(1, "n", 2, 3.0, 5.0, flow_id=4, scope=7)
    assert (made.cpu_time_total, made.flow_id, made.scope, made.thread) == (2.0, 4, 7, 2)
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        torch.autograd.profiler.FunctionEvent(1, "n", 2, 3.0, 5.0, colour=1)
    with pytest.raises(NotImplementedError):
        torch.profiler.ExecutionTraceObserver().register_callback("x")


def test_traces_have_names():
    with profile(custom_trace_id_callback=lambda: "mine") as p:
        pass
    assert p.get_trace_id() == "mine"
    p = profile()
    assert p.get_trace_id() is None
    p.start(), p.stop()
    assert len(p.get_trace_id()) == 32


def test_a_recording_inside_of_another_and_a_base_without_steps():
    outer, inner = torch.profiler._KinetoProfile(), profile(record_shapes=True)
    outer.start()
    torch.ones(2)
    with inner:
        torch.zeros(2) + 1
        with pytest.raises(RuntimeError), record_function("fails"):
            torch.ones(2) @ torch.ones(3)
    outer.stop()
    assert [e.name for e in inner.events() if e.cpu_parent is None] == [
        "aten::zeros", "aten::add", "fails",
    ]  # fmt: skip
    assert [e.name for e in outer.events()][1:] == [e.name for e in inner.events()]
    (matmul,) = [e for e in inner.events() if e.name == "aten::matmul"]
    assert matmul.failed and matmul.cpu_parent.name == "fails"


class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, i):
        return torch.ones(2) * i


def test_forked_workers_leave_the_recording_alone():
    with profile(profile_memory=True, with_modules=True) as p:
        loader = torch.utils.data.DataLoader(Squares(), batch_size=2, num_workers=2)
        total = sum(batch.sum().item() for batch in loader)
    assert total == 30
    names = [e.name for e in p.events()]
    assert names.count("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__") == 4
    assert "aten::mul" not in names, "what ran in the workers is theirs"
    assert names.count("aten::item") >= 3


def test_the_older_interface():
    with torch.autograd.profiler.profile(record_shapes=True) as p:
        with torch.autograd.profiler.record_function("r"):
            torch.ones(2) * 2
        assert str(p) == "<unfinished torch.autograd.profile>"
    assert "aten::mul" in str(p) and "Input Shapes" in p.table()
    assert p.self_cpu_time_total > 0 and p.total_average().key == "Total"
    with pytest.raises(RuntimeError, match="not reentrant"):
        p.__enter__()
    with torch.autograd.profiler.profile(enabled=False) as p:
        torch.ones(1)
    for emit in (torch.autograd.profiler.emit_nvtx, torch.autograd.profiler.emit_itt):
        with emit(enabled=False), emit():
            torch.ones(1)


def test_a_loader_shows_its_batches():
    loader = torch.utils.data.DataLoader(list(range(4)), batch_size=2)
    with profile() as p:
        list(loader)
    names = [e.name for e in p.events()]
    assert names.count("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__") == 3


def test_tensorboard_folder(tmp_path):
    with profile(on_trace_ready=tensorboard_trace_handler(tmp_path, "w", use_gzip=True)):
        torch.ones(1)
    (file,) = tmp_path.iterdir()
    assert file.name.startswith("w.") and file.name.endswith(".pt.trace.json.gz")
