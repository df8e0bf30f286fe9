"""The doctor's worked example: three findings, and none once each first fix is applied."""

from rushlight.diagnosis.finding import Edit, apply_edits

from .doctored import doctored

TRAIN = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x = torch.randn(1024, 20)
y = (x[:, 0] * x[:, 1] > 0).long()
train = DataLoader(TensorDataset(x[:768], y[:768]), batch_size=64, shuffle=True)
valid = DataLoader(TensorDataset(x[768:], y[768:]), batch_size=64)
model = nn.Sequential(nn.Linear(20, 256), nn.ReLU(), nn.Dropout(0.5), nn.Linear(256, 2))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
model[3] = nn.Linear(256, 2)
history = []
for epoch in range(20):
    for xb, yb in train:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(xb), yb)
        loss.backward()
        opt.step()
    total = 0.0
    for xb, yb in valid:
        total += nn.functional.cross_entropy(model(xb), yb)
    history.append(total / len(valid))
print(f"validation loss {history[-1]:.4f}")
"""


def test_three_findings_worst_first_and_none_after_all_fixes():
    report = doctored({"train": TRAIN})["train"]
    assert [(f["id"], f["line"], f["severity"]) for f in report["findings"]] == [
        ("optimizer-misses-parameters", 10, "wrong result"),
        ("dropout-while-evaluating", 21, "wrong number"),
        ("graph-kept-alive", 21, "memory"),
    ]
    missed, dropout, kept = (f["evidence"] for f in report["findings"])
    assert "514 of 5,890 values" in missed and "none of 240 steps changed them" in missed
    assert report["findings"][0]["related"][0]["line"] == 11
    assert "80 forward passes led to no backward" in dropout and "Dropout(p=0.5)" in dropout
    assert "5 times on a copy: outputs are off by" in dropout
    assert "keeps 20 tensors" in kept and "MiB of saved values" in kept
    assert "no scheduler was made" in " ".join(n["why"] for n in report["not_checked"])
    assert "Checked" in report["text"] and "Not in this run:" in report["text"]

    text = report["files"]["script.py"]
    for finding in reversed(report["findings"][:1] + report["findings"][1:2]):
        edits = [Edit(**e) for e in finding["fixes"][0]["edits"]]
        text = apply_edits(text, edits)
    again = doctored({"train": text})["train"]
    assert [f["id"] for f in again["findings"]] == ["graph-kept-alive"]
    edits = [Edit(**e) for e in again["findings"][0]["fixes"][0]["edits"]]
    clean = doctored({"train": apply_edits(text, edits)}, fixes=False)["train"]
    assert clean["findings"] == [] and "no finding" in clean["text"]


def test_silence_by_comment_on_the_line_at_fault():
    line = "opt = torch.optim.Adam(model.parameters(), lr=1e-3)"
    text = TRAIN.replace(line, f"{line}  # rushlight: ignore[optimizer-misses-parameters]")
    report = doctored({"train": text}, fixes=False)["train"]
    assert "optimizer-misses-parameters" not in {f["id"] for f in report["findings"]}
    assert "Silenced: 1." in report["text"].replace("\n", " ")
