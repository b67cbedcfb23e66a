#!/usr/bin/env python3
"""Writes the verifier's `verifier.toml`: `python manifest.py FOLDER FINGERPRINT`, the embedder's as `refrain serve` logs it."""

import hashlib
import pathlib
import sys

import base

STRICTNESS = {"chinese": 1.0, "other": 2.0}


def main():
    folder, fingerprint = pathlib.Path(sys.argv[1]), sys.argv[2]
    separator = "".join(f"\\U{ord(c):08x}" for c in base.END)
    text = f'name = "verifier-multi-1"\nrevision = "1"\nembedder = "{fingerprint}"\nmax_tokens = 512\n'
    text += f'languages = ["en", "zh", "de", "fr", "es", "ja", "ko"]\nseparator = "{separator}"\n'
    for language, strictness in STRICTNESS.items():
        text += f'\n[[judges]]\nlanguage = "{language}"\nfile = "judge-{language}.json"\nstrictness = {strictness}\n'
    for name in ("head.bin", "judge.json", *(f"judge-{language}.json" for language in STRICTNESS), "token_weights.bin"):
        data = (folder / name).read_bytes()
        text += f'\n[[files]]\nname = "{name}"\nsize = {len(data)}\nsha256 = "{hashlib.sha256(data).hexdigest()}"\n'
    (folder / "verifier.toml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
