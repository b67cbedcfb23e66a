#!/usr/bin/env python3
"""Trains the reader.

    python train_reader.py --corpus DIR --base DIR --out DIR [--head mean|align] [--visits N] [--bf16]

`--visits`: how many pairs are read in all (epochs times pairs). A checkpoint is written every ten minutes (`--save-every`)
and at the end; the same command goes on from it. One seed; the order of the pairs, their sides and the learning rate follow
from the step alone, so a resumed run reads what an unbroken one would have read.
"""

import argparse
import json
import pathlib
import random

import numpy as np
import torch

import net
from pace import Pace

BATCH, LIMIT, RATE, WARM, BUCKET = 64, 128, 1.5e-4, 200, 50


def plan(encoded_lengths, visits, seed=7):
    """The batches of the whole run: epochs in fresh orders, batches of like lengths."""
    n, out, epoch = len(encoded_lengths), [], 0
    while len(out) * BATCH < visits:
        rng = random.Random(seed * 1000 + epoch)
        order = list(range(n))
        rng.shuffle(order)
        batches = []
        for i in range(0, n, BATCH * BUCKET):
            part = sorted(order[i:i + BATCH * BUCKET], key=lambda j: encoded_lengths[j])
            batches += [part[k:k + BATCH] for k in range(0, len(part), BATCH)]
        rng.shuffle(batches)
        out += batches
        epoch += 1
    return out[:visits // BATCH]


def encode(tok, a, b):
    return tok.encode(a, b)


def scores(model, tok, pairs, bf16):
    """Logits, the mean over both orders."""
    z = np.zeros(len(pairs))
    order = sorted(range(len(pairs)), key=lambda i: len(pairs[i][0]) + len(pairs[i][1]))
    model.eval()
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        for i in range(0, len(order), 64):
            part = order[i:i + 64]
            for swap in (False, True):
                e = [encode(tok, pairs[j][swap], pairs[j][not swap]) for j in part]
                z[part] += model(*net.batch(e)).float().numpy() / 2
    model.train()
    return z


def auc(y, z):
    r = np.empty(len(z))
    r[np.argsort(z, kind="stable")] = np.arange(1, len(z) + 1)
    p, n = y.sum(), (1 - y).sum()
    return (r[y == 1].sum() - p * (p + 1) / 2) / max(1, p * n)


def recall_at(y, z, rate):
    """Hit rate among true pairs where at most `rate` of the others pass."""
    false = np.sort(z[y == 0])[::-1]
    bar = false[int(len(false) * rate)] if len(false) else -np.inf
    return float((z[y == 1] > bar).mean())


def watch(model, tok, sets, bf16):
    out = {}
    for name, pairs in sets.items():
        y, z = np.array([p[2] for p in pairs]), scores(model, tok, pairs, bf16)
        out[name] = (round(auc(y, z), 3), round(recall_at(y, z, .01), 2))
    return out


def write(what, path):
    """Under another name until it is whole."""
    part = path.with_name(path.name + ".part")
    torch.save(what, part)
    part.replace(path)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--corpus", type=pathlib.Path, required=True)
    ap.add_argument("--base", type=pathlib.Path, required=True)
    ap.add_argument("--out", type=pathlib.Path, required=True)
    ap.add_argument("--head", default="align", choices=("mean", "align"))
    ap.add_argument("--apart", action="store_true", help="a bi-encoder: each side is encoded without the other")
    ap.add_argument("--start", type=pathlib.Path, help="a trained reader.pt to go on from")
    ap.add_argument("--visits", type=int, required=True)
    ap.add_argument("--rate", type=float, default=RATE)
    ap.add_argument("--watch-every", type=int, default=600, help="seconds")
    ap.add_argument("--save-every", type=int, default=600, help="seconds")
    ap.add_argument("--bf16", action="store_true")
    ap.add_argument("--threads", type=int, default=2)
    args = ap.parse_args()
    torch.set_num_threads(args.threads)
    torch.set_flush_denormal(True)
    torch.manual_seed(7)
    args.out.mkdir(parents=True, exist_ok=True)

    data = json.load(open(args.corpus / "train.json"))
    sets = json.load(open(args.corpus / "watch.json"))
    tok = net.tokenizer(args.base, LIMIT)
    e = encode(tok, *data[0][:2])
    assert e.tokens.count("[UNK]") == 0 and e.tokens[0] == "[CLS]" and e.type_ids[-1] == 1, e.tokens
    print(" ".join(e.tokens), data[0][2], flush=True)
    lengths = [len(e.ids) for i in range(0, len(data), 4096) for e in tok.encode_batch([tuple(d[:2]) for d in data[i:i + 4096]])]
    batches = plan(lengths, args.visits)
    print("pairs", len(data), "visits", args.visits, "steps", len(batches), "mean tokens", round(float(np.mean(lengths)), 1), flush=True)

    model = net.Reader(args.base, args.head, args.apart)
    if args.start:
        model.load_state_dict(torch.load(args.start))
    head = [p for n, p in model.named_parameters() if n.startswith("head.")]
    body = [p for n, p in model.named_parameters() if not n.startswith("head.")]
    opt = torch.optim.AdamW([{"params": body, "lr": args.rate}, {"params": head, "lr": args.rate * 4}], weight_decay=0.01, fused=True)
    rate = lambda s: min(1, (s + 1) / WARM) * max(0.02, 1 - s / len(batches))
    schedule = torch.optim.lr_scheduler.LambdaLR(opt, rate)
    start, spent, path = 0, 0.0, args.out / "checkpoint.pt"
    if path.exists():
        saved = torch.load(path)
        model.load_state_dict(saved["model"]); opt.load_state_dict(saved["opt"]); schedule.load_state_dict(saved["schedule"])
        start, spent = saved["step"], saved["spent"]
        print("going on from step", start, flush=True)

    def save(step):
        write({"model": model.state_dict(), "opt": opt.state_dict(), "schedule": schedule.state_dict(),
               "step": step, "spent": pace.seconds()}, path)

    pace = Pace(len(batches), start, BATCH, (args.save_every, args.watch_every), save,
                lambda: watch(model, tok, sets, args.bf16), spent)
    model.train()
    for step in range(start, len(batches)):
        rng = random.Random(1_000_003 * 7 + step)
        torch.manual_seed(step)
        rows = [data[j] for j in batches[step]]
        turned = [(r[1], r[0]) if rng.random() < .5 else (r[0], r[1]) for r in rows]
        x = net.batch([encode(tok, a, b) for a, b in turned])
        y = torch.tensor([r[2] for r in rows], dtype=torch.float)
        w = torch.tensor([r[3] for r in rows])
        with torch.autocast("cpu", torch.bfloat16, enabled=args.bf16):
            logits = model(*x)
        loss = (torch.nn.functional.binary_cross_entropy_with_logits(logits.float(), y * .96 + .02, reduction="none") * w).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step(); schedule.step(); opt.zero_grad()
        pace.after(step, loss.item())
    save(len(batches))
    print("watch", watch(model, tok, sets, False), flush=True)
    write(model.state_dict(), args.out / "reader.pt")
    print(f"done in {pace.seconds() / 60:.1f} minutes", flush=True)


if __name__ == "__main__":
    main()
