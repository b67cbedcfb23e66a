"""The reader: all-MiniLM-L6-v2 over both prompts at once, with a head that compares the two sides."""

import pathlib

import torch
from torch import nn
from torch.nn import functional as F

PAD = 0


def bert(folder):
    from safetensors.torch import load_file
    from transformers import BertConfig, BertModel
    config = BertConfig.from_json_file(pathlib.Path(folder) / "config.json")
    config._attn_implementation = "sdpa"
    model = BertModel(config, add_pooling_layer=False)
    lost = model.load_state_dict(load_file(pathlib.Path(folder) / "model.safetensors"), strict=False).missing_keys
    lost = [k for k in lost if "position_ids" not in k]
    if lost:
        raise SystemExit(f"weights missing: {lost}")
    return model


def tokenizer(folder, limit=None):
    from tokenizers import Tokenizer
    tok = Tokenizer.from_file(str(pathlib.Path(folder) / "tokenizer.json"))
    tok.no_padding()
    tok.no_truncation()
    if limit:
        tok.enable_truncation(limit)
    return tok


class MeanHead(nn.Module):
    """Compares the mean token vectors of the two sides."""

    def __init__(self, width):
        super().__init__()
        self.hidden = nn.Linear(2 * width + 2, 128)
        self.out = nn.Linear(128, 1)

    def forward(self, x, ma, mb):
        u = F.normalize((x * ma).sum(1) / ma.sum(1).clamp(min=1), dim=-1)
        v = F.normalize((x * mb).sum(1) / mb.sum(1).clamp(min=1), dim=-1)
        c = (u * v).sum(-1, keepdim=True)
        f = torch.cat([(u - v).abs() * 10, u * v * 50, c * 5, (1 - c) * 20], -1)
        return self.out(F.gelu(self.hidden(f))).squeeze(-1)


class AlignHead(nn.Module):
    """As MeanHead, and sees how badly the worst token of each side is matched on the other."""

    def __init__(self, width):
        super().__init__()
        self.mean = MeanHead(width)
        self.token = nn.Linear(width, 64)
        self.gap = nn.Linear(64, 1)
        self.mix = nn.Linear(5, 1)
        nn.init.zeros_(self.mix.weight)
        nn.init.zeros_(self.mix.bias)
        with torch.no_grad():
            self.mix.weight[0, 0] = 1.0

    def forward(self, x, ma, mb):
        base = self.mean(x, ma, mb)
        t = F.normalize(x, dim=-1)
        m = t @ t.transpose(1, 2)
        a, b = ma.squeeze(-1), mb.squeeze(-1)
        best_a = (m - 2 * (1 - b.unsqueeze(1))).amax(2)
        best_b = (m - 2 * (1 - a.unsqueeze(1))).amax(2)
        weight = F.softplus(self.gap(F.gelu(self.token(x))).squeeze(-1))
        low_a = ((1 - best_a) * weight * a)
        low_b = ((1 - best_b) * weight * b)
        f = torch.stack([base, low_a.amax(1), low_b.amax(1), low_a.sum(1), low_b.sum(1)], -1)
        return self.mix(f).squeeze(-1)


class Reader(nn.Module):
    """logit(one answer serves both prompts), from token ids of [CLS] a [SEP] b [SEP] and their sides (0, 1)."""

    def __init__(self, folder, head="mean", apart=False):
        super().__init__()
        self.apart = apart  # a bi-encoder: no token sees the other side
        self.bert = bert(folder)
        width = self.bert.config.hidden_size
        self.head = {"mean": MeanHead, "align": AlignHead}[head](width)

    def forward(self, input_ids, attention_mask, token_type_ids):
        if self.apart:
            own = token_type_ids.unsqueeze(1) == token_type_ids.unsqueeze(2)
            mask = (own & attention_mask.bool().unsqueeze(1)).unsqueeze(1)
            first = (1 - token_type_ids).mul(attention_mask).sum(1, keepdim=True)
            at = torch.arange(input_ids.shape[1]).unsqueeze(0) - token_type_ids * first
            x = self.bert(input_ids=input_ids, attention_mask=mask, position_ids=at.clamp(min=0)).last_hidden_state
        else:
            x = self.bert(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids).last_hidden_state
        side = token_type_ids.unsqueeze(-1).to(x.dtype)
        seen = attention_mask.unsqueeze(-1).to(x.dtype)
        return self.head(x, (1 - side) * seen, side * seen)


def batch(encoded):
    """Pads encoded pairs into tensors."""
    n = max(len(e.ids) for e in encoded)
    put = lambda get: torch.tensor([get(e) + [PAD] * (n - len(e.ids)) for e in encoded])
    return put(lambda e: e.ids), put(lambda e: e.attention_mask), put(lambda e: e.type_ids)
