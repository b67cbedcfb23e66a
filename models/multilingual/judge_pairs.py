#!/usr/bin/env python3
"""Picks the judges' pairs: `python judge_pairs.py --corpus DIR --data DIR --out FILE`. So many of each set, chosen by hash."""

import argparse
import collections
import hashlib
import json
import pathlib

AT_MOST = {"bq_corpus": 700, "atec": 700, "oppo_xiaobu": 700, "afqmc": 400, "kor_question_pair": 700, "jsts_ja": 300,
           "made_zh": 1600, "made": 1200, "made_other": 500, "gptcache_qqp": 700, "qqp_onetoken": 900, "semantoneg": 700}
PAWSX = 350


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    for name in ("corpus", "data", "out"):
        ap.add_argument(f"--{name}", type=pathlib.Path, required=True)
    args = ap.parse_args()
    read = lambda path: [json.loads(line) for line in open(path, encoding="utf-8")]
    rows = read(args.corpus / "judge.jsonl")
    for language in ("de", "fr", "es", "ja", "ko", "zh"):
        name = f"pawsx_{language}"
        for r in read(args.data / "pairs" / f"{name}.dev.jsonl")[:PAWSX]:
            rows.append({"set": name, "a": r["a"], "b": r["b"], "label": r["label"], "how": "labelled"})
    rows.sort(key=lambda r: hashlib.blake2b((r["a"] + r["b"]).encode()).digest())
    seen = collections.Counter()
    with open(args.out, "w", encoding="utf-8") as out:
        for row in rows:
            seen[row["set"]] += 1
            if seen[row["set"]] <= AT_MOST.get(row["set"], 10**9):
                out.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
