"""Programs that raise: the recorded traps otherwise written, each with the line at fault marked."""

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn, optim\n"

# name: (id of the kind, program)
SHAPES = {
    "residual in three files": (
        "residual-size",
        {
            "model.py": """
            from torch import nn
            class Unit(nn.Module):
                def __init__(self, width, step):
                    super().__init__()
                    self.body = nn.Sequential(
                        nn.Conv2d(width, width, 3, step, 1), nn.BatchNorm2d(width), nn.ReLU(),
                        nn.Conv2d(width, width, 3, 1, 1),
                    )
                def forward(self, image):
                    return image + self.body(image)
            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.stages = nn.Sequential(Unit(4, 1), Unit(4, 2))  # <-
                def forward(self, image):
                    return self.stages(image)
            """,
            "data.py": "import torch\ndef images():\n    return torch.randn(2, 4, 8, 8)\n",
            "script.py": """
            import data, model
            class Trainer:
                def __init__(self):
                    self.net = model.Net()
                def run(self):
                    return self.net(data.images())
            Trainer().run()
            """,
        },
    ),
    "residual without padding": (
        "residual-size",
        HEAD
        + """
class Res(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(4, 4, kernel_size=3)  # <-
    def forward(self, x):
        skip = x
        x = F.relu(self.conv(x))
        return skip + x
Res()(torch.randn(2, 4, 10))
""",
    ),
    "residual with other features": (
        "residual-size",
        HEAD
        + """
class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, 2 * d)  # <-
    def forward(self, h):
        h = h + self.down(F.gelu(self.up(h)))
        return h
Block(8)(torch.randn(3, 8))
""",
    ),
    "broadcast of a vector over rows": (
        "broadcast-shapes",
        HEAD
        + """
def normalise(batch):
    total = batch.sum(1)
    return batch / total  # <-
normalise(torch.rand(5, 3))
""",
    ),
    "a bias of the wrong size": (
        "broadcast-shapes",
        HEAD
        + """
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(6))  # <-
    def forward(self, x):
        return x * self.gain
Scale()(torch.ones(2, 8))
""",
    ),
    "conv after conv": (
        "conv-channels",
        HEAD
        + """
net = nn.Sequential(
    nn.Conv2d(3, 8, 3),
    nn.ReLU(),
    nn.Conv2d(16, 8, 3),  # <-
)
net(torch.randn(1, 3, 9, 9))
""",
    ),
    "channels last image": (
        "conv-channels",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
    def forward(self, x):
        return self.conv(x)  # <-
Net()(torch.randn(2, 16, 16, 3))
""",
    ),
    "groups": ("conv-groups", HEAD + "layer = nn.Conv2d(6, 9, 3, groups=6)  # <-\n"),
    "batch norm of another width": (
        "layer-width",
        HEAD
        + """
def block(i, o):
    return nn.Sequential(nn.Linear(i, o), nn.BatchNorm1d(i), nn.ReLU())  # <-
block(4, 6)(torch.randn(3, 4))
""",
    ),
    "layer norm of another width": (
        "layer-width",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
    def forward(self, x):
        return self.norm(x)
Net(dim=16)(torch.randn(2, 5, 8))  # <-
""",
    ),
    "lstm of another width": (
        "layer-width",
        HEAD
        + """
rnn = nn.LSTM(10, 4, batch_first=True)  # <-
out, _ = rnn(torch.randn(2, 5, 8))
""",
    ),
    "view after transpose": (
        "view-layout",
        HEAD
        + """
def merge(heads):
    heads = heads.transpose(1, 2)
    return heads.view(heads.shape[0], heads.shape[1], -1)  # <-
merge(torch.randn(2, 4, 5, 3))
""",
    ),
    "view with a wrong count": (
        "view-count",
        HEAD
        + """
images = torch.randn(4, 1, 28, 28)
flat = images.view(4, 28 * 27)  # <-
""",
    ),
    "expand": (
        "expand-sizes",
        HEAD
        + """
weights = torch.rand(4)
table = weights.expand(4, 3)  # <-
""",
    ),
    "einsum": (
        "einsum-sizes",
        HEAD
        + """
a, b = torch.ones(2, 3), torch.ones(4, 3)
scores = torch.einsum("ij,jk->ik", a, b)  # <-
""",
    ),
    "cat of unequal widths": (
        "stack-sizes",
        HEAD
        + """
first, second = torch.ones(2, 3), torch.ones(2, 5)
both = torch.cat([first, second])  # <-
""",
    ),
    "stack of unequal lengths": (
        "stack-sizes",
        HEAD
        + """
def batch(rows):
    return torch.stack(rows)  # <-
batch([torch.ones(3), torch.ones(5)])
""",
    ),
    "collate of pairs": (
        "collate-lengths",
        {
            "data.py": """
            import torch
            from torch.utils.data import Dataset, DataLoader
            class Texts(Dataset):
                def __init__(self):
                    self.rows = [[1, 2, 3], [4], [5, 6], [7, 8, 9, 10]]
                def __len__(self):
                    return len(self.rows)
                def __getitem__(self, i):
                    return torch.tensor(self.rows[i]), i % 2
            def loader():
                return DataLoader(Texts(), batch_size=2, shuffle=True)  # <-
            """,
            "script.py": """
            import data
            class Trainer:
                def __init__(self):
                    self.loader = data.loader()
                def fit(self):
                    for tokens, label in self.loader:
                        tokens.sum()
            Trainer().fit()
            """,
        },
    ),
    "collate of dicts": (
        "collate-lengths",
        HEAD
        + """
from torch.utils import data
items = [{"ids": torch.arange(n), "label": n} for n in (3, 5, 2, 4)]
dl = data.DataLoader(items, batch_size=4)  # <-
for step, batch in enumerate(dl):
    pass
""",
    ),
    "one sample in evaluation": (
        "batchnorm-one-value",
        {
            "model.py": """
            from torch import nn
            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.layers = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
                def forward(self, x):
                    return self.layers(x)
            """,
            "script.py": """
            import torch
            from model import Net
            net = Net()
            @torch.no_grad()
            def predict(net, sample):
                return net(sample).argmax(1)  # <-
            predict(net, torch.randn(1, 4))
            """,
        },
    ),
    "one sample left over": (
        "batchnorm-one-value",
        HEAD
        + """
from torch.utils.data import DataLoader, TensorDataset
net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
opt = optim.SGD(net.parameters(), lr=0.1)
data = TensorDataset(torch.randn(9, 4), torch.randn(9, 1))
loader = DataLoader(data, batch_size=4)  # <-
for x, y in loader:
    opt.zero_grad()
    F.mse_loss(net(x), y).backward()
    opt.step()
""",
    ),
}

