"""The doctor's page: the findings of --json, their lines, what the kinds mean."""

import json
import re
import subprocess
import sys

import pytest

SCRIPT = """\
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))  # </script><!--
opt = torch.optim.Adam(model.parameters(), lr=0.01)
model[2] = nn.Linear(16, 2)
x, y = torch.randn(64, 4), torch.arange(64) % 2
for step in range(60):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    opt.step()
print("done")
"""


def test_the_page_shows_what_json_says(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    page, report = tmp_path / "page.html", tmp_path / "report.json"
    start = [sys.executable, "-P", "-m", "rushlight", "doctor", "--no-trials"]
    done = subprocess.run(
        [*start, "--html", page, "--json", report, script],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    text = page.read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    told = json.loads(report.read_text())
    assert data["findings"] == told["findings"] != []
    assert data["not_checked"] == told["not_checked"]
    for finding in data["findings"]:
        lines = data["sources"][finding["file"]]
        assert lines[str(finding["line"])] == SCRIPT.split("\n")[finding["line"] - 1]
        assert data["kinds"][finding["id"]]["text"]
    assert data["title"] == "script.py" and data["status"] == 0
    assert text.count("<script") == 2


@pytest.mark.parametrize(
    "last",
    [
        "import os; os.close(1); os.close(2)",
        "import sys; sys.stdout = sys.stderr = None",
        "import sys; sys.stdout.close(); sys.stderr.close()",
    ],
)
def test_the_page_is_written_where_the_streams_are_gone(tmp_path, last):
    script, page = tmp_path / "script.py", tmp_path / "page.html"
    script.write_text(f"import torch\nx = torch.ones(2) * 2\n{last}\n")
    command = [sys.executable, "-P", "-m", "rushlight", "doctor", "--no-trials", "--html", page]
    done = subprocess.run([*command, script], capture_output=True, timeout=120)
    assert done.returncode == 0
    assert 'id="data">' in page.read_text(encoding="utf-8")
