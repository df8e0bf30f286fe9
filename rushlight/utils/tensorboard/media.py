"""Encoded summary values: figures, sounds, videos, pictures with boxes, meshes."""

from __future__ import annotations

import io
import json
import math
import struct
import wave

import rushlight as torch

from ._event_file import integer, nested, single
from .summary import _plugin, _value, float_tensor, image, picture

__all__ = ["audio", "figure_picture", "image_with_boxes", "mesh", "video"]

_VERTEX, _FACE, _COLOR = 1, 2, 3


def audio(tag: str, sound, sample_rate: int = 44100) -> bytes:
    """A sound of one channel, 16 bits a sample; its values are from -1 to 1."""
    sound = torch.as_tensor(sound).detach().squeeze().float()
    if sound.abs().max() > 1:
        print("warning: audio amplitude out of range, auto clipped.")
        sound = sound.clip(-1, 1)
    if sound.dim() != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    samples = (sound * 32767.0).trunc().to(torch.int16).tolist()
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(sample_rate)
        out.writeframes(struct.pack(f"<{len(samples)}h", *samples))
    fields = single(1, sample_rate) + integer(2, 1) + integer(3, len(samples))
    fields += nested(4, file.getvalue()) + nested(5, "audio/wav")
    return _value(tag, nested(6, fields))


def figure_picture(figure, close: bool = True):
    """matplotlib figures drawn: (C, H, W) of bytes, or (N, C, H, W) for several."""
    import matplotlib.pyplot as plt
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    def drawn(one):
        canvas = FigureCanvasAgg(one)
        canvas.draw()
        width, height = canvas.get_width_height()
        pixels = torch.frombuffer(bytearray(canvas.buffer_rgba()), dtype=torch.uint8)
        if close:
            plt.close(one)
        return pixels.view(height, width, 4)[:, :, :3].permute(2, 0, 1)

    if isinstance(figure, list):
        return torch.stack([drawn(one) for one in figure])
    return drawn(figure)


def _side_by_side(frames):
    """Several videos (N, T, C, H, W) as one (T, H', W', C); N is filled up to a power of 2."""
    count = frames.size(0)
    filled = 1 << (count - 1).bit_length()
    if filled > count:
        black = frames.new_zeros(filled - count, *frames.shape[1:])
        frames = torch.cat((frames, black))
    _, t, c, h, w = frames.shape
    rows = 2 ** ((filled.bit_length() - 1) // 2)
    frames = frames.reshape(rows, filled // rows, t, c, h, w).permute(2, 0, 4, 1, 5, 3)
    return frames.reshape(t, rows * h, filled // rows * w, c)


def video(tag: str, frames, fps: int = 4) -> bytes | None:
    """Videos (N, T, C, H, W) as one GIF; floats are 0 to 1, bytes 0 to 255. Needs pillow."""
    try:
        from PIL import Image
    except ImportError:
        print("add_video needs package pillow")
        return None
    frames = torch.as_tensor(frames).detach()
    frames = _side_by_side(frames if frames.dtype == torch.uint8 else frames.float() * 255)
    frames = frames.clamp(0, 255).to(torch.uint8).contiguous()
    _, height, width, channels = frames.shape
    mode = {1: "L", 3: "RGB", 4: "RGBA"}[channels]
    pictures = [
        Image.frombytes(mode, (width, height), bytes(frame.flatten().tolist())) for frame in frames
    ]
    file = io.BytesIO()
    pictures[0].save(
        file, "GIF", save_all=True, append_images=pictures[1:], duration=1000 // fps, loop=0
    )
    fields = integer(1, height) + integer(2, width) + integer(3, channels)
    return _value(tag, nested(4, fields + nested(4, file.getvalue())))


def image_with_boxes(
    tag: str, tensor, boxes, rescale=1, dataformats: str = "CHW", labels=None
) -> bytes:
    """A picture with rectangles (N, 4: left, top, right, bottom) drawn in red. Needs pillow."""
    from PIL import Image, ImageDraw

    pixels = picture(tensor, rescale, dataformats)
    if pixels.size(2) == 1:
        pixels = pixels.expand(-1, -1, 3)
    height, width, _ = pixels.shape
    drawn = Image.frombytes("RGB", (width, height), bytes(pixels.flatten().tolist()))
    pen = ImageDraw.Draw(drawn)
    for i, box in enumerate(torch.as_tensor(boxes).tolist()):
        pen.rectangle(box, outline="Red", width=2)
        if labels is not None:
            pen.text((box[0], box[1]), labels[i], fill="White")
    pixels = torch.frombuffer(bytearray(drawn.tobytes()), dtype=torch.uint8)
    return image(tag, pixels.view(height, width, 3), dataformats="HWC")


def mesh(tag: str, vertices, colors=None, faces=None, config_dict=None) -> bytes:
    """Points (N, V, 3), their colours and the triangles between them (N, F, 3)."""
    parts = [(_VERTEX, "VERTEX", vertices), (_FACE, "FACE", faces), (_COLOR, "COLOR", colors)]
    parts = [(kind, name, torch.as_tensor(t)) for kind, name, t in parts if t is not None]
    present = sum(1 << kind for kind, _, _ in parts)
    config = json.dumps({} if config_dict is None else config_dict, sort_keys=True)
    values = b""
    for kind, name, tensor in parts:
        sizes = b"".join(integer(6, n)[1:] for n in tensor.shape)
        content = nested(2, tag) + integer(3, kind) + nested(5, config) + nested(6, sizes)
        content += integer(7, present)
        values += _value(f"{tag}_{name}", float_tensor(tensor), _plugin("mesh", content))
    return values


def sprite(pictures):
    """Pictures (N, C, H, W) laid out in a square of ceil(sqrt(N)) a row: (side, side, 3) bytes."""
    count, channels, height, width = pictures.shape
    pictures = pictures.expand(-1, 3, -1, -1) if channels == 1 else pictures
    row = math.ceil(math.sqrt(count))
    side = row * max(height, width)
    square = torch.zeros(side, side, 3)
    for i, one in enumerate(pictures.float()):
        top, left = i // row * height, i % row * width
        square[top : top + height, left : left + width] = one.permute(1, 2, 0)
    return (square * 255).clip(0, 255).to(torch.uint8)
