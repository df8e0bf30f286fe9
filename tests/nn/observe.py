"""What a layer or program shows, as plain data: shared by the recorder and the tests."""

from __future__ import annotations

import math
import warnings


def namespace(torch):
    """The names that layer rows and programs use."""

    def g(*shape):
        count = math.prod(shape)
        return torch.tensor([math.sin(0.7 * k + 0.3) for k in range(count)]).reshape(shape)

    def i(high, *shape):
        count = math.prod(shape)
        return torch.tensor([(k * 7 + k // 3) % high for k in range(count)]).reshape(shape)

    return {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "g": g, "i": i}


def plain(torch, value):
    """Tensors become [dtype, shape, values]; sequences lists; the rest stays or is printed."""
    if isinstance(value, torch.Tensor):
        return {
            "dtype": str(value.dtype),
            "shape": list(value.shape),
            "values": value.detach().reshape(-1).tolist(),
        }
    if isinstance(value, dict):
        return [[key, plain(torch, item)] for key, item in value.items()]
    if isinstance(value, (list, tuple, torch.Size)):
        return [plain(torch, item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return text(str(value))


def text(message):
    """A message with the package's own name as PyTorch's."""
    return message.replace("rushlight", "torch")


def attempt(torch, function):
    """The result of ``function`` as plain data, or what it raised; and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            seen = {"result": plain(torch, function())}
        except Exception as error:
            seen = {"raised": type(error).__name__, "message": text(str(error))}
    if caught:
        seen["warnings"] = [
            [w.category.__name__, text(str(w.message))]
            for w in caught
            if w.category is not DeprecationWarning
        ]
    return seen


def _tensors(torch, value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for item in value for t in _tensors(torch, item)]
    return []


def _is_lazy(module):
    return hasattr(module, "has_uninitialized_params") and module.has_uninitialized_params()


def initial(torch, layer):
    """Repr, state keys and initial values of a layer built after ``manual_seed(7)``."""
    names = namespace(torch)
    torch.manual_seed(7)
    module = eval("nn." + layer, names)
    state = {}
    for key, value in module.state_dict().items():
        if _is_lazy(module):
            state[key] = type(value).__name__
            continue
        flat = value.reshape(-1)
        state[key] = [list(value.shape), str(value.dtype), plain(torch, flat[:3])["values"],
                      float(flat.double().sum()) if flat.numel() else 0.0]  # fmt: skip
    return {"repr": text(repr(module)), "state": plain(torch, state)}


def behaviour(torch, layer, inputs, dtype=None):
    """Outputs and gradients in training, then outputs in evaluation; parameters made plain.

    ``dtype`` is that of parameters and inputs; the layer's own by default.
    """
    names = namespace(torch)
    torch.manual_seed(7)
    module = eval("nn." + layer, names)
    args = [eval(expression, names) for expression in inputs]
    if _is_lazy(module):
        module(*args)
    with torch.no_grad():
        for param in module.parameters():
            param.copy_(names["g"](*param.shape) * 0.3 + 0.1)
    module.to(dtype)
    dtype = dtype or next((p.dtype for p in module.parameters()), torch.float32)
    leaves = []
    for k, arg in enumerate(args):
        if isinstance(arg, torch.Tensor) and arg.is_floating_point():
            args[k] = arg.detach().to(dtype).requires_grad_(True)
            leaves.append(args[k])
    torch.manual_seed(11)
    # A copy, so that an in-place layer does not meet a leaf.
    fed = [arg.clone() if any(arg is leaf for leaf in leaves) else arg for arg in args]
    output = module(*fed)
    seen = {"output": plain(torch, output)}
    graded = [t for t in _tensors(torch, output) if t.requires_grad]
    if graded:
        sum((t * (names["g"](*t.shape).to(t.dtype) + 1.5)).sum() for t in graded).backward()
    seen["input grads"] = plain(torch, [leaf.grad for leaf in leaves])
    seen["parameter grads"] = [
        [name, None if p.grad is None else plain(torch, p.grad)]
        for name, p in module.named_parameters()
    ]
    seen["buffers"] = plain(torch, dict(module.named_buffers()))
    module.eval()
    with torch.no_grad():
        seen["evaluated"] = plain(torch, module(*[a.clone() if a is not None and
                                                  isinstance(a, torch.Tensor) else a
                                                  for a in args]))  # fmt: skip
    return seen
