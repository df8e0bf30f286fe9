"""Files of TensorBoard's projector: vectors, their labels and pictures, and the list of them."""

from __future__ import annotations

import os

import rushlight as torch

from . import media
from .summary import png

__all__ = ["write_embedding"]


def _file_name(text: str) -> str:
    for letter in ("%", "/", "\\"):
        text = text.replace(letter, f"%{ord(letter):02x}")
    return text


def _lines(path: str, lines) -> None:
    with open(path, "w", encoding="utf-8") as out:
        out.writelines(f"{line}\n" for line in lines)


def _labels(metadata, header, count: int):
    """Lines of a label for each vector; several columns have a line of names first."""
    if header:
        if len(header) != len(metadata[0]):
            raise AssertionError("len of header must be equal to the number of columns in metadata")
        metadata = ["\t".join(str(x) for x in row) for row in [header, *metadata]]
        count += 1
    if len(metadata) != count:
        raise AssertionError("#labels should equal with #data points")
    return [str(line) for line in metadata]


def _listed(name: str, folder: str, metadata, pictures) -> str:
    """What the list of embeddings says of one."""
    lines = [f'  tensor_name: "{name}"']
    if metadata is not None:
        lines.append(f'  metadata_path: "{folder}/metadata.tsv"')
    if pictures is not None:
        lines += ["  sprite {", f'    image_path: "{folder}/sprite.png"']
        lines += [f"    single_image_dim: {pictures.size(i)}" for i in (3, 2)] + ["  }"]
    lines.append(f'  tensor_path: "{folder}/tensors.tsv"')
    return "\n".join(["embeddings {", *lines, "}", ""])


def write_embedding(
    log_dir: str, mat, metadata=None, label_img=None, global_step=None, tag="default", header=None
) -> str:
    """Writes the files of one embedding under ``log_dir``; returns what the list says of it.

    Args:
        mat: the vectors, (N, D).
        metadata: N labels, or N rows with the names of their columns in ``header``.
        label_img: N pictures (N, C, H, W) of values from 0 to 1.
    """
    step = str(0 if global_step is None else global_step).zfill(5)
    folder = f"{step}/{_file_name(tag)}"
    path = os.path.join(log_dir, folder)
    if os.path.exists(path) and os.listdir(path):
        print("warning: Embedding dir exists, did you set global_step for add_embedding()?")
    os.makedirs(path, exist_ok=True)
    mat = torch.as_tensor(mat).detach()
    if metadata is not None:
        _lines(os.path.join(path, "metadata.tsv"), _labels(metadata, header, mat.shape[0]))
    pictures = None if label_img is None else torch.as_tensor(label_img).detach()
    if pictures is not None:
        if mat.shape[0] != pictures.shape[0]:
            raise AssertionError("#images should equal with #data points")
        with open(os.path.join(path, "sprite.png"), "wb") as out:
            out.write(png(media.sprite(pictures)))
    if mat.dim() != 2:
        raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
    _lines(os.path.join(path, "tensors.tsv"), ["\t".join(map(str, row)) for row in mat.tolist()])
    return _listed(f"{tag}:{step}", folder, metadata, pictures)
