"""Losses; `reduction` is none, mean or sum unless a loss says otherwise."""

from __future__ import annotations

import rushlight as torch
from rushlight import _C

from .. import _reduction as _Reduction

_nn = _C._nn
_CODES = _Reduction._CODES


def _reduction_code(size_average, reduce, reduction):
    if size_average is None and reduce is None:
        code = _CODES.get(reduction)
        return _Reduction.get_enum(reduction) if code is None else code
    return _Reduction.legacy_get_enum(size_average, reduce)


def _reduction_name(size_average, reduce, reduction):
    if size_average is not None or reduce is not None:
        return _Reduction.legacy_get_string(size_average, reduce)
    return reduction


def _same_size(input, target):
    """Broadcast the two against each other; warn where their sizes differ."""
    if target.size() == input.size():
        return input, target
    import warnings

    warnings.warn(
        f"Using a target size ({target.size()}) that is different to the input size "
        f"({input.size()}). This will likely lead to incorrect results due to broadcasting. "
        "Please ensure they have the same size.",
        stacklevel=3,
    )
    return torch.broadcast_tensors(input, target)


def _weighted(loss, weight, input, reduction):
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    loss = loss * weight
    if reduction == "none":
        return loss
    if reduction == "sum":
        return torch.sum(loss)
    if reduction == "mean":
        return torch.sum(loss) / torch.sum(weight)
    raise ValueError(
        f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'."
    )


def mse_loss(
    input, target, size_average=None, reduce=None, reduction="mean", weight=None
):
    """Squared difference."""
    reduction = _reduction_name(size_average, reduce, reduction)
    expanded = _same_size(input, target)
    if weight is None:
        return _nn.mse_loss(*expanded, _Reduction.get_enum(reduction))
    return _weighted(torch.pow(expanded[0] - expanded[1], 2), weight, input, reduction)


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """Absolute difference."""
    reduction = _reduction_name(size_average, reduce, reduction)
    expanded = _same_size(input, target)
    if weight is None:
        return _nn.l1_loss(*expanded, _Reduction.get_enum(reduction))
    return _weighted(_nn.l1_loss(*expanded, 0), weight, input, reduction)


def smooth_l1_loss(
    input, target, size_average=None, reduce=None, reduction="mean", beta=1.0
):
    """Squared difference / (2 beta) below ``beta``, absolute difference - beta / 2 above."""
    expanded = _same_size(input, target)
    code = _reduction_code(size_average, reduce, reduction)
    if beta == 0.0:
        return _nn.l1_loss(*expanded, code)
    return _nn.smooth_l1_loss(*expanded, code, beta)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """Half the squared difference below ``delta``, linear above (Huber 1964)."""
    expanded = _same_size(input, target)
    if weight is None:
        return _nn.huber_loss(*expanded, _Reduction.get_enum(reduction), delta)
    loss = _nn.huber_loss(*expanded, 0, delta)
    # Unlike mse_loss and l1_loss, the mean is over the elements, not over the weights.
    if reduction == "mean" and weight.size() == input.size():
        return torch.mean(loss * weight)
    return _weighted(loss, weight, input, reduction)


def nll_loss(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
):
    """Negative log-likelihood: minus the log-probability of the target class."""
    code = _reduction_code(size_average, reduce, reduction)
    return _nn.nll_loss_nd(input, target, weight, code, ignore_index)


def cross_entropy(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
    label_smoothing=0.0,
):
    """Cross entropy of logits against class indices, or against class probabilities."""
    code = _reduction_code(size_average, reduce, reduction)
    return _nn.cross_entropy_loss(
        input, target, weight, code, ignore_index, label_smoothing
    )


def binary_cross_entropy(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean"
):
    """Cross entropy of probabilities against targets in [0, 1]."""
    code = _reduction_code(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}) is deprecated. Please ensure they have the same size."
        )
    if weight is not None:
        weight = weight.expand(torch.broadcast_shapes(target.size(), weight.size()))
    return _nn.binary_cross_entropy(input, target, weight, code)


