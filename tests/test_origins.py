"""Where a tensor, a graph node and a change in place came from: a place in the user's program."""

import gc
import threading
import weakref

import rushlight as torch
from rushlight import _C, nn


def line_of(origin):
    """The source text that the origin marks, and its function."""
    file, function, line, end_line, column, end_column = origin
    assert file == __file__ and line == end_line
    with open(file, encoding="utf-8") as source:
        return source.readlines()[line - 1][column:end_column], function


def test_an_operator_a_function_a_method_and_an_index_know_their_expression():
    a, b = torch.ones(2, 3, requires_grad=True), torch.ones(3)
    assert line_of(_C._origin(a * b + 1))[0] == "a * b + 1"
    assert line_of(_C._origin(torch.mul(a, b)))[0] == "torch.mul(a, b)"
    assert line_of(_C._origin(a.sum()))[0] == "a.sum()"
    assert line_of(_C._origin(a[0]))[0] == "a[0]"
    assert line_of(_C._origin(a.T))[0] == "a.T"
    assert line_of(_C._origin(torch.tensor([1.0])))[0] == "torch.tensor([1.0])"
    assert line_of(_C._origin(b.double()))[0] == "b.double()"
    function = "test_an_operator_a_function_a_method_and_an_index_know_their_expression"
    assert line_of(_C._origin((a * 2).grad_fn)) == ("a * 2", function)


def test_frames_of_the_package_are_passed_over():
    model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4))
    assert line_of(_C._origin(model(torch.ones(3))))[0] == "model(torch.ones(3))"
    made = nn.functional.softmax(torch.ones(3), 0)
    assert line_of(_C._origin(made))[0].startswith("nn.functional")


def test_a_writer_and_the_backward_that_freed():
    w = torch.ones(3, requires_grad=True)
    x = torch.zeros(3)
    x.add_(1)
    assert line_of(_C._last_writer(x))[0] == "x.add_(1)"
    x[1] = 2
    assert line_of(_C._last_writer(x.view(3)))[0] == "x[1]"
    product = x * w
    node = product.grad_fn
    assert _C._freed_by(node) is None and line_of(_C._here())[0] == "_C._here()"
    product.sum().backward()
    assert line_of(_C._freed_by(node))[0] == "product.sum().backward()"


def test_threads_generators_and_code_without_a_file():
    found = {}

    def work():
        t = torch.ones(2) * 3
        found["thread"] = line_of(_C._origin(t))

    def generate():
        for k in range(2):
            yield torch.full((2,), k)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found["thread"] == ("torch.ones(2) * 3", "work")
    assert line_of(_C._origin(list(generate())[1])) == ("torch.full((2,), k)", "generate")
    room = {"torch": torch}
    exec("t = torch.ones(2)", room)
    assert _C._origin(room["t"])[:3] == ("<string>", "<module>", 1)


def test_an_origin_outlives_its_function():
    def make():
        return torch.ones(1)

    t = make()
    del make
    gc.collect()
    assert line_of(_C._origin(t)) == ("torch.ones(1)", "make")


def test_what_has_no_origin_says_so():
    for f in (_C._origin, _C._last_writer, _C._freed_by):
        try:
            f(3)
        except TypeError as e:
            assert "expected a" in str(e)
        else:
            raise AssertionError(f"{f.__name__}(3) was accepted")


def test_a_module_knows_where_it_was_built():
    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.fc = nn.Linear(width, 2)

    def build():
        return nn.Sequential(Block(3), nn.ReLU())

    model = build()
    texts = [line_of(place)[0] for place in _C._built(model[0].fc)[:3]]
    assert texts == ["nn.Linear(width, 2)", "Block(3)", "build()"]
    assert [line_of(place)[0] for place in _C._built(model[0])[1:3]] == ["Block(3)", "build()"]
    assert line_of(_C._built(model[1])[0])[0] == "nn.ReLU()" and len(_C._built(model[1])) == 4


def test_what_a_class_makes_comes_from_the_line_that_calls_it():
    # Called often enough for CPython to take its shortest way into __init__.
    layers = []
    for _ in range(200):
        layers.append(nn.Linear(2, 2))
    made = [_C._built(layer)[0] for layer in (layers[0], layers[-1])]
    assert [line_of(place)[0] for place in made] == ["nn.Linear(2, 2)"] * 2
    recorder = _C.Recorder()
    recorder.start()
    for _ in range(200):
        torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
        nn.Linear(2, 2)
    recorder.stop()
    places = {_C._place(event[8])[0] for event in recorder.events()}
    assert places == {__file__}


def test_a_text_evaluated_over_and_over_is_kept_a_limited_number_of_times():
    x = torch.ones(3)
    codes = []
    for _ in range(3000):
        code = compile("x + 1", __file__, "eval")
        made = eval(code, {"x": x})
        codes.append(weakref.ref(code))
    del code
    assert sum(held() is not None for held in codes) < 1500
    assert _C._origin(made) == (__file__, "<module>", 1, 1, 0, 5)
    other = eval(compile("x + 1", "elsewhere.py", "eval"), {"x": x})
    assert _C._origin(other)[0] == "elsewhere.py"
