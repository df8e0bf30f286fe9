"""Event files: their records are whole and say what was added."""

import struct
import zlib

import pytest

import rushlight as torch
from rushlight.utils.tensorboard import SummaryWriter, _event_file


def records(path):
    """The messages of an event file, whose checksums must be right."""
    data, at = path.read_bytes(), 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        body = data[at + 12 : at + 12 + length]
        assert _event_file.record(body) == data[at : at + 16 + length]
        yield message(body)
        at += 16 + length


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def message(data):
    """Fields by number, each a list; nested ones are bytes."""
    fields, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from("<d", data, at)[0], at + 8
        elif kind == 5:
            value, at = struct.unpack_from("<f", data, at)[0], at + 4
        else:
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
        fields.setdefault(key >> 3, []).append(value)
    return fields


def written(folder):
    (path,) = [p for p in folder.iterdir() if p.name.startswith("events.out.tfevents.")]
    first, *rest = records(path)
    assert first[3] == [b"brain.Event:2"]
    return [(event.get(2, [None])[0], message(message(event[5][0])[1][0])) for event in rest]


def test_the_checksum():
    # The check value of CRC-32C, unmasked: 0xE3069283.
    crc = 0xE3069283
    masked = (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
    assert _event_file._masked_crc(b"123456789") == masked


def test_scalars(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", torch.tensor(0.5), 3, walltime=7.0)
        writer.add_scalar("loss", 2, 2**40)
        writer.add_scalar("new", 0.25, new_style=True)
        assert writer.get_logdir() == tmp_path
    (step, value), (later, _), (none, new) = written(tmp_path)
    assert (step, value) == (3, {1: [b"loss"], 2: [0.5]})
    assert later == 2**40
    assert none is None
    assert message(new[8][0])[4] == [struct.pack("<f", 0.25)]
    writer.add_scalar("more", 1)  # a closed writer starts another file
    writer.close()
    assert len(list(tmp_path.iterdir())) == 2
    with pytest.raises(AssertionError):
        SummaryWriter(tmp_path / "x").add_scalar("two", torch.ones(2))


def test_several_scalars(tmp_path):
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_scalars("run/loss", {"train": 1.0, "test": 2.0}, 1)
    assert written(tmp_path / "run_loss_train") == [(1, {1: [b"run/loss"], 2: [1.0]})]
    assert written(tmp_path / "run_loss_test") == [(1, {1: [b"run/loss"], 2: [2.0]})]


def test_other_kinds(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("h", torch.arange(10.0), 1, bins=5)
        writer.add_text("t", "hello", 2)
        writer.add_image("i", torch.tensor([[[0.0, 1.0]], [[0.5, 1.0]], [[0.0, 0.0]]]), 3)
        writer.add_images("n", torch.zeros(2, 1, 4, 4), 4)
    (_, h), (_, t), (_, i), (_, n) = written(tmp_path)
    histogram = message(h[5][0])
    assert [histogram[k] for k in (1, 2, 3, 4)] == [[0.0], [9.0], [10.0], [45.0]]
    assert struct.unpack("<6d", histogram[7][0]) == (0.0, *[2.0] * 5)  # an empty bin below
    assert t[1] == [b"t/text_summary"]
    assert message(t[8][0])[8] == [b"hello"]
    picture = message(i[4][0])
    assert (picture[1], picture[2], picture[3]) == ([1], [2], [3])
    png = picture[4][0]
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    data = png[png.index(b"IDAT") + 4 : png.index(b"IEND") - 8]
    assert zlib.decompress(data) == bytes([0, 0, 127, 0, 255, 255, 0])
    assert message(n[4][0])[2] == [8]


def test_hyperparameters(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams({"lr": 0.1, "name": "a", "flag": True}, {"loss": 2.0}, run_name="r")
    values = [value for _, value in written(tmp_path / "r")]
    assert [v[1][0] for v in values] == [
        b"_hparams_/experiment", b"_hparams_/session_start_info", b"_hparams_/session_end_info",
        b"loss",
    ]  # fmt: skip
    with pytest.raises(TypeError, match="should be dictionary"):
        SummaryWriter(tmp_path / "y").add_hparams([], {})


def floats(value):
    """The sizes and numbers of a value that holds a float tensor."""
    tensor = message(value[8][0])
    sizes = [message(d)[1][0] for d in message(tensor[2][0])[2]]
    return sizes, struct.unpack(f"<{len(tensor[5][0]) // 4}f", tensor[5][0])


def test_curves_and_tensors(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        labels, predictions = torch.tensor([0, 1, 1, 0]), torch.tensor([0.1, 0.4, 0.9, 0.6])
        writer.add_pr_curve("pr", labels, predictions, 1, num_thresholds=3)
        writer.add_pr_curve_raw("raw", *[[1.0, 2.0]] * 6, 2, num_thresholds=2)
        writer.add_tensor("t", torch.arange(3.0), 3)
        writer.add_custom_scalars({"a": {"b": ["Multiline", ["x", "y"]], "c": ["Margin", "uvw"]}})
        writer.add_histogram_raw("h", 0.0, 1.0, 4, 2.0, 1.5, [0.5, 1.0], [2, 2], 4)
        with pytest.raises(AssertionError, match="Expected 3 tags, got 2"):
            writer.add_custom_scalars_marginchart(["t", "u"])
    (_, curve), (_, raw), (_, tensor), (_, layout), (_, counts) = written(tmp_path)
    sizes, rows = floats(curve)
    # What PyTorch writes: tp, fp, tn, fn, precision and recall at 0, 1/2 and 1.
    assert sizes == [6, 3]
    assert rows[:12] == (2, 1, 0, 2, 1, 0, 0, 1, 2, 0, 1, 2)
    assert rows[12:] == (0.5, 0.5, 0, 1, 0.5, 0)
    assert floats(raw) == ([6, 2], (1.0, 2.0) * 6)
    assert floats(tensor) == ([3], (0.0, 1.0, 2.0))
    category = message(message(message(layout[8][0])[8][0])[2][0])
    assert category[1] == [b"a"]
    assert [message(chart)[1] for chart in category[2]] == [[b"b"], [b"c"]]
    assert message(counts[5][0])[7] == [struct.pack("<2d", 2, 2)]


def test_sounds_and_meshes(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_audio("s", torch.tensor([[0.0, 0.5, -1.0]]), 1, sample_rate=8000)
        writer.add_mesh("m", torch.ones(1, 4, 3), faces=torch.zeros(1, 2, 3), global_step=2)
        with pytest.raises(AssertionError, match="1 dimensional"):
            writer.add_audio("s", torch.zeros(2, 3))
    (_, sound), _ = written(tmp_path)
    sound = message(sound[6][0])
    assert (sound[1], sound[2], sound[3], sound[5]) == ([8000.0], [1], [3], [b"audio/wav"])
    assert sound[4][0][:4] == b"RIFF"
    assert struct.unpack("<3h", sound[4][0][-6:]) == (0, 16383, -32767)
    _, event = records_of(tmp_path)
    parts = [message(v) for v in message(event[5][0])[1]]
    assert [v[1] for v in parts] == [[b"m_VERTEX"], [b"m_FACE"]]
    content = message(message(message(parts[0][9][0])[1][0])[2][0])
    assert (content[2], content[3], content[6], content[7]) == (
        [b"m"], [1], [bytes([1, 4, 3])], [6])  # fmt: skip


def records_of(folder):
    (path,) = folder.iterdir()
    return list(records(path))[1:]


def test_embeddings(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        names, pictures = list("ab"), torch.rand(2, 3, 4, 6)
        writer.add_embedding(torch.eye(2), names, pictures, global_step=3)
        writer.add_embedding(torch.eye(2), [("x", 1), ("y", 2)], tag="p/q",
                             metadata_header=["name", "n"])  # fmt: skip
        with pytest.raises(AssertionError, match="#labels should equal with #data points"):
            writer.add_embedding(torch.eye(2), ["a"], tag="bad")
    first = tmp_path / "00003" / "default"
    assert (first / "tensors.tsv").read_text() == "1.0\t0.0\n0.0\t1.0\n"
    assert (first / "metadata.tsv").read_text() == "a\nb\n"
    width, height = struct.unpack(">II", (first / "sprite.png").read_bytes()[16:24])
    assert width == height == 12
    assert (tmp_path / "00000" / "p%2fq" / "metadata.tsv").read_text() == "name\tn\nx\t1\ny\t2\n"
    listed = (tmp_path / "projector_config.pbtxt").read_text()
    assert listed.count("embeddings {") == 2
    assert 'tensor_name: "p/q:00000"' in listed
    assert "single_image_dim: 6\n    single_image_dim: 4\n" in listed


def test_a_models_graph(tmp_path):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())

        def forward(self, x):
            return self.layers(x) + x.sum(1, keepdim=True)

    net = Net()
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(net, torch.ones(1, 2))
        with pytest.raises(NotImplementedError, match="reads no ONNX"):
            writer.add_onnx_graph("x")
    assert net.training
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in net.modules())
    (event,) = records_of(tmp_path)
    nodes = [message(node) for node in message(event[4][0])[1]]
    found = {n[1][0].decode(): (n[2][0], [i.decode() for i in n.get(3, [])]) for n in nodes}
    linear = "Net/Sequential[layers]/Linear[0]"
    assert found[f"{linear}/weight"] == (b"prim::GetAttr", [])
    assert found[f"{linear}/linear_3"] == (
        b"aten::linear", ["input/0", f"{linear}/weight", f"{linear}/bias"])  # fmt: skip
    assert found["Net/Sequential[layers]/ReLU[1]/relu_4"][1] == [f"{linear}/linear_3"]
    assert found["output/0"][1] == ["Net/add_6"]


def test_figures_and_films(tmp_path):
    pytest.importorskip("PIL")
    with SummaryWriter(tmp_path) as writer:
        writer.add_video("v", torch.rand(3, 2, 3, 4, 6), 1)
        boxes = torch.tensor([[1.0, 1, 8, 8]])
        writer.add_image_with_boxes("b", torch.zeros(3, 10, 10), boxes, 2, labels=["x"])
    (_, film), (_, boxed) = written(tmp_path)
    film, boxed = message(film[4][0]), message(boxed[4][0])
    assert (film[1], film[2], film[3], film[4][0][:6]) == ([8], [12], [3], b"GIF89a")
    assert (boxed[1], boxed[2]) == ([10], [10])
