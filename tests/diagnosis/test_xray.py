"""The x-ray's page: what stands beside each line, folded loops, tensors, errors, bounds."""

import json
import os
import re
import subprocess
import sys
import textwrap

import pytest

GPT = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "tiny_gpt.py")


def run(tmp_path, source, *options, args=(), name="script.py"):
    """(the finished process, the page's data or None) of an x-ray of a script."""
    script = tmp_path / name
    script.write_text(textwrap.dedent(source))
    page = tmp_path / "page.html"
    done = subprocess.run(
        [sys.executable, "-P", "-m", "rushlight", "xray", "--html", page, *options, script, *args],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        timeout=120,
    )
    return done, data_of(page) if page.exists() else None


def data_of(page):
    text = page.read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    data["size"] = len(text)
    return data


def line(data, number, file=0):
    return data["files"][file]["rows"][str(number)]


def ops(row, variant=0):
    return [(op["name"], op["kind"]) for op in row["variants"][variant]["ops"]]


def tensor(data, name):
    (found,) = (t for t in data["tensors"] if t["name"] == name)
    return found


def roles(found):
    return {(use[1], use[2]) for use in found["uses"]}


ATTENTION = """\
import torch
torch.manual_seed(0)
w = torch.randn(4, 4, requires_grad=True)
for step in range(5):
    x = torch.ones(2, 3, 4)
    h = (x @ w).transpose(1, 2)
    c = h.contiguous()
    c.add_(0)
    y = c.view(-1)
    loss = (y * y).exp().sum()
    loss.backward()
print("done", w.grad.shape)
"""


@pytest.fixture(scope="module")
def attention(tmp_path_factory):
    done, data = run(tmp_path_factory.mktemp("xray"), ATTENTION)
    assert done.returncode == 0 and done.stdout == "done torch.Size([4, 4])\n", done.stderr
    return data


def test_each_line_shows_its_ops_and_their_kinds(attention):
    assert ops(line(attention, 6)) == [("matmul", "new"), ("transpose", "view")]
    assert ops(line(attention, 7)) == [("contiguous", "copy")]
    assert ops(line(attention, 8)) == [("add", "write")]
    assert ops(line(attention, 9)) == [("view", "view")]
    assert "4" not in attention["files"][0]["rows"], "a loop's head runs no op"


def test_times_bytes_nodes_and_shapes(attention):
    row = line(attention, 6)
    assert row["times"] == 5 and len(row["variants"]) == 1
    assert row["made"] == 5 * 2 * 3 * 4 * 4 and row["nodes"] == 2
    assert row["forward"] > 0 and row["backward"] > 0
    (op,) = line(attention, 7)["variants"][0]["ops"]
    given, made = (attention["layouts"][op[side][0][1]] for side in ("in", "out"))
    assert given == {"dtype": "float32", "size": [2, 4, 3], "stride": [12, 1, 4]}
    assert made == {"dtype": "float32", "size": [2, 4, 3]}
    assert line(attention, 9)["made"] == 0 and line(attention, 9)["nodes"] == 1


def test_the_backward_pass_says_what_it_walked_made_and_freed(attention):
    row = line(attention, 11)
    (op,) = row["variants"][0]["ops"] if len(row["variants"]) == 1 else [None]
    found = op["pass"]
    assert op["kind"] == "backward" and found["leaves"] == 1
    # sum, exp, mul, view, add, clone, transpose, the product, and the leaf
    assert found["nodes"] == 9 == row["walked"]
    assert found["freed"] > 0 and row["held"] < row["made"]
    assert {tuple(at) for at, _ in op["lines"]} <= {(0, n) for n in range(6, 11)}


def test_a_loop_folds_and_names_the_turn_that_differs(tmp_path):
    _, data = run(
        tmp_path,
        """\
        import torch
        for i in range(6):
            x = torch.ones(3 if i != 2 else 4)
            y = x * 2
        z = y + 1
        for i in range(4):
            z[i % 3] = i
        """,
    )
    loop = data["files"][0]["loops"]["2"]
    assert loop["turns"] == 6
    assert [(g["turns"], g["count"]) for g in loop["groups"]] == [("1-2, 4-6", 5), ("3", 1)]
    assert loop["groups"][1]["rows"] == [[0, 3], [0, 4]]
    assert [v["turns"] for v in line(data, 4)["variants"]] == ["1-2, 4-6", "3"]
    assert line(data, 5)["variants"][0]["turns"] == ""
    assert data["files"][0]["loops"]["6"] == {
        "turns": 4,
        "groups": [{"turns": "1-4", "count": 4, "rows": []}],
    }


