"""Optimizers against what PyTorch recorded: steps, state, checkpoints, hooks and errors."""

import copy
import json
import lzma
import math
import pickle
from pathlib import Path

import pytest

pytest.importorskip("rushlight._C", reason="the core is not built")
import rushlight as torch

from . import programs

GOLDEN = Path(__file__).parents[1] / "golden" / "optim" / "optim.json.xz"
RECORDED = json.loads(lzma.decompress(GOLDEN.read_bytes()))
TOLERANCE = {"float32": 1e-6, "float64": 1e-13}


def assert_near(got, expected, tolerance, path=""):
    """Compare trees of JSON values; numbers within ``tolerance`` of 1 + their size."""
    if isinstance(expected, float) and isinstance(got, (int, float)):
        assert abs(got - expected) <= tolerance * (1 + abs(expected)), (path, got, expected)
        return
    assert type(got) is type(expected), (path, got, expected)
    if isinstance(expected, dict):
        assert list(got) == list(expected), path
        for key in expected:
            assert_near(got[key], expected[key], tolerance, f"{path}/{key}")
    elif isinstance(expected, list):
        assert len(got) == len(expected), path
        for i, (g, e) in enumerate(zip(got, expected)):
            assert_near(g, e, tolerance, f"{path}/{i}")
    else:
        assert got == expected, path


def as_json(value):
    return json.loads(json.dumps(value))


@pytest.mark.parametrize("dtype", programs.DTYPES)
@pytest.mark.parametrize("name", programs.OPTIMIZERS)
def test_trajectory(name, dtype):
    got = as_json(programs.trajectory(torch, *programs.OPTIMIZERS[name], dtype))
    assert_near(got, RECORDED["trajectories"][f"{name}-{dtype}"], TOLERANCE[dtype], name)


def state_from(plain):
    if isinstance(plain, dict) and "dtype" in plain:
        dtype = getattr(torch, plain["dtype"].removeprefix("torch."))
        return torch.tensor(plain["values"], dtype=dtype).reshape(plain["shape"])
    return plain


@pytest.mark.parametrize("name", programs.OPTIMIZERS)
def test_continues_from_a_state_of_pytorch(name):
    kind, options = programs.OPTIMIZERS[name]
    recorded = RECORDED["trajectories"][f"{name}-float32"]
    params = [
        torch.tensor(values).reshape(shape).requires_grad_()
        for values, shape in zip(recorded["params"][2], programs.shapes_for(kind))
    ]
    optimizer = getattr(torch.optim, kind)(params, **options)
    state = {
        int(index): {key: state_from(value) for key, value in entries}
        for index, entries in recorded["middle"]
    }
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})
    for step in range(3, programs.STEPS):
        programs.set_grads(torch, params, step, "float32")
        optimizer.step()
        got = [p.detach().reshape(-1).tolist() for p in params]
        assert_near(got, recorded["params"][step], 1e-6, f"step {step}")


@pytest.mark.parametrize("dtype", programs.DTYPES)
@pytest.mark.parametrize("name", programs.LBFGS)
def test_lbfgs(name, dtype):
    got = as_json(programs.lbfgs(torch, dtype, **programs.LBFGS[name]))
    # Each iteration multiplies a difference in rounding; float64 has room for it.
    tolerance = 1e-3 if dtype == "float32" else 1e-8
    assert_near(got, RECORDED["lbfgs"][f"{name}-{dtype}"], tolerance, name)


def _differentiable_tolerance(name):
    """PyTorch's corrections of Adam's bias are float32 where steps are differentiable."""
    return 1e-5 if "Adam" in name and name not in ("RAdam", "Adamax") else 1e-11


@pytest.mark.parametrize("kind", programs.DIFFERENTIABLE)
def test_differentiable_steps(kind):
    got = as_json(programs.differentiated(torch, kind))
    assert_near(got, RECORDED["differentiated"][kind], _differentiable_tolerance(kind), kind)


