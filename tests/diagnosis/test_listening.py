"""What checks read and hold of a running program: no more than they need."""

import itertools

import pytest

import rushlight as torch
from rushlight.diagnosis import notes
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


TRANSFORMS = """
import torch
from torch import nn
from torch.func import functional_call, grad, hessian, jacfwd, jvp, stack_module_state, vjp, vmap

class Double(torch.autograd.Function):
    generate_vmap_rule = True
    @staticmethod
    def forward(x):
        return x * 2
    @staticmethod
    def setup_context(ctx, inputs, output):
        pass
    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2
    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 2

torch.manual_seed(0)
parts = [nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 3)]
model, encoder = nn.Sequential(*parts).eval(), nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0)
embedding = nn.Embedding(10, 4)
x, y = torch.randn(5, 3), torch.randint(0, 3, (5,))
parameters = {n: p.detach() for n, p in model.named_parameters()}
buffers = dict(model.named_buffers())

def loss(p, row, label):
    out = functional_call(model, (p, buffers), (row.unsqueeze(0),))
    return nn.functional.cross_entropy(out, label.unsqueeze(0))

def forms(row):
    row = torch.cat([row.reshape(-1), row.view(3)])[:3].clone()
    row = row.detach() + row
    zeros = torch.zeros(3)
    mean = torch.where(row > 0, row, zeros).sum() / (row.norm() + 1e-6)
    total = nn.functional.mse_loss(row, zeros) + torch.stack([row, row]).mean() + row @ row
    total = total + row.expand(2, 3).softmax(0).log().sum() + row.masked_fill(row > 0, 0.0).sum()
    return mean * total + Double.apply(row.float().double().contiguous()).std()

def in_place(row):
    row = row.clone()
    row[0] = 1.0
    row += 1
    return row.mul_(2).abs().max()

print(sorted(vmap(grad(loss), in_dims=(None, 0, 0))(parameters, x, y)))
print(vmap(lambda row: model(row.unsqueeze(0)).softmax(-1).argmax())(x))
print(vmap(forms)(x), grad(forms)(x[0]), vmap(grad(forms))(x), jvp(forms, (x[0],), (x[1],)))
print(hessian(forms)(x[0]).shape, jacfwd(forms)(x[0]).shape, vjp(forms, x[0])[1](torch.ones(())))
print(vmap(in_place)(x), vmap(lambda i: encoder(embedding(i).view(1, 1, 4)).mean())(y))
stacked = stack_module_state([nn.Linear(3, 2) for _ in range(4)])
one = nn.Linear(3, 2, device="meta")
print(vmap(lambda p, b: functional_call(one, (p, b), (x,)))(*stacked).shape)
outer = vmap(lambda a: vmap(lambda b: nn.functional.cosine_similarity(a, b, 0))(x))
print(outer(x).shape)
for _ in range(6):
    whole = lambda p: nn.functional.cross_entropy(functional_call(model, (p, buffers), (x,)), y)
    gradients = grad(whole)(parameters)
    parameters = {n: p - 0.1 * gradients[n] for n, p in parameters.items()}
print(whole(parameters))
"""


def test_transforms_of_functions_are_left_alone(tmp_path, monkeypatch):
    """Their tensors have no values and no memory, and stand for others."""
    monkeypatch.setenv("RUSHLIGHT_DOCTOR_DEBUG", "1")  # what fails within the doctor is printed
    watched = Report(tmp_path, TRANSFORMS, "--no-trials")
    assert (watched.status, watched.findings) == (0, [])
    assert watched.stdout == run(tmp_path, TRANSFORMS).stdout
    assert "Traceback" not in watched.stderr
    assert not [one for one in watched.not_checked if one["why"] == "its check failed"]


SELVES = """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Data(Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, i):
        return torch.randint(0, 10, (9,))

def looped(items):
    batch = [torch.stack(items)]
    batch.append(batch)
    return batch

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(10, 4), nn.Linear(4, 10)
    def forward(self, ids, options):
        results = {"scores": self.head(self.embed(ids))}
        results["all"] = [results, options]
        return results

torch.manual_seed(0)
model, options = Net(), {"list": []}
options["me"] = options
options["list"] += [options, options["list"]]
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for batch in DataLoader(Data(), batch_size=4, collate_fn=looped):
        ids = batch[0]
        optimizer.zero_grad()
        scores = model(ids[:, :-1], options)["scores"].reshape(-1, 10)
        nn.functional.cross_entropy(scores, ids[:, 1:].reshape(-1)).backward()
        optimizer.step()
"""


def test_what_holds_itself_is_looked_into_a_few_levels():
    report = doctored({"selves": SELVES}, fixes=False)["selves"]
    assert (report["status"], report["findings"]) == (0, []), report["error"]


def test_a_list_that_holds_itself_gets_no_fix():
    alone, numbers, rows = [], [1, 2], [[1, 2], [3]]
    for one in (alone, numbers, rows):
        one.append(one)
    makers = torch.tensor, torch.as_tensor, torch.Tensor
    for make, given in itertools.product(makers, (alone, numbers, rows)):
        with pytest.raises((TypeError, ValueError)) as caught:
            make(given)
        assert notes.finding_of(caught.value) is None
