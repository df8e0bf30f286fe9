"""The doctor's checks: traps in many forms with their lines and fixes; clean programs."""

import pytest

from rushlight.diagnosis.finding import Edit, apply_edits

from .doctor import Report, run
from .traps import CLEAN, TRAPS

WITHOUT_FIX = {"optim_late_layer", "cat_func", "fn_wrong"}


def marked(text):
    lines = text.lstrip("\n").split("\n")
    line = next(i for i, text in enumerate(lines, 1) if text.endswith("#!"))
    return "\n".join(text.removesuffix("#!").rstrip() for text in lines), line


@pytest.mark.parametrize("name", TRAPS)
def test_names_the_line_at_fault(tmp_path, name):
    kind, text = TRAPS[name]
    script, line = marked(text)
    report = Report(tmp_path, script, "--no-trials")
    found = [f for f in report.findings if f["id"] == kind]
    assert [f["line"] for f in found] == [line], report.stderr
    assert len(report.findings) == 1, "one cause, one finding"
    (finding,) = found
    assert finding["evidence"] and any(c.isdigit() for c in finding["evidence"])
    fixes = [f for f in finding["fixes"] if f["edits"]]
    assert bool(fixes) == (name not in WITHOUT_FIX)
    for fix in fixes:
        compile(apply_edits(script, [Edit(**e) for e in fix["edits"]]), name, "exec")


@pytest.mark.parametrize("name", CLEAN)
def test_is_silent_on_programs_that_train_well(tmp_path, name):
    report = Report(tmp_path, CLEAN[name])
    assert report.status == 0 and report.findings == [], report.stderr


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


@pytest.mark.parametrize("name", ["zero_trainer", "params_append", "sched_trainer", "data_line"])
def test_the_fixes_shown_are_those_that_work(tmp_path, name):
    script, _ = marked(TRAPS[name][1])
    report = Report(tmp_path, script)
    (finding,) = report.findings
    assert finding["fixes"]
    for fix in finding["fixes"]:
        assert fix["tried"] == "script run again"
        text = apply_edits(script, [Edit(**e) for e in fix["edits"]])
        assert run(tmp_path, text).returncode == 0
