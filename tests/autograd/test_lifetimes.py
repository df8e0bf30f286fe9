"""Who keeps whom alive: cycles, identity of objects, threads, processes, long graphs."""

import gc
import os
import subprocess
import sys
import textwrap
import threading
import weakref

import pytest

import rushlight as torch


def leaf(*values):
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class Mark:
    """Something that weak references can watch."""


def test_attributes_survive_while_only_the_graph_holds_a_tensor():
    x = leaf()
    y = x * 1
    y.note = "mine"
    y_again = weakref.ref(y)
    z = y * y
    del y
    gc.collect()
    assert y_again() is not None
    assert z.grad_fn._saved_self.note == "mine"
    del z
    gc.collect()
    assert y_again() is None


def test_a_leaf_comes_back_as_the_same_object():
    x = leaf()
    x.note = "mine"
    number = id(x)
    y = x * 2
    del x
    found = y.grad_fn.next_functions[0][0].variable
    assert id(found) == number and found.note == "mine"


def test_a_cycle_through_an_attribute_is_collected():
    x = leaf()
    x.mark = Mark()
    watch = weakref.ref(x.mark)
    x.itself = x
    del x
    gc.collect()
    assert watch() is None


def test_a_cycle_through_a_hook_is_collected():
    x = leaf()
    mark = Mark()
    watch = weakref.ref(mark)
    x.register_hook(lambda grad, x=x, mark=mark: None)
    del x, mark
    gc.collect()
    assert watch() is None


def test_a_cycle_through_a_context_is_collected():
    class Keeps(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark = Mark()
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad

    y = Keeps.apply(leaf())
    watch = weakref.ref(y.grad_fn.mark)
    y.grad_fn.result = y
    del y
    gc.collect()
    assert watch() is None


def test_what_a_function_saved_is_freed_with_the_graph():
    y = Double.apply(leaf())
    y.grad_fn.mark = Mark()
    watch = weakref.ref(y.grad_fn.mark)
    del y
    assert watch() is None


def test_a_context_outlives_its_node():
    y = Double.apply(leaf())
    node = y.grad_fn
    del y
    assert node.name() == "DoubleBackward"
    (edge,) = node.next_functions
    assert edge[0].name() == "torch::autograd::AccumulateGrad" and edge[1] == 0


def test_what_a_kept_context_led_to_goes_with_it():
    x = leaf() * 2
    x.grad_fn.metadata["mark"] = Mark()
    watch = weakref.ref(x.grad_fn.metadata["mark"])
    node = Double.apply(x).grad_fn
    del x
    assert watch() is not None and node.next_functions[0][0].name() == "MulBackward0"
    del node
    gc.collect()
    assert watch() is None


def test_a_long_graph_is_freed_without_recursion():
    x = leaf()
    y = x
    for _ in range(100_000):
        y = y + 1
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]
    del y


def test_two_threads_at_once():
    shared = leaf()
    results = {}

    def work(number):
        for _ in range(50):
            y = (shared * shared * number).sum()
            results[number] = torch.autograd.grad(y, shared)[0].tolist()

    threads = [threading.Thread(target=work, args=(n,)) for n in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: [2.0 * n, 4.0 * n, 6.0 * n] for n in (1, 2, 3)}


def test_threads_accumulate_into_their_own_leaves():
    leaves = [leaf() for _ in range(4)]

    def work(x):
        for _ in range(100):
            (x * 2).sum().backward()

    threads = [threading.Thread(target=work, args=(x,)) for x in leaves]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [x.grad.tolist() for x in leaves] == [[200.0] * 3] * 4


def test_switches_belong_to_the_thread():
    seen = []
    with torch.no_grad():
        thread = threading.Thread(target=lambda: seen.append(torch.is_grad_enabled()))
        thread.start()
        thread.join()
        seen.append(torch.is_grad_enabled())
    assert seen == [True, False]


def test_backward_inside_backward():
    depths = []

    class Deep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            if len(depths) < 20:
                depths.append(len(depths))
                with torch.enable_grad():
                    Deep.apply(leaf()).sum().backward()
            return grad * 2

    x = leaf()
    Deep.apply(x).sum().backward()
    assert len(depths) == 20
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_backward_after_fork():
    x = leaf()
    (x * x).sum().backward()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        y = leaf()
        (y * y).sum().backward()
        os.write(writer, repr(y.grad.tolist()).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        assert answer.read() == "[2.0, 4.0, 6.0]"
    assert os.waitpid(child, 0)[1] == 0


def test_an_exception_keeps_its_identity():
    error = KeyError("mine")

    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            raise error

    with pytest.raises(KeyError) as caught:
        Fails.apply(leaf()).sum().backward()
    assert caught.value is error


def test_a_number_beside_a_tensor_is_freed_like_one():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.sum().backward()
    z = x + 2  # nothing is saved: PyTorch lets it run again
    z.sum().backward()
    z.sum().backward()


def test_a_custom_node_that_the_closing_interpreter_frees():
    program = """
        import gc
        import sys

        import rushlight as torch

        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                return grad * 2

        class Late:
            pass

        late = Late()  # a cycle that only the closing interpreter collects
        late.me = late
        late.y = Double.apply(torch.ones(2, requires_grad=True))
        gc.disable()
        sys.modules["late"] = late
        """
    command = [sys.executable, "-P", "-c", textwrap.dedent(program)]
    assert subprocess.run(command, timeout=120, check=False).returncode == 0


def test_a_leaf_that_only_a_late_graph_holds_leaves_with_the_interpreter():
    program = """
        import gc
        import os
        import sys

        import rushlight as torch

        class Told:
            def __del__(self, write=os.write):
                write(1, b"gone")

        class Late:
            pass

        late = Late()
        late.me = late
        leaf = torch.ones(2, requires_grad=True)
        leaf.told = Told()
        late.y = leaf * 2
        sys.modules["late"] = late
        del leaf, late
        gc.disable()
        """
    command = [sys.executable, "-P", "-c", textwrap.dedent(program)]
    done = subprocess.run(command, timeout=120, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "gone"), done.stderr