# SGD's first momentum is cut from the graph, as PyTorch's is.
@pytest.mark.parametrize("kind", sorted(set(programs.DIFFERENTIABLE) - {"SGD"}))
def test_many_differentiable_steps(kind):
    def stepped(start, grad):
        param = start.clone()
        optimizer = getattr(torch.optim, kind)(
            [param], lr=0.1, differentiable=True, **programs.DIFFERENTIABLE[kind]
        )
        for step in range(7):
            param.grad = grad * (step + 1) + param * 0.1
            optimizer.step()
        return param

    start = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64, requires_grad=True)
    grad = torch.tensor([1.0, 2.0, -1.5], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(stepped, (start, grad))


@pytest.mark.parametrize("kind", ["Adadelta", "Adagrad", "Adamax", "NAdam", "RMSprop", "Rprop"])
def test_no_gradient_of_lr_is_lost(kind):
    lr = torch.tensor(0.1, requires_grad=True)
    param = torch.ones(2)
    optimizer = getattr(torch.optim, kind)([param], lr=lr, differentiable=True)
    param.grad = torch.ones(2)
    with pytest.raises(TypeError, match="must be Number, not Tensor"):
        optimizer.step()


@pytest.mark.parametrize("name", programs.LEARNED)
def test_gradients_of_options(name):
    got = as_json(programs.learned(torch, name))
    assert_near(got, RECORDED["learned"][name], _differentiable_tolerance(name), name)


@pytest.mark.parametrize("name", programs.FAILURES)
def test_failure(name):
    assert programs.failure(torch, name) == RECORDED["failures"][name]


def test_a_failed_group_leaves_the_optimizer_as_it_was():
    optimizer = torch.optim.SGD(programs.parameters(torch), lr=0.1)
    with pytest.raises(TypeError):
        optimizer.add_param_group({"params": [1.0]})
    assert len(optimizer.param_groups) == 1


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))])
def test_copies_keep_their_state(copied):
    params = programs.parameters(torch)
    optimizer = torch.optim.Adam(params)
    programs.set_grads(torch, params, 1, "float32")
    optimizer.step()
    twin = copied(optimizer)
    for o in (optimizer, twin):
        programs.set_grads(torch, o.param_groups[0]["params"], 2, "float32")
        o.step()
    for p, q in zip(params, twin.param_groups[0]["params"]):
        assert p is not q
        assert p.tolist() == q.tolist()


def test_hooks_run_around_a_step_in_order():
    params = programs.parameters(torch)
    optimizer = torch.optim.SGD(params, lr=0.1)
    programs.set_grads(torch, params, 1, "float32")
    seen = []
    handles = [
        optimizer.register_step_pre_hook(lambda *_: seen.append("pre")),
        optimizer.register_step_post_hook(lambda *_: seen.append("post")),
        optimizer.register_state_dict_post_hook(lambda o, state: {**state, "more": 1}),
    ]
    optimizer.step(lambda: seen.append("closure"))
    assert seen == ["pre", "closure", "post"]
    assert optimizer.state_dict()["more"] == 1
    for handle in handles:
        handle.remove()
    optimizer.step()
    assert len(seen) == 3
    assert "more" not in optimizer.state_dict()


def test_hooks_run_for_a_subclass_with_its_own_step():
    class Plain(torch.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"lr": 0.5})

        @torch.no_grad()
        def step(self, closure=None):
            for p in self.param_groups[0]["params"]:
                p.sub_(p.grad * 0.5)

    params = programs.parameters(torch, shapes=((2,),))
    before = params[0].tolist()
    params[0].grad = torch.ones(2)
    optimizer = Plain(params)
    calls = []
    optimizer.register_step_post_hook(lambda o, args, kwargs: calls.append((o, args, kwargs)))
    optimizer.step()
    assert calls == [(optimizer, (optimizer,), {})]
    assert params[0].tolist() == [pytest.approx(v - 0.5) for v in before]


def test_sgd_lets_a_rate_of_nan_pass():
    p = [torch.nn.Parameter(torch.ones(2))]
    assert math.isnan(torch.optim.SGD(p, lr=math.nan).param_groups[0]["lr"])
    with pytest.raises(ValueError, match="Invalid learning rate: nan"):
        torch.optim.Adam(p, lr=math.nan)
    with pytest.raises(ValueError, match="Tensor lr must be 1-element"):
        torch.optim.SGD(p, lr=torch.ones(2))


def test_zero_grad():
    params = programs.parameters(torch)
    optimizer = torch.optim.SGD(params)
    programs.set_grads(torch, params, 1, "float32")
    grads = [p.grad for p in params]
    optimizer.zero_grad(set_to_none=False)
    assert all(p.grad is g for p, g in zip(params, grads))
    assert all(not g.any() for g in grads)
    optimizer.zero_grad()
    assert all(p.grad is None for p in params)


