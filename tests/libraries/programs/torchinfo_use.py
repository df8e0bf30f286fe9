"""torchinfo: the summaries of several models, letter by letter."""

import torch
from report import report
from torch import nn
from torchinfo import summary

torch.manual_seed(0)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(100, 16)
        self.lstm = nn.LSTM(16, 32, 2, batch_first=True, bidirectional=True)
        self.encoder = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
        self.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(64, 10))

    def forward(self, tokens):
        out, _ = self.lstm(self.embed(tokens))
        return self.head(self.encoder(out).mean(1))


convolutions = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(8, 16, 3, groups=4, bias=False), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
    nn.Linear(16, 10),
)  # fmt: skip
columns = ("input_size", "output_size", "num_params", "kernel_size", "mult_adds", "trainable")
texts = [
    str(summary(convolutions, (2, 3, 32, 32), col_names=columns, verbose=0)),
    str(summary(Classifier(), (2, 12), dtypes=[torch.long], depth=4, verbose=0)),
    str(summary(nn.MultiheadAttention(8, 2), input_data=[torch.randn(3, 1, 8)] * 3, verbose=0)),
]
convolutions[0].weight.requires_grad_(False)
stats = summary(convolutions, input_data=torch.randn(1, 3, 8, 8), verbose=0)
report(
    texts=texts, total=stats.total_params, trainable=stats.trainable_params,
    bytes=stats.total_output_bytes, mult_adds=stats.total_mult_adds,
)  # fmt: skip
