"""Programs over torch.optim: what they return is recorded from PyTorch and compared here."""

import math
import warnings

SHAPES = ((3,), (2, 3), (), (4, 2))
MATRICES = ((3, 2), (2, 5))
STEPS = 20

OPTIMIZERS = {
    "sgd": ("SGD", {"lr": 0.1}),
    "sgd_momentum": ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.2, "weight_decay": 0.05}),
    "sgd_nesterov": ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    "adam": ("Adam", {"lr": 0.01}),
    "adam_decay": ("Adam", {"lr": 0.01, "weight_decay": 0.1, "betas": (0.4, 0.95)}),
    "adam_amsgrad": ("Adam", {"lr": 0.01, "amsgrad": True, "maximize": True, "eps": 1e-3}),
    "adamw": ("AdamW", {"lr": 0.01}),
    "adamw_amsgrad": ("AdamW", {"lr": 0.01, "weight_decay": 0.3, "amsgrad": True}),
    "nadam": ("NAdam", {"lr": 0.01, "weight_decay": 0.1}),
    "nadam_decoupled": (
        "NAdam",
        {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True},
    ),
    "radam": ("RAdam", {"lr": 0.01, "weight_decay": 0.1}),
    "radam_decoupled": (
        "RAdam",
        {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True, "betas": (0.9, 0.99)},
    ),
    "adamax": ("Adamax", {"lr": 0.01, "weight_decay": 0.1}),
    "adagrad": ("Adagrad", {"lr": 0.05, "lr_decay": 0.1, "weight_decay": 0.1}),
    "adagrad_initial": ("Adagrad", {"initial_accumulator_value": 0.5, "maximize": True}),
    "adadelta": ("Adadelta", {"lr": 0.7, "weight_decay": 0.1}),
    "rmsprop": ("RMSprop", {"weight_decay": 0.1}),
    "rmsprop_centered": ("RMSprop", {"centered": True, "momentum": 0.8, "maximize": True}),
    "rprop": ("Rprop", {"lr": 0.02}),
    "asgd": ("ASGD", {"lr": 0.05, "t0": 2, "weight_decay": 0.1}),
    "adafactor": ("Adafactor", {"lr": 0.05, "weight_decay": 0.1}),
    "adafactor_maximize": ("Adafactor", {"lr": 0.05, "d": 2.0, "maximize": True}),
    "sgd_each": ("SGD", {"lr": 0.1, "momentum": 0.5, "foreach": False}),
    "adam_listed": ("Adam", {"lr": 0.01, "betas": (0.7, 0.8), "foreach": True}),
    "adamw_fused": ("AdamW", {"lr": 0.02, "betas": (0.8, 0.9), "eps": 1e-2, "fused": True}),
    "adam_decoupled": (
        "Adam", {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True}
    ),
    "nadam_rest": ("NAdam", {"betas": (0.8, 0.9), "eps": 1e-3, "momentum_decay": 0.02}),
    "radam_rest": ("RAdam", {"lr": 0.05, "eps": 1e-2, "maximize": True, "foreach": False}),
    "adamax_rest": ("Adamax", {"betas": (0.7, 0.9), "eps": 1e-2, "maximize": True}),
    "adagrad_rest": ("Adagrad", {"lr": 0.1, "eps": 1e-2, "foreach": True}),
    "adadelta_rest": ("Adadelta", {"rho": 0.7, "eps": 1e-3, "maximize": True}),
    "rmsprop_rest": ("RMSprop", {"lr": 0.02, "alpha": 0.8, "eps": 1e-2, "foreach": False}),
    "rprop_rest": (
        "Rprop", {"etas": (0.4, 1.3), "step_sizes": (1e-3, 0.3), "maximize": True}
    ),
    "asgd_rest": ("ASGD", {"lr": 0.05, "lambd": 0.01, "alpha": 0.6, "maximize": True}),
    "adafactor_rest": (
        "Adafactor", {"beta2_decay": -0.6, "eps": (1e-8, 1e-2), "foreach": False}
    ),
    "muon": ("Muon", {"lr": 0.05}),
    "muon_rest": (
        "Muon",
        {
            "weight_decay": 0.2, "momentum": 0.8, "nesterov": False, "ns_steps": 3,
            "ns_coefficients": (3.0, -4.0, 2.0), "eps": 1e-5, "adjust_lr_fn": "match_rms_adamw",
        },
    ),
}
DTYPES = ("float32", "float64")


