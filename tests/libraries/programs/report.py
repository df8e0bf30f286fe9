"""What a program found, on its last line, as JSON: tensors become nested lists."""

import json


def plain(value):
    if hasattr(value, "detach"):
        value = value.detach()
        if value.numel() > 64:  # shape, sums and a few elements stand for it
            flat = value.reshape(-1).double()
            step = max(1, flat.numel() // 24)
            size = flat.abs().sum().item()
            return {
                "shape": list(value.shape),
                "dtype": str(value.dtype),
                "sums": [flat.sum().item() / (size or 1), size, flat.square().sum().item()],
                "some": flat[::step].tolist(),
            }
        return value.double().tolist() if value.is_floating_point() else value.tolist()
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "item"):
        return value.item()
    return value


def report(**found):
    print("\n" + json.dumps(plain(found)))
