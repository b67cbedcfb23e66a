#!/usr/bin/env python3
"""Writes a verifier's `verifier.toml`: `python manifest.py FOLDER`. The tokenizer's files are those of the embedder."""

import hashlib
import pathlib
import shutil
import sys

EMBEDDER = pathlib.Path(__file__).resolve().parent.parent / "all-minilm-l6-v2-int8"
# The fingerprint of that embedder, as `refrain serve` logs it: token vectors of another one mean nothing to the judge.
FINGERPRINT = "ebe84d709eb5eb26"
OWN = ("reader.onnx", "judge.json", "token_weights.bin")
TOKENIZER = ("tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json")


def main():
    folder = pathlib.Path(sys.argv[1])
    for name in TOKENIZER:
        shutil.copy(EMBEDDER / name, folder / name)
    text = f'name = "verifier-en-1"\nrevision = "1"\nembedder = "{FINGERPRINT}"\nmax_tokens = 512\nlanguages = ["en"]\n'
    for name in OWN + TOKENIZER:
        data = (folder / name).read_bytes()
        text += f'\n[[files]]\nname = "{name}"\nsize = {len(data)}\nsha256 = "{hashlib.sha256(data).hexdigest()}"\n'
    (folder / "verifier.toml").write_text(text)


if __name__ == "__main__":
    main()
