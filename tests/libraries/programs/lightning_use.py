"""lightning: fit, validate, checkpoint, resume and predict of a small classifier."""

import os
import tempfile
import warnings

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from report import report
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torchmetrics.classification import MulticlassAccuracy

warnings.simplefilter("ignore")


class Classifier(L.LightningModule):
    def __init__(self, hidden=16, lr=1e-2):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(4, hidden), nn.ReLU(), nn.Linear(hidden, 3))
        self.accuracy = MulticlassAccuracy(3)
        self.losses = []

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, index):
        loss = nn.functional.cross_entropy(self(batch[0]), batch[1])
        self.losses.append(loss.item())
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, index):
        out = self(batch[0])
        self.accuracy(out, batch[1])
        self.log("val_acc", self.accuracy, on_epoch=True)
        self.log("val_loss", nn.functional.cross_entropy(out, batch[1]))

    def predict_step(self, batch, index):
        return self(batch[0]).argmax(-1)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        return [optimizer], [torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 4)]


L.seed_everything(1, verbose=False)
x = torch.randn(96, 4)
data = TensorDataset(x, (x[:, 0] > 0).long() + (x[:, 1] > 0.5).long())
train = DataLoader(data, batch_size=16, shuffle=True)
val = DataLoader(data, batch_size=32)
with tempfile.TemporaryDirectory() as folder:
    options = {
        "accelerator": "cpu", "devices": 1, "logger": False, "enable_progress_bar": False,
        "enable_model_summary": False, "default_root_dir": folder, "gradient_clip_val": 1.0,
    }  # fmt: skip
    keep = ModelCheckpoint(folder, monitor="val_loss", save_last=True, filename="{epoch}")
    model = Classifier()
    trainer = L.Trainer(
        max_epochs=3, callbacks=[keep, EarlyStopping("val_loss", patience=5)], **options
    )
    trainer.fit(model, train, val)
    metrics = {name: float(value) for name, value in trainer.callback_metrics.items()}
    last = os.path.join(folder, "last.ckpt")
    again = Classifier.load_from_checkpoint(last)
    same = all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters()))
    resumed = L.Trainer(max_epochs=5, **options)
    resumed.fit(again, train, val, ckpt_path=last)
    predictions = torch.cat(resumed.predict(again, val))
fabric = L.Fabric(accelerator="cpu", devices=1)
net, optimizer = fabric.setup(nn.Linear(4, 3), torch.optim.SGD(model.parameters(), lr=0.1))
fabric.backward(net(x).sum())
report(
    losses=model.losses, resumed=again.losses, metrics=metrics, same=same,
    epoch=resumed.current_epoch, predictions=predictions, hidden=again.hparams.hidden,
    best=os.path.basename(keep.best_model_path),
)  # fmt: skip
