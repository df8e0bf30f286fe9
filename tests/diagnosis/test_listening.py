"""What checks read and hold of a running program: no more than they need."""

import rushlight as torch
from rushlight.diagnosis.doctor import loaders
from rushlight.diagnosis.doctor.checks import averages
from rushlight.diagnosis.source import Source
from rushlight.diagnosis.values import address_of

from .doctor import Report, run
from .doctored import doctored

LANGUAGE = """
import gc
import weakref

import rushlight as torch
from rushlight import nn

class Extra:
    pass

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(10, 4), nn.Linear(4, 10)

    def forward(self, ids, extra):
        return self.head(self.embed(ids))

model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
given = []

def step():
    ids, extra = torch.randint(0, 10, (4, 9)), Extra()
    given.append(weakref.ref(extra))
    scores = model(ids[:, :-1], extra)
    loss = nn.functional.cross_entropy(scores.reshape(-1, 10), ids[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

for _ in range(8):
    step()
gc.collect()
assert not any(ref() for ref in given[1:-1])  # those of the first and last pass may be tried again
"""


def test_arguments_are_let_go_after_a_step():
    report = doctored({"language": LANGUAGE}, fixes=False)["language"]
    assert report["status"] == 0, report["error"]
    assert report["findings"] == []


def test_subclasses_are_not_told_of_our_questions(tmp_path):
    """Neither of the questions about what they are nor, at the end, of what was found."""
    script = """
        import torch
        asked = []
        class Told(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                asked.append(func.__name__)
                return super().__torch_function__(func, types, args, kwargs or {})
        class Scale(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.ones(2).as_subclass(Told))
            def forward(self, x):
                return self.weight * x
        model = Scale()
        optimizer = torch.optim.Adam(model.parameters())
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.ones(2)).sum().backward()
            optimizer.step()
        print(asked)
        """
    watched = Report(tmp_path, script, "--no-trials")
    assert watched.status == 0
    assert watched.stdout == run(tmp_path, script).stdout


def test_a_program_may_go_to_the_limit_of_its_stack(tmp_path):
    """What the doctor cannot do there is not the program's error, nor a check's."""
    script = """
        import sys
        import torch
        layer = torch.nn.Linear(1, 1)
        x = torch.ones(1)
        def call(depth):
            return layer(x) if depth == 0 else call(depth - 1)
        deepest = 0
        def reach(depth):
            global deepest
            deepest = depth
            reach(depth + 1)
        try:
            reach(0)
        except RecursionError:
            pass
        for depth in range(deepest - 20, deepest - 6):
            call(depth)
        print("ok")
        """
    watched = Report(tmp_path, script, "--no-trials")
    assert (watched.status, watched.stdout) == (0, "ok\n")
    assert "failed" not in watched.stderr


def test_code_without_lines_is_watched(tmp_path):
    script = """
        import torch
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        x = torch.ones(4, 2)
        def step():
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
        step.__code__ = step.__code__.replace(co_linetable=b"")
        for _ in range(5):
            step()
        """
    watched = Report(tmp_path, script, "--no-trials")
    assert watched.status == 0 and "failed" not in watched.stderr


def test_a_source_of_any_depth_is_read():
    text = f"x: int = {' + '.join(['1'] * 2000)}\ny: int = x"
    source = Source("deep.py", text)
    assert [type(s).__name__ for s in source.tree.body] == ["Assign", "Assign"]


def test_what_has_no_storage_has_no_address():
    inside = []
    x = torch.ones(5, 3)
    torch.func.vmap(lambda row: inside.append(address_of(row)) or row * 2)(x)
    assert inside == [None]
    assert address_of(torch.ones(2, device="meta")) is None
    assert address_of(x[1:]) == x.data_ptr()
EPOCHS = """
import gc
import weakref

import rushlight as torch
from rushlight import nn
from rushlight.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
made = []

def collected():
    rows = torch.randn(32, 6)
    data = TensorDataset(rows, rows[:, :3].argmax(1))
    made.append(weakref.ref(data))
    return DataLoader(data, batch_size=8, shuffle=True)

for epoch in range(40):
    for x, y in collected():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    with torch.no_grad():
        for x, y in collected():
            model(x)
del x, y
gc.collect()
alive = sum(ref() is not None for ref in made)
# 16 of those used last, 16 of which batches were heard last, before a rest, and the first 8
assert alive <= 40, f"{alive} of {len(made)} data sets are kept"
"""


def test_loaders_that_are_gone_are_let_go():
    report = doctored({"epochs": EPOCHS}, fixes=False)["epochs"]
    assert report["status"] == 0, report["error"]
    assert report["findings"] == []


def test_the_loaders_used_last_are_known():
    recent = loaders.Recent()
    first = recent.entry("first", list)
    for number in range(2 * loaders.MOST):
        recent.entry(number, list)
        assert recent.entry("first", list) is first, "it was used again"
    assert len(recent) == loaders.MOST and 0 not in recent


def test_values_of_a_list_are_read_once():
    class Reads(list):
        read = 0

        def __getitem__(self, key):
            part = super().__getitem__(key)
            self.read += len(part)
            return part

        def __iter__(self):
            raise AssertionError("all of it is read")

    losses, followed = Reads(), averages._Sum("losses", None)
    for number in range(100):
        assert followed.look(losses)
        losses.append(float(number))
    assert followed.look(losses) and losses.read == 100
    assert followed.addends == [float(n) for n in range(100)]
    losses.append("no number")
    assert not followed.look(losses)