def binary_cross_entropy_with_logits(
    input,
    target,
    weight=None,
    size_average=None,
    reduce=None,
    reduction="mean",
    pos_weight=None,
):
    """Cross entropy of sigmoid(input) against targets in [0, 1]."""
    code = _reduction_code(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(
            f"Target size ({target.size()}) must be the same as input size ({input.size()})"
        )
    return torch.binary_cross_entropy_with_logits(input, target, weight, pos_weight, code)


def kl_div(
    input, target, size_average=None, reduce=None, reduction="mean", log_target=False
):
    """Kullback-Leibler divergence; ``input`` holds log-probabilities.

    ``reduction="batchmean"`` divides the sum by the batch size.
    """
    import warnings

    if size_average is not None or reduce is not None:
        code = _Reduction.legacy_get_enum(size_average, reduce)
    elif reduction == "batchmean":
        code = 2
    else:
        if reduction == "mean":
            warnings.warn(
                "reduction: 'mean' divides the total loss by both the batch size and the support "
                "size.'batchmean' divides only by the batch size, and aligns with the KL div math "
                "definition.'mean' will be changed to behave the same as 'batchmean' in the next "
                "major release.",
                stacklevel=2,
            )
        code = _Reduction.get_enum(reduction)
    loss = torch.kl_div(input, target, code, log_target=log_target)
    if reduction == "batchmean" and input.dim() != 0:
        loss = loss / input.size()[0]
    return loss


def poisson_nll_loss(
    input,
    target,
    log_input=True,
    full=False,
    size_average=None,
    eps=1e-8,
    reduce=None,
    reduction="mean",
):
    """Negative log-likelihood of a Poisson target; ``full`` adds Stirling's term."""
    reduction = _reduction_name(size_average, reduce, reduction)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not a valid value for reduction")
    return torch.poisson_nll_loss(
        input, target, log_input, full, eps, _Reduction.get_enum(reduction)
    )


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """Negative log-likelihood of a Gaussian target with variance ``var`` (at least ``eps``)."""
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * torch.ones_like(input)
    elif torch.any(var < 0):
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = torch.unsqueeze(var, -1)
        elif not (
            input.ndim == var.ndim
            and sum(y for x, y in zip(input.size(), var.size(), strict=True) if x != y) == 1
        ):
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    var = var.clone()
    with torch.no_grad():
        var.clamp_(min=eps)
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    if full:
        loss += 0.9189385332046727  # log(2 pi) / 2
    return _reduce(loss, reduction)


def _reduce(loss, reduction):
    if reduction == "mean":
        return loss.mean()
    return loss.sum() if reduction == "sum" else loss


def hinge_embedding_loss(
    input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"
):
    """``x`` where the target is 1, max(0, margin - x) where it is -1."""
    code = _reduction_code(size_average, reduce, reduction)
    return torch.hinge_embedding_loss(input, target, margin, code)


def margin_ranking_loss(
    input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"
):
    """max(0, -target * (input1 - input2) + margin)."""
    code = _reduction_code(size_average, reduce, reduction)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return torch.margin_ranking_loss(input1, input2, target, margin, code)


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """log(1 + exp(-target * x)), targets being 1 or -1."""
    return _nn.soft_margin_loss(input, target, _reduction_code(size_average, reduce, reduction))


def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """Multi-class multi-label hinge loss; targets are class indices, -1 ends a row."""
    code = _reduction_code(size_average, reduce, reduction)
    return _nn.multilabel_margin_loss(input, target, code)


def multilabel_soft_margin_loss(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean"
):
    """Binary cross entropy of logits, averaged over the classes (last dimension)."""
    reduction = _reduction_name(size_average, reduce, reduction)
    log_sigmoid = _nn.log_sigmoid
    loss = -(target * log_sigmoid(input) + (1 - target) * log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    class_dim = input.dim() - 1
    loss = loss.sum(dim=class_dim) / input.size(class_dim)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    return _reduce(loss, reduction)


def multi_margin_loss(
    input,
    target,
    p=1,
    margin=1.0,
    weight=None,
    size_average=None,
    reduce=None,
    reduction="mean",
):
    """Multi-class hinge loss: max(0, margin - x[target] + x[other]) ** p."""
    code = _reduction_code(size_average, reduce, reduction)
    if p != 1 and p != 2:
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return _nn.multi_margin_loss(input, target, p, margin, weight, code)


def cosine_embedding_loss(
    input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"
):
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""
    code = _reduction_code(size_average, reduce, reduction)
    return torch.cosine_embedding_loss(input1, input2, target, margin, code)


def ctc_loss(
    log_probs,
    targets,
    input_lengths,
    target_lengths,
    blank=0,
    reduction="mean",
    zero_infinity=False,
):
    """Connectionist temporal classification (Graves et al. 2006)."""
    return torch.ctc_loss(
        log_probs,
        targets,
        input_lengths,
        target_lengths,
        blank,
        _Reduction.get_enum(reduction),
        zero_infinity,
    )


def triplet_margin_loss(
    anchor,
    positive,
    negative,
    margin=1.0,
    p=2,
    eps=1e-6,
    swap=False,
    size_average=None,
    reduce=None,
    reduction="mean",
):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), d being the p-norm distance."""
    code = _reduction_code(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return torch.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, code)


def triplet_margin_with_distance_loss(
    anchor,
    positive,
    negative,
    *,
    distance_function=None,
    margin=1.0,
    swap=False,
    reduction="mean",
):
    """Triplet loss under a distance of the caller's; the pairwise 2-norm by default."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = torch.pairwise_distance if distance_function is None else distance_function
    a_dim, p_dim, n_dim = anchor.ndim, positive.ndim, negative.ndim
    if not a_dim == p_dim == n_dim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {a_dim}D, positive {p_dim}D, and negative {n_dim}D "
            "inputs"
        )
    to_positive = distance(anchor, positive)
    to_negative = distance(anchor, negative)
    if swap:
        to_negative = torch.minimum(to_negative, distance(positive, negative))
    return _reduce(torch.clamp_min(margin + to_positive - to_negative, 0), reduction)


