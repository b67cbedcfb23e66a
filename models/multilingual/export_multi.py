#!/usr/bin/env python3
"""Writes the int8 embedder `multilingual-e5-small-int8` and the reader's head from trained weights.

    python export_multi.py --weights weights.pt --base DIR --data DIR --corpus DIR --out DIR [--head FILE]

Fused and rounded as the English model (`../export/README.md` says how and why). The ranges of its inputs are observed on
texts of sets that may be passed on, in all its languages, alone and in pairs. Prints how far cosines and readings of pairs
that were not trained on are from the float model's.
"""

import argparse
import json
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "export"), str(HERE.parent / "train")]
import export_minilm as E  # noqa: E402  (also pins the threads before numpy is loaded)

import numpy as np  # noqa: E402

import base  # noqa: E402

NAME, REVISION = "multilingual-e5-small-int8", "1"
LANGUAGES = ("en", "zh", "de", "fr", "es", "ja", "ko")
CALIBRATED_SIMILARITY = 0.97
MAX_TOKENS, BLOCKS, PIECES = base.MAX_TOKENS, 12, base.PIECES
NEAR = [("How do I reset my password?", "I forgot my password, how can I change it?"),
        ("What is the capital of France?", "Which city is France's capital?"),
        ("如何重置密码？", "忘记密码了怎么办？"),
        ("快递什么时候能到？", "我的包裹多久能送到？"),
        ("Wie kann ich mein Passwort zurücksetzen?", "Ich habe mein Passwort vergessen, wie ändere ich es?"),
        ("비밀번호를 어떻게 바꾸나요?", "비밀번호 변경 방법을 알려 주세요.")]
FAR = [("How do I reset my password?", "What is the capital of France?"),
       ("如何重置密码？", "今晚吃什么好？"),
       ("如何开通自动还款？", "如何关闭自动还款？"),
       ("Wie kann ich mein Passwort zurücksetzen?", "Wo liegt die Hauptstadt von Peru?"),
       ("パスワードを変更する方法は？", "明日の天気はどうですか？")]
ALONE = ["How do I reset my password?", "What is the capital of France?", "Hello!", "如何重置我的密码？", "快递什么时候能到？",
         "把100美元换成人民币是多少？", "Wie kann ich mein Passwort zurücksetzen?", "¿Cómo puedo cambiar mi contraseña?",
         "Comment changer mon mot de passe ?", "パスワードを変更する方法を教えてください。", "비밀번호를 어떻게 바꾸나요?",
         "SELECT name FROM orders WHERE total > 99.50;", " ".join(["请用三句话总结下面的会议纪要，并说明谁在什么时候之前要做什么。"] * 20)]


def load(weights, base):
    import torch
    import train_multi
    torch.set_num_threads(1)
    model = train_multi.Model(base)
    model.load_state_dict(torch.load(weights, map_location="cpu"))
    model.bert.set_attn_implementation("eager")
    return model.eval()


def texts_to_observe(data):
    """Texts of sets that may be passed on, and pairs of them as the reader gets them."""
    read = lambda name: [json.loads(l) for l in open(data / f"{name}.dev.jsonl", encoding="utf-8")]
    end = base.END
    texts = [t for t in (E.HERE / "calibration.txt").read_text(encoding="utf-8").split("\n") if t][::3]
    texts += [r["text"] for r in read("intents/xsid")][::20]
    for language in ("zh", "de", "fr", "es", "ja", "ko"):
        rows = read(f"pairs/pawsx_{language}")[::20]
        texts += [r["a"] for r in rows] + [r["a"] + end + r["b"] for r in rows[:25]]
    rows = read("pairs/kor_question_pair")[::60]
    return texts + [r["a"] for r in rows] + [r["a"] + end + r["b"] for r in rows]