def wave(n, phase):
    return [math.sin(1.7 * i + phase) * (1 + 0.3 * math.cos(i * phase)) for i in range(n)]


def tensor_of(torch, shape, phase, dtype):
    n = math.prod(shape)
    return torch.tensor(wave(n, phase), dtype=getattr(torch, dtype)).reshape(shape)


def parameters(torch, dtype="float32", shapes=SHAPES):
    return [
        tensor_of(torch, shape, 0.5 + i, dtype).requires_grad_() for i, shape in enumerate(shapes)
    ]


def set_grads(torch, params, step, dtype, skip=None):
    for i, p in enumerate(params):
        p.grad = None if i == skip else tensor_of(torch, tuple(p.shape), step * 1.3 + i, dtype)


def plain(torch, value):
    """A value as JSON can keep it, tensors with their dtype."""
    if isinstance(value, torch.Tensor):
        flat = value.detach().reshape(-1).tolist()
        return {"dtype": str(value.dtype), "shape": list(value.shape), "values": flat}
    if isinstance(value, dict):
        return [[str(key), plain(torch, item)] for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [plain(torch, item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def shapes_for(kind):
    return MATRICES if kind == "Muon" else SHAPES


def trajectory(torch, kind, options, dtype):
    """Parameters after every step, one without gradient in the first; state and options."""
    params = parameters(torch, dtype, shapes_for(kind))
    optimizer = getattr(torch.optim, kind)(params, **options)
    steps = []
    for step in range(STEPS):
        set_grads(torch, params, step, dtype, skip=1 if step == 0 else None)
        optimizer.step()
        steps.append([plain(torch, p)["values"] for p in params])
        if step == 2:
            middle = plain(torch, optimizer.state_dict()["state"])
    state = optimizer.state_dict()
    return {
        "params": steps,
        "middle": middle,
        "state": plain(torch, state["state"]),
        "groups": plain(torch, state["param_groups"]),
        "repr": repr(optimizer),
    }


DIFFERENTIABLE = {
    "SGD": {"momentum": 0.9, "weight_decay": 0.05},
    "Adam": {"weight_decay": 0.1, "amsgrad": True, "eps": 0.3},
    "AdamW": {"maximize": True, "eps": 0.3},
    "NAdam": {"weight_decay": 0.1, "eps": 0.3},
    "RAdam": {"weight_decay": 0.1},
    "Adamax": {"weight_decay": 0.1, "eps": 0.3},
    "Adagrad": {"lr_decay": 0.1, "eps": 0.3},
    "Adadelta": {"weight_decay": 0.1, "eps": 0.3},
    "RMSprop": {"centered": True, "momentum": 0.8, "eps": 0.3},
    "Rprop": {},
    "ASGD": {"weight_decay": 0.1},
}


def differentiated(torch, kind):
    """Gradients of a step's result with respect to the parameter and its gradient."""
    start = tensor_of(torch, (3,), 0.5, "float64").requires_grad_()
    grad = tensor_of(torch, (3,), 1.0, "float64").requires_grad_()
    param = start.clone()
    optimizer = getattr(torch.optim, kind)(
        [param], lr=0.1, differentiable=True, **DIFFERENTIABLE[kind]
    )
    param.grad = grad.clone()
    optimizer.step()
    found = torch.autograd.grad(param.square().sum(), (start, grad), allow_unused=True)
    return [None if f is None else f.tolist() for f in found]


# Options that may be tensors whose gradients are wanted.
LEARNED = {
    "SGD": {"lr": (0.1,), "weight_decay": (0.05,)},
    "SGD nesterov": {"lr": (0.1,), "momentum": 0.9, "nesterov": True},
    "Adam": {"lr": (0.1,), "betas": ((0.8,), (0.9,)), "weight_decay": (0.1,)},
    "AdamW": {"lr": (0.1,), "weight_decay": (0.1,)},
    "RAdam": {"lr": (0.1,)},
}


def learned(torch, name):
    """Gradients of two steps' result with respect to the options that are tensors."""
    leaves = []

    def leaf(option):
        if isinstance(option, tuple) and isinstance(option[0], tuple):
            return tuple(leaf(part) for part in option)
        if not isinstance(option, tuple):
            return option
        leaves.append(torch.tensor(option[0], dtype=torch.float64, requires_grad=True))
        return leaves[-1]

    options = {key: leaf(value) for key, value in LEARNED[name].items()}
    param = tensor_of(torch, (3,), 0.5, "float64")
    optimizer = getattr(torch.optim, name.split()[0])([param], differentiable=True, **options)
    for k in range(2):
        param.grad = tensor_of(torch, (3,), 1.0 + k, "float64")
        optimizer.step()
    return [g.item() for g in torch.autograd.grad(param.square().sum(), leaves)]


def lbfgs(torch, dtype, **options):
    """Losses and points of Rosenbrock's function under LBFGS."""
    x = torch.tensor([-1.2, 1.0], dtype=getattr(torch, dtype), requires_grad=True)
    optimizer = torch.optim.LBFGS([x], **options)

    def closure():
        optimizer.zero_grad()
        loss = (1 - x[0]) ** 2 + 10 * (x[1] - x[0] ** 2) ** 2
        loss.backward()
        return loss

    rows = []
    for _ in range(4):
        loss = optimizer.step(closure)
        state = optimizer.state[x]
        rows.append([loss.item(), *x.tolist(), state["func_evals"], state["n_iter"]])
    return rows


LBFGS = {
    "stops": {"lr": 0.05, "max_eval": 3, "tolerance_grad": 5.0, "tolerance_change": 1e-2},
    "plain": {"lr": 0.01, "max_iter": 4, "history_size": 3},
    "wolfe": {"line_search_fn": "strong_wolfe", "max_iter": 6},
}


class Halving:
    """A callable with state, which schedules keep in their checkpoints."""

    def __init__(self):
        self.base = 2

    def __call__(self, step):
        return self.base ** (-step)


def _sequential(torch, o):
    s = torch.optim.lr_scheduler
    return s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9), s.StepLR(o, 2)], [3, 6]
    )