def linear_cross_entropy(
    input,
    linear_weight,
    target,
    *,
    linear_bias=None,
    weight=None,
    reduction="mean",
    ignore_index=None,
    label_smoothing=0.0,
    options=None,
):
    """Cross entropy of the logits input @ linear_weight.T + linear_bias.

    ``input`` is (N, features) or (features), ``linear_weight`` (C, d1, ..., features) and
    ``linear_bias`` (C, d1, ...); targets are as ``cross_entropy`` takes them. ``options`` change
    nothing.
    """
    if linear_weight.dim() < 2:
        raise RuntimeError(
            "expected linear_weight with dimensionality at least 2, got "
            f"{linear_weight.dim()}"
        )
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    features, places = linear_weight.size(-1), tuple(linear_weight.shape[:-1])
    if input.size(-1) != features:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.size(-1)} and {features}, respectively"
        )
    if linear_bias is not None and tuple(linear_bias.shape) != places:
        raise RuntimeError(
            f"expected linear_bias shape {places}, got {tuple(linear_bias.shape)}"
        )
    if target.is_floating_point() and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    flat = None if linear_bias is None else linear_bias.reshape(-1)
    logits = _nn.linear(input, linear_weight.reshape(-1, features), flat)
    return cross_entropy(
        logits.reshape(*input.shape[:-1], *places),
        target,
        weight=weight,
        reduction=reduction,
        ignore_index=-100 if ignore_index is None else ignore_index,
        label_smoothing=label_smoothing,
    )