def self_test(run, tok):
    vector = lambda text: E.embed(run, tok, text)
    cosine = lambda a, b: float(vector(a) @ vector(b))
    return {
        "model": NAME, "revision": REVISION, "dimension": E.HIDDEN, "max_tokens": MAX_TOKENS, "min_vector_cosine": 0.99,
        "vectors": [{"text": t, "vector": [round(float(np.float32(x)), 6) for x in vector(t)]} for t in ALONE],
        "paraphrases": [{"a": a, "b": b, "at_least": np.floor(100 * (cosine(a, b) - .08)) / 100} for a, b in NEAR],
        "unrelated": [{"a": a, "b": b, "at_most": np.ceil(100 * (cosine(a, b) + .08)) / 100} for a, b in FAR],
    }


def manifest(folder):
    text = f'''# Written by models/multilingual/export_multi.py; sizes and sums are checked before the model is loaded.
name = "{NAME}"
revision = "{REVISION}"
dimension = {E.HIDDEN}
pooling = "mean"
normalised = true
max_tokens = {MAX_TOKENS}
prefix = ""
languages = {json.dumps(LANGUAGES)}
licence = "MIT"
# Cosine from which two texts count as the same when no verifier runs; evidence in CARD.md.
calibrated_similarity = {CALIBRATED_SIMILARITY}
'''
    for name in ("model.onnx",) + E.TOKENIZER_FILES + ("self_test.json",):
        path = folder / name
        text += f'\n[[files]]\nname = "{name}"\nsize = {path.stat().st_size}\nsha256 = "{E.sha256(path)}"\n'
    return text


def write_head(model, path):
    """As `src/verify/head.rs` reads it: little-endian floats, the hidden layer first."""
    parts = [model.head.hidden.weight, model.head.hidden.bias, model.head.out.weight, model.head.out.bias]
    path.write_bytes(b"".join(p.detach().numpy().astype("<f4").tobytes() for p in parts))


def compare(float_run, int_run, tok, corpus):
    """Mean and 99th percentile of how far cosines move, and vectors' own cosines."""
    moved, own = [], []
    for pairs in json.load(open(corpus / "watch.json")).values():
        for a, b, _ in pairs[:40]:
            v = [[E.embed(run, tok, t) for t in (a, b)] for run in (float_run, int_run)]
            moved.append(abs(v[0][0] @ v[0][1] - v[1][0] @ v[1][1]))
            own.append(v[0][0] @ v[1][0])
    print(f"cosines move by {np.mean(moved):.4f}, p99 {np.quantile(moved, .99):.4f}; a vector's own {np.mean(own):.4f}, least {np.min(own):.4f}")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("weights", "base", "data", "corpus", "out"):
        ap.add_argument(f"--{name}", type=pathlib.Path, required=True)
    ap.add_argument("--head", type=pathlib.Path, help="where the reader's head is written")
    args = ap.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    model = load(args.weights, args.base)
    with tempfile.TemporaryDirectory() as scratch:
        fused = E.export_float(model.bert, pathlib.Path(scratch), BLOCKS)
    tok = E.tokenizer(args.base)
    stats = E.observe(fused, tok, texts_to_observe(args.data))
    data = E.quantise(fused, stats, blocks=BLOCKS, pieces=PIECES)
    data.graph.name, data.producer_name = NAME, "refrain-export-multi"
    data = data.SerializeToString(deterministic=True)
    (args.out / "model.onnx").write_bytes(data)
    for name in E.TOKENIZER_FILES:
        (args.out / name).write_bytes((args.base / name).read_bytes())
    test = json.dumps(self_test(E.session(data), tok), ensure_ascii=False, indent=1)
    test = re.sub(r"\[\s+(-?[\d.e-]+(?:,\s+-?[\d.e-]+)*)\s+\]", lambda m: "[" + re.sub(r"\s+", "", m[1]) + "]", test)
    (args.out / "self_test.json").write_text(test + "\n", encoding="utf-8")
    (args.out / "model.toml").write_text(manifest(args.out), encoding="utf-8")
    if args.head:
        write_head(model, args.head)
    print("model.onnx", len(data), "bytes, sha256", E.sha256(args.out / "model.onnx"))
    compare(E.session(fused), E.session(data), tok, args.corpus)


if __name__ == "__main__":
    main()
