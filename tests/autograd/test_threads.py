"""Several threads on one graph: each gets gradients or the usual error, and nothing crashes."""

import subprocess
import sys

import pytest

START = """
import sys, threading
import rushlight as torch

sys.setswitchinterval(1e-5)
torch.manual_seed(0)
errors = []

def together(*works):
    gate = threading.Barrier(len(works))
    def run(work):
        gate.wait()
        try:
            work()
        except RuntimeError as error:
            errors.append(str(error))
    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""

FREED = """
def graph():
    x = torch.randn(8, 8, requires_grad=True)
    y = x
    for _ in range(60):
        y = (y * x).tanh() @ x.softmax(0)
    return x, y.sum()

for trial in range(150):
    x, loss = graph()
    together(*[lambda keep=keep: loss.backward(retain_graph=keep) for keep in (True, False, True)])
assert errors and all("backward through the graph a second time" in e for e in errors), errors[:3]
"""

SHARED_PART = """
def expected(x):
    trunk = (x * x).exp()
    return torch.autograd.grad([(trunk * k).sum() for k in range(1, 5)], x)[0]

for trial in range(150):
    x = torch.randn(16, requires_grad=True)
    want = expected(x)
    trunk = (x * x).exp()
    heads = [(trunk * k).sum() for k in range(1, 5)]
    together(*[lambda h=h: h.backward(retain_graph=True) for h in heads])
    assert not errors, errors
    torch.testing.assert_close(x.grad, want)
"""

CUSTOM = """
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return 2 * x * grad

def pack(t):
    return [t]

def unpack(kept):
    for _ in range(20):
        kept = list(kept)
    return kept[0]

for trial in range(100):
    x = torch.randn(5, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x
        for _ in range(10):
            y = Square.apply(y).sin() * x
    loss = y.sum()
    together(*[lambda keep=keep: loss.backward(retain_graph=keep) for keep in (True, False, True)])
assert all("backward through the graph a second time" in e for e in errors), errors[:3]
"""

WATCHED = """
for trial in range(60):
    x = torch.randn(64, requires_grad=True)
    trunk = x.exp()
    trunk.retain_grad()
    losses = [(trunk * k).sum() for k in range(3)]
    seen = []
    going = True

    def look():
        while going:
            g = x.grad
            seen.append(g is None or g.shape == x.shape)
            handle = x.register_hook(lambda g: g)
            after = x.register_post_accumulate_grad_hook(lambda t: None)
            node = trunk.grad_fn.register_prehook(lambda gs: None)
            handle.remove(), after.remove(), node.remove()
            x.grad = None

    looker = threading.Thread(target=look)
    looker.start()
    for _ in range(5):
        together(*[lambda h=h: h.backward(retain_graph=True) for h in losses])
    going = False
    looker.join()
    assert not errors and all(seen), errors
"""

# Who waits for a gradient that another thread sums, or for its random numbers, lets it go on.
NODE_CALLS = """
x = torch.zeros(4_000_000, requires_grad=True)
x.grad = torch.zeros_like(x)
loss, ones = x * 2, torch.ones_like(x)
gather = loss.grad_fn.next_functions[0][0]
threads = [threading.Thread(target=lambda: [gather(ones) for _ in range(40)]) for _ in range(2)]
for thread in threads:
    thread.start()
for _ in range(40):
    loss.backward(ones, retain_graph=True)
for thread in threads:
    thread.join()
assert x.grad[0] == 2 * 40 + 2 * 40, x.grad[0]
"""

DROPOUT = """
going = True
def draw():
    while going:
        torch.randn(10)

drawing = threading.Thread(target=draw)
drawing.start()
x = torch.zeros(1, 4, 1500, 8)
for _ in range(25):
    torch.nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=0.3)
going = False
drawing.join()
"""

FORKED = """
import os, signal, time

going = True
def sum_up(leaf):
    while going:
        (leaf * 2).backward(torch.ones_like(leaf))
def draw():
    while going:
        torch.randn(1_000_000)

leaves = [torch.zeros(2_000_000, requires_grad=True) for _ in range(3)]
works = [(sum_up, (leaf,)) for leaf in leaves] + [(draw, ())]
threads = [threading.Thread(target=work, args=args) for work, args in works]
for thread in threads:
    thread.start()
