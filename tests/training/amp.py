"""Programs about autocast and GradScaler; what they show is recorded from PyTorch."""

from __future__ import annotations

import pickle
import warnings

# Calls whose result dtype autocast decides; `a` is (2, 3, 3), `w` (3, 3), `v` (3,), `p` in (0, 1).
CALLS = """
torch.mm(w, w); torch.bmm(a, a); torch.matmul(a, w); torch.matmul(v, v); torch.matmul(w, v)
w @ w; w @ v; v @ v; torch.mv(w, v); torch.dot(v, v); torch.addmm(w, w, w); torch.addmv(v, w, v)
torch.baddbmm(a, a, a); torch.addbmm(w, a, a); F.linear(a, w); F.linear(a, w, v)
F.linear(v, w); torch.einsum('bij,jk->bik', a, w); torch.outer(v, v)
F.conv1d(a, w.reshape(3, 3, 1)); F.conv2d(a[None], a.reshape(3, 2, 3, 1))
F.conv_transpose1d(a, w.reshape(3, 3, 1)); F.scaled_dot_product_attention(a, a, a)
F.prelu(a, v[:1]); F.relu(a); F.gelu(a); F.softmax(a, 0); F.log_softmax(a, 0); a.exp(); p.log()
p.pow(2); torch.pow(2.0, p); p.rsqrt(); a.sum(); a.sum(0); a.mean(); a.norm(); a.cumsum(0)
a.cumprod(0); a.prod(); a.prod(0); a.std(); a.var(0); torch.logsumexp(a, 0); F.softplus(a)
a.sinh(); a.cosh(); a.tan(); p.acos(); p.asin(); torch.atan2(w, v); a.expm1(); p.log1p()
torch.stack([w, h]); torch.cat([w, h]); torch.stack([h, h]); torch.cat([w, w])
torch.add(w, h); w * h; torch.where(w > 0, w, h); torch.addcmul(w, w, h); torch.dist(w, w)
w.index_copy(0, torch.tensor([1]), h[:1]); torch.quantile(w, 0.5)
torch.nanquantile(w, 0.5); torch.quantile(w, p[0, 0, :2])
torch.view_as_complex(w[:, :2].contiguous())
F.mse_loss(w, w + 1); F.l1_loss(w, w + 1); F.smooth_l1_loss(w, w + 1); F.huber_loss(w, w + 1)
F.binary_cross_entropy(p, p); F.binary_cross_entropy_with_logits(p, p); F.kl_div(w, w)
F.nll_loss(w, torch.tensor([0, 1, 2])); F.cross_entropy(w, torch.tensor([0, 1, 2]))
F.soft_margin_loss(w, w); F.hinge_embedding_loss(w, w); F.margin_ranking_loss(v, v, v)
F.cosine_embedding_loss(w, w, v); F.triplet_margin_loss(w, w, w); F.poisson_nll_loss(w, w)
F.cosine_similarity(w, w); F.layer_norm(a, (3,)); F.group_norm(a[:, :2], 1); F.rms_norm(a, (3,))
F.batch_norm(w, v, v.abs()); F.avg_pool2d(a, 1); F.avg_pool1d(a, 1); F.avg_pool3d(a[None], 1)
F.max_pool2d(a, 1); F.adaptive_avg_pool2d(a, 1); F.adaptive_avg_pool3d(a[None], 1)
F.max_pool3d(a[None], 1); F.adaptive_max_pool3d(a[None], 1); F.dropout(a, 0.5)
F.embedding(torch.tensor([1]), w); torch.nn.Linear(3, 2)(a); torch.nn.LayerNorm(3)(a)
w.addmm(w, w); w.clone().addmm_(w, w); torch.mm(w, w, out=torch.empty(3, 3))
w.to(torch.float64) @ w.double()
"""


def _calls():
    return [c.strip() for line in CALLS.strip().splitlines() for c in line.split(";")]


def dtypes(torch, show):
    F = torch.nn.functional
    for lower in (torch.bfloat16, torch.float16):
        for given in (torch.float32, torch.bfloat16):
            torch.manual_seed(0)
            a = torch.rand(2, 3, 3).to(given)
            names = {"torch": torch, "F": F, "a": a, "w": torch.rand(3, 3).to(given),
                     "v": torch.rand(3).to(given), "p": (a * 0.5 + 0.2),
                     "h": torch.rand(3, 3).to(lower)}  # fmt: skip
            with torch.autocast("cpu", lower):
                for call in _calls():
                    try:
                        result = eval(call, names)
                        kind = str((result[0] if isinstance(result, tuple) else result).dtype)
                    except (RuntimeError, NotImplementedError) as error:
                        kind = type(error).__name__
                    show(lower, given, call, kind)