def _chained(torch, o):
    s = torch.optim.lr_scheduler
    return s.ChainedScheduler([s.LinearLR(o, 0.2, 0.9, 4), s.ExponentialLR(o, 0.8)], optimizer=o)


def _schedule(name, *args, **kwargs):
    return lambda torch, o: getattr(torch.optim.lr_scheduler, name)(o, *args, **kwargs)


SCHEDULES = {
    "lambda": _schedule("LambdaLR", lambda step: 0.9**step),
    "lambda_list": _schedule("LambdaLR", [lambda step: 0.9**step, Halving()]),
    "multiplicative": _schedule("MultiplicativeLR", lambda step: 0.95),
    "step": _schedule("StepLR", 3, 0.5),
    "multistep": _schedule("MultiStepLR", [2, 5, 5, 9], gamma=0.3),
    "constant": _schedule("ConstantLR", 0.25, 4),
    "linear": _schedule("LinearLR", 0.1, 0.8, 7),
    "exponential": _schedule("ExponentialLR", 0.9),
    "polynomial": _schedule("PolynomialLR", 6, 2.0),
    "cosine": _schedule("CosineAnnealingLR", 5, eta_min=0.001),
    "warm_restarts": _schedule("CosineAnnealingWarmRestarts", 3, 2, eta_min=0.001),
    "cyclic": _schedule("CyclicLR", 0.01, 0.2, 3, 4),
    "cyclic2": _schedule("CyclicLR", [0.01, 0.02], 0.2, 3, mode="triangular2"),
    "cyclic_exp": _schedule("CyclicLR", 0.01, 0.2, 3, mode="exp_range", gamma=0.95),
    "cyclic_scale": _schedule("CyclicLR", 0.01, 0.2, 3, scale_fn=lambda x: 1 / x),
    "cyclic_momenta": _schedule(
        "CyclicLR", 0.01, 0.2, 3, scale_fn=lambda x: 0.9**x, scale_mode="iterations",
        base_momentum=0.7, max_momentum=0.95,
    ),
    "cyclic_lr_only": _schedule("CyclicLR", 0.01, 0.2, 3, cycle_momentum=False),
    "one_cycle_momenta": _schedule(
        "OneCycleLR", 0.3, total_steps=20, base_momentum=0.6, max_momentum=0.9, div_factor=10.0,
        final_div_factor=50.0,
    ),
    "one_cycle_lr_only": _schedule("OneCycleLR", 0.3, total_steps=20, cycle_momentum=False),
    "one_cycle": _schedule("OneCycleLR", 0.3, total_steps=20),
    "one_cycle_three": _schedule(
        "OneCycleLR",
        [0.3, 0.4],
        epochs=4,
        steps_per_epoch=5,
        three_phase=True,
        anneal_strategy="linear",
        pct_start=0.2,
    ),
    "sequential": _sequential,
    "chained": _chained,
    "swa": lambda torch, o: torch.optim.swa_utils.SWALR(o, 0.02, 4),
    "swa_linear": lambda torch, o: torch.optim.swa_utils.SWALR(o, [0.02, 0.03], 3, "linear"),
}


