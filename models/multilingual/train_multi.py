#!/usr/bin/env python3
"""Trains one encoder with two heads: vectors of single prompts, and a reading of two prompts together.

    python train_multi.py --corpus DIR --base DIR --out DIR --visits N [--alone SHARE] [--bf16]

The vectors learn by CoSENT (every true pair's cosine above every other's) and a contrast with the other prompts of the batch;
the reading by cross-entropy. The first `--alone` of the steps train the vectors alone. The table of pieces stays as it is: the
languages that are not in the corpus keep their places. Order, sides and rates follow from the step's number; a checkpoint is
written every ten minutes and at the end, and the same command goes on from it. `weights.pt` is written at the end.
"""

import argparse
import json
import pathlib
import random
import sys

import numpy as np
import torch
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "train"))
import net  # noqa: E402
from pace import Pace  # noqa: E402
from train_reader import auc, plan, recall_at, write  # noqa: E402
import train_reader  # noqa: E402

BATCH, LIMIT, RATE, WARM = 64, 96, 1.2e-4, 100
net.PAD = 1
train_reader.BATCH = BATCH


class Model(torch.nn.Module):
    """`bert` gives token vectors; `head` compares the two sides of a pair read together."""

    def __init__(self, folder):
        super().__init__()
        self.bert = net.bert(folder)
        self.bert.embeddings.word_embeddings.weight.requires_grad_(False)
        self.head = net.MeanHead(self.bert.config.hidden_size)

    def vectors(self, ids, mask):
        """Unit vectors of single prompts: the mean over all tokens, the special ones too."""
        x = self.bert(input_ids=ids, attention_mask=mask).last_hidden_state
        seen = mask.unsqueeze(-1).to(x.dtype)
        return F.normalize((x * seen).sum(1).float() / seen.sum(1).float(), dim=-1)

    def read(self, ids, mask, sides):
        """The logit that one answer serves both prompts. Only the head is told the sides."""
        x = self.bert(input_ids=ids, attention_mask=mask).last_hidden_state
        seen, side = mask.unsqueeze(-1).to(x.dtype), sides.unsqueeze(-1).to(x.dtype)
        return self.head(x, (1 - side) * seen, side * seen).float()


def cosent(cosines, labels, weights, sharpness=20.0):
    """log(1 + sum over a true pair i and another j of exp(sharpness (cos j - cos i)))."""
    gap = sharpness * (cosines[None, :] - cosines[:, None])
    counted = (labels[:, None] > .5) & (labels[None, :] < .5)
    weighed = gap + (weights[:, None] * weights[None, :]).log()
    return torch.logsumexp(torch.cat([torch.zeros(1), weighed[counted]]), 0)


def contrast(u, v, labels, heat=0.05):
    """Each true pair's second prompt against all second prompts of the batch."""
    true = labels > .5
    if true.sum() < 2:
        return u.sum() * 0
    rows = (u @ v.T / heat)[true]
    return F.cross_entropy(rows, torch.nonzero(true).squeeze(1))


def losses(model, tok, rows, step, both):
    rng = random.Random(7_000_021 + step)
    turned = [(r[1], r[0]) if rng.random() < .5 else (r[0], r[1]) for r in rows]
    y = torch.tensor([r[2] for r in rows], dtype=torch.float)
    w = torch.tensor([r[3] for r in rows])
    ids, mask, _ = net.batch([tok.encode(t) for a, b in turned for t in (a, b)])
    v = model.vectors(ids, mask)
    a, b = v[0::2], v[1::2]
    loss = .5 * cosent((a * b).sum(-1), y, w) + .1 * contrast(a, b, y)
    if both:
        z = model.read(*net.batch([tok.encode(*pair) for pair in turned]))
        loss = loss + (F.binary_cross_entropy_with_logits(z, y * .96 + .02, reduction="none") * w).mean() * 2
    return loss


