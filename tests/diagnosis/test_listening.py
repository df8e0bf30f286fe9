"""What checks read and hold of a running program: no more than they need."""

from rushlight.diagnosis.doctor.checks import averages

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
