"""The doctor's page in a browser."""

import pytest

from .test_xray_page import worst_contrast

SCRIPT = """\
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(model.parameters(), lr=0.01)  # </script><img src=x>
model[2] = nn.Linear(16, 2)
x, y = torch.randn(64, 4), torch.arange(64) % 2
for step in range(60):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 1200])
def test_findings_lines_and_fixes(browser, page_of, width, dark):
    browser.open(page_of("doctor", SCRIPT), width=width, dark=dark)
    assert browser.errors == []
    text = browser.run("document.body.innerText")
    assert "optimizer-misses-parameters" in text and "1 finding, worst first" in text
    assert "img src=x" in browser.run("document.querySelector('.fault').innerText")
    assert browser.run("document.images.length") == 0
    assert browser.run("document.querySelectorAll('.gone, .come').length") >= 2
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert worst_contrast(browser) >= 4.5


def test_keys_go_through_the_findings(browser, page_of):
    browser.open(page_of("doctor", SCRIPT))
    browser.press("j")
    assert browser.run("document.activeElement.id") == "finding-1"
    assert "finding=1" in browser.run("location.hash")