def state(torch, show):
    kinds = "cpu cuda mtia maia xpu ipu hpu xla mps meta privateuseone".split()
    for kind in kinds:
        show(kind, torch.amp.is_autocast_available(kind))
        show.failure(lambda kind=kind: torch.is_autocast_enabled(kind))
        show.failure(lambda kind=kind: torch.get_autocast_dtype(kind))
    show.failure(lambda: torch.is_autocast_enabled(3))
    show.failure(lambda: torch.autocast(3))
    show.failure(lambda: torch.autocast("nothing"))
    show.failure(lambda: torch.autocast("meta"))
    show.failure(lambda: torch.autocast("cpu")(3))
    show.failure(lambda: torch.amp.custom_fwd(lambda ctx: 3, device_type=3))
    show(torch.is_autocast_enabled(), torch.is_autocast_cache_enabled())
    torch.set_autocast_enabled("cpu", True)
    show(torch.is_autocast_enabled("cpu"), (torch.ones(2, 2) @ torch.ones(2, 2)).dtype)
    torch.set_autocast_enabled("cpu", False)
    show(torch.autocast_increment_nesting(), torch.autocast_decrement_nesting())


def warnings_given(torch, show):
    for make in (
        lambda: torch.autocast("cpu", torch.float32),
        lambda: torch.autocast("cuda"),
        lambda: torch.autocast("mps", torch.float64),
        lambda: torch.autocast("cpu", torch.float64, enabled=False),
        lambda: torch.cpu.amp.autocast(),
        lambda: torch.cpu.amp.GradScaler(),
        lambda: torch.cuda.amp.autocast(enabled=False),
        lambda: torch.cuda.amp.GradScaler(),
        lambda: torch.amp.GradScaler(),
        lambda: torch.cuda.amp.custom_fwd(lambda ctx: ctx),
        lambda: torch.cuda.amp.custom_bwd(lambda ctx: ctx),
        lambda: torch.is_autocast_cpu_enabled(),
        lambda: torch.get_autocast_gpu_dtype(),
        lambda: torch.is_autocast_xla_enabled(),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            made = make()
        show(getattr(made, "_enabled", None), getattr(made, "fast_dtype", None))
        for each in caught:
            show(each.category.__name__, str(each.message).split(" (Triggered")[0])


def nesting(torch, show):
    w = torch.ones(2, 2)
    with torch.autocast("cpu"):
        show((w @ w).dtype)
        with torch.autocast("cpu", torch.float16, cache_enabled=False):
            show((w @ w).dtype, torch.is_autocast_cache_enabled())
            with torch.autocast("cpu", enabled=False):
                show((w @ w).dtype, torch.is_autocast_enabled("cpu"))
        show((w @ w).dtype, torch.get_autocast_dtype("cpu"))
        show.failure(lambda: (w @ w) @ w.double())

    @torch.autocast("cpu")
    def inside(x):
        return x @ x

    show(inside(w).dtype, inside.__name__, torch.is_autocast_enabled("cpu"))


def cached_casts(torch, show):
    w = torch.full((2, 2), 1.001953125, requires_grad=True)
    x = torch.full((2, 2), 0.123456)
    for cache in (True, False):
        w.grad = None
        with torch.autocast("cpu", cache_enabled=cache):
            y = (x @ w) + (x @ w) * 3 + (w @ x)
            seen = {id(y.grad_fn.next_functions[0][0].next_functions[0][0])}
        y.float().sum().backward()
        show(cache, w.grad.tolist(), w.grad.dtype, len(seen))
    with torch.autocast("cpu"):
        first = x @ w
        with torch.no_grad():
            w.fill_(2.0)
        show(first.dtype, (x @ w).tolist())
        torch.clear_autocast_cache()
        show((x @ w).tolist())
    show((x @ w).dtype)


def custom_functions(torch, show):
    def function(cast):
        class Product(torch.autograd.Function):
            @staticmethod
            @torch.amp.custom_fwd(device_type="cpu", cast_inputs=cast)
            def forward(ctx, a, b, rest):
                ctx.save_for_backward(a, b)
                show(a.dtype, b.dtype, torch.is_autocast_enabled("cpu"), rest)
                return a @ b

            @staticmethod
            @torch.amp.custom_bwd(device_type="cpu")
            def backward(ctx, grad):
                a, b = ctx.saved_tensors
                show(grad.dtype, torch.is_autocast_enabled("cpu"), (b @ b).dtype)
                return grad @ b.t(), a.t() @ grad, None

        return Product.apply

    for cast in (None, torch.float32, torch.float16):
        for on in (True, False):
            a = torch.ones(2, 2, requires_grad=True)
            b = torch.ones(2, 2, dtype=torch.bfloat16)
            with torch.autocast("cpu", enabled=on):
                try:
                    out = function(cast)(a, b, ("text", b"bytes"))
                    out.sum().backward()
                    show(out.dtype, a.grad)
                except RuntimeError as error:
                    show(type(error).__name__)


def training(torch, show):
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)
    for step in range(6):
        optimizer.zero_grad()
        with torch.autocast("cpu"):
            out = model(x)
            loss = torch.nn.functional.mse_loss(out, y)
        scaler.scale(loss * (float("inf") if step == 3 else 1.0)).backward()
        scaler.unscale_(optimizer)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        scaler.step(optimizer)
        scaler.update()
        show(step, out.dtype, f"{loss.item():.2f}", bool(norm.isfinite()), scaler.get_scale(),
             scaler._get_growth_tracker())  # fmt: skip
    show(scaler.state_dict())


