"""Small models to export: (name, module, args, kwargs, dynamic_shapes, another call)."""


def rows(torch):
    """The models, made with ``torch``, which is Rushlight or PyTorch."""
    nn, F, Dim = torch.nn, torch.nn.functional, torch.export.Dim
    torch.manual_seed(0)
    x, image = torch.randn(4, 6), torch.randn(2, 3, 8, 8)
    sequence = torch.randn(2, 5, 8)

    def module(forward, **parts):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("count", torch.zeros(6))
                self.shift = torch.ones(6)
                for name, part in parts.items():
                    setattr(self, name, part)

        Model.forward = forward
        return Model()

    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(3, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)
            self.conv2, self.bn2 = nn.Conv2d(4, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)
            self.down = nn.Conv2d(3, 4, 1)

        def forward(self, x):
            y = F.relu(self.bn1(self.conv1(x)))
            return F.relu(self.bn2(self.conv2(y)) + self.down(x))

    class Variational(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode, self.decode = nn.Linear(6, 8), nn.Linear(4, 6)

        def forward(self, x, noise):
            mean, log_var = self.encode(x).chunk(2, dim=1)
            z = mean + torch.exp(0.5 * log_var) * noise
            return {"out": torch.sigmoid(self.decode(z)), "mean": mean, "log_var": log_var}

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)

        def forward(self, x):
            b, t, c = x.shape
            q, k, v = self.qkv(x).split(c, dim=2)
            q, k, v = (y.view(b, t, 2, c // 2).transpose(1, 2) for y in (q, k, v))
            a = (q @ k.transpose(-2, -1) * (c // 2) ** -0.5).softmax(-1)
            return self.out((a @ v).transpose(1, 2).reshape(b, t, c))

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(10, 8), nn.Linear(8, 10, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, tokens):
            return self.head(self.embed(tokens))

    def mutate(self, x):
        self.count.add_(1)
        return x + self.count

    def index(self, x):
        y = x * 2
        y[:, 1] = x[:, 0]
        y[1:, 2] = 0.5
        return y[:, None, 1:], y[..., 0], x[torch.tensor([0, 2])], x[::2], x[-1]

    def in_place(self, x):
        y = x.clone()
        y += 1
        y.mul_(2)
        y.view(-1).add_(1)
        return y.relu_()

    def batch(name="batch"):
        return Dim(name, max=64)

    tokens = torch.tensor([[1, 2, 3], [4, 5, 6]])
    mlp = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
    lenet = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 5)
    )
    classifier = module(
        lambda self, t: self.head(self.embed(t).mean(1)), embed=nn.Embedding(10, 8),
        head=nn.Linear(8, 3),
    )  # fmt: skip
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return [
        ("mlp", mlp, (x,), {}, None, (x * 2,)),
        ("mlp dynamic", mlp, (x,), {}, ({0: batch()},), (torch.randn(9, 6),)),
        ("mlp auto", mlp, (x,), {}, ({0: Dim.AUTO},), (torch.randn(3, 6),)),
        ("lenet", lenet, (image,), {}, ({0: Dim.DYNAMIC},), (torch.randn(5, 3, 8, 8),)),
        ("residual train", Residual(), (image,), {}, None, (image,)),
        ("residual eval", Residual().eval(), (image,), {}, ({0: batch()},),
         (torch.randn(3, 3, 8, 8),)),
        ("batch norm train", nn.BatchNorm1d(6), (x,), {}, ({0: batch()},), (torch.randn(8, 6),)),
        ("lstm", nn.LSTM(8, 5, 2, batch_first=True), (sequence,), {}, None, (sequence,)),
        ("lstm dynamic", nn.LSTM(8, 5, batch_first=True), (sequence,), {},
         ({0: Dim.AUTO, 1: Dim.AUTO},), (torch.randn(3, 7, 8),)),
        ("gru", nn.GRU(8, 5), (sequence,), {}, None, (sequence,)),
        ("rnn", nn.RNN(8, 5), (sequence,), {}, None, (sequence,)),
        ("encoder eval", nn.TransformerEncoder(layer, 2).eval(), (sequence,), {}, None,
         (sequence,)),
        ("multihead", nn.MultiheadAttention(8, 2, batch_first=True), (sequence,) * 3, {}, None,
         (sequence,) * 3),
        ("attention", Attention(), (sequence,), {}, None, (sequence,)),
        ("attention dynamic", Attention(), (sequence,), {}, ({0: Dim.AUTO, 1: Dim.AUTO},),
         (torch.randn(3, 9, 8),)),
        ("embedding classifier", classifier, (tokens,), {}, ({0: Dim.AUTO, 1: Dim.AUTO},),
         (torch.tensor([[1, 2, 3, 4]] * 3),)),
        ("vae", Variational(), (x, torch.randn(4, 4)), {}, None, (x, torch.randn(4, 4))),
        ("vae auto", Variational(), (x, torch.randn(4, 4)), {}, ({0: Dim.AUTO}, {0: Dim.AUTO}),
         (torch.randn(7, 6), torch.randn(7, 4))),
        ("tied", Tied(), (tokens,), {}, None, (tokens,)),
        ("nested", module(lambda self, d: [d["a"] + d["b"][0], (d["b"][1],)]),
         ({"a": x, "b": [x + 1, x + 2]},), {}, None, ({"a": x, "b": [x + 1, x + 2]},)),
        ("kwargs", module(lambda self, x, *, scale: x * scale), (x,), {"scale": x + 1}, None,
         (x,)),
        ("buffer", module(mutate), (x,), {}, None, (x,)),
        ("constants", module(lambda self, x: x + self.shift + torch.tensor([1.0] * 6)), (x,), {},
         None, (x,)),
        ("index", module(index), (x,), {}, None, (x,)),
        ("in place", module(in_place), (x,), {}, None, (x,)),
        ("dropout eval", nn.Dropout(0.5).eval(), (x,), {}, None, (x,)),
        ("norms", nn.Sequential(nn.LayerNorm(8), nn.GELU(), nn.Softmax(-1)), (sequence,), {}, None,
         (sequence,)),
        ("group norm", nn.Sequential(nn.GroupNorm(1, 3), nn.SiLU(), nn.AvgPool2d(2)), (image,), {},
         None, (image,)),
        ("sizes", module(lambda self, x: (x.view(x.shape[0] * 6), x.shape[0] + 1)), (x,), {},
         ({0: batch()},), (torch.randn(5, 6),)),
        ("branch", module(lambda self, x: x + 1 if x.shape[0] > 3 else x - 1), (x,), {},
         ({0: Dim.AUTO},), (torch.randn(6, 6),)),
        ("bound", module(lambda self, x: x + torch.ones(4, 6)), (x,), {}, ({0: Dim.AUTO},), (x,)),
        ("makers", module(lambda self, x: (torch.zeros(x.shape[0], 2), torch.arange(3),
                                           torch.ones_like(x), x.new_zeros(2),
                                           torch.full((2,), 1.5))),
         (x,), {}, ({0: batch()},), (torch.randn(5, 6),)),
        ("reductions", module(lambda self, x: (x.sum(), x.sum(1), x.mean(0, keepdim=True),
                                               x.max(1), x.argmax(-1), x.std(), x.var(0),
                                               x.norm(), x.cumsum(0), x.amax(1), x.topk(2))),
         (x,), {}, None, (x,)),
        ("arithmetic", module(lambda self, x: (1 - x, x / 2, 1 / x, 2**x, x**2, -x, x > 0,
                                               (x > 0) & (x < 1), x % 2, abs(x), x // 2)),
         (x,), {}, None, (x,)),
        ("conversions", module(lambda self, x: (x.double(), x.to(torch.int64), x.long().float())),
         (x,), {}, None, (x,)),
        ("shapes", module(lambda self, x: (x.reshape(-1, 2), x.flatten(), x.t(), x.unsqueeze(0),
                                           x.permute(1, 0), x.repeat(2, 1), torch.cat([x, x], 1),
                                           torch.stack([x, x]), x.chunk(2), x.unbind(0),
                                           x.expand(2, 4, 6), x.split([1, 3]))),
         (x,), {}, None, (x,)),
        ("losses", module(lambda self, x, t: (F.cross_entropy(x, t), F.mse_loss(x, x * 2),
                                              F.log_softmax(x, 1))),
         (x, torch.tensor([0, 1, 2, 3])), {}, None, (x, torch.tensor([0, 1, 2, 3]))),
        ("numbers", module(lambda self, x, n, f, s: x * n + f if s == "a" else x),
         (x, 3, 2.5, "a"), {}, None, (x, 3, 2.5, "a")),
        ("upsample", module(lambda self, x: F.interpolate(x, scale_factor=2)), (image,), {}, None,
         (image,)),
        ("attention function", module(
            lambda self, q: F.scaled_dot_product_attention(q, q, q, is_causal=True)),
         (sequence,), {}, None, (sequence,)),
    ]  # fmt: skip


def described(ep) -> dict:
    """What is compared of an exported program."""
    graph = [n for n in ep.graph.nodes if n.op not in ("placeholder", "output")]
    signature = ep.graph_signature
    return {
        "targets": [
            str(n.target) if "aten" in str(n.target) else getattr(n.target, "__name__", "?")
            for n in graph
        ],
        "inputs": [
            [s.kind.name, type(s.arg).__name__, s.arg.name, s.target, s.persistent]
            for s in signature.input_specs
        ],
        "outputs": [[s.kind.name, type(s.arg).__name__] for s in signature.output_specs],
        "ranges": [str(r) for r in ep.range_constraints.values()],
    }
