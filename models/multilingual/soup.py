#!/usr/bin/env python3
"""Draws the trained encoder back towards the one it started from, and trains the reader's head on the result.

    python soup.py --base DIR --weights weights.pt --corpus DIR --out FILE [--share 0.6] [--visits N]

Averaging the weights before and after tuning keeps what tuning on a few sets unlearns (Wortsman et al. 2022, arXiv
2109.01903). Vectors gain by it; the head was made for the tuned encoder and is trained on here alone.
"""

import argparse
import json
import pathlib
import random

import torch
from torch.nn import functional as F

import train_multi as T
from train_multi import net, plan, write

RATE, LIMIT = 1e-3, 96


def averaged(base, tuned, share):
    return {k: tuned[k] if k.startswith("head.") else base[k] * (1 - share) + tuned[k] * share for k in base}


def train_head(model, tok, data, visits):
    lengths = [len(a) + len(b) for a, b, *_ in data]
    batches = plan(lengths, visits, seed=11)
    opt = torch.optim.AdamW(model.head.parameters(), lr=RATE, weight_decay=.01)
    running = None
    for step, rows in enumerate(batches):
        rng = random.Random(9_000_011 + step)
        rows = [data[j] for j in rows]
        pairs = [(r[1], r[0]) if rng.random() < .5 else (r[0], r[1]) for r in rows]
        y, w = torch.tensor([float(r[2]) for r in rows]), torch.tensor([r[3] for r in rows])
        ids, mask, sides = net.batch([tok.encode(*pair) for pair in pairs])
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            x = model.bert(input_ids=ids, attention_mask=mask).last_hidden_state
        seen, side = mask.unsqueeze(-1).float(), sides.unsqueeze(-1).float()
        z = model.head(x.float(), (1 - side) * seen, side * seen)
        loss = (F.binary_cross_entropy_with_logits(z, y * .96 + .02, reduction="none") * w).mean()
        loss.backward()
        for group in opt.param_groups:
            group["lr"] = RATE * max(.02, 1 - step / len(batches))
        opt.step(); opt.zero_grad()
        running = loss.item() if running is None else .98 * running + .02 * loss.item()
        if step % 25 == 0:
            print(f"{step}/{len(batches)} loss {running:.4f}", flush=True)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("base", "weights", "corpus", "out"):
        ap.add_argument(f"--{name}", type=pathlib.Path, required=True)
    ap.add_argument("--share", type=float, default=.6)
    ap.add_argument("--visits", type=int, default=24_000)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(7)
    model = T.Model(args.base)
    start = {k: v.clone() for k, v in model.state_dict().items()}
    model.load_state_dict(averaged(start, torch.load(args.weights), args.share))
    model.eval()
    train_head(model, net.tokenizer(args.base, LIMIT), json.load(open(args.corpus / "train.json")), args.visits)
    write(model.state_dict(), args.out)


if __name__ == "__main__":
    main()
