"""The event stream, as a recording holds it: order, nesting, exceptions, threads, memory."""

import os
import subprocess
import sys
import threading
import time

import pytest

import rushlight as torch
from rushlight import _C, nn

OP, NODE, MODULE, RANGE = range(4)
FIELDS = (
    "kind name module thread modes parent begin end origin sequence allocated released flops moved "
    "failed open first inputs results in_place"
).split()


class Run:
    """Records a block; then its events by field, and the tensors of each."""

    def __init__(self, **parts):
        self.recorder = _C.Recorder(**parts)

    def __enter__(self):
        self.recorder.start()
        return self

    def __exit__(self, *_):
        self.recorder.stop()
        self.events = [dict(zip(FIELDS, e, strict=True)) for e in self.recorder.events()]
        self.tensors = self.recorder.tensors()

    def names(self, kind):
        return [e["name"] for e in self.events if e["kind"] == kind]


def check_nesting(events):
    for i, e in enumerate(events):
        assert not e["open"] and e["begin"] <= e["end"]
        if e["parent"] >= 0:
            outer = events[e["parent"]]
            assert e["parent"] < i and outer["thread"] == e["thread"]
            assert outer["begin"] <= e["begin"] and e["end"] <= outer["end"]


def test_ops_modules_and_nodes_nest():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
    x = torch.ones(2, 3)
    with Run(nodes=True, modules=True) as run:
        run.recorder.enter("step")
        model(x).sum().backward()
        run.recorder.leave()
    check_nesting(run.events)
    assert run.names(RANGE) == ["step"] and run.events[0]["kind"] == RANGE
    modules = [e["module"] for e in run.events if e["kind"] == MODULE]
    assert modules == [model, model[0], model[1]]
    assert [n for n in run.names(NODE) if n != "AccumulateGrad"] == [
        "SumBackward0",
        "ReluBackward0",
        "AddmmBackward0",
    ]
    made = {e["sequence"]: e["name"] for e in run.events if e["kind"] == OP and e["sequence"] >= 0}
    ran = {e["sequence"]: e["name"] for e in run.events if e["kind"] == NODE}
    for sequence, node in ran.items():
        if sequence >= 0:
            assert made[sequence].replace("_linear_", "") == node.removesuffix("Backward0").lower()


def test_an_op_that_raises_ends():
    with Run(modules=True) as run:
        for call in (
            lambda: torch.ones(2) + torch.ones(3),
            lambda: torch.ones(2).add_(torch.ones(3)),
            lambda: torch.add(torch.ones(2), torch.ones(3), out=torch.ones(2)),
            lambda: nn.Linear(2, 2)(torch.ones(3)),
        ):
            with pytest.raises(RuntimeError):
                call()
        torch.ones(1)
    check_nesting(run.events)
    assert [e["name"] for e in run.events if e["failed"] and e["kind"] == OP][:3] == ["add"] * 3
    assert [e["failed"] for e in run.events if e["kind"] == MODULE] == [True]
    assert run.events[-1]["parent"] == -1


def test_a_node_whose_hook_raises_ends():
    x = torch.ones(2, requires_grad=True)
    y = x * 2

    def refuse(grad):
        raise ValueError("no")

    y.register_hook(refuse)
    with Run(nodes=True) as run:
        with pytest.raises(ValueError, match="no"):
            y.sum().backward()
        torch.ones(1)
    check_nesting(run.events)
    assert run.events[-1]["parent"] == -1


def test_tensors_are_inputs_then_results():
    a, b = torch.ones(2, 3), torch.ones(3, 4, dtype=torch.float32)
    with Run(tensors=True) as run:
        c = a @ b
        c.t().add_(1)
    product = next(e for e in run.events if e["parent"] == -1 and e["inputs"] == 2)
    seen = run.tensors[product["first"] :][: product["inputs"] + product["results"]]
    assert [t[1] for t in seen] == [(2, 3), (3, 4), (2, 4)]
    assert seen[2][0] is torch.float32 and seen[2][2] == (4, 1) and seen[2][7] == 32
    change = run.events[-1]
    before, after = run.tensors[change["first"]], run.tensors[change["first"] + change["inputs"]]
    assert before[3] == after[3] and before[8] + 1 == after[8]
    assert before[4] == seen[2][4], "a view stands on its base's storage"


def test_memory_sums_to_the_allocators_figure():
    with Run(memory=True) as run:
        kept = [torch.zeros(n) for n in range(1, 50)]
        del kept[10:]
    moved = [m[2] for m in run.recorder.memory()]
    assert sum(moved) == sum(t.nbytes for t in kept)
    outermost = [e["allocated"] for e in run.events if e["parent"] == -1]
    assert sum(outermost) == sum(m for m in moved if m > 0)


