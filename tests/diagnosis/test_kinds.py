"""The doctor on many programs, each in a fork: the kind, the line, fixes that work; or silence."""

import pytest

from .doctored import doctored
from .traps import (
    arithmetic,
    clean,
    copies,
    cuts,
    data,
    directions,
    evaluation,
    everyday,
    language,
    losses,
    models,
    padding,
    pairs,
    samples,
    selection,
    sizes,
    steps,
    targets,
    transfer,
)

# A trap of another kind that a repaired program may still have: it had it before.
STAYS = {"leak_eval_total": {"graph-never-used"}}
# Fixes that are not enough where they are tried, and so are not shown.
WITHOUT_FIX = {
    "unused_layer", "optim_groups", "nan_in_batch", "slow_samples", "argmax_path",
    "loss_requires_grad_set", "optim_late_layer", "cat_func", "fn_wrong", "nan_std", "slow_getitem",
    "head_under_another_name", "leak_window", "leak_column", "leak_dataset", "mask_not_rotated",
    "standard_class", "standard_helper", "standard_numpy",
}  # fmt: skip


MODULES = {m.__name__.rpartition(".")[2]: m for m in
           (arithmetic, copies, cuts, data, directions, evaluation, language, losses, models,
            padding, pairs, samples, selection, sizes, steps, targets,
            transfer)}  # fmt: skip


@pytest.fixture(scope="module", params=MODULES)
def reports(request):
    table = MODULES[request.param].TRAPS
    return table, doctored({name: text for name, (_, text) in table.items()})


def test_the_kind_and_the_line_at_fault(reports):
    table, said = reports
    wrong = {}
    for name, (kind, _) in table.items():
        found = [(f["id"], f["file"], f["line"]) for f in said[name]["findings"]]
        if found != [(kind, *said[name]["marked"])]:
            wrong[name] = (found, said[name]["marked"], said[name]["error"])
    assert not wrong


def test_evidence_has_numbers_and_all_fits_the_screen(reports):
    _, said = reports
    for name, report in said.items():
        for finding in report["findings"]:
            assert any(c.isdigit() for c in finding["evidence"]), name
        assert all(len(line) <= 80 and line.isascii() for line in report["text"].splitlines()), name


def test_no_fix_fails(reports):
    table, said = reports
    for name, (kind, _) in table.items():
        ends = [fix["end"] for f in said[name]["findings"] for fix in f["fixes"] if fix["edits"]]
        assert all(end is not None and end["error"] is None for end in ends), name
        cured = [end for end in ends if kind not in {f["id"] for f in end["findings"]}]
        assert cured or name in WITHOUT_FIX, name
        for end in cured:
            assert {f["id"] for f in end["findings"]} <= STAYS.get(name, set()), name


# What only a machine says that others keep busy: how long a loader took beside the model.
OF_THE_MACHINE = {"loader-slower-than-model"}


def test_silent_on_programs_that_train_well():
    modules = (arithmetic, clean, cuts, directions, everyday, language, padding, pairs, samples,
               selection, targets, transfer)  # fmt: skip
    programs = {name: text for module in modules for name, text in module.CLEAN.items()}
    assert len(programs) >= 10
    said = doctored(programs, fixes=False)
    wrong = {
        name: [*([report["error"]] if report["error"] else []), *found]
        for name, report in said.items()
        if (found := [(f["id"], f["line"]) for f in report["findings"]
                      if f["id"] not in OF_THE_MACHINE]) or report["error"]
    }  # fmt: skip
    assert not wrong


EPISODE = """
import torch
from torch import nn
policy = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2))
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
for episode in range(3):
    log_probs = []
    for t in range(40):
        chosen = torch.distributions.Categorical(logits=policy(torch.randn(64, 4)))
        log_probs.append(chosen.log_prob(chosen.sample()).sum())
    loss = -torch.cat(log_probs).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
UNSCALED = """
import torch
from torch import nn
net = nn.Linear(4, 1).half()
opt = torch.optim.AdamW(net.parameters())
scaler = torch.amp.GradScaler("cpu")
for step in range(8):
    loss = net(torch.ones(2, 4).half()).float().mean()
    scaler.scale(loss / 4).backward()
    if step % 4 == 3:
        scaler.unscale_(opt)
        scaler.step(opt)
        scaler.update()
"""


@pytest.mark.parametrize("program", [EPISODE, UNSCALED])
def test_what_an_error_kept_from_happening_is_no_finding(program):
    said = doctored({"it": program}, fixes=False)["it"]
    assert said["error"] is not None
    assert not [f["id"] for f in said["findings"] if f["severity"] != "error"]
