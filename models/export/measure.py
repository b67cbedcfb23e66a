#!/usr/bin/env python3
"""Compares quantised models with the float one: agreement, AUC, time, and hits by threshold. See README.md."""

import argparse
import json
import pathlib
import time

import numpy as np
from sklearn.metrics import roc_auc_score

from export_minilm import embed, feed, session, tokenizer

SETS = {"mqp_medical": 500, "fow_questions": 299, "gptcache_qqp": 300, "qqp_onetoken": 300, "gsm_plus": 100, "rqe_medical": 120,
        "stsb_en": 200, "pawsx_en": 200, "gptcache_mock": 150, "semantoneg": 200, "mrpc": 150}
HERE = pathlib.Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--float", dest="reference", required=True)
    parser.add_argument("--tokenizer", type=pathlib.Path, default=HERE.parent / "all-minilm-l6-v2-int8")
    parser.add_argument("models", nargs="+")
    args = parser.parse_args()
    tok = tokenizer(args.tokenizer)
    pairs = {}
    for name, count in SETS.items():
        lines = (args.data / "pairs" / f"{name}.dev.jsonl").read_text(encoding="utf-8").splitlines()
        pairs[name] = [json.loads(line) for line in lines][:count]
    texts = list(dict.fromkeys(t for rows in pairs.values() for r in rows for t in (r["a"], r["b"])))
    index = {t: i for i, t in enumerate(texts)}
    near = np.array([(index[r["a"]], index[r["b"]]) for rows in pairs.values() for r in rows])
    far = np.random.default_rng(1).integers(0, len(texts), (6000, 2))
    both = np.concatenate([near, far[far[:, 0] != far[:, 1]]])

    runs = {m: session(pathlib.Path(m).read_bytes()) for m in [args.reference] + args.models}
    times = {m: [] for m in runs}
    long = feed(tok, "how do i reset the password of my account on the web site when " * 20)["input_ids"]
    for length in (8, 16, 32, 128):
        ids = long[:, :length]
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        samples = {m: [] for m in runs}
        for _ in range(60):
            for m, run in runs.items():  # in turn, so that a busy machine slows all of them
                start = time.perf_counter()
                run.run(None, inputs)
                samples[m].append(1000 * (time.perf_counter() - start))
        for m in runs:
            times[m].append(float(np.median(samples[m][5:])))

    reference = None
    for m, run in runs.items():
        v = np.array([embed(run, tok, t) for t in texts])
        reference = v if reference is None else reference
        delta = np.abs((v[both[:, 0]] * v[both[:, 1]]).sum(1) - (reference[both[:, 0]] * reference[both[:, 1]]).sum(1))
        cosine = (v * reference).sum(1)
        auc = {n: roc_auc_score([r["label"] for r in pairs[n]], [v[index[r["a"]]] @ v[index[r["b"]]] for r in pairs[n]])
               for n in ("mqp_medical", "fow_questions")}
        print(f"{m}: {pathlib.Path(m).stat().st_size} bytes; ms at 8/16/32/128 tokens "
              + " / ".join(f"{t:.2f}" for t in times[m])
              + f"; p99 |dsim| {np.quantile(delta, .99):.4f}, max {delta.max():.4f}; cosine mean {cosine.mean():.4f},"
              f" min {cosine.min():.4f}; AUC " + ", ".join(f"{n} {a:.4f}" for n, a in auc.items()))


if __name__ == "__main__":
    main()