def two_groups(torch, kind="SGD", **options):
    a, b = parameters(torch, shapes=((1,), (2,)))
    groups = [{"params": [a]}, {"params": [b], "lr": 0.05}]
    if kind == "SGD":
        options.setdefault("momentum", 0.9)
    return getattr(torch.optim, kind)(groups, lr=0.1, **options)


def schedule(torch, name, kind="SGD"):
    """Learning rates and momenta over all steps, with the state in the middle and at the end."""
    optimizer = two_groups(torch, kind)
    scheduler = SCHEDULES[name](torch, optimizer)
    rows, states = [], []
    for step in range(STEPS):
        rows.append(
            [
                [g["lr"], *(g["betas"] if "betas" in g else (g["momentum"],))]
                for g in optimizer.param_groups
            ]
        )
        rows.append(list(scheduler.get_last_lr()))
        if step in (4, STEPS - 1):
            states.append(plain(torch, scheduler.state_dict()))
        optimizer.step()
        if step < STEPS - 1:
            scheduler.step()
    extra = {k: v for k, v in optimizer.param_groups[1].items() if k != "params"}
    return {"rows": rows, "states": states, "group": plain(torch, extra)}


def closed_forms(torch):
    """Jumps to a step, which use the closed form where there is one."""
    rows = {}
    for name in (
        "lambda",
        "step",
        "multistep",
        "constant",
        "linear",
        "exponential",
        "polynomial",
        "cosine",
        "warm_restarts",
    ):
        optimizer = two_groups(torch)
        scheduler = SCHEDULES[name](torch, optimizer)
        optimizer.step()
        rows[name] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for epoch in (4, 2, 7):
                scheduler.step(epoch)
                rows[name].append(list(scheduler.get_last_lr()))
            scheduler.step()
            rows[name].append(list(scheduler.get_last_lr()))
    return rows


METRICS = (1.0, 0.9, 0.95, 0.94, 0.93, 0.9001, 0.5, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, math.nan)
PLATEAUS = {
    "min": {"patience": 1},
    "eps": {"patience": 0, "factor": 0.5, "eps": 0.02},
    "max": {"mode": "max", "patience": 0, "cooldown": 2, "factor": 0.5},
    "abs": {"threshold_mode": "abs", "threshold": 0.2, "patience": 2, "min_lr": [0.02, 0.004]},
}


def plateau(torch, **options):
    optimizer = two_groups(torch)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options)
    rows = []
    for metric in METRICS:
        scheduler.step(metric)
        rows.append([list(scheduler.get_last_lr()), scheduler.num_bad_epochs])
    return {"rows": rows, "state": plain(torch, scheduler.state_dict())}


