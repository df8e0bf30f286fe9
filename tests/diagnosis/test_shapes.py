"""Errors about shapes, wherever the wrong number was written down."""

import pytest

from rushlight.diagnosis.finding import Edit, apply_edits

from .doctor import Report, run

CLASSES = """
import torch
from torch import nn
class Block(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(width, hidden), nn.Linear(hidden, width)
    def forward(self, x):
        return x + self.fc2(torch.relu(self.fc1(x)))
class Classifier(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed, self.head = nn.Embedding(100, width), nn.Linear(width, 5)
        self.encoder = nn.Sequential(Block(width, 64), Block(width * 2, 64))
    def forward(self, tokens):
        return self.head(self.encoder(self.embed(tokens)).mean(1))
"""
CLASSIFIER = (
    CLASSES
    + """model = Classifier()
print(model(torch.randint(0, 100, (8, 12))).shape)
"""
)

MODEL = """
from torch import nn
def network(classes, features):
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(features, classes))
"""

TRAIN = """
import torch
import model
class Trainer:
    def __init__(self):
        self.net = model.network(10, features=4 * 10 * 10)
    def step(self, batch):
        return self.net(batch).shape
print(Trainer().step(torch.zeros(2, 1, 10, 10)))
"""

NO_FLATTEN = """
import torch
from torch import nn
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Linear(4 * 8 * 8, 10))
print(net(torch.zeros(2, 1, 10, 10)).shape)
"""

NO_FLATTEN_IN_FORWARD = """
import torch
import torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.out = nn.Linear(256, 10)
    def forward(self, image):
        features = self.conv(image).relu()
        return self.out(features)
print(Net()(torch.zeros(2, 1, 10, 10)).shape)
"""

PRODUCT = """
import torch
def scores(q, k):
    return (q + 1) @ (k * 2)
q, k = torch.ones(5, 3), torch.ones(7, 3)
print(torch.mm(q, k.T).shape)
scale = q @ k
"""


NAMED_BRIEFLY = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(1, 4, 3), nn.Linear(144, 10)

    def forward(self, f):
        f = self.conv(f)
        return self.fc(f)


print(Net()(torch.randn(2, 1, 8, 8)).shape)
"""

NAMED_LIKE_A_PART = """
import torch
from torch import nn

n = 1
head = nn.Sequential(nn.Linear(12, 11), nn.Linear(in_features=n, out_features=1))
print(head(torch.randn(3, 12)).shape)
"""


def repaired(report, number=0):
    """What the script prints with a fix of the first finding applied."""
    fix = report.findings[0]["fixes"][number]
    text = report.path.read_text()
    return run(report.path.parent, apply_edits(text, [Edit(**e) for e in fix["edits"]])).stdout


def test_the_line_where_a_width_was_decided_not_where_it_arrives(tmp_path):
    report = Report(tmp_path, CLASSIFIER)
    (finding,) = report.findings
    assert (finding["id"], finding["line"]) == ("linear-features", 13)
    assert finding["fixes"][0]["text"] == "Block(width * 2, 64) -> Block(width, 64)"
    assert "encoder.1.fc1" in finding["title"] and "(8, 12, 32)" in finding["evidence"]
    assert repaired(report) == "torch.Size([8, 5])\n"


def test_a_number_passed_by_keyword_from_another_file(tmp_path):
    report = Report(tmp_path, TRAIN, files={"model.py": MODEL.lstrip()})
    (finding,) = report.findings
    assert (finding["id"], finding["line"]) == ("linear-features", 5)
    assert finding["file"].endswith("script.py")
    assert repaired(report) == "torch.Size([2, 10])\n"


@pytest.mark.parametrize("script, line", [(NO_FLATTEN, 3), (NO_FLATTEN_IN_FORWARD, 10)])
def test_a_missing_flatten(tmp_path, script, line):
    report = Report(tmp_path, script)
    (finding,) = report.findings
    assert (finding["id"], finding["line"]) == ("flatten-missing", line)
    assert repaired(report) == "torch.Size([2, 10])\n"


@pytest.mark.parametrize(
    "script, shown",
    [
        (NAMED_BRIEFLY, "self.fc(f.flatten(1))"),
        (
            NAMED_LIKE_A_PART,
            "nn.Linear(in_features=n, out_features=1) -> nn.Linear(in_features=11, out_features=1)",
        ),
    ],
)
def test_the_change_is_shown_at_its_place(tmp_path, script, shown):
    report = Report(tmp_path, script)
    (finding,) = report.findings
    assert finding["fixes"][0]["text"] == shown
    assert repaired(report).startswith("torch.Size")


def test_a_product_of_matrices_shows_which_to_turn(tmp_path):
    report = Report(tmp_path, PRODUCT)
    (finding,) = report.findings
    assert (finding["id"], finding["line"]) == ("matmul-shapes", 6)
    assert [fix["text"] for fix in finding["fixes"]] == ["q @ k.T"]
    assert repaired(report) == "torch.Size([5, 7])\n"