def test_a_tensor_can_be_followed(attention):
    c = tensor(attention, "c")
    assert c["row"] == [0, 7] and c["bytes"] == 96
    assert {(8, "write"), (9, "view")} <= roles(c)
    assert ["line", [0, 9]] in [end[:2] for end in c["ends"]], "the next y is another"
    (exp,) = (t for t in attention["tensors"] if t["op"] == "exp")
    assert exp["ends"] == [["backward", [0, 11], [0, 10], 5]], "its own node had saved it"
    y = tensor(attention, "y")
    assert attention["tensors"][y["base"]]["name"] == "c", "a view of c"
    assert ["CloneBackward0", [0, 11], 5] in c["walked"]
    h = tensor(attention, "h")
    assert roles(h) == {(7, "copy")}


def test_parameters_have_names_and_gradients(tmp_path):
    _, data = run(
        tmp_path,
        """\
        import torch
        from torch import nn
        model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
        opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        for _ in range(3):
            out = model(torch.ones(2, 3))
            out.sum().backward()
            opt.step()
            opt.zero_grad()
        out = model(torch.ones(2, 3)).sum()
        out.backward()
        """,
    )
    weight = tensor(data, "2.weight")
    assert weight["parameter"] and {(6, "read"), (8, "update")} <= roles(weight)
    assert weight["gradient"]["row"] == [0, 11] and weight["gradient"]["forward"] == [0, 10]
    step = line(data, 8)
    assert [v["ops"][0]["name"] for v in step["variants"]] == ["SGD.step"] * len(step["variants"])
    assert step["variants"][0]["turns"] == "1", "the first step makes the state"
    assert data["modules"][line(data, 6)["calls"][0][0]] == "Sequential"


def test_an_example_program(tmp_path):
    page = tmp_path / "page.html"
    command = [sys.executable, "-P", "-m", "rushlight", "xray", "--html", page, GPT]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.startswith("loss "), done.stderr
    data = data_of(page)
    numbers = {text.strip(): int(n) for n, text in data["files"][0]["lines"].items()}
    copy = line(data, numbers["seen = seen.transpose(1, 2).contiguous()"])
    assert copy["times"] == 80 and len(copy["variants"]) == 2, "two blocks, 40 turns each"
    assert {data["modules"][v["module"]] for v in copy["variants"]} == {
        "blocks.0 (Block)",
        "blocks.1 (Block)",
    }
    call = line(data, numbers["h = block(h)"])
    assert call["times"] == 80 and [c[1] for c in call["calls"]] == [40, 40]
    assert data["size"] < 500_000


@pytest.mark.parametrize("hurt", ["a @ torch.ones(5, 2)", "raise ValueError('no')", "1 / 0"])
def test_a_script_that_raises_gives_its_page(tmp_path, hurt):
    done, data = run(
        tmp_path, f"import torch\na = torch.ones(3)\ndef f():\n    {hurt}\nb = a + 1\nf()\n"
    )
    assert done.returncode == 1 and "Traceback" in done.stderr
    assert [at[1] for at in data["error"]["at"]] == [6, 4]
    assert data["error"]["text"] in done.stderr and data["status"] == 1
    assert line(data, 5)["times"] == 1
    if "@" in hurt:
        assert "rushlight explain matmul" in data["error"]["notes"][0]
        assert line(data, 4)["variants"][0]["ops"][-1]["failed"]


def test_exit_status_and_output_are_the_scripts(tmp_path):
    done, data = run(tmp_path, "import sys\nprint(sys.argv[1:])\nsys.exit(7)\n", args=("--a", "b"))
    assert (done.returncode, done.stdout) == (7, "['--a', 'b']\n")
    assert data["status"] == 7 and data["error"] is None
    assert [f["name"] for f in data["files"]] == ["script.py"] and data["files"][0]["rows"] == {}
    done, data = run(tmp_path, "raise SystemExit('stopped')\n")
    assert done.returncode == 1 and "stopped" in done.stderr
    done, data = run(tmp_path, "x = (\n")
    assert done.returncode == 1 and "SyntaxError" in done.stderr
    done, data = run(
        tmp_path, "import numpy\nimport torch\ntorch.from_numpy(numpy.ones(3)[::-1])\n"
    )
    assert data["error"]["at"] == [[str(tmp_path / "script.py"), 3]], "no op ran, and yet"
    assert data["files"][0]["lines"]["3"].startswith("torch.from_numpy")


