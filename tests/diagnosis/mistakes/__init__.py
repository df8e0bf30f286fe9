"""Programs that raise, by subject; ``#!`` marks the line at fault."""

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn, optim\n"