def scaling(torch, show):
    scaler = torch.amp.GradScaler("cpu")
    show(scaler.get_scale(), scaler.is_enabled(), scaler.state_dict())
    x = torch.ones(2)
    show(scaler.scale(x), scaler.scale([x, (x, [x])]), list(scaler.scale(iter([x]))))
    show.failure(lambda: scaler.scale(3))
    show.failure(lambda: scaler.scale([x, 3]))
    show(scaler._scale, scaler._growth_tracker)
    show.failure(lambda: torch.amp.GradScaler("cpu", growth_factor=1.0))
    show.failure(lambda: torch.amp.GradScaler("cpu", backoff_factor=1.0))
    off = torch.amp.GradScaler("cpu", enabled=False)
    show(off.scale(3), off.get_scale(), off.state_dict(), off._get_growth_tracker(), off.update())
    show.failure(lambda: scaler.load_state_dict({}))
    scaler.set_growth_factor(3.0)
    scaler.set_backoff_factor(0.25)
    scaler.set_growth_interval(7)
    show(scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval())
    again = torch.amp.GradScaler("cpu")
    again.load_state_dict(scaler.state_dict())
    show(again.state_dict())
    show(pickle.loads(pickle.dumps(scaler)).state_dict())


def order_of_calls(torch, show):
    p = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([p], 1.0)
    scaler = torch.amp.GradScaler("cpu", 4.0)
    show.failure(lambda: scaler.step(optimizer))
    show.failure(lambda: scaler.unscale_(optimizer))
    show.failure(lambda: scaler.update())
    scaler.scale(torch.ones(()))
    show.failure(lambda: scaler.update())
    show.failure(lambda: scaler.step(optimizer))
    scaler = torch.amp.GradScaler("cpu", 4.0)
    scaler.scale(p.sum()).backward()
    show(p.grad)
    show.failure(lambda: scaler.step(optimizer, closure=lambda: 3))
    show(scaler.unscale_(optimizer), p.grad)
    show.failure(lambda: scaler.unscale_(optimizer))
    show.failure(lambda: pickle.dumps(scaler))
    show(scaler.step(optimizer), p)
    show.failure(lambda: scaler.step(optimizer))
    show.failure(lambda: scaler.unscale_(optimizer))
    scaler.update(2.0)
    show(scaler.get_scale())
    scaler.update(torch.tensor(8.0))
    show(scaler.get_scale())
    show.failure(lambda: scaler.update(torch.ones(2)))
    show.failure(lambda: scaler.update(torch.ones(1, requires_grad=True)))
    p.grad = torch.tensor([1.0, float("nan"), 2.0])
    show(scaler.step(optimizer), p, p.grad)
    scaler.update()
    show(scaler.get_scale())
    half = torch.nn.Parameter(torch.ones(2, dtype=torch.float16))
    half.grad = torch.ones(2, dtype=torch.float16)
    show.failure(lambda: scaler.unscale_(torch.optim.SGD([half], 1.0)))
    brain = torch.nn.Parameter(torch.ones(2, dtype=torch.bfloat16))
    brain.grad = torch.ones(2, dtype=torch.bfloat16)
    show(scaler.unscale_(torch.optim.SGD([brain], 1.0)), brain.grad)


def several_optimizers(torch, show):
    a, b = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(2))
    first, second = torch.optim.SGD([a], 1.0), torch.optim.Adam([b], 1.0)
    scaler = torch.amp.GradScaler("cpu", 2.0)
    scaler.scale((a * 3 + b).sum()).backward()
    b.grad[0] = float("inf")
    scaler.step(first)
    scaler.step(second)
    scaler.update()
    show(a, b, scaler.get_scale())
    big = torch.amp.GradScaler("cpu", 1e38, growth_factor=1e10, growth_interval=1)
    big.scale(a.sum())
    a.grad = torch.zeros(2)
    big.step(first)
    big.update()
    show(big.get_scale(), big._get_growth_tracker())
