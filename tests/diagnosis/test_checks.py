"""The doctor as a command: several traps in several files, and fixes that were tried."""

import pytest

from rushlight.diagnosis.finding import Edit, apply_edits

from .doctor import Report, run
from .traps import data, models, steps


def marked(text):
    lines = text.lstrip("\n").split("\n")
    line = next(i for i, text in enumerate(lines, 1) if text.endswith("#!"))
    return "\n".join(text.removesuffix("#!").rstrip() for text in lines), line


SPLIT = {
    "model.py": """
        from torch import nn
        import torch.nn.functional as F

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = [nn.Linear(4, 4), nn.Linear(4, 3)]
                self.out = nn.Linear(3, 3)

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x).relu()
                return F.softmax(self.out(x), dim=1)
        """,
    "train.py": """
        import torch
        from torch.nn import CrossEntropyLoss

        class Trainer:
            def __init__(self, net):
                self.net, self.loss = net, CrossEntropyLoss()
                self.opt = torch.optim.SGD(net.parameters(), 0.1)

            def fit(self, batches):
                for x, y in batches:
                    self.loss(self.net(x), y).backward()
                    self.opt.step()
        """,
}


def test_finds_several_traps_in_a_program_of_three_files(tmp_path):
    script = """
        import torch
        from model import Net
        from train import Trainer

        torch.manual_seed(0)
        data = [(torch.randn(8, 4), torch.randint(0, 3, (8,))) for _ in range(6)]
        Trainer(Net()).fit(data)
        """
    report = Report(tmp_path, script, "--no-trials", files=SPLIT)
    found = {(f["id"], f["file"].rpartition("/")[2], f["line"]) for f in report.findings}
    assert found == {
        ("modules-in-plain-list", "model.py", 7),
        ("loss-on-probabilities", "model.py", 13),
        ("gradients-never-zeroed", "train.py", 11),
    }


TRIED = {
    name: {**data.TRAPS, **models.TRAPS, **steps.TRAPS}[name][1]
    for name in ("zero_trainer", "params_append", "sched_trainer", "data_line")
}


@pytest.mark.parametrize("name", TRIED)
def test_the_fixes_shown_are_those_that_work(tmp_path, name):
    script, _ = marked(TRIED[name])
    report = Report(tmp_path, script)
    (finding,) = report.findings
    assert finding["fixes"]
    for fix in finding["fixes"]:
        assert fix["tried"] == "script run again"
        text = apply_edits(script, [Edit(**e) for e in fix["edits"]])
        assert run(tmp_path, text).returncode == 0


def test_statistics_that_drift_are_a_note(tmp_path):
    script, line = marked(models.TRAPS["frozen_norm_trains"][1])
    (finding,) = Report(tmp_path, script, "--no-trials").findings
    assert (finding["severity"], finding["line"]) == ("note", line)
    moved = finding["evidence"].rpartition("their running means moved by up to ")[2]
    assert float(moved) > 0.1
