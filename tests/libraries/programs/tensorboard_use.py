"""tensorboard: what SummaryWriter writes, TensorBoard's own reader gives back."""

import tempfile

import torch
from report import report
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch.utils.tensorboard import SummaryWriter

torch.manual_seed(0)
with tempfile.TemporaryDirectory() as folder:
    with SummaryWriter(folder) as writer:
        for step in range(5):
            writer.add_scalar("loss", 1.0 / (step + 1), step)
            writer.add_histogram("weights", torch.randn(100), step)
        writer.add_scalars("both", {"a": 1.0, "b": torch.tensor(2.0)}, 0)
        writer.add_image("picture", torch.rand(3, 8, 8), 0)
        writer.add_text("note", "a **word**", 0)
        writer.add_hparams({"lr": 0.1, "kind": "adam"}, {"score": 0.5})
    events = EventAccumulator(folder, size_guidance={"tensors": 0, "histograms": 0})
    events.Reload()
    tags = {kind: sorted(names) for kind, names in events.Tags().items() if isinstance(names, list)}
    scalars = [(e.step, e.value) for e in events.Scalars("loss")]
    picture = events.Images("picture")[0]
    histogram = events.Histograms("weights")[0].histogram_value
report(
    tags=tags, scalars=scalars, size=[picture.width, picture.height],
    histogram=[histogram.min, histogram.max, histogram.num, histogram.sum, histogram.sum_squares],
    buckets=len(histogram.bucket),
)  # fmt: skip