def averaged(torch, **options):
    """State of an averaged model, and its output, while a normalising model takes six steps."""
    swa = torch.optim.swa_utils
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)).double()
    options = {
        key: getattr(swa, value)(0.8) if isinstance(value, str) else value
        for key, value in options.items()
    }
    average = swa.AveragedModel(model, **options)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = tensor_of(torch, (5, 3), 0.7, "float64")
    for _ in range(6):
        optimizer.zero_grad()
        (model(x) - x[:, :2]).square().mean().backward()
        optimizer.step()
        average.update_parameters(model)
    swa.update_bn([x[:2], x[2:]], average)
    return plain(torch, [average.eval()(x), dict(average.state_dict())])


AVERAGED = {
    "mean": {},
    "buffers": {"use_buffers": True},
    "ema": {"avg_fn": "get_ema_avg_fn"},
    "multi_ema": {"multi_avg_fn": "get_ema_multi_avg_fn", "use_buffers": True},
    "swa": {"avg_fn": lambda mean, new, n: mean + (new - mean) / (n + 2)},
}


def _sgd(torch, **options):
    return torch.optim.SGD(parameters(torch), lr=0.1, **options)


def _on_group(torch, group):
    _sgd(torch).add_param_group(group)


def _named(torch):
    o = torch.optim.SGD([("w", parameters(torch)[0])], lr=0.1)
    o.add_param_group({"params": parameters(torch)})


def _non_leaf(torch):
    torch.optim.SGD([parameters(torch)[0] * 2])


def _twice(torch):
    p = parameters(torch)
    torch.optim.SGD([{"params": p}, {"params": p[:1]}])


def _make(kind, *args, **kwargs):
    return lambda torch: getattr(torch.optim, kind)(parameters(torch), *args, **kwargs)


def _scheduler(name, *args, **kwargs):
    return lambda torch: getattr(torch.optim.lr_scheduler, name)(two_groups(torch), *args, **kwargs)


def _bad_hook(torch):
    o = _sgd(torch)
    o.register_step_pre_hook(lambda *_: 1)
    o.step()


def _captured(kind, **options):
    def step(torch):
        p = torch.nn.Parameter(torch.ones(3))
        p.grad = torch.ones(3)
        getattr(torch.optim, kind)([p], capturable=True, **options).step()

    return step


CAPTURABLE = "Adam AdamW NAdam RAdam Adamax Adadelta RMSprop Rprop ASGD".split()

