"""torchvision in Python: models, transforms and boxes; its operators in C++ are not there."""

import torch
import torchvision
from report import report
from torchvision.ops import box_iou, sigmoid_focal_loss
from torchvision.transforms import v2

found = {}
for name in "resnet18 mobilenet_v3_small squeezenet1_1 shufflenet_v2_x0_5 vit_b_32".split():
    torch.manual_seed(0)
    model = torchvision.models.get_model(name, num_classes=10).eval()
    size = 224 if "vit" in name else 64
    out = model(torch.randn(2, 3, size, size))
    out.square().mean().backward()
    norm = torch.stack([p.grad.double().norm() for p in model.parameters()]).norm()
    found[name] = {"out": out, "norm": norm, "keys": len(model.state_dict())}
image = torch.rand(3, 40, 30)
transform = v2.Compose([
    v2.Resize(24), v2.CenterCrop(20), v2.RandomHorizontalFlip(1.0), v2.ColorJitter(),
    v2.Normalize([0.5] * 3, [0.2] * 3),
])  # fmt: skip
found["transformed"] = transform(image)
found["grid"] = torchvision.utils.make_grid(torch.rand(5, 3, 8, 8), nrow=3)
boxes = torch.tensor([[0.0, 0, 10, 10], [5, 5, 15, 15], [20, 20, 30, 30]])
found["iou"] = box_iou(boxes, boxes)
found["focal"] = sigmoid_focal_loss(torch.randn(4, 3), torch.ones(4, 3), reduction="mean")
report(**found)
