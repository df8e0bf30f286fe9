"""safetensors.torch: files byte for byte, every dtype, models with shared weights, slices."""

import hashlib
import os
import tempfile

import torch
from report import report
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model
from torch import nn


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


torch.manual_seed(0)
dtypes = (
    "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64"
).split()
tensors = {name: (torch.randn(3, 4) * 3).abs().to(getattr(torch, name)) for name in dtypes}
tensors["empty"], tensors["scalar"] = torch.zeros(0, 2), torch.tensor(1.5)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(7, 4), nn.Linear(4, 7, bias=False)
        self.head.weight = self.embedding.weight
        self.norm = nn.BatchNorm1d(4)


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "a.safetensors")
    save_file(tensors, path, metadata={"format": "pt"})
    files = [digest(path)]
    back = load_file(path)
    same = all(
        back[n].dtype == t.dtype and back[n].shape == t.shape
        and torch.equal(back[n].view(-1).view(torch.uint8), t.view(-1).view(torch.uint8))
        for n, t in tensors.items()
    )  # fmt: skip
    with safe_open(path, framework="pt") as file:
        names, metadata = sorted(file.keys()), file.metadata()
        part = file.get_slice("float32")[1:, :2]
        whole = file.get_tensor("bfloat16").float()
    with open("/proc/self/maps") as maps:
        spans = [line.split()[0].split("-") for line in maps if path in line]
    mapped = all(  # in the file's own pages: nothing was copied
        any(int(low, 16) <= t.data_ptr() < int(high, 16) for low, high in spans)
        for t in back.values() if t.numel()
    )  # fmt: skip
    model, other = Tied(), Tied()
    save_model(model, path)
    files.append(digest(path))
    missing = load_model(other, path)
    try:
        save_file(dict(model.state_dict()), path)
    except Exception as error:
        message = f"{type(error).__name__}: {str(error).split(chr(10))[1].strip()[:60]}"
in_memory = load(save({"x": tensors["int16"]}))["x"]
report(
    files=files, same=same, names=names, metadata=metadata, part=part, whole=whole,
    missing=[sorted(m) for m in missing], weight=other.head.weight, in_memory=in_memory,
    error=message, mapped=mapped, tied=other.head.weight is other.embedding.weight,
)  # fmt: skip
