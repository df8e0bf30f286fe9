"""Sequences of different lengths: packed, padded, and back."""

from __future__ import annotations

from collections import namedtuple
from itertools import pairwise

import rushlight as torch

_Fields = namedtuple(
    "PackedSequence", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"]
)


def invert_permutation(permutation):
    """The permutation that undoes ``permutation``; None for None."""
    if permutation is None:
        return None
    output = torch.empty_like(permutation, memory_format=torch.contiguous_format)
    output.scatter_(
        0, permutation, torch.arange(0, permutation.numel(), device=permutation.device)
    )
    return output


class PackedSequence(_Fields):
    """The steps of a batch of sequences, step by step, without the padding.

    ``data`` holds all steps, ``batch_sizes`` (int64, on the CPU) how many sequences are left at
    each; ``sorted_indices`` says how the batch was ordered by length.
    """

    __slots__ = ()

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            # The old form: a pair (data, batch_sizes).
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be "
                "created manually. They should be instantiated by functions like pack_sequence "
                "and pack_padded_sequences in nn.utils.rnn. "
                "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **kwargs):
        """The same on another device or of another dtype."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        kwargs = {k: v for k, v in kwargs.items() if k not in ("device", "dtype")}

        def move(indices):
            return None if indices is None else indices.to(data.device, **kwargs)

        return type(self)(
            data, self.batch_sizes, move(self.sorted_indices), move(self.unsorted_indices)
        )

    def pin_memory(self):
        """The same in pinned memory."""

        def pin(tensor):
            return None if tensor is None else tensor.pin_memory()

        return type(self)(
            self.data.pin_memory(),
            self.batch_sizes,
            pin(self.sorted_indices),
            pin(self.unsorted_indices),
        )

    def cuda(self, *args, **kwargs):
        """The same on the GPU."""
        kwargs.setdefault("device", "cuda")
        return self.to(*args, **kwargs)

    def cpu(self, *args, **kwargs):
        """The same on the CPU."""
        kwargs["device"] = "cpu"
        return self.to(*args, **kwargs)

    def double(self):
        """The same as float64."""
        return self.to(dtype=torch.double)

    def float(self):
        """The same as float32."""
        return self.to(dtype=torch.float)

    def half(self):
        """The same as float16."""
        return self.to(dtype=torch.half)

    def long(self):
        """The same as int64."""
        return self.to(dtype=torch.long)

    def int(self):
        """The same as int32."""
        return self.to(dtype=torch.int)

    def short(self):
        """The same as int16."""
        return self.to(dtype=torch.short)

    def char(self):
        """The same as int8."""
        return self.to(dtype=torch.int8)

    def byte(self):
        """The same as uint8."""
        return self.to(dtype=torch.uint8)

    @property
    def is_cuda(self):
        """Whether the data is on a GPU."""
        return self.data.is_cuda

    def is_pinned(self):
        """Whether the data is in pinned memory."""
        return self.data.is_pinned()


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Pack padded sequences (L, N, *), with ``batch_first`` (N, L, *), of the given lengths.

    With ``enforce_sorted`` the lengths must fall; otherwise the batch is sorted, and
    :func:`pad_packed_sequence` sorts it back.
    """
    if not isinstance(lengths, torch.Tensor):
        lengths = torch.as_tensor(lengths, dtype=torch.int64, device="cpu")
    else:
        lengths = lengths.to(dtype=torch.int64)
    if enforce_sorted:
        sorted_indices = None
    else:
        lengths, sorted_indices = torch.sort(lengths, descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    data, batch_sizes = _pack(input, lengths, batch_first)
    return PackedSequence(data, batch_sizes, sorted_indices, None)


def _pack(input, lengths, batch_first):
    if batch_first:
        input = input.transpose(0, 1)
    if lengths.dim() != 1 or lengths.device.type != "cpu":
        raise RuntimeError(
            "'lengths' argument should be a 1D CPU int64 tensor, but got "
            f"{lengths.dim()}D {lengths.device} Long tensor"
        )
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    sizes = lengths.tolist()
    if len(sizes) != input.size(1):
        raise RuntimeError(
            "Expected `len(lengths)` to be equal to batch_size, but got "
            f"{len(sizes)} (batch_size={input.size(1)})"
        )
    if sizes[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0"
        )
    if any(a < b for a, b in pairwise(sizes)):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. "
            "You can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to "
            "sidestep this requirement if you do not need ONNX exportability."
        )
    # Steps with the same number of sequences left are cut out together.
    steps, batch_sizes = [], []
    start = 0
    for left in range(len(sizes), 0, -1):
        stop = sizes[left - 1]
        if stop > start:
            block = input[start:stop, :left]
            steps.append(block.contiguous().view((stop - start) * left, *input.shape[2:]))
            batch_sizes.extend([left] * (stop - start))
            start = stop
    return torch.cat(steps), torch.tensor(batch_sizes, dtype=torch.int64)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """Undo :func:`pack_padded_sequence`: the padded batch and the lengths."""
    max_seq_length = sequence.batch_sizes.size(0)
    if total_length is not None:
        if total_length < max_seq_length:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in "
                f"input, but got total_length={total_length} and max sequence length being "
                f"{max_seq_length}"
            )
        max_seq_length = total_length
    padded, lengths = _unpack(
        sequence.data, sequence.batch_sizes.tolist(), padding_value, max_seq_length
    )
    if batch_first:
        padded = padded.transpose(0, 1)
    back = sequence.unsorted_indices
    if back is not None:
        return padded.index_select(0 if batch_first else 1, back), lengths[back.cpu()]
    return padded, lengths


def _unpack(data, batch_sizes, padding_value, total):
    batch = batch_sizes[0]
    output = data.new_full((total, batch, *data.shape[1:]), padding_value)
    lengths = [0] * batch
    position = step = 0
    while step < len(batch_sizes):
        left = batch_sizes[step]
        stop = step
        while stop < len(batch_sizes) and batch_sizes[stop] == left:
            stop += 1
        count = (stop - step) * left
        block = data[position : position + count]
        output[step:stop, :left] = block.view(stop - step, left, *data.shape[1:])
        lengths[:left] = [stop] * left
        position += count
        step = stop
    return output, torch.tensor(lengths, dtype=torch.int64)


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Stack sequences (L_i, *) of different lengths as (L, N, *), with padding."""
    if isinstance(sequences, torch.Tensor):
        sequences = sequences.unbind(0)
    elif not hasattr(sequences, "__iter__"):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    sequences = tuple(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    longest = max(s.size(0) for s in sequences)
    tail = sequences[0].shape[1:]
    shape = (len(sequences), longest) if batch_first else (longest, len(sequences))
    output = sequences[0].new_full((*shape, *tail), padding_value)
    for i, sequence in enumerate(sequences):
        length = sequence.size(0)
        start = 0 if padding_side == "right" else longest - length
        if batch_first:
            output[i, start : start + length] = sequence
        else:
            output[start : start + length, i] = sequence
    return output


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """Cut padded sequences back to their lengths."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [
        sequence[: int(length)]
        for sequence, length in zip(padded_sequences, lengths, strict=False)
    ]


def pack_sequence(sequences, enforce_sorted=True):
    """Pack a list of sequences (L_i, *)."""
    lengths = torch.as_tensor([v.size(0) for v in sequences])
    return pack_padded_sequence(
        pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted
    )


def unpack_sequence(packed_sequences):
    """Undo :func:`pack_sequence`."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
