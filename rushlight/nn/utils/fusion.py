"""Folding a batch normalization into the layer before it."""

from __future__ import annotations

import copy

import rushlight as torch


def fuse_conv_bn_eval(conv, bn, transpose=False):
    """A convolution that computes ``bn(conv(x))`` in evaluation."""
    if conv.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight,
        fused.bias,
        bn.running_mean,
        bn.running_var,
        bn.eps,
        bn.weight,
        bn.bias,
        transpose,
    )
    return fused


def fuse_conv_bn_weights(
    conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False
):
    """Weight and bias of the convolution that includes the normalization."""
    conv_dtype = conv_w.dtype
    bias_dtype = conv_b.dtype if conv_b is not None else conv_dtype
    if conv_b is None:
        conv_b = torch.zeros_like(bn_rm)
    if bn_w is None:
        bn_w = torch.ones_like(bn_rm)
    if bn_b is None:
        bn_b = torch.zeros_like(bn_rm)
    scale = bn_w * torch.rsqrt(bn_rv + bn_eps)
    ones = [1] * (len(conv_w.shape) - 2)
    shape = [1, -1, *ones] if transpose else [-1, 1, *ones]
    weight = (conv_w * scale.reshape(shape)).to(dtype=conv_dtype)
    bias = ((conv_b - bn_rm) * scale + bn_b).to(dtype=bias_dtype)
    return (
        torch.nn.Parameter(weight, conv_w.requires_grad),
        torch.nn.Parameter(bias, conv_b.requires_grad),
    )


def fuse_linear_bn_eval(linear, bn):
    """A Linear that computes ``bn(linear(x))`` in evaluation."""
    if linear.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    fused = copy.deepcopy(linear)
    # One statistic would broadcast over all features of the layer: only equal sizes fuse.
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """Weight and bias of the Linear that includes the normalization."""
    linear_dtype = linear_w.dtype
    bias_dtype = linear_b.dtype if linear_b is not None else linear_dtype
    if linear_b is None:
        linear_b = torch.zeros_like(bn_rm)
    scale = bn_w * torch.rsqrt(bn_rv + bn_eps)
    weight = linear_w * scale.unsqueeze(-1).to(dtype=linear_dtype)
    bias = ((linear_b - bn_rm) * scale + bn_b).to(dtype=bias_dtype)
    return (
        torch.nn.Parameter(weight, linear_w.requires_grad),
        torch.nn.Parameter(bias, linear_b.requires_grad),
    )