ends = []
for _ in range(10):
    child = os.fork()
    if not child:
        signal.alarm(20)
        torch.randn(5)
        for x in [torch.zeros(3, requires_grad=True) for _ in range(500)]:
            for _ in range(2):
                (x * 2).sum().backward()
        os._exit(0)
    ends.append(os.waitpid(child, 0)[1])
    time.sleep(0.02)
going = False
for thread in threads:
    thread.join()
assert not any(ends), ends
"""

# Memory that a thread only gives back is there for others when it has ended.
FREED_IN_THREADS = """
def release(views):
    views.clear()

def once():
    base = torch.zeros(4)
    views = [base[:2] for _ in range(50)]
    thread = threading.Thread(target=release, args=(views,))
    thread.start()
    thread.join()

reserved = lambda: torch._C._memory_stats()["reserved"]
for _ in range(20):
    once()
before = reserved()
for _ in range(200):
    once()
assert reserved() - before < 100_000, reserved() - before
"""


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(FREED, id="one thread frees what others use"),
        pytest.param(SHARED_PART, id="losses on a shared part"),
        pytest.param(CUSTOM, id="custom functions and packed values"),
        pytest.param(WATCHED, id="gradients and hooks change meanwhile"),
        pytest.param(NODE_CALLS, id="calls of the node that sums"),
        pytest.param(DROPOUT, id="random numbers of two threads"),
        pytest.param(FORKED, id="a fork while others compute"),
        pytest.param(FREED_IN_THREADS, id="threads that only free"),
    ],
)
def test_threads(program):
    ran = subprocess.run(
        [sys.executable, "-P", "-c", START + program], capture_output=True, text=True, timeout=300
    )
    assert ran.returncode == 0, ran.stderr[-2000:]


FORKED = """
import os, time

leaf = torch.zeros(1 << 20, requires_grad=True)
going = True

def learn():
    while going:
        (leaf * 2).sum().backward()
        torch.rand(1 << 20)

learner = threading.Thread(target=learn)
learner.start()
ends = []
for trial in range(12):
    child = os.fork()
    if child == 0:
        torch.set_num_threads(1)
        (leaf * 2).sum().backward()
        torch.rand(3)
        os._exit(0)
    until = time.monotonic() + 20
    while not (done := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < until:
        time.sleep(0.01)
    if not done[0]:
        os.kill(child, 9)
        os.waitpid(child, 0)
    ends.append(done[0] == child and done[1] == 0)
    if not ends[-1]:
        break
going = False
learner.join()
assert all(ends), ends
"""


def test_a_child_of_fork_learns_and_draws_whatever_other_threads_hold():
    ran = subprocess.run(
        [sys.executable, "-P", "-c", START + FORKED], capture_output=True, text=True, timeout=300
    )
    assert ran.returncode == 0, ran.stderr[-2000:]


def test_what_is_no_edge():
    import rushlight as torch

    x = torch.ones(2, requires_grad=True)
    y = (x * 2).sum()
    for edge in ((1, 2), (y.grad_fn, 7), (y.grad_fn, -1), (y.grad_fn,), (y.grad_fn, 2**70)):
        with pytest.raises((TypeError, IndexError, AttributeError)):
            torch.autograd.grad(edge, x)
        with pytest.raises((TypeError, IndexError, AttributeError)):
            torch.autograd.grad(y, (edge,))


GLOBALS = """
import rushlight as torch

class Given(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.kept = x
        ctx.save_for_backward(KEPT, x)
        return KEPT

    @staticmethod
    def backward(ctx, grad):
        return grad

KEPT = torch.ones(3)
x = torch.ones(3, requires_grad=True)
y = Given.apply(x)
node = y.grad_fn
node.me = node
handle = y.register_hook(lambda grad: grad * KEPT)
view = y[1:]
second = Given.apply(y * 1)
again = (view * 2).sum()
import sys
sys.kept = again
for thing in %s:
    del globals()[thing]
"""


@pytest.mark.parametrize("gone", ["()", "('x', 'KEPT')", "('node', 'again')", "('torch', 'Given')"])
def test_a_function_that_returns_a_global_leaves_quietly(gone):
    ran = subprocess.run(
        [sys.executable, "-P", "-c", GLOBALS % gone], capture_output=True, text=True, timeout=100
    )
    assert (ran.returncode, ran.stderr) == (0, "")
