"""torch.hub with folders and file: URLs; torch.__config__."""

import hashlib

import pytest

import rushlight as torch
from rushlight import hub


@pytest.fixture
def cache(tmp_path):
    before = hub._hub_dir
    hub.set_dir(tmp_path / "cache")
    yield tmp_path / "cache"
    hub._hub_dir = before


def test_where_the_cache_is(monkeypatch):
    monkeypatch.setenv("TORCH_HOME", "/somewhere")
    assert hub.get_dir() == "/somewhere/hub"
    monkeypatch.delenv("TORCH_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", "/else")
    assert hub.get_dir() == "/else/torch/hub"


def test_a_state_dict_from_a_file(tmp_path, cache, capsys):
    torch.save({"w": torch.arange(3)}, tmp_path / "x.pth")
    digest = hashlib.sha256((tmp_path / "x.pth").read_bytes()).hexdigest()
    good = (tmp_path / "x.pth").rename(tmp_path / f"model-{digest[:8]}.pth")
    loaded = hub.load_state_dict_from_url(good.as_uri(), check_hash=True)
    assert loaded["w"].tolist() == [0, 1, 2]
    where = cache / "checkpoints" / good.name
    assert capsys.readouterr().out == f'Downloading: "{good.as_uri()}" to {where}\n'
    hub.load_state_dict_from_url(good.as_uri(), check_hash=True)
    assert capsys.readouterr().out == ""
    bad = good.rename(tmp_path / "model-00000000.pth")
    with pytest.raises(RuntimeError, match='invalid hash value \\(expected "00000000"'):
        hub.load_state_dict_from_url(bad.as_uri(), check_hash=True)
    assert [f.name for f in (cache / "checkpoints").iterdir()] == [good.name]
    assert hub.HASH_REGEX.search(good.name).group(1) == digest[:8]


def test_models_of_a_folder(tmp_path):
    (tmp_path / "hubconf.py").write_text(
        "dependencies = ['json']\ndef linear(n=2):\n    'A layer.'\n    return ('layer', n)\n"
    )
    folder = str(tmp_path)
    assert hub.list(folder, source="local") == ["linear"]
    assert hub.help(folder, "linear", source="local") == "A layer."
    assert hub.load(folder, "linear", 3, source="local") == ("layer", 3)
    with pytest.raises(RuntimeError, match="Cannot find callable nothing in hubconf"):
        hub.load(folder, "nothing", source="local")
    with pytest.raises(ValueError, match="Unknown source"):
        hub.load(folder, "linear", source="web")


def test_configuration():
    assert torch.__config__.show().startswith("PyTorch built with:")
    assert "at::get_num_threads()" in torch.__config__.parallel_info()


def test_the_environment():
    from rushlight.utils import collect_env

    text = collect_env.get_pretty_env_info()
    assert text.startswith(f"PyTorch version: {torch.__version__}")
    info = collect_env.get_env_info()
    assert f"Python version: {info.python_version}" in text and info.cuda_runtime_version is None
    for line in ("ROCM used to build PyTorch: N/A", "cuDNN version: Could not collect", "CPU:",
                 "[conda] Could not collect"):  # fmt: skip
        assert line in text.split("\n")
    assert collect_env.pretty_str(info) == text
    assert collect_env.run("exit 3") == (3, "", "")
    assert collect_env.run_and_parse_first_match(collect_env.run, ["echo", "a 1"], "a (.)") == "1"
    assert collect_env.run_and_read_all(collect_env.run, ["no such program"]) is None
