"""save and load: round trips, where storages go, what a file looks like, what errors say."""

import copy
import io
import multiprocessing
import os
import pickle
import struct
import time
import zipfile

import pytest

import rushlight as torch
from rushlight import _locations

from . import contents


def saved(value, **options) -> io.BytesIO:
    buffer = io.BytesIO()
    torch.save(value, buffer, **options)
    buffer.seek(0)
    return buffer


@pytest.mark.parametrize("name", contents.CONTENTS)
@pytest.mark.parametrize("zip_format", [True, False])
@pytest.mark.parametrize("weights_only", [True, False])
def test_round_trip(name, zip_format, weights_only):
    value = contents.CONTENTS[name](torch)
    buffer = saved(value, _use_new_zipfile_serialization=zip_format)
    loaded = torch.load(buffer, weights_only=weights_only)
    assert contents.described(torch, loaded) == contents.described(torch, value)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("name", ["training_state", "every_dtype", "attributes"])
def test_protocols(name, protocol):
    value = contents.CONTENTS[name](torch)
    buffer = saved(value, pickle_protocol=protocol)
    assert b"rushlight" not in buffer.getvalue()
    loaded = torch.load(buffer, weights_only=False)
    assert contents.described(torch, loaded) == contents.described(torch, value)


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("name", ["training_state", "views", "attributes", "on_meta"])
def test_plain_pickle(name, protocol):
    value = contents.CONTENTS[name](torch)
    loaded = pickle.loads(pickle.dumps(value, protocol=protocol))
    assert contents.described(torch, loaded) == contents.described(torch, value)


def test_text_that_looks_like_a_name_is_kept():
    trap = "crushlight._utils\n_rebuild_tensor_v2\n"
    value = {"text": trap, "again": trap + "!", "tensor": torch.ones(1)}
    for options in ({}, {"pickle_protocol": 3}, {"pickle_protocol": 4}):
        loaded = torch.load(saved(value, **options), weights_only=False)
        assert loaded["text"] == trap
        assert loaded["tensor"].item() == 1
    alone = torch.load(saved({"text": trap}))
    assert alone == {"text": trap}


def test_aliasing_is_kept_and_stored_once():
    base = torch.arange(1000.0)
    buffer = saved([base, base.view(10, 100), base[3]])
    assert len(buffer.getvalue()) < 7000
    first, second, third = torch.load(buffer)
    first.fill_(2)
    assert second.sum().item() == 2000
    assert third.item() == 2


@pytest.mark.parametrize("name", ["views", "training_state", "on_meta"])
def test_deepcopy(name):
    value = contents.CONTENTS[name](torch)
    copied = copy.deepcopy(value)
    before = contents.described(torch, value)
    if name != "views":  # a conjugated view becomes a plain tensor
        assert contents.described(torch, copied) == before
    for tensor in copied.values() if name == "views" else ():
        tensor.zero_()
    assert contents.described(torch, value) == before


def test_deepcopy_keeps_aliasing_and_gradients():
    base = torch.arange(6.0)
    first, second = copy.deepcopy([base, base[2:]])
    first.fill_(9)
    assert second.tolist() == [9.0] * 4
    leaf = torch.ones(2, requires_grad=True)
    leaf.grad = torch.full((2,), 3.0)
    copied = copy.deepcopy(leaf)
    assert copied.grad.tolist() == [3.0, 3.0]
    assert copied.grad is not leaf.grad
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(leaf * 2)


def test_copy_shares_the_storage():
    tensor = torch.zeros(2)
    copied = copy.copy(tensor)
    copied.fill_(1)
    assert tensor.tolist() == [1.0, 1.0]


def test_layout_of_the_file(tmp_path):
    path = tmp_path / "model.v2.pt"
    torch.save({"a": torch.arange(5.0), "b": torch.zeros(0)}, path)
    data = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        names = [info.filename for info in archive.infolist()]
        for info in archive.infolist():
            head = struct.unpack("<HH", data[info.header_offset + 26 : info.header_offset + 30])
            assert (info.header_offset + 30 + sum(head)) % 64 == 0
        assert archive.read("model.v2/byteorder") == b"little"
        assert archive.read("model.v2/version") == b"3\n"
        assert archive.read("model.v2/.format_version") == b"1"
        assert archive.read("model.v2/.storage_alignment") == b"64"
        assert len(archive.read("model.v2/.data/serialization_id")) == 40
        assert len(archive.read("model.v2/data/0")) == 20
    assert names == [
        "model.v2/" + name
        for name in (
            "data.pkl", ".format_version", ".storage_alignment", "byteorder", "data/0", "data/1",
            "version", ".data/serialization_id",
        )
    ]  # fmt: skip


def test_map_location():
    value = {"a": torch.ones(3)}
    assert torch.load(saved(value), map_location="meta")["a"].is_meta
    assert torch.load(saved(value), map_location=torch.device("meta"))["a"].is_meta
    assert torch.load(saved(value), map_location={"cpu": "meta"})["a"].is_meta
    assert not torch.load(saved(value), map_location={"cuda:0": "meta"})["a"].is_meta
    seen = []

    def place(storage, location):
        seen.append((type(storage), location, storage.nbytes()))
        return None if len(seen) > 1 else storage

    assert torch.load(saved(value), map_location=place)["a"].tolist() == [1.0] * 3
    assert seen == [(torch.UntypedStorage, "cpu", 12)]


def test_registered_package():
    registry = _locations._registry
    before = list(registry)
    try:
        torch.serialization.register_package(
            5, lambda storage: None, lambda storage, at: storage if at == "shelf:0" else None
        )
        assert torch.load(saved(torch.ones(2)), map_location="shelf:0").tolist() == [1.0, 1.0]
    finally:
        registry[:] = before


