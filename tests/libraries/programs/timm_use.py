"""timm: models of several families, forward and backward from the same seed."""

import timm
import timm.optim
import torch
from report import report

NAMES = (
    "resnet18 mobilenetv3_small_050 efficientnet_lite0 convnext_atto vit_tiny_patch16_224 "
    "mixer_s32_224 regnetx_002 ghostnet_050"
).split()
found = {}
for name in NAMES:
    torch.manual_seed(0)
    size = 224 if "224" in name else 64
    model = timm.create_model(name, num_classes=10).eval()
    x = torch.randn(2, 3, size, size)
    out = model(x)
    loss = torch.nn.functional.cross_entropy(out, torch.tensor([1, 2]))
    loss.backward()
    norm = torch.stack([p.grad.double().norm() for p in model.parameters()]).norm()
    found[name] = {
        "out": out, "loss": loss, "norm": norm, "keys": len(model.state_dict()),
        "parameters": sum(p.numel() for p in model.parameters()),
    }  # fmt: skip
optimizer = timm.optim.create_optimizer_v2(model, opt="adamw", lr=1e-3, weight_decay=0.05)
optimizer.step()
features = timm.create_model("resnet18", features_only=True)(torch.randn(1, 3, 64, 64))
found["features"] = [list(f.shape) for f in features]
report(**found)