def test_hostile_source_stays_data(tmp_path):
    source = (
        "import torch\n"
        "x = torch.ones(3)  # </script><script>document.title = 1</script><!-- \u2028 & \"'\n"
        "raise ValueError('</script><img src=x onerror=alert(1)>')\n"
    )
    run(tmp_path, source)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    body = text.split('id="data">')[1].split("</script>")[0]
    assert "<" not in body and ">" not in body and "\u2028" not in body
    assert json.loads(body)["files"][0]["lines"]["2"] == source.split("\n")[1]
    assert len(re.findall("<script", text)) == 2
    assert not re.search(r"""(src|href)=["']?(https?:|//)""", text)


def test_custom_functions_threads_and_several_files(tmp_path):
    (tmp_path / "part.py").write_text("def twice(x):\n    return x * 2\n")
    done, data = run(
        tmp_path,
        """\
        import threading
        import torch
        from part import twice
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x
            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return 2 * x * g
        x = torch.ones(3, requires_grad=True)
        for _ in range(4):
            Square.apply(twice(x)).sum().backward()
        def work():
            for _ in range(10):
                torch.ones(3).sum()
        threads = [threading.Thread(target=work) for _ in range(3)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        """,
    )
    assert done.returncode == 0, done.stderr
    names = [f["name"] for f in data["files"]]
    assert names == ["script.py", "part.py"]
    script, part = 0, 1
    assert line(data, 12, script)["times"] == 4, "the lines of backward stand by themselves"
    assert line(data, 15, script)["walked"] == 4
    assert line(data, 2, part)["times"] == 4 and line(data, 2, part)["backward"] > 0
    assert line(data, 18, script)["times"] == 30


def test_a_module_a_limit_and_a_page_that_stays_small(tmp_path):
    (tmp_path / "long.py").write_text(
        "import random, torch\n"
        "lin = torch.nn.Linear(8, 8)\n"
        "for i in range(2000):\n"
        "    x = torch.ones(random.randint(1, 400), 8)\n"
        "    y = lin(x).relu() + 1\n"
        "    y.sum().backward()\n"
    )
    page = tmp_path / "page.html"
    command = [sys.executable, "-P", "-m", "rushlight", "xray", "--events", "5000"]
    done = subprocess.run(
        [*command, "--html", page, "-m", "long"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        timeout=120,
    )
    assert done.returncode == 0 and "first 5,000 events" in done.stderr, done.stderr
    data = data_of(page)
    assert data["full"] and data["totals"]["events"] == 5000
    row = line(data, 4)
    assert 100 < row["times"] < 2000 and row["more"] > 100 and len(row["variants"]) <= 16
    assert data["size"] < 1_000_000


HARD = {
    "text": "class E(Exception):\n    def __str__(self):\n        1 / 0\nraise E()\n",
    "folder": "import os, tempfile\nd = tempfile.mkdtemp()\nos.chdir(d)\nos.rmdir(d)\n1 / 0\n",
    "output": "import sys\nsys.stdout = sys.stderr = None\n1 / 0\n",
    "depth": "import sys\nsys.setrecursionlimit(60)\n1 / 0\n",
    "syntax": "x = = 3\n",
}


@pytest.mark.parametrize("name", HARD)
def test_whatever_a_script_does_there_is_a_page(tmp_path, name):
    done, data = run(tmp_path, "import torch\ny = torch.ones(2) + 1\n" + HARD[name])
    assert done.returncode == 1 and data["status"] == 1
    assert data["error"]["at"][-1][1] >= 3 and data["files"][0]["name"] == "script.py"


def test_a_long_line_and_a_missing_script(tmp_path):
    _, data = run(tmp_path, "import torch\nx = torch.ones(3)" + "; x = x + 1" * 1500 + "\n")
    assert len(data["files"][0]["lines"]["2"]) == 500 and data["size"] < 400_000
    command = [sys.executable, "-P", "-m", "rushlight", "xray", tmp_path / "none.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2 and "can't open file" in done.stderr
    assert not (tmp_path / "xray.html").exists()