def test_storages():
    storage = torch.arange(4, dtype=torch.int16).untyped_storage()
    loaded = torch.load(saved(storage))
    assert loaded.tolist() == storage.tolist()
    copied = pickle.loads(pickle.dumps(storage))
    assert copied.nbytes() == 8
    typed = torch.FloatStorage([1.0, 2.0])
    assert isinstance(typed, torch.FloatStorage)
    assert not isinstance(typed, torch.LongStorage)
    assert torch.load(saved(typed)).tolist() == [1.0, 2.0]
    assert typed.double().tolist() == [1.0, 2.0]
    assert torch.ones(3).storage().type() == "torch.FloatStorage"


def test_other_byte_order():
    with zipfile.ZipFile(saved(torch.tensor([1, 258], dtype=torch.int32))) as archive:
        records = {info.filename: archive.read(info) for info in archive.infolist()}
    records["archive/byteorder"] = b"big"
    records["archive/data/0"] = struct.pack(">ii", 1, 258)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in records.items():
            archive.writestr(name, data)
    buffer.seek(0)
    assert torch.load(buffer).tolist() == [1, 258]


def test_compressed_archive():
    with zipfile.ZipFile(saved({"a": torch.ones(100)})) as archive:
        records = {info.filename: archive.read(info) for info in archive.infolist()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in records.items():
            archive.writestr(name, data)
    buffer.seek(0)
    assert torch.load(buffer)["a"].sum().item() == 100


class WriteOnly:
    def __init__(self):
        self.data = b""

    def write(self, data):
        self.data += bytes(data)


def test_file_objects(tmp_path):
    sink = WriteOnly()
    torch.save({"a": torch.ones(2)}, sink)
    assert torch.load(io.BytesIO(sink.data))["a"].tolist() == [1.0, 1.0]
    path = tmp_path / "a.pt"
    with open(path, "wb") as file:
        torch.save(torch.ones(3), file)
    with open(path, "rb") as file:
        assert torch.load(file).tolist() == [1.0] * 3
    assert torch.load(str(path)).tolist() == [1.0] * 3


def test_failed_save_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.pt"
    torch.save(torch.ones(2), path)
    before = path.read_bytes()
    with pytest.raises((pickle.PicklingError, AttributeError)):
        torch.save({"a": torch.ones(2), "b": lambda: None}, path)
    assert path.read_bytes() == before

    from rushlight import _archive

    def fail(self):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_archive.ArchiveWriter, "close", fail)
    with pytest.raises(OSError, match="No space left"):
        torch.save(torch.zeros(2), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.pt"]


def _save_for_ever(path, saved):
    for n in range(10**6):
        torch.save({"n": n, "rows": torch.full((500_000,), float(n))}, path)
        saved.set()


def test_a_kill_while_saving_leaves_a_whole_file(tmp_path):
    path = tmp_path / "model.pt"
    context = multiprocessing.get_context("fork")
    for turn in range(8):
        saved = context.Event()
        process = context.Process(target=_save_for_ever, args=(path, saved))
        process.start()
        assert saved.wait(60)
        time.sleep(0.0011 * turn)
        process.kill()
        process.join()
        found = torch.load(path)
        assert (found["rows"] == found["n"]).all()


def test_save_keeps_mode_and_links(tmp_path):
    target, link = tmp_path / "real.pt", tmp_path / "link.pt"
    torch.save(torch.ones(1), target)
    target.chmod(0o640)
    link.symlink_to(target)
    torch.save(torch.zeros(1), link)
    assert link.is_symlink()
    assert torch.load(target).item() == 0
    assert target.stat().st_mode & 0o777 == 0o640


def test_errors_of_save(tmp_path):
    with pytest.raises(RuntimeError, match=r"Parent directory .*absent does not exist"):
        torch.save(1, tmp_path / "absent" / "a.pt")
    with pytest.raises(RuntimeError):
        torch.save(1, tmp_path)
    with pytest.raises(AttributeError, match="expected 'f' to be string, path, or a file-like"):
        torch.save(1, 3)
    tensor = torch.ones(4)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        torch.save([tensor, tensor.view(torch.int32)], io.BytesIO())


def test_errors_of_load(tmp_path):
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "absent.pt")
    with pytest.raises(IsADirectoryError):
        torch.load(tmp_path)
    with pytest.raises(AttributeError, match=r"You can only torch\.load from a file that is seek"):
        torch.load(3)
    with pytest.raises(EOFError):
        torch.load(io.BytesIO(b""))
    with pytest.raises(ValueError, match="must be a file path in order to use the mmap"):
        torch.load(saved(1), mmap=True)
    with pytest.raises(RuntimeError, match="Can not safely load weights when explicit pickle"):
        torch.load(saved(1), pickle_module=pickle, weights_only=True)
    legacy = tmp_path / "legacy.pt"
    torch.save(torch.ones(1), legacy, _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        torch.load(legacy, mmap=True)


def test_hooks_are_not_stored():
    leaf = torch.ones(1, requires_grad=True)
    leaf.register_hook(lambda grad: grad * 2)
    loaded = torch.load(saved(leaf))
    (loaded * 3).sum().backward()
    assert loaded.grad.item() == 3


def test_layouts_are_named_as_weights_only_files_allow():
    buffer = saved({"layout": torch.strided})
    assert torch.load(buffer)["layout"] is torch.strided
    with zipfile.ZipFile(buffer) as archive:
        data = next(archive.read(n) for n in archive.namelist() if n.endswith("data.pkl"))
    assert b"torch.serialization\n_get_layout" in data
    assert copy.deepcopy(torch.strided) is pickle.loads(pickle.dumps(torch.strided))