def test_all_readings_have_one_scale():
    with Run(memory=True) as run:
        torch.ones(1)
    before = [(e["begin"], e["end"]) for e in run.events], run.recorder.memory()
    time.sleep(0.05)
    after = [e[6:8] for e in run.recorder.events()], run.recorder.memory()
    assert before == after


def test_each_thread_nests_by_itself():
    together = threading.Barrier(4)

    def work():
        together.wait()
        for _ in range(50):
            (torch.ones(3, requires_grad=True) * 2).sum().backward()
        together.wait()

    with Run(nodes=True, tensors=True, memory=True) as run:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    check_nesting(run.events)
    assert len({e["thread"] for e in run.events}) == 4
    assert run.names(OP).count("mul") >= 200


def test_a_recording_goes_on_and_forgets():
    recorder = _C.Recorder()
    torch.ones(1)
    assert recorder.count == 0 and not recorder.running
    recorder.start()
    recorder.start()
    torch.ones(1)
    recorder.stop()
    torch.ones(1)
    assert recorder.count == 1
    recorder.start()
    torch.ones(1)
    recorder.stop()
    assert recorder.count == 2
    recorder.clear()
    assert recorder.events() == [] and recorder.count == 0


def test_a_range_left_open_is_marked():
    recorder = _C.Recorder()
    recorder.start()
    recorder.leave()
    recorder.enter("outer")
    recorder.stop()
    (event,) = recorder.events()
    assert event[1] == "outer" and event[15] is True


def test_a_child_process_records_for_itself():
    with Run() as run:
        torch.ones(1)
        pid = os.fork()
        if pid == 0:
            (torch.ones(3) * 2).sum()
            os._exit(0 if run.recorder.count == 4 else 1)
        assert os.waitpid(pid, 0)[1] == 0
    assert run.names(OP) == ["ones"]


FORKS_AT_ONCE = """
import ctypes
import rushlight as torch
from rushlight import _C

c = ctypes.CDLL(None)
for _ in range(100):
    threads = [ctypes.c_ulong(), ctypes.c_ulong()]
    for thread in threads:
        c.pthread_create(ctypes.byref(thread), None, c.fork, None)
    for thread in threads:
        c.pthread_join(thread, None)
recorder = _C.Recorder()
recorder.start()
torch.ones(1)
recorder.stop()
print(recorder.count)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads of the C library")
def test_threads_that_fork_at_once_leave_the_stream_free():
    done = subprocess.run(
        [sys.executable, "-P", "-c", FORKS_AT_ONCE], stdout=subprocess.PIPE, text=True, timeout=60
    )
    assert done.stdout.strip().endswith("1")


def test_a_recording_dropped_while_it_runs_is_unsubscribed():
    recorder = _C.Recorder(tensors=True, memory=True, nodes=True, modules=True)
    recorder.start()
    del recorder
    nn.Linear(2, 2)(torch.ones(2)).sum().backward()


def test_a_full_recording_leaves_out_the_rest():
    recorder = _C.Recorder(tensors=True, memory=True, nodes=True, modules=True, limit=4)
    recorder.start()
    model = nn.Linear(2, 2)
    for _ in range(3):
        model(torch.ones(1, 2)).sum().backward()
    recorder.stop()
    assert recorder.full and recorder.count == 4
    assert all(not e[15] for e in recorder.events())
    recorder.clear()
    assert not recorder.full
    recorder.start()
    torch.ones(1)
    recorder.stop()
    assert recorder.count == 1 and not recorder.full
    with pytest.raises(ValueError, match="limit"):
        _C.Recorder(limit=-1)


def test_a_module_knows_the_line_that_called_it():
    model = nn.Sequential(nn.Linear(3, 4))
    x = torch.ones(2, 3)
    with Run(modules=True) as run:
        torch.ones(1)
        model(x)
    _, outer, inner, *_ = run.events
    line = test_a_module_knows_the_line_that_called_it.__code__.co_firstlineno + 5
    assert [e["kind"] for e in (outer, inner)] == [MODULE, MODULE]
    assert [_C._place(e["origin"])[2] for e in (outer, inner)] == [line, line]


def test_what_follows_a_python_backward_is_the_calls_own():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = torch.ones(3, requires_grad=True)
    y = Double.apply(x.exp()).sum()
    y.register_hook(lambda g: g * 1)
    with Run(nodes=True) as run:
        y.backward()
    first = test_what_follows_a_python_backward_is_the_calls_own.__code__.co_firstlineno
    names = [run.events[e["parent"]]["name"] for e in run.events]
    inner = [e for e, name in zip(run.events, names, strict=True) if name == "ExpBackward0"]
    assert {_C._place(e["origin"])[2] for e in inner if e["kind"] == OP} == {first + 14}
