"""Learning-rate schedules and weight averaging against what PyTorch recorded."""

import json
import warnings

import pytest

pytest.importorskip("rushlight._C", reason="the core is not built")
import rushlight as torch

from . import programs
from .test_optimizers import RECORDED, as_json, assert_near


@pytest.mark.parametrize("name", programs.SCHEDULES)
def test_schedule(name):
    assert as_json(programs.schedule(torch, name)) == RECORDED["schedules"][name]


@pytest.mark.parametrize("name", ["cyclic", "one_cycle", "step"])
def test_schedule_of_beta1(name):
    assert as_json(programs.schedule(torch, name, "AdamW")) == RECORDED["beta_schedules"][name]


def test_closed_forms():
    assert as_json(programs.closed_forms(torch)) == RECORDED["closed_forms"]


@pytest.mark.parametrize("name", programs.PLATEAUS)
def test_plateau(name):
    got = as_json(programs.plateau(torch, **programs.PLATEAUS[name]))
    assert json.dumps(got) == json.dumps(RECORDED["plateaus"][name])


@pytest.mark.parametrize("name", programs.SCHEDULES)
def test_state_resumes(name):
    optimizer = programs.two_groups(torch)
    scheduler = programs.SCHEDULES[name](torch, optimizer)
    optimizer.step()
    for _ in range(4):
        scheduler.step()
    other = programs.two_groups(torch)
    resumed = programs.SCHEDULES[name](torch, other)
    other.load_state_dict(optimizer.state_dict())
    resumed.load_state_dict(scheduler.state_dict())
    other.step()
    for _ in range(4):
        scheduler.step()
        resumed.step()
        assert resumed.get_last_lr() == scheduler.get_last_lr()


def test_order_of_steps_is_watched():
    scheduler = torch.optim.lr_scheduler.StepLR(programs.two_groups(torch), 1)
    with pytest.warns(UserWarning, match=r"Detected call of `lr_scheduler.step\(\)` before"):
        scheduler.step()
    optimizer = programs.two_groups(torch)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    optimizer.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scheduler.step()


def test_overridden_step_is_noticed():
    optimizer = programs.two_groups(torch)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    optimizer.step = lambda: None
    with pytest.warns(UserWarning, match=r"`optimizer.step\(\)` has been overridden"):
        scheduler.step()


def test_get_lr_outside_a_step_warns():
    scheduler = torch.optim.lr_scheduler.StepLR(programs.two_groups(torch), 1)
    with pytest.warns(UserWarning, match="To get the last learning rate"):
        scheduler.get_lr()


def test_tensor_lr_keeps_its_identity():
    lr = torch.tensor(0.5)
    optimizer = torch.optim.SGD(programs.parameters(torch), lr=lr)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] is lr
    assert lr.item() == 0.25


@pytest.mark.parametrize("name", programs.AVERAGED)
def test_averaged_models(name):
    got = as_json(programs.averaged(torch, **programs.AVERAGED[name]))
    assert_near(got, RECORDED["averaged"][name], 1e-11, name)


def test_averaged_model_follows():
    model = torch.nn.Linear(2, 1, bias=False)
    swa = torch.optim.swa_utils
    mean = swa.AveragedModel(model)
    moving = swa.AveragedModel(model, multi_avg_fn=swa.get_ema_multi_avg_fn(0.5))
    for value in (1.0, 2.0, 6.0):
        with torch.no_grad():
            model.weight.fill_(value)
        mean.update_parameters(model)
        moving.update_parameters(model)
    assert mean.module.weight.tolist() == [[3.0, 3.0]]
    assert moving.module.weight.tolist() == [[3.75, 3.75]]
    assert mean.n_averaged.item() == 3
    assert list(mean.state_dict()) == ["n_averaged", "module.weight"]


def test_update_bn_takes_a_cumulative_average():
    model = torch.nn.BatchNorm1d(1)
    batches = [torch.tensor([[0.0], [2.0]]), torch.tensor([[4.0], [6.0]])]
    torch.optim.swa_utils.update_bn(batches, model)
    assert model.running_mean.tolist() == [3.0]
    assert model.running_var.tolist() == [2.0]
    assert model.momentum == 0.1