FAILURES = {
    **{
        f"{kind} capturable {foreach}": _captured(kind, foreach=foreach)
        for kind in CAPTURABLE
        for foreach in (None, False, True)
    },
    "adam capturable fused": _captured("Adam", fused=True),
    "tensor as params": lambda torch: torch.optim.SGD(parameters(torch)[0]),
    "no params": lambda torch: torch.optim.SGD([]),
    "set": lambda torch: torch.optim.SGD([{"params": set(parameters(torch))}]),
    "number as param": lambda torch: torch.optim.SGD([1.0]),
    "not a leaf": _non_leaf,
    "in two groups": _twice,
    "group no dict": lambda torch: _on_group(torch, []),
    "names": _named,
    "sgd lr": _make("SGD", lr=-1),
    "sgd momentum": _make("SGD", momentum=-1),
    "sgd weight_decay": _make("SGD", weight_decay=-1),
    "sgd nesterov": _make("SGD", nesterov=True),
    "sgd fused": _make("SGD", fused=True, differentiable=True),
    "sgd fused foreach": _make("SGD", fused=True, foreach=True),
    "adam beta": _make("Adam", betas=(1.0, 0.9)),
    "adam beta2": _make("Adam", betas=(0.9, -0.1)),
    "adam eps": _make("Adam", eps=-1),
    "adamw weight_decay": _make("AdamW", weight_decay=-1),
    "nadam momentum_decay": _make("NAdam", momentum_decay=-1),
    "adadelta rho": _make("Adadelta", rho=2),
    "adagrad lr_decay": _make("Adagrad", lr_decay=-1),
    "adagrad initial": _make("Adagrad", initial_accumulator_value=-1),
    "rmsprop alpha": _make("RMSprop", alpha=-1),
    "rprop etas": _make("Rprop", etas=(2, 1)),
    "adafactor lr": _make("Adafactor", lr=-1),
    "adafactor d": _make("Adafactor", d=0.5),
    "adafactor beta2": _make("Adafactor", beta2_decay=0.5),
    "muon dims": _make("Muon"),
    "lbfgs groups": lambda torch: torch.optim.LBFGS(
        [{"params": parameters(torch)}, {"params": parameters(torch)}]
    ),
    "lr tensor": lambda torch: _sgd(torch) and _make("SGD", lr=torch.ones(2))(torch),
    "load groups": lambda torch: _sgd(torch).load_state_dict(two_groups(torch).state_dict()),
    "load sizes": lambda torch: _sgd(torch).load_state_dict(
        torch.optim.SGD(parameters(torch)[:1]).state_dict()
    ),
    "bad pre hook value": _bad_hook,
    "schedule of no optimizer": lambda torch: torch.optim.lr_scheduler.StepLR(3, 1),
    "resume": _scheduler("StepLR", 1, last_epoch=2),
    "lambda count": _scheduler("LambdaLR", [abs]),
    "not a lambda": _scheduler("MultiplicativeLR", 3),
    "constant factor": _scheduler("ConstantLR", 2),
    "linear start": _scheduler("LinearLR", 0),
    "linear end": _scheduler("LinearLR", 0.5, 2),
    "warm T_0": _scheduler("CosineAnnealingWarmRestarts", 0),
    "cyclic mode": _scheduler("CyclicLR", 0.1, 0.2, mode="x"),
    "cyclic lrs": _scheduler("CyclicLR", [0.1], 0.2),
    "one cycle steps": _scheduler("OneCycleLR", 0.1),
    "one cycle total": _scheduler("OneCycleLR", 0.1, total_steps=-1),
    "one cycle pct": _scheduler("OneCycleLR", 0.1, total_steps=5, pct_start=2),
    "one cycle anneal": _scheduler("OneCycleLR", 0.1, total_steps=5, anneal_strategy="x"),
    "plateau factor": _scheduler("ReduceLROnPlateau", factor=1),
    "plateau mode": _scheduler("ReduceLROnPlateau", mode="x"),
    "plateau min_lr": _scheduler("ReduceLROnPlateau", min_lr=[1]),
    "sequential none": _scheduler("SequentialLR", [], []),
    "ema decay": lambda torch: torch.optim.swa_utils.get_ema_avg_fn(2),
}


def failure(torch, name):
    """The type and message of what a failing call raises."""
    try:
        FAILURES[name](torch)
    except Exception as error:
        text = str(error)
        if "function" in text and " at 0x" in text:
            text = text[text.index("must return") :]
        return [type(error).__name__, text]
    return ["nothing", ""]


def everything(torch):
    """All that is recorded."""
    return {
        "version": torch.__version__,
        "trajectories": {
            f"{name}-{dtype}": trajectory(torch, *case, dtype)
            for name, case in OPTIMIZERS.items()
            for dtype in DTYPES
        },
        "lbfgs": {
            f"{name}-{dtype}": lbfgs(torch, dtype, **case)
            for name, case in LBFGS.items()
            for dtype in DTYPES
        },
        "differentiated": {kind: differentiated(torch, kind) for kind in DIFFERENTIABLE},
        "learned": {name: learned(torch, name) for name in LEARNED},
        "schedules": {name: schedule(torch, name) for name in SCHEDULES},
        "beta_schedules": {
            name: schedule(torch, name, "AdamW") for name in ("cyclic", "one_cycle", "step")
        },
        "closed_forms": closed_forms(torch),
        "plateaus": {name: plateau(torch, **case) for name, case in PLATEAUS.items()},
        "averaged": {name: averaged(torch, **case) for name, case in AVERAGED.items()},
        "failures": {name: failure(torch, name) for name in FAILURES},
    }