LABELS = {
    "labels as a column from a loader": (
        "target-column",
        {
            "data.py": """
            import torch
            from torch.utils.data import DataLoader, TensorDataset
            def make():
                x = torch.randn(8, 4)
                y = torch.randint(0, 3, (8, 1))  # <-
                return DataLoader(TensorDataset(x, y), batch_size=4)
            """,
            "script.py": """
            import torch, data
            from torch import nn
            model, criterion = nn.Linear(4, 3), nn.CrossEntropyLoss()
            for x, y in data.make():
                loss = criterion(model(x), y)
                loss.backward()
            """,
        },
    ),
    "float labels": (
        "target-dtype",
        HEAD
        + """
import numpy as np
labels = torch.from_numpy(np.array([0.0, 1.0, 2.0], dtype="float32"))  # <-
criterion = nn.CrossEntropyLoss()
criterion(torch.randn(3, 3), labels)
""",
    ),
    "float indices": (
        "target-dtype",
        HEAD
        + """
ids = torch.tensor([1.0, 2.0])  # <-
nn.Embedding(4, 2)(ids)
""",
    ),
    "bce in a trainer": (
        "bce-without-sigmoid",
        HEAD
        + """
class Trainer:
    def __init__(self, net):
        self.net = net
        self.loss_fn = nn.BCELoss()  # <-
    def step(self, x, y):
        loss = self.loss_fn(self.net(x), y)
        loss.backward()
torch.manual_seed(0)
Trainer(nn.Linear(4, 1)).step(5 * torch.randn(8, 4), torch.ones(8, 1))
""",
    ),
    "bce as a function": (
        "bce-without-sigmoid",
        HEAD
        + """
scores = torch.tensor([3.0, -2.0])
F.binary_cross_entropy(scores, torch.tensor([1.0, 0.0]))  # <-
""",
    ),
    "bce of a column and a vector": (
        "target-shape",
        HEAD
        + """
out, y = nn.Linear(3, 1)(torch.ones(4, 3)), torch.ones(4)
loss = nn.BCEWithLogitsLoss()(out, y)  # <-
""",
    ),
    "sequences not flattened": (
        "batch-sizes-differ",
        HEAD
        + """
logits, tokens = torch.randn(2, 5, 7), torch.randint(0, 7, (2, 5))
loss = F.cross_entropy(logits.view(-1, 7), tokens)  # <-
""",
    ),
    "classes last": (
        "batch-sizes-differ",
        HEAD
        + """
logits, tokens = torch.randn(2, 5, 7), torch.randint(0, 7, (2, 5))
loss = F.cross_entropy(logits, tokens)  # <-
""",
    ),
    "labels from one": (
        "class-index",
        HEAD
        + """
target = torch.tensor([1, 2, 3])  # <-
F.cross_entropy(torch.randn(3, 3), target)
""",
    ),
    "one class too few": (
        "class-index",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.head = nn.Linear(4, classes)
    def forward(self, x):
        return self.head(x)
net = Net(2)  # <-
F.cross_entropy(net(torch.randn(3, 4)), torch.tensor([0, 1, 2]))
""",
    ),
    "padding labels": (
        "class-index",
        HEAD
        + """
criterion = nn.CrossEntropyLoss()  # <-
criterion(torch.randn(3, 4), torch.tensor([0, 3, -1]))
""",
    ),
    "embedding in a module": (
        "embedding-index",
        {
            "model.py": """
            from torch import nn
            class Encoder(nn.Module):
                def __init__(self, vocab, dim=4):
                    super().__init__()
                    self.table = nn.Embedding(vocab, dim)
                def forward(self, ids):
                    return self.table(ids).mean(1)
            """,
            "script.py": """
            import torch
            from model import Encoder
            words = {"a": 0, "b": 1, "c": 2}
            encoder = Encoder(len(words))  # <-
            encoder(torch.tensor([[0, 1], [2, 3]]))
            """,
        },
    ),
    "padding in a collate function": (
        "embedding-index",
        {
            "batching.py": """
            from torch.nn.utils.rnn import pad_sequence
            def collate(items):
                return pad_sequence(items, batch_first=True, padding_value=-1)  # <-
            """,
            "script.py": """
            import torch
            from torch.utils.data import DataLoader
            from batching import collate
            table = torch.nn.Embedding(9, 2)
            rows = [torch.arange(3), torch.arange(5)]
            for ids in DataLoader(rows, batch_size=2, collate_fn=collate):
                table(ids)
            """,
        },
    ),
    "index past the end": (
        "index-out-of-range",
        HEAD
        + """
values = torch.arange(4)
for i in range(5):  # <-
    values[i] += 1
""",
    ),
}

AUTOGRAD = {
    "updates without no_grad": (
        "inplace-leaf",
        HEAD
        + """
class Model:
    def __init__(self):
        self.w, self.b = torch.zeros(3, requires_grad=True), torch.zeros(1, requires_grad=True)
    def update(self, lr):
        self.w -= lr * self.w.grad  # <-
        self.b -= lr * self.b.grad
m = Model()
((m.w * torch.ones(3)).sum() + m.b).backward()
m.update(0.1)
""",
    ),
    "a parameter filled in": (
        "inplace-leaf",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(3, 1)
        self.out.bias.fill_(0.5)  # <-
Net()
""",
    ),
    "views of split in a loop": (
        "inplace-view",
        HEAD
        + """
h = nn.Linear(4, 6)(torch.randn(2, 4))
for part in h.chunk(2, dim=1):
    part.mul_(2.0)  # <-
h.sum().backward()
""",
    ),
    "hook and functional relu": (
        "inplace-after-hook",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
    def forward(self, x):
        return F.relu(self.conv(x), inplace=True).sum()  # <-
net = Net()
net.conv.register_full_backward_hook(lambda m, i, o: None)
net(torch.randn(1, 1, 5, 5)).backward()
""",
    ),
    "hook and a block's activation": (
        "inplace-after-hook",
        {
            "model.py": """
            from torch import nn
            def block(i, o):
                return nn.Sequential(nn.Linear(i, o), nn.ReLU(inplace=True))  # <-
            """,
            "script.py": """
            import torch, model
            net = model.block(3, 4)
            for m in net.modules():
                if isinstance(m, torch.nn.Linear):
                    m.register_full_backward_hook(lambda m, i, o: None)
            net(torch.randn(2, 3)).sum().backward()
            """,
        },
    ),
    "saved by sigmoid": (
        "inplace-saved",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)
    def forward(self, x):
        gate = torch.sigmoid(self.fc(x))
        gate[:, 0] = 0.0  # <-
        return gate
Net()(torch.ones(2, 4)).sum().backward()
""",
    ),
    "saved by a product": (
        "inplace-saved",
        HEAD
        + """
w = torch.ones(3, requires_grad=True)
a = w * 2
b = a * a
a += 1  # <-
b.sum().backward()
""",
    ),
    "saved by exp": (
        "inplace-saved",
        HEAD
        + """
w = torch.ones(3, requires_grad=True)
e = w.exp()
e.div_(e.detach().sum())  # <-
e.sum().backward()
""",
    ),
    "a step between forward and backward": (
        "inplace-saved",
        HEAD
        + """
net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
opt = optim.SGD(net.parameters(), lr=0.1)
out = net(torch.ones(3, 2))
first, second = out.mean(), out.square().mean()
first.backward(retain_graph=True)
opt.step()  # <-
second.backward()
""",
    ),
    "inference mode": (
        "inference-tensor",
        HEAD
        + """
backbone, head = nn.Linear(3, 4), nn.Linear(4, 1)
with torch.inference_mode():  # <-
    features = backbone(torch.ones(2, 3))
head(features).sum().backward()
""",
    ),
    "state of an lstm": (
        "graph-carried-over",
        HEAD
        + """
rnn, head = nn.LSTM(3, 4), nn.Linear(4, 1)
opt = optim.Adam([*rnn.parameters(), *head.parameters()])
def train(chunks):
    state = None
    for x in chunks:
        opt.zero_grad()
        out, state = rnn(x, state)  # <-
        loss = head(out).square().mean()
        loss.backward()
        opt.step()
train([torch.randn(5, 2, 3) for _ in range(3)])
""",
    ),
    "state kept on the model": (
        "graph-carried-over",
        {
            "model.py": """
            import torch
            from torch import nn
            class Memory(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.cell = nn.GRUCell(3, 4)
                    self.state = torch.zeros(2, 4)
                def forward(self, x):
                    self.state = self.cell(x, self.state)  # <-
                    return self.state
            """,
            "script.py": """
            import torch
            from model import Memory
            class Trainer:
                def __init__(self):
                    self.net = Memory()
                    self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
                def fit(self):
                    for _ in range(3):
                        loss = self.net(torch.randn(2, 3)).square().mean()
                        self.opt.zero_grad()
                        loss.backward()
                        self.opt.step()
            Trainer().fit()
            """,
        },
    ),
    "state through a function": (
        "graph-carried-over",
        HEAD
        + """
rnn = nn.GRU(3, 4)
def step(x, hidden):
    out, hidden = rnn(x, hidden)
    out.square().mean().backward()
    return hidden
h = torch.zeros(1, 2, 4)
for _ in range(3):
    h = step(torch.randn(5, 2, 3), h)  # <-
""",
    ),
    "a running loss": (
        "graph-carried-over",
        HEAD
        + """
net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
total = 0.0
for _ in range(3):
    total += net(torch.randn(4, 2)).square().mean()  # <-
    total.backward()
""",
    ),
    "two heads in a class": (
        "backward-twice",
        HEAD
        + """
class Both:
    def __init__(self):
        self.body, self.a, self.b = nn.Linear(3, 4), nn.Linear(4, 1), nn.Linear(4, 1)
    def step(self, x):
        h = torch.tanh(self.body(x))
        first, second = self.a(h).mean(), self.b(h).mean()
        first.backward()  # <-
        second.backward()
Both().step(torch.randn(5, 3))
""",
    ),
    "backward of one loss twice": (
        "backward-twice",
        HEAD
        + """
w = torch.ones(2, requires_grad=True)
loss = (w.exp() * w).sum()
loss.backward()  # <-
loss.backward()
""",
    ),
    "a generator's and a discriminator's loss": (
        "backward-twice",
        HEAD
        + """
G, D = nn.Sequential(nn.Linear(2, 3), nn.Tanh()), nn.Sequential(nn.Linear(3, 1), nn.Sigmoid())
og, od = optim.SGD(G.parameters(), 0.1), optim.SGD(D.parameters(), 0.1)
fake = G(torch.randn(4, 2))
d_loss = D(fake).mean()
d_loss.backward()  # <-
od.zero_grad()
g_loss = -D(fake).mean()
g_loss.backward()
""",
    ),
    "unreduced loss in a trainer": (
        "backward-non-scalar",
        HEAD
        + """
class Trainer:
    def __init__(self):
        self.net = nn.Linear(3, 1)
        self.criterion = nn.MSELoss(reduction="none")  # <-
    def step(self, x, y):
        loss = self.criterion(self.net(x), y)
        loss.backward()
Trainer().step(torch.ones(4, 3), torch.ones(4, 1))
""",
    ),
    "a squared difference": (
        "backward-non-scalar",
        HEAD
        + """
net = nn.Linear(3, 1)
def loss_of(x, y):
    return (net(x) - y) ** 2  # <-
loss_of(torch.ones(4, 3), torch.ones(4, 1)).backward()
""",
    ),
    "forward under no_grad in a function": (
        "loss-without-graph",
        {
            "model.py": """
            from torch import nn
            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.fc = nn.Linear(3, 1)
                def forward(self, x):
                    return self.fc(x)
            """,
            "script.py": """
            import torch
            from model import Net
            class Trainer:
                def __init__(self):
                    self.net = Net()
                def predict(self, x):
                    with torch.no_grad():  # <-
                        return self.net(x)
                def step(self, x, y):
                    out = self.predict(x)
                    loss = (out - y).square().mean()
                    loss.backward()
            Trainer().step(torch.ones(2, 3), torch.ones(2, 1))
            """,
        },
    ),
    "decorated with no_grad": (
        "loss-without-graph",
        HEAD
        + """
net = nn.Linear(3, 1)
@torch.no_grad()  # <-
def run(x):
    return net(x)
loss = F.mse_loss(run(torch.ones(2, 3)), torch.ones(2, 1))
loss.backward()
""",
    ),
    "cut by argmax": (
        "loss-without-graph",
        HEAD
        + """
net = nn.Linear(3, 4)
x, y = torch.ones(2, 3), torch.tensor([1, 2])
guess = net(x).argmax(1)  # <-
loss = (guess - y).float().square().mean()
loss.backward()
""",
    ),
    "cut by detach": (
        "loss-without-graph",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 1)
    def forward(self, x):
        return self.fc(x).detach()  # <-
net = Net()
loss = F.mse_loss(net(torch.ones(2, 3)), torch.ones(2, 1))
loss.backward()
""",
    ),
    "cut by a new tensor": (
        "loss-without-graph",
        HEAD
        + """
net = nn.Linear(3, 1)
losses = [net(torch.ones(3)).square().mean() for _ in range(2)]
loss = torch.tensor(losses).mean()  # <-
loss.backward()
""",
    ),
    "cut by item": (
        "loss-without-graph",
        HEAD
        + """
net = nn.Linear(3, 1)
loss = net(torch.ones(3)).square().mean()
loss = torch.tensor(loss.item())  # <-
loss.backward()
""",
    ),
    "all frozen": (
        "loss-without-graph",
        HEAD
        + """
net = nn.Linear(3, 1)
for p in net.parameters():
    p.requires_grad = False  # <-
loss = net(torch.ones(2, 3)).mean()
loss.backward()
""",
    ),
    "a plain tensor": (
        "loss-without-graph",
        HEAD
        + """
w = torch.ones(3)  # <-
loss = (w * torch.arange(3)).sum()
loss.backward()
print(w.grad)
""",
    ),
    "integers of a parameter": (
        "integer-requires-grad",
        HEAD
        + """
class Shift(nn.Module):
    def __init__(self):
        super().__init__()
        self.by = nn.Parameter(torch.tensor([1, 2]))  # <-
Shift()
""",
    ),
    "moved before the optimizer": (
        "optimizer-non-leaf",
        HEAD
        + """
def latent(n):
    return torch.randn(n, 2, requires_grad=True) * 0.1  # <-
class Fit:
    def __init__(self):
        self.z = latent(4)
        self.opt = optim.Adam(params=[{"params": [self.z]}], lr=0.1)
Fit()
""",
    ),
    "numpy in a plot": (
        "numpy-of-graph",
        HEAD
        + """
import numpy as np
net = nn.Linear(2, 1)
def curve(model, x):
    return np.asarray(model(x).squeeze(1).numpy())  # <-
curve(net, torch.randn(5, 2))
""",
    ),
    "grad of what is no leaf": (
        "grad-is-none",
        HEAD
        + """
w = torch.zeros(2, requires_grad=True)
for step in range(2):
    loss = (w - 1).square().sum()
    loss.backward()
    w = w - 0.1 * w.grad  # <-
""",
    ),
    "grad before backward": (
        "grad-is-none",
        HEAD
        + """
class Fit:
    def __init__(self):
        self.w = torch.ones(2, requires_grad=True)
    def step(self):
        self.w.grad.zero_()  # <-
        self.w.square().sum().backward()
fit = Fit()
for _ in range(2):
    fit.step()
""",
    ),
}

REST = {
    "cuda in an argument": (
        "device-missing",
        {
            "settings.py": "DEVICE = 'cuda'  # <-\n",
            "script.py": """
            import torch, settings
            class Trainer:
                def __init__(self, device):
                    self.net = torch.nn.Linear(2, 2).to(device)
            Trainer(settings.DEVICE)
            """,
        },
    ),
    "cuda as a method": (
        "device-missing",
        HEAD + "net = nn.Linear(2, 2).cuda()  # <-\nnet(torch.ones(1, 2))\n",
    ),
    "a plain tensor attribute": (
        "tensor-left-behind",
        {
            "model.py": """
            import torch
            from torch import nn
            class Scaled(nn.Module):
                def __init__(self, size):
                    super().__init__()
                    self.scale = torch.full((size,), 0.5)  # <-
                    self.out = nn.Linear(size, 1)
                def forward(self, x):
                    x = x * self.scale
                    return self.out(x)
            """,
            "script.py": """
            import torch, model
            device = torch.device("meta")
            net = model.Scaled(3)
            net.to(device)
            net(torch.ones(2, 3, device=device))
            """,
        },
    ),
    "layers in a plain list": (
        "tensor-left-behind",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(2, 2) for _ in range(2)]  # <-
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
Net().to("meta")(torch.ones(1, 2, device="meta"))
""",
    ),
    "made in forward": (
        "tensor-left-behind",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
    def forward(self, x):
        noise = torch.ones(2)  # <-
        return self.fc(x) + noise
Net().to("meta")(torch.ones(1, 2, device="meta"))
""",
    ),
    "accuracy of a function": (
        "mean-of-whole-numbers",
        HEAD
        + """
def accuracy(logits, labels):
    return (logits.argmax(-1) == labels).mean()  # <-
accuracy(torch.randn(3, 2), torch.tensor([0, 1, 1]))
""",
    ),
    "float64 from a dataset": (
        "dtype-mismatch",
        {
            "data.py": """
            import numpy as np
            import torch
            from torch.utils.data import Dataset
            class Rows(Dataset):
                def __init__(self):
                    self.x = np.ones((6, 3))
                def __len__(self):
                    return 6
                def __getitem__(self, i):
                    return torch.from_numpy(self.x[i])  # <-
            """,
            "script.py": """
            import torch
            from torch.utils.data import DataLoader
            from data import Rows
            net = torch.nn.Sequential(torch.nn.Linear(3, 1))
            for x in DataLoader(Rows(), batch_size=2):
                net(x)
            """,
        },
    ),
    "a product of two dtypes": (
        "dtype-mismatch",
        HEAD
        + """
import numpy as np
basis = torch.tensor(np.eye(3))  # <-
rows = torch.ones(2, 3)
out = rows @ basis
""",
    ),
    "autocast in a class": (
        "autocast-result-outside",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 8), nn.Linear(8, 1)
    def forward(self, x):
        with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
            hidden = self.body(x)
        return self.head(hidden)  # <-
Net()(torch.randn(2, 4))
""",
    ),
    "an array turned round": (
        "numpy-negative-stride",
        {
            "images.py": """
            import numpy as np
            def bgr_to_rgb(image):
                return image[..., ::-1]  # <-
            """,
            "script.py": """
            import numpy as np, torch
            from images import bgr_to_rgb
            picture = bgr_to_rgb(np.zeros((2, 2, 3)))
            torch.from_numpy(picture)
            """,
        },
    ),
    "forward misspelled": (
        "forward-missing",
        {
            "net.py": """
            from torch import nn
            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.fc = nn.Linear(2, 2)
                def foward(self, x):  # <-
                    return self.fc(x)
            """,
            "script.py": "import torch, net\nnet.Net()(torch.ones(1, 2))\n",
        },
    ),
    "super init forgotten": (
        "super-init-missing",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):  # <-
        self.fc = nn.Linear(2, 2)