def scores(model, tok, pairs, bf16):
    """(cosines, logits)."""
    c, z = np.zeros(len(pairs)), np.zeros(len(pairs))
    order = sorted(range(len(pairs)), key=lambda i: len(pairs[i][0]) + len(pairs[i][1]))
    model.eval()
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        for i in range(0, len(order), 64):
            part = order[i:i + 64]
            ids, mask, _ = net.batch([tok.encode(t) for j in part for t in pairs[j][:2]])
            v = model.vectors(ids, mask)
            c[part] = (v[0::2] * v[1::2]).sum(-1).numpy()
            z[part] = model.read(*net.batch([tok.encode(*sorted(pairs[j][:2])) for j in part])).numpy()
    model.train()
    return c, z


def watch(model, tok, sets, bf16):
    out = {}
    for name, pairs in ((name, pairs[:250]) for name, pairs in sets.items()):
        y = np.array([p[2] for p in pairs])
        if y.min() < y.max():
            out[name] = [(round(auc(y, s), 3), round(recall_at(y, s, .02), 2)) for s in scores(model, tok, pairs, bf16)]
    return out


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("corpus", "base", "out"):
        ap.add_argument(f"--{name}", type=pathlib.Path, required=True)
    ap.add_argument("--visits", type=int, required=True)
    ap.add_argument("--alone", type=float, default=.35)
    ap.add_argument("--rate", type=float, default=RATE)
    ap.add_argument("--watch-every", type=int, default=2400, help="seconds")
    ap.add_argument("--save-every", type=int, default=600, help="seconds")
    ap.add_argument("--bf16", action="store_true")
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    torch.manual_seed(7)
    args.out.mkdir(parents=True, exist_ok=True)
    data = json.load(open(args.corpus / "train.json"))
    sets = json.load(open(args.corpus / "watch.json"))
    tok = net.tokenizer(args.base, LIMIT)
    lengths = [len(e.ids) for i in range(0, len(data), 4096) for e in tok.encode_batch([tuple(d[:2]) for d in data[i:i + 4096]])]
    batches = plan(lengths, args.visits)
    print("pairs", len(data), "steps", len(batches), "mean tokens", round(float(np.mean(lengths)), 1), flush=True)
    model = Model(args.base)
    head = list(model.head.parameters())
    body = [p for p in model.bert.parameters() if p.requires_grad]
    opt = torch.optim.AdamW([{"params": body, "lr": args.rate}, {"params": head, "lr": args.rate * 4}], weight_decay=.01, fused=True)
    start, spent, path = 0, 0.0, args.out / "checkpoint.pt"
    if path.exists():
        saved = torch.load(path)
        model.load_state_dict(saved["model"]); opt.load_state_dict(saved["opt"])
        start, spent = saved["step"], saved["spent"]
        print("going on from step", start, flush=True)

    def save(step):
        write({"model": model.state_dict(), "opt": opt.state_dict(), "step": step, "spent": pace.seconds()}, path)

    pace = Pace(len(batches), start, BATCH, (args.save_every, args.watch_every), save,
                lambda: watch(model, tok, sets, args.bf16), spent)
    model.train()
    for step in range(start, len(batches)):
        torch.manual_seed(step)
        done = step / len(batches)
        for group, times in zip(opt.param_groups, (1, 4)):
            group["lr"] = args.rate * times * min(1, (step + 1) / WARM) * max(.02, 1 - done)
        with torch.autocast("cpu", torch.bfloat16, enabled=args.bf16):
            loss = losses(model, tok, [data[j] for j in batches[step]], step, done >= args.alone)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(body + head, 1.0)
        opt.step(); opt.zero_grad()
        pace.after(step, loss.item())
    save(len(batches))
    write(model.state_dict(), args.out / "weights.pt")
    print("watch", watch(model, tok, sets, args.bf16), flush=True)
    print(f"done in {pace.seconds() / 60:.1f} minutes", flush=True)


if __name__ == "__main__":
    main()
