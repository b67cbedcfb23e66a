#!/usr/bin/env python3
"""Turns the trained reader into the int8 graph that Refrain runs.

    python export_reader.py --weights reader.pt --base DIR --corpus DIR --out FILE [--head mean]

Fused and rounded exactly as the embedding model (../export/README.md says how and why); the small head stays in float.
Prints how far the rounded graph's log-odds are from the float model's on pairs that were not trained on.
"""

import argparse
import json
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "export"))
import export_minilm as E  # noqa: E402  (also pins the threads before numpy is loaded)

import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402,F401

import net  # noqa: E402
import pairs as P  # noqa: E402

LIMIT = 256  # tokens of a pair


def export_float(weights, base, head, work):
    import torch
    from onnxruntime.transformers import optimizer
    from onnxruntime.transformers.fusion_options import FusionOptions
    torch.set_num_threads(1)
    reader = net.Reader(base, head)
    reader.load_state_dict(torch.load(weights, map_location="cpu"))
    reader.bert.set_attn_implementation("eager")
    reader.eval()

    class Logits(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.reader = reader

        def forward(self, input_ids, attention_mask, token_type_ids):
            return self.reader(input_ids, attention_mask, token_type_ids).unsqueeze(-1)

    names = ["input_ids", "attention_mask", "token_type_ids"]
    ids = torch.ones(2, 16, dtype=torch.long)
    sides = torch.cat([torch.zeros(2, 8, dtype=torch.long), torch.ones(2, 8, dtype=torch.long)], 1)
    raw = str(work / "reader-raw.onnx")
    with torch.no_grad():
        torch.onnx.export(Logits().eval(), (ids, ids, sides), raw, input_names=names, output_names=["logits"],
                          opset_version=17, dynamo=False,
                          dynamic_axes={**{n: {0: "batch", 1: "sequence"} for n in names}, "logits": {0: "batch"}})
    options = FusionOptions("bert")
    options.enable_embed_layer_norm = False
    fused = optimizer.optimize_model(raw, model_type="bert", num_heads=E.HEADS, hidden_size=E.HIDDEN, opt_level=1,
                                     optimization_options=options)
    stats = fused.get_fused_operator_statistics()
    print("fused:", {k: v for k, v in stats.items() if v})
    if stats.get("Attention") != 6:
        sys.exit("the attention fusion did not take place")
    return fused.model, reader


def feed(tok, pair):
    e = tok.encode(*pair)
    put = lambda x: np.array([x], dtype=np.int64)
    return {"input_ids": put(e.ids), "attention_mask": put(e.attention_mask), "token_type_ids": put(e.type_ids)}


def calibration_pairs():
    """Pairs of licence-clean texts: each with a rewording and with a change."""
    texts = [t for t in (E.HERE / "calibration.txt").read_text(encoding="utf-8").split("\n") if t]
    out = []
    for text in texts:
        rng = random.Random(P.h(text, "calibrate"))
        made = P.changed(text, rng, ["Paris", "Anna", "Google"], {})
        new = made[1] if made and rng.random() < .5 else P.rewrite(text, rng)
        out.append((text, new or rng.choice(texts)))
    return out


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--weights", type=pathlib.Path, required=True)
    ap.add_argument("--base", type=pathlib.Path, required=True)
    ap.add_argument("--corpus", type=pathlib.Path, required=True)
    ap.add_argument("--out", type=pathlib.Path, required=True)
    ap.add_argument("--head", default="mean", choices=("mean", "align"))
    args = ap.parse_args()
    import tempfile
    import torch
    with tempfile.TemporaryDirectory() as scratch:
        model, reader = export_float(args.weights, args.base, args.head, pathlib.Path(scratch))
    tok = net.tokenizer(args.base, LIMIT)
    stats = E.observe(model, tok, calibration_pairs(), feed)
    data = E.quantise(model, stats)
    data.graph.name, data.producer_name = "refrain-verifier-en", "refrain-export-reader"
    data = data.SerializeToString(deterministic=True)
    args.out.write_bytes(data)
    print(args.out, len(data), "bytes, sha256", E.sha256(args.out))

    float_run, int_run = E.session(model), E.session(data)
    moved = []
    for name, pairs in json.load(open(args.corpus / "watch.json")).items():
        inputs = [feed(tok, p[:2]) for p in pairs[:150]]
        a = np.array([float(float_run.run(None, x)[0][0, 0]) for x in inputs])
        b = np.array([float(int_run.run(None, x)[0][0, 0]) for x in inputs])
        with torch.inference_mode():
            t = np.array([float(reader(*(torch.tensor(x[n]) for n in ("input_ids", "attention_mask", "token_type_ids")))) for x in inputs[:20]])
        moved.append(np.abs(a - b))
        print(f"{name}: torch to fused {np.abs(a[:20] - t).max():.4f}, float to int8 mean {np.abs(a - b).mean():.3f} p99 {np.quantile(np.abs(a - b), .99):.3f}")
    moved = np.concatenate(moved)
    print(f"all: mean {moved.mean():.3f}, p99 {np.quantile(moved, .99):.3f} log-odds")


if __name__ == "__main__":
    main()