def test_state_may_be_replaced_between_steps():
    params = programs.parameters(torch, shapes=((2,),))
    optimizer = torch.optim.Adam(params, lr=0.1)
    params[0].grad = torch.ones(2)
    optimizer.step()
    stronger = torch.full((2,), 8.0)
    optimizer.state[params[0]]["exp_avg"] = stronger
    before = params[0].tolist()
    optimizer.step()
    assert stronger.tolist() == [pytest.approx(7.3)] * 2
    assert all(b - a > 0.3 for a, b in zip(params[0].tolist(), before))


def test_step_counts_are_float32_and_shared_with_no_other():
    params = programs.parameters(torch)
    optimizer = torch.optim.Adam(params)
    programs.set_grads(torch, params, 1, "float32", skip=0)
    optimizer.step()
    steps = [state["step"] for state in optimizer.state.values()]
    assert len(steps) == len(params) - 1
    assert all(s.dtype == torch.float32 and s.dim() == 0 and s.item() == 1 for s in steps)
    assert len({s.data_ptr() for s in steps}) == len(steps)


def test_tensor_lr_is_read_at_each_step():
    params = programs.parameters(torch, shapes=((2,),))
    lr = torch.tensor(0.5)
    optimizer = torch.optim.SGD(params, lr=lr)
    params[0].grad = torch.ones(2)
    before = params[0].tolist()
    optimizer.step()
    lr.fill_(0.25)
    optimizer.step()
    assert params[0].tolist() == [pytest.approx(v - 0.75) for v in before]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "complex64"])
@pytest.mark.parametrize("kind", ["SGD", "Adam", "NAdam", "RAdam", "Adamax", "Adagrad", "RMSprop"])
def test_core_agrees_with_tensor_ops(kind, dtype):
    options = {"momentum": 0.9} if kind in ("SGD", "RMSprop") else {}
    results = []
    for in_core in (True, False):
        leaf = programs.tensor_of(torch, (3, 4), 0.5, "float64").to(getattr(torch, dtype))
        param = leaf.t().requires_grad_()  # another memory order than its gradients
        optimizer = getattr(torch.optim, kind)([param], lr=0.05, **options)
        for step in range(3):
            grad = programs.tensor_of(torch, (4, 3), step, "float64")
            param.grad = grad.to(getattr(torch, dtype))
            if in_core:
                optimizer.step()
            else:
                with torch.no_grad():
                    optimizer._update_each(optimizer.param_groups[0])
        results.append(param.detach())
    tolerance = {"bfloat16": 2e-2, "float64": 1e-12}.get(dtype, 1e-5)
    assert (results[0] - results[1]).abs().max().item() <= tolerance


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_each_op_of_a_step_of_halves_rounds(dtype):
    """As in PyTorch, where a step is a row of tensor ops; fused, it rounds its results alone."""
    dtype = getattr(torch, dtype)
    start = (torch.arange(128) * 37 % 61).sub(30).div(16).to(dtype)
    grad = (torch.arange(128) * 29 % 53).sub(26.5).div(32).to(dtype)
    mean = torch.zeros_like(start).lerp(grad, 1 - 0.9)
    square = torch.zeros_like(start).addcmul(grad, grad, value=1 - 0.999)
    root = square.sqrt() / (1 - 0.999) ** 0.5 + 1e-8
    expected = (start * (1 - 0.05 * 0.01)).addcdiv(mean, root, value=-0.05 / (1 - 0.9))
    made = {}
    for fused in (False, True):
        param = start.clone().requires_grad_()
        param.grad = grad
        torch.optim.AdamW([param], lr=0.05, fused=fused).step()
        made[fused] = param.detach()
    assert torch.equal(made[False], expected)
    assert not torch.equal(made[True], expected)


def test_the_rate_is_rounded_to_halves():
    param = torch.zeros(64, dtype=torch.bfloat16, requires_grad=True)
    param.grad = torch.full((64,), 3.0, dtype=torch.bfloat16)
    torch.optim.SGD([param], lr=0.3).step()
    assert torch.equal(param, torch.full((64,), -0.30078125 * 3).bfloat16())


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "Adagrad"])
def test_fused_steps_refuse_complex_parameters(kind):
    param = torch.ones(2, dtype=torch.complex64, requires_grad=True)
    optimizer = getattr(torch.optim, kind)([param], fused=True)
    optimizer.step()
    param.grad = torch.ones_like(param)
    with pytest.raises(RuntimeError, match=r"`fused=True` requires .* but torch.complex64 and cpu"):
        optimizer.step()
    assert param.tolist() == [1, 1]
