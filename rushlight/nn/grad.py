"""Gradients of convolutions by their inputs and weights, as functions."""

from __future__ import annotations

import rushlight as torch
from rushlight import _C

from .functional._shapes import _pair, _single, _triple

_INPUT, _WEIGHT = 1, 2


def _gradient(input, weight, grad_output, wide, stride, padding, dilation, groups, which):
    made = _C._ops_table["_convolution_backward"](
        grad_output, input, weight, wide(stride), wide(padding), wide(dilation), False,
        wide(0), groups, which,
    )  # fmt: skip
    return made[which >> 1]


def _shaped(sizes, like):
    return torch.empty(1, dtype=like.dtype, device=like.device).expand(sizes)


def conv1d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient (of ``input_size``) of conv1d's input."""
    input = _shaped(input_size, grad_output)
    return _gradient(
        input, weight, grad_output, _single, stride, padding, dilation, groups, _INPUT
    )


def conv1d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient (of ``weight_size``) of conv1d's weight."""
    weight = _shaped(weight_size, grad_output)
    return _gradient(
        input, weight, grad_output, _single, stride, padding, dilation, groups, _WEIGHT
    )


def conv2d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient (of ``input_size``) of conv2d's input."""
    input = _shaped(input_size, grad_output)
    return _gradient(input, weight, grad_output, _pair, stride, padding, dilation, groups, _INPUT)


def conv2d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient (of ``weight_size``) of conv2d's weight."""
    weight = _shaped(weight_size, grad_output)
    return _gradient(input, weight, grad_output, _pair, stride, padding, dilation, groups, _WEIGHT)


def conv3d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient (of ``input_size``) of conv3d's input."""
    input = _shaped(input_size, grad_output)
    return _gradient(
        input, weight, grad_output, _triple, stride, padding, dilation, groups, _INPUT
    )


def conv3d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient (of ``weight_size``) of conv3d's weight."""
    weight = _shaped(weight_size, grad_output)
    return _gradient(
        input, weight, grad_output, _triple, stride, padding, dilation, groups, _WEIGHT
    )
