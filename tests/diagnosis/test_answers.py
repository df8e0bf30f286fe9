"""rushlight.explain, why_no_grad and graph: what they say, and that they change nothing."""

import itertools
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F

from .doctor import run

VIEW = """
import torch
layer = torch.nn.Linear(6, 4)
h = torch.relu(layer(torch.ones(2, 3, 6)))
t = h.transpose(0, 2)[1:]
import rushlight; print(rushlight.explain(t))
"""

WHY_NOT = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 8), nn.Linear(8, 2)
        self.gate, self.memory, self.spare = (nn.Linear(8, 8) for _ in range(3))
        nn.init.constant_(self.gate.bias, -100.0)
    def forward(self, x):
        z = torch.tanh(self.body(x))
        with torch.no_grad():
            m = self.memory(z)
        z = z.detach() / 2
        return self.head(z + m + torch.relu(self.gate(z)))
torch.manual_seed(0)
model = Net()
x, y = torch.randn(16, 4), torch.arange(16) % 2
import rushlight
F = nn.functional
print(rushlight.why_no_grad(model, lambda: F.cross_entropy(model(x), y)))
print("----")
print(rushlight.why_no_grad(model, nn.functional.cross_entropy(model(x), y)))
"""


def fits(text):
    return text.isascii() and all(len(line) <= 80 for line in text.splitlines())


def words(text):
    return " ".join(text.split())


class TestExplain:
    def test_a_view_of_a_result(self, tmp_path):
        done = run(tmp_path, VIEW)
        assert done.stderr == "" and fits(done.stdout)
        said = words(done.stdout)
        for part in (
            "t (3, 3, 2) float32 cpu, made at script.py:4",
            "of h (2, 3, 4) by transpose(0, 2), then [1:]; sees 72 of the 96 bytes",
            "writing to t changes h",
            "(1, 4, 12), offset 1. Not contiguous: row order would be (6, 2, 1).",
            "t.view(-1) fails; t.reshape(-1) copies 72 bytes",
            "Slice <- Transpose <- Relu",
            "layer.weight, layer.bias",
            (
                "keeps 240 bytes alive: h's 96 bytes (also saved by Relu), and 144 bytes that only "
                "the graph holds"
            ),
            "Held by: t, a global. Version 0",
        ):
            assert part in said, done.stdout

    def test_what_it_says_of_layout_is_so(self):
        t = torch.ones(2, 3, 4)
        views = [t, t.mT, t[:, ::2], t[1:], t.expand(2, 2, 3, 4), t.permute(2, 0, 1), t[0, 0, :0]]
        for v in views:
            said = str(torch.explain(v))
            assert fits(said) and ("view(-1) fails" in said) == (not can_view(v)), said
            assert ("Not contiguous" in said) == (not v.is_contiguous())

    def test_leaves_copies_and_what_no_grad_made(self):
        layer = nn.Linear(3, 2)
        assert "no gradient yet" in str(torch.explain(layer.weight))
        with torch.no_grad():
            silent = layer(torch.ones(1, 3))
        assert "made under no_grad" in words(str(torch.explain(silent)))
        cut = layer(torch.ones(1, 3)).detach()
        assert "detach at test_answers.py" in words(str(torch.explain(cut)))
        assert "int64 has no gradient" in str(torch.explain(torch.arange(3)))
        layer(torch.ones(1, 3)).sum().backward()
        assert "has norm 2.45" in str(torch.explain(layer.weight))

    def test_who_holds_it(self):
        class Room:
            pass

        kept, room = torch.ones(3), Room()
        room.inner, _listed, array = kept, [0, kept], kept.numpy()
        said = words(str(torch.explain(kept)))
        for part in (
            "kept, a local of",
            "room.inner",
            "_listed[1], in the list _listed",
            "memory: array",
        ):
            assert part in said
        assert array.shape == (3,)
        (kept * torch.ones(3, requires_grad=True)).sum()
        graph = (kept * torch.ones(3, requires_grad=True)).sum()
        assert "the graph of graph (Mul)" in words(str(torch.explain(kept))) and graph.grad_fn

    def test_numbers_for_programs(self):
        x = torch.ones(4, 4, requires_grad=True)
        y = (x * 2).exp()[:2]
        answer = torch.explain(y)
        assert (answer.storage_bytes, answer.seen_bytes) == (64, 32)
        assert answer.kept_bytes == 64 and answer.nodes == 4 and answer.is_contiguous
        with pytest.raises(AttributeError):
            answer.nothing_of_this_name  # noqa: B018
        assert "<table>" in answer._repr_html_()

    def test_each_storage_counts_once(self):
        x = torch.ones(100, requires_grad=True)
        h = x.exp()
        y = h * h + h.sigmoid()
        assert torch.explain(y).kept_bytes == 3 * 400, "h, sigmoid's result and y itself"

    def test_after_backward_it_names_the_line(self):
        x = torch.ones(3, requires_grad=True)
        loss = x.exp().sum()
        loss.backward()
        assert "backward at test_answers.py" in words(str(torch.explain(loss)))

    def test_nan_is_counted(self):
        assert "1 NaN of 3" in str(torch.explain(torch.tensor([1.0, float("nan"), 2.0])))

    def test_modules_and_optimizers(self):
        net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
        net.late = [nn.Linear(1, 1)]
        net[1].requires_grad_(False)
        said = words(str(torch.explain(net)))
        assert "26 values in 4 parameters (10 of them frozen)" in said
        assert "late, a plain list, holds 1 of them" in said
        opt = torch.optim.SGD(net[0].parameters(), lr=0.1)
        net.append(nn.Linear(2, 2))
        said = words(str(torch.explain(opt)))
        assert "lr 0.1" in said and "misses net.2.weight, net.2.bias" in said

    def test_of_nothing_else(self):
        with pytest.raises(TypeError, match="not int"):
            torch.explain(3)


def can_view(t):
    try:
        t.view(-1)
    except RuntimeError:
        return False
    return True


class TestWhyNoGrad:
    def test_the_worked_example(self, tmp_path):
        done = run(tmp_path, WHY_NOT)
        assert done.stderr == "" and fits(done.stdout)
        recorded, read = done.stdout.split("----\n")
        said = words(recorded)
        for part in (
            "10 parameters: 2 have a gradient, 2 have one that is all zero, 6 have none",
            "body.weight, body.bias none: both ways to the loss are cut",
            "line 12 m = self.memory(z) under no_grad of line 11",
            "line 13 z = z.detach() / 2 detach",
            "Works (each tried): line 12 outside no_grad, or line 13 without .detach()",
            "spare.weight, spare.bias none: made at script.py:7, called 0 times",
            "relu gave 0 for 128 of 128 values; its inputs lie in -100.3",
            "line 8 nn.init.constant_(self.gate.bias, -100.0) last set gate.bias",
        ):
            assert part in said, recorded
        assert "read from source" not in recorded
        said = words(read)
        assert "line 12 m = self.memory(z) under no_grad of line 11 (read from source)" in said
        assert "spare is used nowhere in Net" in said

    @staticmethod
    def case(kind):
        """A module with two layers, and a loss in which the first one is cut off."""
        torch.manual_seed(0)
        a, b, x = nn.Linear(4, 3), nn.Linear(4, 3), torch.randn(8, 4)
        y = torch.randint(0, 3, (8,))
        losses = {
            "argmax": lambda: F.cross_entropy(b(x) + a(x).argmax(1, keepdim=True), y),
            "comparison": lambda: F.cross_entropy(b(x) * (a(x) > 0), y),
            "tensor": lambda: (b(x) + torch.tensor(a(x).tolist())).sum(),
            "item": lambda: (b(x) * a(x).mean().item()).sum(),
            "numpy": lambda: (b(x) + torch.from_numpy(a(x).detach().numpy())).sum(),
            "data": lambda: (b(x) + a(x).data).sum(),
            "integer": lambda: (b(x) * a(x).long()).sum(),
            "ends": lambda: (a(x).exp(), b(x).sum())[1],
            "unused": lambda: b(x).sum(),
        }
        return nn.ModuleDict({"a": a, "b": b}), losses[kind]

    @pytest.mark.parametrize(
        "kind, says",
        [
            ("argmax", "argmax gives int64"),
            ("comparison", "gives bool"),
            ("tensor", "tolist leaves the graph"),
            ("item", "item leaves the graph"),
            ("numpy", "detach"),
            ("data", ".data"),
            ("integer", "gives int64"),
            ("ends", "exp is the last op that its values pass"),
            ("unused", "called 0 times"),
        ],
    )
    def test_each_cause(self, kind, says):
        model, loss = self.case(kind)
        answer = torch.why_no_grad(model, loss)
        group = answer.group_of("a.weight")
        assert group.names == ["a.weight", "a.bias"] and group.state == "none"
        assert says in words(str(answer)), answer
        assert answer.group_of("b.weight").state == "have a gradient"
        for reason in group.reasons:
            assert reason.file == __file__ and f'"{kind}": lambda' in line_of(reason)
        assert all(p.grad is None for p in model.parameters())

    def test_frozen_results_and_saturation(self):
        net = nn.Sequential(nn.Linear(4, 5), nn.Sigmoid(), nn.Linear(5, 2))
        with torch.no_grad():
            net[0].bias.fill_(1e4)
        net[2].bias.requires_grad_(False)
        x = torch.ones(3, 4)
        answer = torch.why_no_grad(net, lambda: net(x).sum())
        assert "frozen" in answer.group_of("2.bias").title
        assert "sigmoid gave 0 or 1 for 15 of 15 values" in answer.group_of("0.weight").title
        w = torch.ones(4, 2, requires_grad=True) * 2
        assert "retain_grad" in torch.why_no_grad(w, lambda: (x @ w).sum()).groups[0].title

    def test_what_the_optimizer_does_not_hold(self):
        net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        net[0] = nn.Linear(2, 2)
        said = words(str(torch.why_no_grad(net, lambda: net(torch.ones(1, 2)).sum())))
        assert "opt does not hold 0.weight, 0.bias" in said and opt.param_groups

    def test_custom_functions_recurrent_nets_and_changes_in_place_are_no_cuts(self):
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, grad):
                return 2 * ctx.saved_tensors[0] * grad

        model = nn.ModuleDict({"rnn": nn.LSTM(3, 4, batch_first=True), "out": nn.Linear(4, 2)})

        def loss():
            out = torch.zeros(2, 2)
            out[:, :] = Square.apply(model["out"](model["rnn"](torch.ones(2, 5, 3))[0][:, -1]))
            return out.add_(1).sum()

        answer = torch.why_no_grad(model, loss)
        assert [g.state for g in answer.groups] == ["have a gradient"], answer

    def test_random_state_buffers_and_gradients_stay(self):
        net = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout())
        before = torch.get_rng_state(), net[1].running_mean.clone(), np.random.get_state()[1].copy()
        torch.why_no_grad(net, lambda: net(torch.randn(4, 3)).sum())
        assert torch.equal(before[0], torch.get_rng_state())
        assert torch.equal(before[1], net[1].running_mean)
        assert np.array_equal(before[2], np.random.get_state()[1])
        assert net[0].weight.grad is None

    def test_errors_of_the_function_are_the_users(self):
        with pytest.raises(TypeError, match="must return the loss"):
            torch.why_no_grad(nn.Linear(1, 1), lambda: 3)
        with pytest.raises(ZeroDivisionError):
            torch.why_no_grad(nn.Linear(1, 1), lambda: 1 / 0)


def line_of(reason):
    with open(reason.file, encoding="utf-8") as file:
        return file.read().split("\n")[reason.line - 1]


class TestGraph:
    def drawn(self):
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
        loss = F.cross_entropy(net(torch.ones(16, 4)), torch.arange(16) % 2)
        return net, loss, torch.graph(loss)

    def test_text_dot_and_picture_tell_the_same(self, tmp_path):
        _, _, drawn = self.drawn()
        assert fits(drawn.text) and "net.0.weight" in drawn.text and "Tanh" in drawn.text
        edges = sum(len(n.follows) for n in drawn.nodes)
        assert drawn.dot.count("->") == edges == 7
        picture = ET.fromstring(drawn.svg)
        kinds = [e.tag.rpartition("}")[2] for e in picture.iter()]
        assert kinds.count("path") == edges and kinds.count("g") == len(drawn.nodes)
        for suffix in ("svg", "dot", "txt"):
            drawn.save(tmp_path / f"graph.{suffix}")
        assert (tmp_path / "graph.svg").read_text() == drawn.svg + "\n"
        with pytest.raises(ValueError, match=r"not '\.jpg'"):
            drawn.save(tmp_path / "graph.jpg")

    def test_saved_bytes_on_the_nodes(self):
        _, loss, drawn = self.drawn()
        assert drawn.bytes == 16 * 4 * 4 + 16 * 8 * 4 + 16 * 2 * 4 + 16 * 8 + 4
        loss.backward()
        after = torch.graph(loss)
        assert after.bytes == 0 and "freed at test_answers.py" in after.text

    def test_boxes_do_not_overlap(self):
        x = torch.ones(3, requires_grad=True)
        parts = [x * i for i in range(5)]
        drawn = torch.graph(sum(parts) + torch.stack(parts).sum())
        drawn.svg  # noqa: B018  (places the boxes)
        for layer in {n.layer for n in drawn.nodes}:
            columns = sorted(n.column for n in drawn.nodes if n.layer == layer)
            assert all(b - a >= 0.999 for a, b in itertools.pairwise(columns))

    def test_needs_a_graph(self):
        with pytest.raises(ValueError, match="requires_grad"):
            torch.graph(torch.ones(1))