Net()
""",
    ),
    "saved from a wrapper": (
        "checkpoint-names",
        HEAD
        + """
def build():
    return nn.Sequential(nn.Linear(2, 3), nn.ReLU())
class Keeper:
    def __init__(self, net):
        self.net = nn.DataParallel(net)
    def state(self):
        return self.net.state_dict()  # <-
state = Keeper(build()).state()
other = build()
other.load_state_dict(state)
""",
    ),
    "a whole checkpoint": (
        "checkpoint-names",
        HEAD
        + """
net = nn.Linear(2, 3)
checkpoint = {"model": net.state_dict(), "epoch": 3}
nn.Linear(2, 3).load_state_dict(checkpoint)  # <-
""",
    ),
    "renamed layers": (
        "checkpoint-names",
        HEAD
        + """
class Old(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 3)
class New(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(2, 3)
New().load_state_dict(Old().state_dict())  # <-
""",
    ),
    "another count of classes": (
        "checkpoint-shapes",
        HEAD
        + """
def build(classes):
    return nn.Sequential(nn.Linear(2, 4), nn.Linear(4, classes))
state = build(10).state_dict()
net = build(5)  # <-
net.load_state_dict(state)
""",
    ),
    "a pickled object": (
        "weights-only",
        HEAD
        + """
import io
class Settings:
    pass
buffer = io.BytesIO()
torch.save({"settings": Settings()}, buffer)
buffer.seek(0)
torch.load(buffer)  # <-
""",
    ),
    "a worker": (
        "worker-error",
        {
            "data.py": """
            from torch.utils.data import Dataset
            class Rows(Dataset):
                def __len__(self):
                    return 4
                def __getitem__(self, i):
                    return [1.0, 2.0][i]  # <-
            """,
            "script.py": """
            from torch.utils.data import DataLoader
            from data import Rows
            for batch in DataLoader(Rows(), batch_size=2, num_workers=1):
                pass
            """,
        },
    ),
}
