#!/usr/bin/env python3
"""Writes what the multilingual model is trained on, watched with and judged with.

    python make_corpus.py --data DIR --english DIR --base DIR --out DIR [--clean]

`--english` is what `../train/corpus.py` wrote; its judge's pairs stay the judge's. Of its training pairs a share is taken, so
that English is about half of all. `--clean` trains on sets alone that may be passed on (`--english` must be made so, too); it is
watched and judged with the same. Writes `train.json`, `watch.json`, `judge.jsonl` and `token_weights.bin` as that one does.
"""

import argparse
import collections
import json
import pathlib
import random

import chinese as Z
from chinese import P  # and puts ../train on the path

import corpus

# Of the English pairs from each source, so many at most.
ENGLISH = {"qqp": 9000, "intents": 1200}
MADE = 11_000


def english(args, kept):
    rows = [tuple(r) for r in json.load(open(args.english / "train.json"))]
    rows = list(dict.fromkeys(r for r in rows if r[0] not in kept and r[1] not in kept))
    rows.sort(key=lambda r: P.h(r[0] + "\0" + r[1] + "\0" + r[4], "english"))
    seen, out = collections.Counter(), []
    for row in rows:
        made = row[4].startswith("made:")
        kind = "made" if made else row[4]
        if seen[kind] < (MADE if made else ENGLISH.get(kind, 10**9)):
            seen[kind] += 1
            out.append(row)
    return out


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("data", "english", "base", "out"):
        ap.add_argument(f"--{name}", type=pathlib.Path, required=True)
    ap.add_argument("--clean", action="store_true")
    args = ap.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    reader, judge = Z.split(args.data)
    if args.clean:
        requests = [(t, t, 1) for t in Z.requests(args.data)]
        reader = {"xsid": requests, **{name: reader[name] for name in Z.OTHERS}}
    kept = Z.kept_texts(args.data)
    out = english(args, kept)
    for name, ps in reader.items():
        out += [(a, b, l, .8 if l == 0 and name != "zh_minimal" else 1.0, name) for a, b, l in ps]
        made = Z.numbers(ps, name, .5) if name in Z.OTHERS else Z.make(ps, name, .7, .35)
        out += [(a, b, l, 1.0, "made_zh:" + how) for a, b, l, how in made]
    out = [r for r in out if r[0] != r[1]]
    out.sort(key=lambda p: P.h(p[0] + "\0" + p[1] + "\0" + p[4], "order"))
    print("train", len(out), "positive", sum(p[2] for p in out), collections.Counter(p[4] for p in out))
    json.dump(out, open(args.out / "train.json", "w"), ensure_ascii=False)

    pawsx = {name: ps[:300] for name, ps in P.load(args.data, ["pawsx_de", "pawsx_zh", "pawsx_ja"]).items()}
    watch = {**{n: ps[:500] for n, ps in judge.items()}, **pawsx}
    watch["made_zh"] = [m[:3] for m in Z.make(judge["lcqmc"] + judge["bq_corpus"], "watch", .9, .9)][:500]
    watch.update({n: [tuple(p) for p in ps[:500]] for n, ps in json.load(open(args.english / "watch.json")).items()})
    print("watch", {k: (len(v), sum(p[2] for p in v)) for k, v in watch.items()})
    json.dump(watch, open(args.out / "watch.json", "w"), ensure_ascii=False)

    with open(args.out / "judge.jsonl", "w", encoding="utf-8") as lines:
        lines.write(open(args.english / "judge.jsonl", encoding="utf-8").read())
        for name, ps in judge.items():
            rows = [(a, b, l, "labelled") for a, b, l in ps]
            rows += [] if name not in Z.CHINESE else Z.make(ps, name + "judge", .5, .3)
            for a, b, l, how in rows:
                lines.write(json.dumps({"set": name if how == "labelled" else "made_zh", "a": a, "b": b, "label": l,
                                        "how": how}, ensure_ascii=False) + "\n")
    print("judge", {k: (len(v), sum(p[2] for p in v)) for k, v in judge.items()})
    corpus.write_weights([t for r in out for t in r[:2]], args.base, args.out / "token_weights.bin")
    rng = random.Random(5)
    for how in sorted({r[4] for r in out if r[4].startswith("made_zh")}):
        for r in rng.sample([r for r in out if r[4] == how], 3):
            print(how, r[2], "|", r[0][:60], "|", r[1][:60])


if __name__ == "__main__":
    main()
